"""The log has the answer to each question whether a tool may run, of a user or a program."""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.apps.agent.test_scheduler import Bench, Person, Spy, call

from hookline import Config, Hooks, execute_tool_with_hooks
from hookline.apps.agent.approval.approver import Approval
from hookline.apps.agent.toolbox import ToolBox
from hookline.apps.cli.main import main
from hookline.apps.ui.records import story, timeline, whole_event
from hookline.log.paths import log_path

ASKS = {
    "BeforeTool": [
        {"hooks": [{"type": "command", "name": "g", "command": 'echo \'{"decision":"ask","reason":"ok?"}\''}]}
    ]
}
Run = Callable[[Path, bool], None]


def by_triggers(project: Path, answer: bool) -> None:
    """Asks through the specification's function."""

    async def go() -> None:
        config = Config(project, session_id="s", settings={"enableHooks": True, "hooks": ASKS})
        await execute_tool_with_hooks(config, "t", {"command": "ls"}, _tool, on_ask=lambda *_: answer)
        _close(config)

    asyncio.run(go())


def by_session(project: Path, answer: bool) -> None:
    """Asks through a session."""

    async def go() -> None:
        async with Hooks(project, settings={"enableHooks": True, "hooks": ASKS}, on_ask=lambda *_: answer) as hooks:
            await hooks.session("s").run_tool("t", {"command": "ls"}, _tool)

    asyncio.run(go())


def by_sync_session(project: Path, answer: bool) -> None:
    """Asks through the blocking form of a session."""
    with Hooks(project, settings={"enableHooks": True, "hooks": ASKS}, on_ask=lambda *_: answer) as hooks:
        hooks.session("s").sync.run_tool("t", {"command": "ls"}, lambda _: "done")


def by_agent(project: Path, answer: bool) -> None:
    """Asks through the agent's scheduler."""
    person = Person(Approval.ALLOW_ONCE if answer else Approval.REFUSE)
    bench = Bench(project, ToolBox([Spy(name="t")]), ASKS, person=person)
    bench.run(call("t", command="ls"))
    _close(bench.config)


def _close(config: Config) -> None:
    system = config.get_hook_system()
    assert system is not None
    system.dispose()


async def _tool(_: Mapping[str, Any]) -> str:
    return "done"


def records() -> list[dict[str, Any]]:
    return [json.loads(line) for line in log_path(None).read_text().splitlines()]


@pytest.mark.req("CLAIM-011")
@pytest.mark.parametrize("answer", [True, False], ids=["yes", "no"])
@pytest.mark.parametrize(
    ("run", "asked"),
    [
        pytest.param(by_triggers, "on_ask", id="triggers"),
        pytest.param(by_session, "on_ask", id="session"),
        pytest.param(by_sync_session, "on_ask", id="sync"),
        pytest.param(by_agent, "the user", id="agent"),
    ],
)
def test_the_answer_is_logged(
    project: Path, run: Run, asked: str, answer: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """With its event, who was asked, and for which hooks; the log, the timeline and the page show it."""
    run(project, answer)
    word = "yes" if answer else "no"
    (event,) = [one for one in records() if one["kind"] == "event" and one["event"] == "BeforeTool"]
    (found,) = [one for one in records() if one["kind"] == "answer"]
    facts = ("fire", "session", "firedBy", "project")
    assert [found.get(name) for name in facts] == [event.get(name) for name in facts]
    assert (found["answer"], found["asked"], found["by"], found["blocked"]) == (word, asked, ["g"], not answer)
    assert (found["event"], found["subject"], found["call"], found["reason"]) == ("BeforeTool", "t", "ls", "ok?")
    said = f"{asked} answered {word} (asked by g)"
    capsys.readouterr()
    assert main(["log", "--all-projects"]) == 0
    assert f"BeforeTool t: {said}  ls" in capsys.readouterr().out
    assert main(["log", found["fire"]]) == 0
    assert f"answer    {word}\n  asked     {asked}" in capsys.readouterr().out
    shown = [row for row in timeline(log_path(None), {})["rows"] if row["kind"] == "answer"]
    assert [(row["outcome"], row["by"], row["message"]) for row in shown] == [
        ("allowed" if answer else "blocked", (asked,), f"BeforeTool t: {said}")
    ]
    assert [row["kind"] for row in story(log_path(None), found["session"], None)["rows"]].count("answer") == 1
    assert [row["answer"] for row in whole_event(log_path(None), found["fire"])["others"] if "answer" in row] == [word]


@pytest.mark.req("CLAIM-011")
@pytest.mark.parametrize(
    ("approval", "word"),
    [(Approval.ALLOW_ONCE, "yes"), (Approval.ALLOW_ALWAYS, "always"), (Approval.REFUSE, "no")],
)
def test_the_agents_own_question_is_logged(project: Path, approval: Approval, word: str) -> None:
    """No hook wanted it, so it names the call and no event."""
    quiet = {"BeforeTool": [{"hooks": [{"type": "command", "command": "true"}]}]}
    bench = Bench(project, ToolBox([Spy(name="t", question="touch things")]), quiet, person=Person(approval))
    bench.run(call("t", command="ls"))
    _close(bench.config)
    (found,) = [one for one in records() if one["kind"] == "answer"]
    assert (found["answer"], found["asked"], found["subject"], found["call"]) == (word, "the user", "t", "ls")
    assert (found["reason"], found["session"], found.get("fire")) == ("touch things", "s1", None)


def unasked_triggers(project: Path) -> None:
    """The specification's function without `on_ask`: a script's question does not refuse the call."""

    async def go() -> None:
        config = Config(project, session_id="s", settings={"enableHooks": True, "hooks": ASKS})
        await execute_tool_with_hooks(config, "t", {"command": "ls"}, _tool)
        _close(config)

    asyncio.run(go())


def unasked_sync_session(project: Path) -> None:
    """A session without `on_ask`."""
    with Hooks(project, settings={"enableHooks": True, "hooks": ASKS}) as hooks:
        hooks.session("s").sync.run_tool("t", {"command": "ls"}, lambda _: "done")


def unasked_agent(project: Path, hooks: Mapping[str, Any] = ASKS) -> None:
    """The agent without a user: the question of a hook."""
    bench = Bench(project, ToolBox([Spy(name="t", question="touch things")]), hooks)
    permissions = replace(bench.scheduler.permissions, person=None, approves_all=False)
    bench.scheduler = replace(bench.scheduler, permissions=permissions)
    bench.run(call("t", command="ls"))
    _close(bench.config)


def unasked_agents_own(project: Path) -> None:
    """The agent without a user: its own question."""
    unasked_agent(project, {"BeforeTool": [{"hooks": [{"type": "command", "command": "true"}]}]})


@pytest.mark.req("CLAIM-011")
@pytest.mark.parametrize(
    ("run", "blocked", "by"),
    [
        pytest.param(unasked_triggers, False, ["g"], id="triggers"),
        pytest.param(unasked_sync_session, True, ["g"], id="sync"),
        pytest.param(unasked_agent, True, ["g"], id="agent"),
        pytest.param(unasked_agents_own, True, [], id="agents-own"),
    ],
)
def test_the_log_claims_no_answer_that_no_user_gave(
    project: Path, run: Callable[[Path], None], blocked: bool, by: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Where no user can be asked, the record states that, and a search for it finds the record."""
    run(project)
    (found,) = [one for one in records() if one["kind"] == "answer"]
    assert ("answer" in found, "asked" in found, found["blocked"], found.get("by", [])) == (False, False, blocked, by)
    assert (found["subject"], found["call"], bool(found.get("fire"))) == ("t", "ls", bool(by))
    assert "answered" not in found["message"]
    capsys.readouterr()
    assert main(["log", "--all-projects", "--decision", "blocked" if blocked else "allowed"]) == 0
    assert found["message"] in capsys.readouterr().out


@pytest.mark.req("CLAIM-011")
def test_a_wrong_answer_is_not_logged_as_one(project: Path) -> None:
    """The text "no" is neither a yes nor a no."""
    with pytest.raises(TypeError, match="expected True or False"):
        by_sync_session(project, "no")  # type: ignore[arg-type]
    assert [one for one in records() if one["kind"] == "answer"] == []
