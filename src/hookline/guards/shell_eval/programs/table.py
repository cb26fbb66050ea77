"""The table of programs that run other programs, with the functions that read their arguments."""

from collections.abc import Mapping

from hookline.guards.facts import SHELLS
from hookline.guards.shell_eval.calls import ProgramCall, Stream
from hookline.guards.shell_eval.commands import Commands, Follow
from hookline.guards.shell_eval.grammar import GRAMMARS, subcommand_of
from hookline.guards.shell_eval.programs import code, listings, prefixes, shells, tools
from hookline.guards.shell_eval.script import run_script

# Builtins of a shell take texts and values.
_SHELL_ITSELF: Mapping[str, Follow] = {
    "env": prefixes.env,
    "eval": shells.evaluate,
    **dict.fromkeys(("export", "declare", "local", "readonly", "typeset"), shells.declare),
    "alias": shells.alias,
    "hash": shells.hash_,
    "read": shells.read,
    "printf": shells.printf,
    "let": shells.let,
    "set": shells.set_,
    "trap": shells.trap,
}
_WRITING_VARIABLES = """mapfile readarray getopts unset vared zparseopts integer float nameref sysread zstat strftime
    compgen enable print"""
_FOLLOWS: Mapping[str, Follow] = {
    **_SHELL_ITSELF,
    **dict.fromkeys(("source", "."), shells.source),
    **dict.fromkeys(("cd", "pushd"), shells.cd),
    **dict.fromkeys(_WRITING_VARIABLES.split(), shells.write_variables),
    "wait": shells.wait,
    "shift": shells.shift,
    **dict.fromkeys(("at", "batch", "newgrp"), shells.later),
    **dict.fromkeys(("xargs", "gxargs"), listings.xargs),
    "parallel": listings.parallel,
    **dict.fromkeys(("find", "gfind"), listings.find),
    **dict.fromkeys(("fd", "fdfind"), listings.fd),
    "ssh": tools.ssh,
    "git": tools.git,
    **dict.fromkeys((*tools.TEXTS, "gtar", "bsdtar"), tools.texts),
    "cargo": tools.cargo,
    **dict.fromkeys(("make", "gmake"), tools.make),
    **dict.fromkeys(("tmux", "screen", "xterm", "gnome-terminal", "konsole"), tools.terminal),
    **dict.fromkeys(tools.EDITORS, tools.editor),
    **dict.fromkeys(tools.DEBUGGERS, tools.debugger),
    **dict.fromkeys(tools.DATABASES, tools.database),
}


def reader(*, cwd: str, home: str, project: str | None = None) -> Commands:
    """A reader of commands that are run in a directory, and that knows the programs of the table."""
    return Commands(follow, run_script, cwd=cwd, home=home, project=project)


def follow(commands: Commands, call: ProgramCall) -> Stream | None:
    """Adds what a call runs in turn; returns the output where it is known from that."""
    program = call.program
    if "/" in call.words[0] and (written := commands.written(call.path(call.words[0]))) is not None:
        return _script(commands, written)
    if (own := _FOLLOWS.get(program)) is not None:
        if program not in _SHELL_ITSELF:
            prefixes.guess_values(commands, call)
        return own(commands, call)
    if program in SHELLS:
        return shells.shell(commands, call)
    if program in GRAMMARS:
        prefixes.guess_values(commands, call)
        return prefixes.prefix(commands, call)
    if (name := subcommand_of(program, call.operands)) is not None:
        return prefixes.runner(commands, call, name)
    code.follow(commands, call)
    prefixes.guess(commands, call)
    return None


def _script(commands: Commands, written: Stream) -> Stream | None:
    """A script that this command has written before."""
    first = (written.text or "").partition("\n")[0]
    if first.startswith("#!") and not first.rstrip().endswith("sh"):
        code.read(commands, written.text or "", first.rsplit("/", 1)[-1].rsplit(" ", 1)[-1])
        return None
    return shells.run_stream(commands, written)
