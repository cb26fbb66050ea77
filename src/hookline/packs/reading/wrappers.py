"""Which programs run other programs, and what reads them."""

from collections.abc import Callable, Mapping

from hookline.packs.known import SHELLS
from hookline.packs.reading import code, listings, prefixes, programs, shells
from hookline.packs.reading.calls import Call, Reader, Stream

Follow = Callable[[Reader, Call], Stream | None]


def follow(commands: Reader, call: Call) -> Stream | None:
    """Adds what a call runs in turn; returns the output where it is known from that."""
    program = call.program
    if "/" in call.words[0] and (text := commands.text_of(call.path(call.words[0]))) is not None:
        return _script(commands, text)
    if (own := _FOLLOWS.get(program)) is not None:
        return own(commands, call)
    if program in SHELLS:
        return shells.shell(commands, call)
    if program in prefixes.RUNNERS:
        return prefixes.runner(commands, call)
    if program in prefixes.PREFIXES or program in prefixes.OWN_OPERANDS:
        return prefixes.prefix(commands, call)
    if code.is_interpreter(program):
        code.follow(commands, call)
    return None


def _script(commands: Reader, text: str) -> Stream | None:
    """A script that this command has written before."""
    first = text.partition("\n")[0]
    if first.startswith("#!") and not first.rstrip().endswith("sh"):
        code.read(commands, text, first.rsplit("/", 1)[-1].rsplit(" ", 1)[-1])
        return None
    return commands.inner(text)


_FOLLOWS: Mapping[str, Follow] = {
    "env": prefixes.env,
    "watch": prefixes.joined,
    **dict.fromkeys(("busybox", "toybox", "entr"), prefixes.applet),
    "eval": shells.evaluate,
    **dict.fromkeys(("source", "."), shells.source),
    **dict.fromkeys(("cd", "pushd"), shells.cd),
    **dict.fromkeys(("export", "declare", "local", "readonly", "typeset"), shells.declare),
    "alias": shells.alias,
    "read": shells.read,
    "set": shells.set_,
    "trap": shells.trap,
    **dict.fromkeys(("at", "batch"), shells.later),
    **dict.fromkeys(("xargs", "gxargs"), listings.xargs),
    "parallel": listings.parallel,
    **dict.fromkeys(("find", "gfind"), listings.find),
    **dict.fromkeys(("fd", "fdfind"), listings.fd),
    **dict.fromkeys(("su", "script"), programs.su),
    "ssh": programs.ssh,
    **dict.fromkeys(("docker", "podman", "kubectl", "oc"), programs.container),
    "git": programs.git,
    "ip": programs.ip,
    **dict.fromkeys(("tar", "gtar", "bsdtar"), programs.tar),
    **dict.fromkeys(("tmux", "screen", "xterm", "gnome-terminal", "konsole"), programs.terminal),
    **dict.fromkeys(("vim", "vi", "nvim", "ex", "view"), programs.editor),
}
