"""How much of what is dangerous the packs stop, and how much of what is harmless: the bars, on lists of our own.

A line of the lists is a command, ⏎ stands for a new line in it, and ## begins a section.
"""

from functools import cache
from pathlib import Path

import pytest

from hookline.packs.catalog import PACKS
from hookline.packs.commanded import judge_command

LISTS = Path(__file__).parent / "data"
EVERY = [pack.name for pack in PACKS.values()]
# Where the agent works must not matter: in a home, in a temporary directory, anywhere.
PLACES = [("/home/me/project", "/home/me"), ("/tmp/run/project", "/root"), ("/work/app", "/root")]  # noqa: S108


def commands(name: str) -> list[str]:
    lines = (LISTS / f"{name}.txt").read_text("utf-8").splitlines()
    return [line.replace("⏎", "\n") for line in lines if line and not line.startswith("## ")]


@cache
def judged(name: str, cwd: str, home: str) -> dict[str, set[tuple[str, str]]]:
    """Each command of a list with the packs that find something, and what they would do."""
    return {
        each: {(pack, finding.action) for pack in EVERY for finding in judge_command(pack, each, cwd, home, cwd)}
        for each in commands(name)
    }


def test_the_lists_are_long_and_say_nothing_twice() -> None:
    dangerous, harmless = commands("dangerous"), commands("harmless")
    assert len(dangerous) >= 1000
    assert len(harmless) >= 1500
    assert len({*dangerous, *harmless}) == len(dangerous) + len(harmless)


@pytest.mark.parametrize(("cwd", "home"), PLACES)
def test_what_is_dangerous_is_stopped(cwd: str, home: str) -> None:
    """By the pack about commands alone, and by a deny: a question may be answered by mistake."""
    found = judged("dangerous", cwd, home)
    missed = [each for each, by in found.items() if ("shell", "deny") not in by]
    assert len(missed) <= 0.08 * len(found), missed
    unseen = [each for each, by in found.items() if not by & {("shell", "deny"), ("shell", "ask")}]
    assert len(unseen) <= 0.04 * len(found), unseen


@pytest.mark.parametrize(("cwd", "home"), PLACES)
def test_what_is_harmless_is_let_through(cwd: str, home: str) -> None:
    """All packs together stop or ask about little; the pack about commands about next to nothing."""
    found = judged("harmless", cwd, home)
    stopped = [each for each, by in found.items() if by]
    assert len(stopped) <= 0.02 * len(found), stopped
    stopped = [each for each, by in found.items() if by & {("shell", "deny"), ("shell", "ask")}]
    assert len(stopped) <= 0.005 * len(found), stopped


@pytest.mark.parametrize(("cwd", "home"), PLACES)
@pytest.mark.parametrize("name", ["blind", "blind_again", "blind_third"])
def test_lists_that_were_written_without_the_rules_hold_the_bars(name: str, cwd: str, home: str) -> None:
    """Public knowledge about attacks, and everyday commands: all packs together, by a deny or a question."""
    dangerous, harmless = (judged(f"{name}_{kind}", cwd, home) for kind in ("dangerous", "harmless"))
    missed = [each for each, by in dangerous.items() if not by]
    assert len(missed) <= 0.05 * len(dangerous), missed
    stopped = [each for each, by in harmless.items() if by]
    assert len(stopped) <= 0.015 * len(harmless), stopped


@pytest.mark.attack("30.F9", "wrappers that no table has, options in clusters, marks that hand a line to a shell")
@pytest.mark.attack("30.B2", "code in rare languages, sed, find and git options that run or write")
def test_what_attacks_found_stays_stopped() -> None:
    """A list against regressions: commands that still passed when it was made were left out, so it is no rate."""
    cwd, home = PLACES[0]
    assert [each for each, by in judged("attacked_dangerous", cwd, home).items() if not by] == []
    assert [each for each, by in judged("attacked_harmless", cwd, home).items() if by] == []
