"""The pack hookline:shell: what a command destroys, where it escapes to, and what it leaks."""

from functools import lru_cache

from hookline.packs.commands import Commands
from hookline.packs.downloads import note_downloads
from hookline.packs.findings import UNSURE, Finding
from hookline.packs.rules import load


@lru_cache(maxsize=256)
def judge(command: str, cwd: str, home: str, project: str) -> tuple[Finding, ...]:
    """What the rules find in a command, each rule once; and what could not be known."""
    commands = Commands(cwd=cwd, home=home, project=project)
    commands.read(command)
    note_downloads(commands)
    found = {
        rule.id: Finding(rule.id, rule.action, f"{rule.stops[0].upper()}{rule.stops[1:]}: {rule.why}", rule.instead)
        for rule, _ in load("shell").found(commands)
    }
    doubts = [Finding(UNSURE, "ask", f"It can't be known what this command does: {each}.") for each in commands.doubts]
    return (*found.values(), *doubts[:1])
