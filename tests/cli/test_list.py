import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Workbench


def hook(command: str, **more: Any) -> dict[str, Any]:
    return {"type": "command", "command": command, **more}


@pytest.fixture
def stocked(workbench: "Workbench") -> "Workbench":
    """A user's hook that fails, a project's hook that waits for trust, and one that is disabled."""
    workbench.write(
        workbench.project_file,
        {"hooks": {"BeforeTool": [{"matcher": "^ls$", "sequential": True, "hooks": [hook("true", name="guard")]}]}},
    )
    workbench.write(
        workbench.user_file,
        {
            "hooks": {"AfterTool": [{"hooks": [hook("exit 3", name="broken", timeout=1500), hook("echo off")]}]},
            "hooksConfig": {"disabled": ["echo off"]},
        },
    )
    return workbench


def test_every_hook_is_listed_with_all_that_is_known(stocked: "Workbench") -> None:
    """Place, options, state and what the log says, by event."""
    stocked.fire(event="AfterTool")
    stocked.fire(event="AfterTool")
    report = stocked.json("list")
    assert (report["enabled"], [entry["hook"] for entry in report["hooks"]]) == (True, ["guard", "broken", "echo off"])
    guard, broken, off = report["hooks"]
    assert guard == {
        "event": "BeforeTool",
        "hook": "guard",
        "command": "true",
        "name": "guard",
        "type": "command",
        "source": "project",
        "origin": str(stocked.project_file),
        "location": "hooks.BeforeTool[0].hooks[0]",
        "matcher": "^ls$",
        "timeout": 60000,
        "sequential": True,
        "description": None,
        "file": str(stocked.project_file),
        "line": 9,
        "state": "untrusted",
        "enabled": True,
        "disabledBy": None,
        "needsTrust": True,
        "trust": "new",
        "trusted": False,
        "onError": "allow",
        "budget": None,
        "lastRun": None,
        "runs": 0,
        "failures": 0,
        "median": None,
        "p95": None,
    }
    assert (broken["state"], broken["trusted"], broken["runs"], broken["failures"]) == ("on", True, 2, 2)
    assert 0 < broken["median"] <= broken["p95"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", broken["lastRun"])
    assert (off["state"], off["disabledBy"], off["runs"]) == ("disabled", str(stocked.user_file), 0)


def test_without_a_terminal_it_is_one_wide_table(stocked: "Workbench") -> None:
    """What is piped is neither cut nor coloured."""
    stocked.fire(event="AfterTool")
    lines = stocked.run("list").splitlines()
    assert lines[0].split() == [
        *("HOOK", "STATE", "MATCHER", "TIMEOUT", "ORDER", "RUNS", "FAILED", "MEDIAN", "P95", "LAST", "RUN", "FROM"),
    ]
    assert lines[1::2][:2] == ["BeforeTool", "AfterTool"]
    assert re.split(r"\s{2,}", lines[2].strip())[:6] == ["guard", "untrusted", "^ls$", "60 s", "sequential", "0"]
    assert re.split(r"\s{2,}", lines[4].strip())[:7] == ["broken", "on", "*", "1.5 s", "parallel", "1", "1"]
    assert lines[2].endswith(".llxprt/settings.json:9")
    assert lines[-1] == "1 hook without trust: look and decide with hookline trust"


@pytest.mark.parametrize("columns", [80, 200])
@pytest.mark.usefixtures("stocked")
def test_it_fits_on_a_terminal(columns: int, on_terminal: Callable[..., str]) -> None:
    """No line is wider than the screen; on a narrow one each hook has a few short lines."""
    shown = on_terminal("list", COLUMNS=str(columns))
    plain = re.sub(r"\x1b\[\d+m", "", shown)
    assert "\x1b[33muntrusted" in shown
    assert max(map(len, plain.splitlines())) <= columns
    assert ("timeout 1.5 s" in plain) is (columns == 80)
    assert ("LAST RUN" in plain) is (columns == 200)
    assert "\x1b" not in on_terminal("list", NO_COLOR="1")


def test_one_event_can_be_asked_for(stocked: "Workbench") -> None:
    """`--event` lists the hooks of that event alone."""
    assert [entry["hook"] for entry in stocked.json("list", "--event", "BeforeTool")["hooks"]] == ["guard"]
    assert "did you mean BeforeTool?" in stocked.run("list", "--event", "BeforeTol", code=1)


def test_hooks_are_listed_while_they_are_switched_off(workbench: "Workbench") -> None:
    """Somebody who wonders why nothing runs sees the hooks, and why."""
    workbench.write(
        workbench.user_file, json.dumps({"hooks": {"BeforeTool": [{"hooks": [hook("true", name="guard")]}]}})
    )
    printed = workbench.run("list")
    assert printed.startswith("Hooks are disabled: ")
    assert "guard" in printed


def test_nothing_configured_is_said(workbench: "Workbench") -> None:
    """An empty answer says what to do next."""
    assert "No hooks are configured; hookline init writes a first one." in workbench.run("list")


def test_a_name_cannot_paint_on_the_terminal(workbench: "Workbench") -> None:
    """A repository's names are shown, not obeyed."""
    workbench.write(
        workbench.project_file, {"hooks": {"BeforeTool": [{"hooks": [hook("true", name="a\x1b[2Jb\u202ec\nd")]}]}}
    )
    assert r"a\x1b[2Jb\u202ec d" in workbench.run("list")


def test_listing_leaves_no_trace(stocked: "Workbench") -> None:
    """Who only looks writes nothing, neither log nor trust."""
    stocked.run("list")
    assert not (stocked.home.parent / "state").exists()


@pytest.mark.parametrize(
    "words", [["list"], ["explain", "BeforeTool"], ["trust"], ["enable", "guard"], ["disable", "guard"]]
)
def test_a_project_that_is_not_there_is_told(words: list[str], workbench: "Workbench") -> None:
    """A slip of the pen in `--project` is not an empty project."""
    assert "nowhere is not a directory" in workbench.run(*words, "--project", "nowhere", code=1)
