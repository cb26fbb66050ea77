import asyncio
import json
import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from tests.patience import until

from hookline import Hooks
from hookline.hook import BeforeTool
from hookline.runners.process.features import FEATURES
from hookline.settings.read.paths import SettingsPaths

if TYPE_CHECKING:
    from tests.apps.cli.conftest import Workbench


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
        "final": False,
        "description": None,
        "file": str(stocked.project_file),
        "line": 9,
        "state": "untrusted",
        "order": "sequential",
        "enabled": True,
        "disabledBy": None,
        "needsTrust": True,
        "trust": "new",
        "trusted": False,
        "uncovered": [],
        "problem": "does not run: hooks of a project need trust; look at it and run: hookline trust",
        "onError": "allow",
        "budget": None,
        "lastRun": None,
        "words": {
            "configured": False,
            "observed": None,
            "enforced": None,
            "observedBy": None,
            "enforcedBy": None,
        },
        "runs": 0,
        "ways": {},
        "failures": 0,
        "median": None,
        "p95": None,
    }
    assert (broken["state"], broken["trusted"], broken["runs"], broken["failures"]) == ("on", True, 2, 2)
    assert 0 < broken["median"] <= broken["p95"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", broken["lastRun"])
    assert (off["state"], off["disabledBy"], off["runs"]) == ("disabled", str(stocked.user_file), 0)


@pytest.mark.req("WARM-009")
def test_without_a_terminal_it_is_one_wide_table(stocked: "Workbench") -> None:
    """Piped output is neither cut nor coloured."""
    stocked.fire(event="AfterTool")
    lines = stocked.run("list").splitlines()
    assert lines[0].split() == [
        *("HOOK", "STATE", "MATCHER", "TIMEOUT", "ORDER", "RUNS", "FAILED", "MEDIAN", "P95", "LAST", "RUN"),
        *("EVIDENCE", "FROM"),
    ]
    assert lines[1::2][:2] == ["BeforeTool", "AfterTool"]
    assert re.split(r"\s{2,}", lines[2].strip())[:6] == ["guard", "untrusted", "^ls$", "60 s", "sequential", "0"]
    assert re.split(r"\s{2,}", lines[4].strip())[:7] == ["broken", "on", "*", "1.5 s", "parallel", "1 (cold)", "1"]
    assert lines[2].endswith(".llxprt/settings.json:9")
    assert lines[-1] == "1 hook is not trusted and does not run; look at it and run: hookline trust"


@pytest.mark.req("WARM-009")
def test_warm_runs_are_shown(workbench: "Workbench") -> None:
    """With how many of them there were in each way."""
    script = workbench.script("import sys\nsys.stdin.read()\n", "guard.py")
    entry = hook(f"{sys.executable} {script}", name="guard")
    workbench.write(workbench.user_file, {"hooks": {"BeforeTool": [{"hooks": [entry]}]}})
    paths = SettingsPaths(project=workbench.project_file, user=workbench.user_file, system=workbench.project / "none")
    with (
        patch.dict(vars(FEATURES), {"warm": True}),
        Hooks(workbench.project, settings_paths=paths) as hooks,
    ):
        session = hooks.session().sync

        def warm_runs() -> int:
            session.before_tool("ls", {})
            return int(workbench.json("list")["hooks"][0]["ways"].get("warm", 0))

        until(lambda: warm_runs() > 1)
    (listed,) = workbench.json("list")["hooks"]
    runs, ways = listed["runs"], listed["ways"]
    assert (runs, ways["cold"] >= 2) == (ways["warm"] + ways["cold"], True)
    shown = re.split(r"\s{2,}", workbench.run("list").splitlines()[2].strip())[5]
    assert shown in {
        f"{runs} ({ways['cold']} cold, {ways['warm']} warm)",
        f"{runs} ({ways['warm']} warm, {ways['cold']} cold)",
    }


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_it_fits_on_a_terminal(columns: int, stocked: "Workbench", on_terminal: Callable[..., str]) -> None:
    """No line is wider than the screen; on a narrow one each hook has a few short lines, and nothing is left out."""
    stocked.fire(event="AfterTool")
    shown = on_terminal("list", COLUMNS=str(columns))
    plain = re.sub(r"\x1b\[\d+m", "", shown)
    assert "\x1b[33muntrusted" in shown
    assert max(map(len, plain.splitlines())) <= columns
    assert ("timeout 1.5 s" in plain) is (columns <= 80)
    assert "observed" not in plain  # `hookline fire` is not evidence
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
    assert " on " not in printed
    assert " off " in printed
    assert "guard" in printed
    assert "configured" not in printed
    (guard,) = workbench.json("list")["hooks"]
    assert (guard["state"], guard["words"]["configured"]) == ("off", False)


def test_nothing_configured_is_said(workbench: "Workbench") -> None:
    """An empty answer says what to do next."""
    assert "No hooks are configured; hookline init writes a first one." in workbench.run("list")


def orders(workbench: "Workbench") -> dict[str, tuple[str, str]]:
    """State and order of every hook, by name."""
    return {entry["hook"]: (entry["state"], entry["order"]) for entry in workbench.json("list")["hooks"]}


@pytest.mark.parametrize(
    ("sequential", "parallel", "order"),
    [
        pytest.param("*", "*", "sequential", id="always-together"),
        pytest.param("*", "^deploy_[a-z]+", "sequential", id="with-a-tool-that-nobody-knows"),
        pytest.param("^(glob|replace)$", "^glob$", "sequential", id="together-for-its-only-tool"),
        pytest.param("^glob$", "*", "either", id="together-for-one-tool"),
        pytest.param("^glob$", "^replace$", "parallel", id="never-together"),
    ],
)
def test_the_order_is_that_of_the_plan(sequential: str, parallel: str, order: str, workbench: "Workbench") -> None:
    """One group that says sequential says it for all that run together with it."""
    groups = [
        {"matcher": sequential, "sequential": True, "hooks": [hook("true", name="first")]},
        {"matcher": parallel, "hooks": [hook("echo", name="second")]},
    ]
    workbench.write(workbench.user_file, {"hooks": {"BeforeTool": groups}})
    assert orders(workbench) == {"first": ("on", "sequential"), "second": ("on", order)}
    assert workbench.json("list")["hooks"][1]["sequential"] is False
    assert re.split(r"\s{2,}", workbench.run("list").splitlines()[3].strip())[4] == order


def test_a_group_that_does_not_run_sets_no_order(workbench: "Workbench") -> None:
    """Neither a disabled hook nor one without trust makes others wait."""
    sequential = {"sequential": True, "hooks": [hook("true", name="guest")]}
    workbench.write(workbench.project_file, {"hooks": {"AfterModel": [sequential]}})
    off = {"sequential": True, "hooks": [hook("false", name="off")]}
    own = {"hooks": [hook("echo", name="own")]}
    workbench.write(workbench.user_file, {"hooks": {"AfterModel": [off, own]}, "hooksConfig": {"disabled": ["off"]}})
    assert orders(workbench)["own"] == ("on", "parallel")


@pytest.mark.parametrize(
    ("matcher", "state"),
    [
        pytest.param("^glob$", "duplicate", id="the-same-matcher"),
        pytest.param("glob|replace", "on", id="a-wider-matcher"),
        pytest.param("^replace$", "on", id="another-matcher"),
    ],
)
def test_a_duplicate_that_never_runs_is_not_on(matcher: str, state: str, workbench: "Workbench") -> None:
    """It is on if there is a tool for which it runs."""
    groups = [
        {"matcher": "^glob$", "hooks": [hook("true", name="first")]},
        {"matcher": matcher, "hooks": [hook("true", name="second")]},
    ]
    workbench.write(workbench.user_file, {"hooks": {"BeforeTool": groups}})
    assert {name: shown for name, (shown, _) in orders(workbench).items()} == {"first": "on", "second": state}


def test_a_twin_without_trust_makes_no_duplicate(workbench: "Workbench") -> None:
    """Only a hook that runs can run in place of another, and the more trusted file's is the one that runs."""
    groups = {"hooks": {"BeforeTool": [{"matcher": "^deploy_[a-z]+", "hooks": [hook("true", name="guest")]}]}}
    workbench.write(workbench.project_file, groups)
    workbench.write(workbench.user_file, json.dumps(groups).replace("guest", "own"))
    assert {name: shown for name, (shown, _) in orders(workbench).items()} == {"guest": "untrusted", "own": "on"}
    workbench.run("trust", "--yes")
    assert {name: shown for name, (shown, _) in orders(workbench).items()} == {"guest": "duplicate", "own": "on"}


@pytest.mark.parametrize(
    ("hooks", "said"),
    [
        pytest.param({"PreToolUse": [{"hooks": [hook("true")]}]}, "1 problem", id="unknown-event"),
        pytest.param([], "1 problem", id="no-object"),
        pytest.param({"BeforeTool": {"hooks": [hook("true")]}}, "1 problem", id="no-array"),
        pytest.param({"BeforeTool": [1, {"hooks": [hook("")]}]}, "2 problems", id="two"),
    ],
)
def test_hooks_that_cannot_be_used_are_not_said_to_be_missing(hooks: Any, said: str, workbench: "Workbench") -> None:
    """Somebody who has configured hooks is sent to what is wrong with them."""
    workbench.write(workbench.user_file, {"hooks": hooks})
    assert workbench.run("list") == f"No usable hook is configured; hookline check shows {said} in the settings.\n"


def test_an_event_without_hooks_is_no_empty_project(stocked: "Workbench") -> None:
    """Hooks of other events are configured."""
    assert stocked.run("list", "--event", "SessionEnd") == "No hook of SessionEnd is configured.\n"


def test_a_name_cannot_paint_on_the_terminal(workbench: "Workbench") -> None:
    """A repository's names are shown, not obeyed."""
    workbench.write(
        workbench.project_file, {"hooks": {"BeforeTool": [{"hooks": [hook("true", name="a\x1b[2Jb\u202ec\nd")]}]}}
    )
    assert r"a\x1b[2Jb\u202ec d" in workbench.run("list")


def test_listing_leaves_no_trace(stocked: "Workbench") -> None:
    """Without a decision of the user nothing is written, neither log nor trust."""
    stocked.run("list")
    assert not (stocked.home.parent / "state").exists()


@pytest.mark.parametrize(
    "words", [["list"], ["fire", "--plan", "BeforeTool"], ["trust"], ["enable", "guard"], ["disable", "guard"]]
)
def test_a_project_that_is_not_there_is_told(words: list[str], workbench: "Workbench") -> None:
    """A slip of the pen in `--project` is not an empty project."""
    assert "nowhere is not a directory" in workbench.run(*words, "--project", "nowhere", code=1)


def test_functions_of_programs_are_listed_from_the_log(stocked: "Workbench") -> None:
    """A program's functions are in no settings file, so the log tells of them; a name can't paint on the terminal."""

    async def run(_event: BeforeTool) -> None:
        await asyncio.sleep(0)

    none = stocked.project / "none.json"
    hooks = Hooks(stocked.project, settings_paths=SettingsPaths(project=none, user=none, system=none))
    hooks.on("BeforeTool", name="clear\x1b[2J")(run)
    hooks.session().sync.before_tool("ls", {})
    hooks.close()
    (function,) = stocked.json("list")["functions"]
    where = f"{__name__}:test_functions_of_programs_are_listed_from_the_log.<locals>.run"
    assert (function["event"], function["function"], function["runs"]) == ("BeforeTool", where, 1)
    shown = stocked.run("list")
    assert "Functions that programs registered, as far as the log has seen them:\n  BeforeTool clear" in shown
    assert "\x1b[2J" not in shown
    assert stocked.json("list", "--event", "AfterTool")["functions"] == []


def test_hooks_of_packages_are_listed_and_explained(workbench: "Workbench") -> None:
    """A plugin that the settings name is a hook like any other, whether or not its package is installed here."""
    plugin = {"type": "plugin", "plugin": "my-guards:no-writes"}
    workbench.write(workbench.user_file, {"hooks": {"BeforeTool": [{"matcher": "^write_", "hooks": [plugin]}]}})
    (listed,) = workbench.json("list")["hooks"]
    assert (listed["hook"], listed["type"], listed["plugin"], listed["state"]) == (
        "my-guards:no-writes",
        "plugin",
        "my-guards:no-writes",
        "on",
    )
    (planned,) = workbench.json("fire", "--plan", "BeforeTool", "--tool", "write_file")["hooks"]
    assert planned["hook"] == "my-guards:no-writes"
    assert "my-guards:no-writes" in workbench.run("list")
    assert "1. my-guards:no-writes" in workbench.run("fire", "--plan", "BeforeTool", "--tool", "write_file")
