"""What the rules of a pack find in a shell command."""

from functools import lru_cache

from hookline.packs.findings import UNSURE, Finding
from hookline.packs.reading.commands import Commands
from hookline.packs.reading.downloads import note_downloads
from hookline.packs.rules import Rule, load


def judge_command(pack: str, command: str, cwd: str, home: str, project: str) -> tuple[Finding, ...]:
    """The rules that a command breaks. What can't be known is reported by the pack about commands."""
    commands = read(command, cwd, home, project)
    found = [_finding(rule, call.line) for rule, call in load(pack).found(commands)]
    doubts = commands.doubts[:1] if pack == "shell" else ()
    unsure = [
        Finding(UNSURE, "ask", f"It can't be known what this command does: {each}", "", command) for each in doubts
    ]
    return tuple(dict.fromkeys((*found, *unsure)))


def _finding(rule: Rule, subject: str) -> Finding:
    return Finding(rule.id, rule.action, f"{rule.stops[0].upper()}{rule.stops[1:]}: {rule.why}", rule.instead, subject)


# Several packs look at the same command.
@lru_cache(maxsize=64)
def read(command: str, cwd: str, home: str, project: str) -> Commands:
    """What a command runs."""
    commands = Commands(cwd=cwd, home=home, project=project)
    commands.read(command)
    note_downloads(commands)
    return commands
