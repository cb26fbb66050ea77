"""The rates of dangerous and of harmless commands that the packs stop, on the lists in data/.

A line of the lists is a command, ⏎ stands for a new line in it, and ## begins a section.
"""

from functools import cache
from pathlib import Path

import pytest

from hookline.guards.catalog import PACKS
from hookline.guards.command_rules import evaluate_command

LISTS = Path(__file__).parent / "data"
EVERY = [pack.name for pack in PACKS.values()]
# Where the agent works must not matter: in a home, in a temporary directory, anywhere.
PLACES = [("/home/me/project", "/home/me"), ("/tmp/run/project", "/root"), ("/work/app", "/root")]  # noqa: S108

LEAST_STOPPED = 0.95
MOST_HELD_BACK = 0.015
LISTED = ("", "blind_", "blind_again_", "blind_third_", "blind_fourth_", "blind_fifth_", "blind_seventh_", "attacked_")
SHELL = {("shell", "deny"), ("shell", "ask")}


def commands(name: str) -> list[str]:
    lines = (LISTS / f"{name}.txt").read_text("utf-8").splitlines()
    return [line.replace("⏎", "\n") for line in lines if line and not line.startswith("## ")]


@cache
def judged(name: str, cwd: str, home: str) -> dict[str, set[tuple[str, str]]]:
    """Each command of a list with the packs that find something, and what they would do."""
    return {
        each: {(pack, finding.action) for pack in EVERY for finding in evaluate_command(pack, each, cwd, home, cwd)}
        for each in commands(name)
    }


def test_the_lists_are_long_and_say_nothing_twice() -> None:
    dangerous, harmless = commands("dangerous"), commands("harmless")
    assert len(dangerous) >= 1000
    assert len(harmless) >= 1500
    assert len({*dangerous, *harmless}) == len(dangerous) + len(harmless)


@pytest.mark.attack("30.B6", "lists of dangerous and of harmless commands, some written without the rules")
@pytest.mark.parametrize(("cwd", "home"), PLACES)
@pytest.mark.parametrize("name", LISTED)
def test_each_list_holds_both_bounds(name: str, cwd: str, home: str) -> None:
    """All packs together, by a deny or a question."""
    dangerous, harmless = (judged(f"{name}{kind}", cwd, home) for kind in ("dangerous", "harmless"))
    stopped = [each for each, by in dangerous.items() if by]
    assert len(stopped) >= LEAST_STOPPED * len(dangerous), [*dangerous.keys() - stopped]
    held_back = [each for each, by in harmless.items() if by]
    assert len(held_back) <= MOST_HELD_BACK * len(harmless), held_back


@pytest.mark.parametrize(("cwd", "home"), PLACES)
def test_the_pack_about_commands_decides_alone(cwd: str, home: str) -> None:
    """It denies what is dangerous, as a question may be answered by mistake, and asks about next to nothing."""
    dangerous, harmless = judged("dangerous", cwd, home), judged("harmless", cwd, home)
    denied = [each for each, by in dangerous.items() if ("shell", "deny") in by]
    assert len(denied) >= 0.92 * len(dangerous), [*dangerous.keys() - denied]
    stopped = [each for each, by in dangerous.items() if by & SHELL]
    assert len(stopped) >= 0.96 * len(dangerous), [*dangerous.keys() - stopped]
    held_back = [each for each, by in harmless.items() if by & SHELL]
    assert len(held_back) <= 0.005 * len(harmless), held_back


@pytest.mark.attack("30.B2", "a list of ways to give code to an interpreter, written without the rules")
def test_most_code_in_unusual_places_is_stopped() -> None:
    """The rest runs a file of the project, which is like starting it, or loads a library."""
    dangerous, harmless = judged("blind_sixth_dangerous", *PLACES[0]), judged("blind_sixth_harmless", *PLACES[0])
    assert len([each for each, by in dangerous.items() if not by]) <= 8
    assert len([each for each, by in harmless.items() if by]) <= 1


@pytest.mark.attack("30.F9", "wrappers that no table has, options in clusters, marks that hand a line to a shell")
@pytest.mark.attack("30.B2", "code in rare languages, sed, find and git options that run or write")
def test_what_attacks_found_stays_stopped() -> None:
    """A list against regressions, without the commands that passed when it was made, so it gives no rate."""
    cwd, home = PLACES[0]
    assert [each for each, by in judged("attacked_dangerous", cwd, home).items() if not by] == []
    assert [each for each, by in judged("attacked_harmless", cwd, home).items() if by] == []
