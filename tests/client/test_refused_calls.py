"""A call that is refused before a hook judges it has a record like every other event, in every program."""

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.apps.agent.test_scheduler import Bench, Spy, call

from hookline import Config, Hooks, execute_tool_with_hooks, fire_before_tool_selection_hook
from hookline.apps.agent.toolbox import ToolBox
from hookline.apps.cli.main import main
from hookline.apps.ui.records import activity_of, timeline
from hookline.log.paths import log_path
from hookline.protocol.llm import LLMRequest

NONE = '{"hookSpecificOutput":{"toolConfig":{"mode":"NONE"}}}'
CHOOSER = {"BeforeToolSelection": [{"hooks": [{"type": "command", "name": "chooser", "command": f"echo '{NONE}'"}]}]}
SETTINGS = {"enableHooks": True, "hooks": CHOOSER}
REQUEST: LLMRequest = {"model": "m", "messages": [{"role": "user", "content": "x"}]}


def by_triggers(project: Path) -> None:
    """Calls the tool through the specification's functions."""

    async def go() -> None:
        config = Config(project, session_id="s", settings=SETTINGS)
        await fire_before_tool_selection_hook(config, {"model": "m", "contents": []})  # type: ignore[arg-type]
        await execute_tool_with_hooks(config, "t", {"command": "ls"}, _tool)
        system = config.get_hook_system()
        assert system is not None
        system.dispose()

    asyncio.run(go())


def by_session(project: Path) -> None:
    """Calls the tool through the blocking form of a session."""
    with Hooks(project, settings=SETTINGS) as hooks:
        session = hooks.session("s").sync
        session.select_tools(REQUEST, ["t"])
        session.run_tool("t", {"command": "ls"}, lambda _: "ran")


def by_agent(project: Path) -> None:
    """Calls the tool through the agent's scheduler."""
    bench = Bench(project, ToolBox([Spy(name="t")]), CHOOSER)
    bench.run(call("t", command="ls"), allowed=[], by=["chooser"])
    system = bench.config.get_hook_system()
    assert system is not None
    system.dispose()


async def _tool(_: Mapping[str, Any]) -> str:
    return "ran"


@pytest.mark.parametrize("run", [by_triggers, by_session, by_agent])
def test_a_call_that_the_choice_of_tools_forbids_is_recorded(
    project: Path, run: Callable[[Path], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """As blocked, with its command and the hook that chose; the log, its counts and the page show it."""
    run(project)
    logged = [json.loads(line) for line in log_path(None).read_text().splitlines()]
    (found,) = [one for one in logged if one["kind"] == "event" and one["event"] == "BeforeTool"]
    assert (found["outcome"], found["decider"], found["by"]) == ("blocked", "hook", ["chooser"])
    assert (found["subject"], found["call"]) == ("t", "ls")
    capsys.readouterr()
    assert main(["log", "--all-projects", "--decision", "blocked"]) == 0
    assert "BeforeTool t: blocked: t " in capsys.readouterr().out
    (row,) = [row for row in timeline(log_path(None), {})["rows"] if row["outcome"] == "blocked"]
    assert list(row["by"]) == ["chooser"]
    assert activity_of(log_path(None), {})["blockedCalls"] == [{"tool": "t", "call": "ls", "count": 1}]


def test_arguments_that_are_no_object_are_recorded(project: Path) -> None:
    """The refusal is a separate event, without a hook that decided."""
    with Hooks(project, settings=SETTINGS) as hooks:
        hooks.session("s").sync.run_tool("t", "rm -rf /", lambda _: "ran")  # type: ignore[arg-type]
    logged = [json.loads(line) for line in log_path(None).read_text().splitlines()]
    (found,) = [one for one in logged if one["kind"] == "event"]
    assert (found["outcome"], found["blocked"], found.get("by", [])) == ("blocked", True, [])
    assert "can't be read as a mapping" in found["message"]
