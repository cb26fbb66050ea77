"""Evaluates the rules of a pack for a shell command."""

import posixpath
import re
from functools import lru_cache

from hookline.guards.facts import SHELLS, data
from hookline.guards.findings import UNSURE, RuleFinding, Subject
from hookline.guards.rules import Rule, load
from hookline.guards.shell_eval.calls import ProgramCall
from hookline.guards.shell_eval.commands import Commands
from hookline.guards.shell_eval.programs.table import reader

_PROGRAMS = data("transfers")["programs"]
_PLAIN_WRAPPERS = frozenset(("sudo", "doas", "nohup", "time", "nice", "ionice", "command", "exec", "timeout", "stdbuf"))
_SETS_VARIABLE = re.compile(r"[A-Za-z_]\w*=")


def evaluate_command(pack: str, command: str, cwd: str, home: str, project: str) -> tuple[RuleFinding, ...]:
    """The rules that a command breaks. What can't be known is reported by the pack about commands."""
    commands = read(command, cwd, home, project)
    found = [_finding(rule, _subject(call, commands)) for rule, call in load(pack).found(commands)]
    unsure = [doubtful(each, command) for each in commands.doubts[:1]] if pack == "shell" else []
    return tuple(dict.fromkeys((*found, *unsure)))


def doubtful(why: str, command: str = "") -> RuleFinding:
    """The finding for a command that can't be read to its end."""
    reason = f"It can't be known what this command does: {why}"
    return RuleFinding(UNSURE, "ask", reason, "Write it out plainly.", Subject((command,), is_plain=False))


def _finding(rule: Rule, subject: Subject) -> RuleFinding:
    return RuleFinding(rule.id, rule.action, f"{rule.stops[0].upper()}{rule.stops[1:]}", rule.instead, subject)


def _subject(call: ProgramCall, commands: Commands) -> Subject:
    """The subject for patterns under `allow`: the words, if nothing around them changes their effect."""
    is_plain = not (call.assigned or call.writes or call.reads or call.given - {"shown"} or call.stdin.kinds)
    return Subject(call.words, call.cwd, commands.project, is_plain and _is_run_plainly(call, commands))


def _is_run_plainly(call: ProgramCall, commands: Commands) -> bool:
    """Whether the wrappers pass exactly these words to the program, and no variables."""
    outer = {each for other in commands.calls if other.words[1:] and other.program in call.via for each in other.words}
    return _PLAIN_WRAPPERS.issuperset(call.via) and not any(_SETS_VARIABLE.match(word) for word in outer)


# Several packs look at the same command.
@lru_cache(maxsize=64)
def read(command: str, cwd: str, home: str, project: str) -> Commands:
    """The calls in a command."""
    commands = reader(cwd=cwd, home=home, project=project)
    commands.read(command)
    _note_downloads(commands)
    return commands


def _note_downloads(commands: Commands) -> None:
    """Adds a call `run-download` if the same command runs a file that it has downloaded."""
    downloaded: set[str] = set()
    for call in list(commands.calls):
        if call.program in _PROGRAMS["downloading"]:
            downloaded |= _files(call)
        elif downloaded and _runs(call) & downloaded:
            commands.calls.append(ProgramCall(("run-download",), cwd=commands.cwd))
            return


def _files(call: ProgramCall) -> set[str]:
    target = call.value_of("-o", "--output", "-O", "--output-document") if call.program != "curl" else None
    target = call.value_of("-o", "--output") if call.program == "curl" else target
    found = {call.path(each) for each in (*call.writes, *([target] if target else []))}
    folder = call.value_of("-P", "--directory-prefix", "--output-dir") or "."
    for word in call.words[1:]:
        # wget, and curl -O, name the file after the address.
        is_address = re.match(r"https?://", word) or re.match(r"[\w-]+(?:\.[\w-]+)+/", word)
        if is_address and (call.program != "curl" or call.flags & {"-O", "--remote-name"}):
            found.add(call.path(f"{folder}/{posixpath.basename(word.split('?')[0])}"))
    return found


def _runs(call: ProgramCall) -> set[str]:
    found = {call.path(call.words[0])} if "/" in call.words[0] else set()
    if call.program in SHELLS or call.program in _PROGRAMS["running_files"]:
        found |= {call.path(each) for each in call.operands[:1]}
    return found
