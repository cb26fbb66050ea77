"""Evaluates the rules of a pack for a shell command."""

import re
from functools import lru_cache

from hookline.guards.findings import UNSURE, Finding, Subject
from hookline.guards.rules import Rule, load
from hookline.guards.shell_eval.calls import Call
from hookline.guards.shell_eval.commands import Commands
from hookline.guards.shell_eval.downloads import note_downloads

_PLAIN_WRAPPERS = frozenset(("sudo", "doas", "nohup", "time", "nice", "ionice", "command", "exec", "timeout", "stdbuf"))
_SETS_VARIABLE = re.compile(r"[A-Za-z_]\w*=")


def evaluate_command(pack: str, command: str, cwd: str, home: str, project: str) -> tuple[Finding, ...]:
    """The rules that a command breaks. What can't be known is reported by the pack about commands."""
    commands = read(command, cwd, home, project)
    found = [_finding(rule, _subject(call, commands)) for rule, call in load(pack).found(commands)]
    unsure = [doubtful(each, command) for each in commands.doubts[:1]] if pack == "shell" else []
    return tuple(dict.fromkeys((*found, *unsure)))


def doubtful(why: str, command: str = "") -> Finding:
    """The finding for a command that can't be read to its end."""
    reason = f"It can't be known what this command does: {why}"
    return Finding(UNSURE, "ask", reason, "Write it out plainly.", Subject((command,), is_plain=False))


def _finding(rule: Rule, subject: Subject) -> Finding:
    return Finding(rule.id, rule.action, f"{rule.stops[0].upper()}{rule.stops[1:]}", rule.instead, subject)


def _subject(call: Call, commands: Commands) -> Subject:
    """The subject for patterns under `allow`: the words, if nothing around them changes their effect."""
    is_plain = not (call.assigned or call.writes or call.reads or call.given - {"shown"} or call.stdin.kinds)
    return Subject(call.words, call.cwd, commands.project, is_plain and _is_run_plainly(call, commands))


def _is_run_plainly(call: Call, commands: Commands) -> bool:
    """Whether the wrappers pass exactly these words to the program, and no variables."""
    outer = {each for other in commands.calls if other.words[1:] and other.program in call.via for each in other.words}
    return _PLAIN_WRAPPERS.issuperset(call.via) and not any(_SETS_VARIABLE.match(word) for word in outer)


# Several packs look at the same command.
@lru_cache(maxsize=64)
def read(command: str, cwd: str, home: str, project: str) -> Commands:
    """The calls in a command."""
    commands = Commands(cwd=cwd, home=home, project=project)
    commands.read(command)
    note_downloads(commands)
    return commands
