import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.apps.cli.conftest import Workbench


def write_log(workbench: "Workbench", *runs: dict[str, Any]) -> None:
    """A log of these runs, as the engine writes them."""
    file = workbench.home.parent / "state" / "hooks.jsonl"
    file.parent.mkdir(exist_ok=True)
    common = {"kind": "hook", "event": "BeforeTool", "success": True, "exitCode": 0, "origin": str(workbench.user_file)}
    with file.open("a") as log:
        for run in runs:
            record = {"time": "2025-02-18T16:30:00.000Z", **common, "hook": "guard", **run}
            log.write(json.dumps(record, separators=(",", ":")) + "\n")


@pytest.fixture
def measured(workbench: "Workbench") -> "Workbench":
    """A hook with a budget of 50 ms, and a hundred runs of which six took longer."""
    hooks = [{"type": "command", "command": "true", "name": "guard", "budget": 50}]
    workbench.write(workbench.user_file, {"hooks": {"BeforeTool": [{"hooks": hooks}]}})
    write_log(workbench, *({"duration": 3.0, "way": "warm"} for _ in range(90)))
    write_log(workbench, *({"duration": 30, "way": "cold"} for _ in range(4)))
    write_log(workbench, {"duration": 70, "success": False, "exitCode": 2, "decision": "deny"})
    write_log(workbench, *({"duration": 80, "level": "warn", "success": False, "exitCode": 1} for _ in range(4)))
    write_log(
        workbench,
        {"duration": 5000, "level": "warn", "success": False, "timedOut": True, "error": "timed out after 5000ms"},
    )
    return workbench


@pytest.mark.req("WARM-009")
def test_runs_are_counted_and_measured(measured: "Workbench") -> None:
    """Per hook: runs, blocks, failures, timeouts, p50, p95, max, the budget, and a histogram."""
    report = measured.json("log", "--stats")
    chart = {name: report.pop(name) for name in ("events", "step", "chart", "blockedCalls")}
    assert chart == {"events": {}, "step": 600, "chart": [], "blockedCalls": []}
    assert report == {
        "overBudget": 1,
        "hooks": [
            {
                "event": "BeforeTool",
                "hook": "guard",
                "origin": str(measured.user_file),
                "runs": 100,
                "blocks": 1,
                "failures": 5,
                "timeouts": 1,
                "ways": {"warm": 90, "cold": 4},
                "p50": 3.0,
                "p95": 70.0,
                "max": 5000.0,
                "budget": 50,
                "overBudget": True,
                "lastRun": "2025-02-18T16:30:00.000Z",
                "histogram": [
                    {"from": 2.0, "below": 5.0, "runs": 90},
                    {"from": 5.0, "below": 10.0, "runs": 0},
                    {"from": 10.0, "below": 20.0, "runs": 0},
                    {"from": 20.0, "below": 50.0, "runs": 4},
                    {"from": 50.0, "below": 100.0, "runs": 5},
                    {"from": 100.0, "below": 200.0, "runs": 0},
                    {"from": 200.0, "below": 500.0, "runs": 0},
                    {"from": 500.0, "below": 1000.0, "runs": 0},
                    {"from": 1000.0, "below": 2000.0, "runs": 0},
                    {"from": 2000.0, "below": 5000.0, "runs": 0},
                    {"from": 5000.0, "below": 10000.0, "runs": 1},
                ],
            }
        ],
        "idle": [],
    }


@pytest.mark.req("WARM-009")
def test_people_see_a_histogram(measured: "Workbench") -> None:
    """Bars are as long as the runs are many, and every run is seen."""
    lines = measured.run("log", "--stats").splitlines()
    assert lines[:4] == [
        "BeforeTool guard  ~/.llxprt/settings.json",
        "  100 runs (90 warm, 4 cold), 1 block, 5 failures, 1 timeout",
        "  p50 3 ms, p95 70 ms, max 5 s, budget 50 ms: over",
        f"      < 5 ms  90  {'█' * 50}",
    ]
    assert lines[7] == "    < 100 ms   5  ███"
    assert lines[-1] == "1 hook over budget: guard"


@pytest.mark.parametrize(
    ("budget", "code"),
    [pytest.param(69, 1, id="over"), pytest.param(70, 0, id="within"), pytest.param(None, 0, id="none")],
)
def test_a_budget_can_fail_a_build(budget: int | None, code: int, measured: "Workbench") -> None:
    """With `--fail-over-budget` a p95 over the budget is exit code 1; without it never."""
    settings = json.loads(measured.user_file.read_text())
    settings["hooks"]["BeforeTool"][0]["hooks"][0]["budget"] = budget
    measured.write(measured.user_file, settings)
    measured.run("log", "--stats", "--fail-over-budget", code=code)
    measured.run("log", "--stats")


@pytest.mark.parametrize(
    ("words", "runs"),
    [
        (["--hook", "other"], []),
        (["--event", "AfterTool"], []),
        (["--since", "7d"], []),
        (["--since", "2025-02-18T00:00Z"], [100]),
    ],
)
def test_the_runs_are_chosen_by_options(words: list[str], runs: list[int], measured: "Workbench") -> None:
    """As for the log."""
    assert [entry["runs"] for entry in measured.json("log", "--stats", *words)["hooks"]] == runs


def test_real_runs_are_measured(workbench: "Workbench") -> None:
    """The counted records are those that the engine writes."""
    hooks = [{"type": "command", "command": "exit 2", "name": "no"}]
    workbench.write(workbench.user_file, {"hooks": {"BeforeTool": [{"hooks": hooks}]}})
    workbench.fire()
    workbench.fire()
    (entry,) = workbench.json("log", "--stats")["hooks"]
    assert (entry["runs"], entry["blocks"], entry["failures"]) == (2, 2, 0)
    assert 0 < entry["p50"] <= entry["p95"] <= entry["max"]


def test_nothing_recorded_is_said(workbench: "Workbench") -> None:
    """An empty answer names the log."""
    assert (
        workbench.run("log", "--stats")
        == f"No run of a hook is recorded in {workbench.home.parent}/state/hooks.jsonl.\n"
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(["--hook", "no\x1bpe"], r"No run of the hook no\x1bpe is recorded in ", id="hook"),
        pytest.param(["--event", "AfterTool"], "No run like that is recorded in ", id="event"),
        pytest.param(["--hook", "guard", "--since", "7d"], "No run like that is recorded in ", id="hook-and-time"),
    ],
)
def test_nothing_found_is_not_nothing_recorded(words: list[str], said: str, measured: "Workbench") -> None:
    """Runs of others are recorded, so only the requested ones are reported as missing."""
    assert measured.run("log", "--stats", *words).splitlines()[-1] == f"{said}{measured.home.parent}/state/hooks.jsonl."


def test_lines_that_cannot_be_counted_are_said(measured: "Workbench") -> None:
    """A damaged line may have been a run or a block."""
    with (measured.home.parent / "state" / "hooks.jsonl").open("a") as log:
        log.write('{"torn\n')
    shown = measured.run("log", "--stats", "--fail-over-budget", code=1)
    assert "1 line of" in shown
    assert "could not be read, so runs may be missing; see hookline log --verify" in shown
    assert "100 runs" in shown


@pytest.mark.req("HOOK-146")
def test_never_ran_is_not_never_fired(measured: "Workbench") -> None:
    """Of a hook without runs, people and programs learn how often its event was fired; a disabled hook is left out."""
    settings = json.loads(measured.user_file.read_text())
    own = {"type": "command", "command": "true"}
    settings["hooks"]["BeforeTool"] += [{"hooks": [{**own, "name": "new"}, {**own, "name": "off", "enabled": False}]}]
    settings["hooks"]["AfterTool"] = [{"hooks": [{**own, "name": "late"}]}]
    measured.write(measured.user_file, settings)
    write_log(measured, {"kind": "event"}, {"kind": "unmatched", "count": 1}, {"kind": "unmatched", "count": 40})
    place = {"origin": str(measured.user_file)}
    assert measured.json("log", "--stats")["idle"] == [
        {"event": "BeforeTool", "hook": "new", **place, "fired": 42},
        {"event": "AfterTool", "hook": "late", **place, "fired": 0},
    ]
    assert [hook["hook"] for hook in measured.json("log", "--stats", "--hook", "late")["idle"]] == ["late"]
    assert [hook["hook"] for hook in measured.json("log", "--stats", "--event", "BeforeTool")["idle"]] == ["new"]
    lines = measured.run("log", "--stats").splitlines()
    new, late = (lines.index(f"{name}  ~/.llxprt/settings.json") for name in ("BeforeTool new", "AfterTool late"))
    assert (
        lines[new + 1] == "  no runs: BeforeTool fired 42 times; hookline fire --plan BeforeTool shows which hooks run"
    )
    assert lines[late + 1] == "  no runs: AfterTool was never fired"
    assert lines[-1] == "1 hook over budget: guard"


@pytest.mark.usefixtures("measured")
def test_bars_fit_the_terminal(on_terminal: Callable[..., str]) -> None:
    """On a narrow terminal the bars are shorter."""
    plain = re.sub(r"\x1b\[\d+m", "", on_terminal("log", "--stats", COLUMNS="40"))
    assert max(len(line) for line in plain.splitlines() if "█" in line) <= 40


def test_the_runs_of_this_project_are_counted(measured: "Workbench") -> None:
    """Those of others with --all-projects; those of older versions, which name no project, in any case."""
    measured.write(measured.project_file, {})
    here, other = str(measured.project.resolve()), "/elsewhere"
    write_log(measured, *({"duration": 3.0, "project": place} for place in (here, other, other)))
    for words, runs in (((), 101), (("--all-projects",), 103), (("--session", "s"), None)):
        assert [hook["runs"] for hook in measured.json("log", "--stats", *words)["hooks"]] == ([runs] if runs else [])
