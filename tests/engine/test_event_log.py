import asyncio
import contextlib
import json
import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hookline.client.config import Config
from hookline.log.write.logger import DurableSink, Loggable, MemorySink
from hookline.log.write.sink import FileSink
from hookline.protocol.constants import LIFECYCLE_REMEDY
from hookline.protocol.events import HookEventName
from hookline.protocol.records import LogLevel, LogRecord


def says(answer: object) -> str:
    """A command that answers this."""
    return f"printf %s {shlex.quote(json.dumps(answer))}"


def log_of(
    project: Path, event: str, *hooks: Mapping[str, Any] | str, tool: str = "ls", times: int = 1, **group: Any
) -> list[LogRecord]:
    """Return the records of an event about a tool."""
    entries = [hook if isinstance(hook, Mapping) else {"type": "command", "command": hook} for hook in hooks]
    settings = {
        "enableHooks": True,
        "hooksConfig": {"log": {"enabled": False}},
        "hooks": {event: [{"hooks": entries, **group}]},
    }
    memory = MemorySink()

    async def main() -> None:
        system = Config(project, session_id="s1", settings=settings, log_sinks=[memory]).get_hook_system()
        assert system is not None
        await system.initialize()
        for _ in range(times):
            await system.get_event_handler().fire_event(event, {"tool_name": tool, "tool_input": {}})

    asyncio.run(main())
    return memory.records


def of_kind(records: list[LogRecord], kind: str) -> list[LogRecord]:
    return [record for record in records if record.to_dict()["kind"] == kind]


def fields_of(record: LogRecord) -> dict[str, Any]:
    """All but time, level and message."""
    return {name: value for name, value in record.to_dict().items() if name not in ("time", "level", "message")}


@pytest.mark.req("DELTA-HTEL-001")
def test_a_hook_that_ran_leaves_a_whole_record(project: Path) -> None:
    """The record has the hook, the time, the event, the ending, the input and the output."""
    answer = {"decision": "allow"}
    hook = {"type": "command", "command": f"{says(answer)}; echo note >&2", "name": "guard"}
    (record,) = of_kind(log_of(project, "BeforeTool", hook), "hook")
    fields = fields_of(record)
    fire = fields["fire"]
    assert re.fullmatch("[0-9a-f]{10}", fire)
    assert json.loads(fields.pop("stdin"))["tool_name"] == "ls"
    assert fields.pop("duration") > 0
    assert (record.level, record.message) == (LogLevel.DEBUG, "BeforeTool: guard exited with code 0: allowed")
    assert fields == {
        "kind": "hook",
        "id": f"{fire}-0",
        "fire": fire,
        "session": "s1",
        "project": os.path.realpath(project),
        "event": "BeforeTool",
        "subject": "ls",
        "hook": "guard",
        "type": "command",
        "command": hook["command"],
        "source": "project",
        "origin": "settings given in code",
        "location": "hooks.BeforeTool[0].hooks[0]",
        "success": True,
        "exitCode": 0,
        "timedOut": False,
        "truncated": False,
        "way": "cold",
        "decision": "allow",
        "firedBy": "program",
        "result": "allowed",
        "stdout": json.dumps(answer),
        "stderr": "note\n",
    }


@pytest.mark.req("DELTA-HTEL-001", "HOOK-069")
def test_a_record_has_all_that_a_hook_wrote_and_how_it_ended(project: Path) -> None:
    """Every line of its output, its failure, and the error of one that could not run to its end."""
    failed = {"type": "command", "command": "printf 'a\\nb\\n'; printf 'c\\nd\\n' >&2; exit 3"}
    slow = {"type": "command", "command": "exec sleep 60", "timeout": 100}
    plugin = {"type": "plugin", "plugin": "no_such_package:hook"}
    records = [fields_of(record) for record in of_kind(log_of(project, "BeforeTool", failed, slow, plugin), "hook")]
    assert [(each["success"], each.get("exitCode"), each.get("error")) for each in records] == [
        (False, 3, None),
        (False, 0, "timed out after 100ms"),
        (False, None, records[2]["error"]),
    ]
    assert "no_such_package" in records[2]["error"]
    assert (records[0]["stdout"], records[0]["stderr"]) == ("a\nb\n", "c\nd\n")


@pytest.mark.req("HOOK-023", "DELTA-HTEL-003")
@pytest.mark.parametrize(
    ("hook", "level", "said", "facts"),
    [
        pytest.param(
            {"command": "echo broken >&2; exit 3"},
            LogLevel.WARN,
            "exited with code 3 (settings given in code: hooks.BeforeTool[0].hooks[0]);"
            " the operation proceeds without it",
            {"exitCode": 3, "signal": None, "stderr": "broken\n", "error": None},
            id="exit 3",
        ),
        pytest.param(
            {"command": "kill -9 $$"},
            LogLevel.WARN,
            "was killed by SIGKILL (settings given in code: hooks.BeforeTool[0].hooks[0]);"
            " the operation proceeds without it",
            {"exitCode": 0, "signal": 9, "stderr": "", "error": None},
            id="killed",
        ),
        pytest.param(
            {"command": "sleep 9", "timeout": 50},
            LogLevel.WARN,
            "timed out after 50ms (settings given in code: hooks.BeforeTool[0].hooks[0]);"
            " the operation proceeds without it",
            {"timedOut": True, "stderr": "", "error": "timed out after 50ms"},
            id="timeout",
            marks=pytest.mark.req("HOOK-119"),
        ),
        pytest.param(
            {"command": "exit 1", "onError": "block"},
            LogLevel.WARN,
            "exited with code 1 (settings given in code: hooks.BeforeTool[0].hooks[0]); its onError is block",
            {"exitCode": 1, "decision": "deny"},
            id="onError",
        ),
        pytest.param(
            {"command": "echo no >&2; exit 2"},
            LogLevel.INFO,
            "exited with code 2: blocked",
            {"exitCode": 2, "stderr": "no\n", "decision": "deny"},
            id="exit 2",
        ),
    ],
)
def test_a_hook_that_failed_leaves_a_diagnosis(
    project: Path, hook: dict[str, Any], level: LogLevel, said: str, facts: dict[str, Any]
) -> None:
    """A failure is a warning that says how it ended, where the hook is configured and what that means."""
    (record,) = of_kind(log_of(project, "BeforeTool", {"type": "command", "name": "guard", **hook}), "hook")
    assert (record.level, record.message) == (level, f"BeforeTool: guard {said}")
    assert {name: record.to_dict().get(name) for name in facts} == facts
    assert record.to_dict()["success"] is False


@pytest.mark.req("HOOK-146", "DELTA-HTEL-002", "DELTA-HTEL-003", "DELTA-HRUN-001", "DELTA-HRUN-003")
def test_an_event_leaves_a_summary(project: Path) -> None:
    """One record says how many hooks ran well and badly, how long all took, and what came of it."""
    answer = {"continue": False, "stopReason": "enough", "systemMessage": "note", "suppressOutput": True}
    records = log_of(project, "BeforeTool", says(answer), "exit 1", "exit 2")
    assert [record.to_dict()["kind"] for record in records] == ["hook", "hook", "hook", "event"]
    fields = fields_of(records[-1])
    duration = fields.pop("duration")
    assert {record.to_dict()["fire"] for record in records} == {fields.pop("fire")}
    assert records[-1].level is LogLevel.DEBUG
    assert records[-1].message.startswith("BeforeTool ls: stopped: enough (2 blocked, 1 failed, ")
    assert duration > max(record.to_dict()["duration"] for record in records[:-1])
    stopper, _, denier = (record.to_dict()["hook"] for record in records[:-1])
    assert [*fields.pop("by")] == [stopper, denier]
    provenance = fields.pop("provenance")
    assert {path: [*hooks] for path, hooks in provenance.items() if path in ("continue", "decision")} == {
        "continue": [stopper],
        "decision": [denier],
    }
    assert fields == {
        "kind": "event",
        "session": "s1",
        "project": os.path.realpath(project),
        "event": "BeforeTool",
        "subject": "ls",
        "firedBy": "program",
        "outcome": "stopped",
        "decider": "hook",
        "hooks": 3,
        "succeeded": 1,
        "failed": 2,
        "success": False,
        "blocked": True,
        "stop": True,
        "stopReason": "enough",
        "systemMessage": "note",
        "suppressOutput": True,
        "denied": True,
    }


@pytest.mark.req("HOOK-146")
@pytest.mark.parametrize(
    ("event", "command", "said", "blocked"),
    [
        pytest.param("BeforeTool", "true", "BeforeTool ls: allowed (1 no opinion", False, id="allowed"),
        pytest.param("BeforeTool", "exit 2", "BeforeTool ls: blocked: Blocked by hook (1 blocked", True, id="blocked"),
        pytest.param("AfterTool", "exit 2", "AfterTool ls: allowed (1 blocked", False, id="cannot block"),
        pytest.param("BeforeModel", "exit 1", "BeforeModel: allowed (1 failed", False, id="failed"),
        pytest.param(
            "BeforeTool",
            says({"hookSpecificOutput": {"tool_input": {"a": 1}}}),
            "BeforeTool ls: allowed, rewritten (1 no opinion",
            False,
            id="rewritten",
        ),
    ],
)
def test_the_summary_says_what_came_of_it(project: Path, event: str, command: str, said: str, blocked: bool) -> None:
    """One line shows the outcome, and what was changed."""
    (record,) = of_kind(log_of(project, event, command), "event")
    assert re.fullmatch(re.escape(said) + r", \d+\.\d ms\)", record.message)
    assert record.to_dict()["blocked"] is blocked


@pytest.mark.req("HOOK-146")
@pytest.mark.parametrize("hooks", [[], ["true"]], ids=["none configured", "none matches"])
def test_an_event_without_hooks_to_run_leaves_one_record(project: Path, hooks: list[str]) -> None:
    """So that "never ran" can be told from "never fired"; the others of its kind are counted, not written."""
    (record,) = of_kind(log_of(project, "BeforeTool", *hooks, matcher="write", times=3), "unmatched")
    assert (record.level, record.event, record.subject, record.count) == (LogLevel.DEBUG, "BeforeTool", "ls", 1)
    assert record.message == f"BeforeTool ls: no hook ran: {record.reason}"


@pytest.mark.parametrize(
    ("hooks", "group", "reason"),
    [
        pytest.param(
            [{"type": "command", "command": "true", "enabled": False}],
            {},
            "disabled: by settings given in code: hooks.BeforeTool[0].hooks[0].enabled",
            id="disabled",
        ),
        pytest.param(["true"], {"matcher": "write"}, "matcher: 'write' does not match 'ls'", id="matcher"),
        pytest.param(
            ["true", "true"],
            {},
            "duplicate: the same command already runs from settings given in code: hooks.BeforeTool[0].hooks[0]",
            id="duplicate",
            marks=pytest.mark.req("HOOK-090"),
        ),
        pytest.param(
            ["exit 2", "true"],
            {"sequential": True},
            "chain stopped: exit 2 blocked",
            id="chain",
            marks=pytest.mark.req("HOOK-107"),
        ),
    ],
)
def test_a_hook_that_did_not_run_has_a_reason(
    project: Path, hooks: list[Any], group: dict[str, Any], reason: str
) -> None:
    """Every reason for which a configured hook did not run is written down."""
    (record,) = of_kind(log_of(project, "BeforeTool", *hooks, **group), "skip")
    assert (record.message, record.to_dict()["reason"]) == (f"BeforeTool: true is not run: {reason}", reason)
    assert (record.to_dict()["session"], record.to_dict()["event"], record.to_dict()["command"]) == (
        "s1",
        "BeforeTool",
        "true",
    )


def test_many_hooks_that_do_not_match_are_told_in_one_record(project: Path) -> None:
    """A settings file of hundreds of hooks does not flood the log: those that do not match are named together."""
    commands = [f"true {number}" for number in range(100)]
    (record,) = of_kind(log_of(project, "BeforeTool", *commands, matcher="write"), "skip")
    assert record.message == "BeforeTool: 100 hooks do not match 'ls'"
    assert fields_of(record) == {
        "kind": "skip",
        "session": "s1",
        "project": os.path.realpath(project),
        "event": "BeforeTool",
        "subject": "ls",
        "firedBy": "program",
        "reason": "matcher: does not match 'ls'",
        "hooks": commands,
    }


def test_a_plan_is_told_once(project: Path) -> None:
    """A hook that is skipped again and again for the same reason is logged when the plan is made."""
    assert len(of_kind(log_of(project, "BeforeTool", "true", matcher="write", times=3), "skip")) == 1


@pytest.mark.req("HOOK-178", "HOOK-180", "HOOK-181")
@pytest.mark.parametrize("event", ["AfterTool", "AfterModel", "BeforeToolSelection"])
@pytest.mark.parametrize("command", ["exit 2", says({"decision": "block"})], ids=["exit 2", "block"])
def test_a_useless_block_is_answered_with_advice(project: Path, event: str, command: str) -> None:
    """Where an event can't block, the log has a warning with the remedy."""
    (record,) = of_kind(log_of(project, event, {"type": "command", "command": command, "name": "guard"}), "advice")
    heard = "only passes its reason on to the model" if event == "AfterTool" else "has no effect"
    assert (record.level, record.message) == (
        LogLevel.WARN,
        f'{event}: guard: a block {heard} on {event}; to end the session answer {{"continue": false}}',
    )


@pytest.mark.parametrize("event", ["BeforeAgent", "AfterAgent", "SessionStart", "SessionEnd"])
def test_where_hooks_only_watch_no_way_out_is_promised(project: Path, event: str) -> None:
    """Nothing that they answer is applied, so nothing else is advised."""
    (record,) = of_kind(log_of(project, event, {"type": "command", "command": "exit 2", "name": "guard"}), "advice")
    watches = "its hooks only watch, and nothing that they answer is applied"
    assert record.message.endswith(watches if event == "SessionEnd" else LIFECYCLE_REMEDY)


@pytest.mark.parametrize("event", ["BeforeTool", "BeforeModel"])
def test_a_useful_block_needs_no_advice(project: Path, event: str) -> None:
    """Where an event can block, there is nothing to say about it."""
    assert of_kind(log_of(project, event, "exit 2"), "advice") == []


@pytest.mark.req("HOOK-098")
@pytest.mark.parametrize("event", HookEventName)
def test_an_overridden_block_is_told(project: Path, event: HookEventName) -> None:
    """Where a later hook's word undoes a block, the log says who overrode whom; elsewhere nothing is undone."""
    hooks = [
        {"type": "command", "name": name, "command": says({"decision": decision})}
        for name, decision in (("strict", "deny"), ("lax", "allow"))
    ]
    told = [(record.level, record.message) for record in of_kind(log_of(project, event, *hooks), "override")]
    said = f"{event}: lax overrode the decision of strict: on this event the later hook wins"
    assert told == ([(LogLevel.WARN, said)] if event in ("BeforeModel", "AfterModel") else [])


def test_complaints_reach_the_author(project: Path) -> None:
    """Each problem with an answer is a separate warning, with the hook it is about."""
    hook = {"type": "command", "name": "guard", "command": says({"suppressOutput": 7, "decision": "maybe"})}
    records = of_kind(log_of(project, "BeforeTool", hook), "advice")
    assert [(record.level, record.message, record.to_dict()["hook"]) for record in records] == [
        (LogLevel.WARN, f"BeforeTool: guard: {complaint}", "guard")
        for complaint in (
            "suppressOutput is a number, expected true or false; ignored",
            "decision 'maybe' is not one of block, deny, allow, approve, ask; nothing was decided",
        )
    ]


def test_a_block_in_the_compatibility_field_is_logged_as_a_deny(project: Path) -> None:
    """However a hook has denied, its record shows it."""
    answer = {"hookSpecificOutput": {"permissionDecision": "block"}}
    (record,) = of_kind(log_of(project, "BeforeTool", says(answer)), "hook")
    assert record.to_dict()["decision"] == "deny"


def test_a_hooks_own_environment_is_logged(project: Path) -> None:
    """The input of a hook beside stdin is in its record."""
    hook = {"type": "command", "command": "true", "env": {"LEVEL": "high"}}
    (record,) = of_kind(log_of(project, "BeforeTool", hook), "hook")
    assert record.to_dict()["env"] == {"LEVEL": "high"}


def test_what_the_caller_changes_afterwards_does_not_change_the_log(tmp_path: Path, project: Path) -> None:
    """The file is written later; what it says is what was true."""
    path = tmp_path / "hooks.jsonl"
    old = {"content": {"parts": ["old"]}}
    answers = {
        "BeforeTool": {"hookSpecificOutput": {"tool_input": {"path": "/x"}}},
        "AfterModel": {"hookSpecificOutput": {"llm_response": {"text": "new", "candidates": [old]}}},
    }
    hooks = {event: [{"hooks": [{"type": "command", "command": says(answer)}]}] for event, answer in answers.items()}
    config = Config(str(project), settings={"enableHooks": True, "hooks": hooks}, log_sinks=[sink := FileSink(path)])

    async def main() -> None:
        system = config.get_hook_system()
        assert system is not None
        await system.initialize()
        handler = system.get_event_handler()
        before = await handler.fire_before_tool_event("ls", {})
        after = await handler.fire_after_model_event({"model": "m", "messages": []}, {"candidates": []})
        for result in (before, after):
            assert result.effect is not None
            result.effect.popitem()[1].clear()

    asyncio.run(main())
    sink.close()
    messages = [json.loads(line)["message"] for line in path.read_text().splitlines()]
    assert any(message.startswith("BeforeTool ls: allowed, rewritten") for message in messages)
    assert any(message.startswith("AfterModel: allowed, rewritten") for message in messages)


def test_a_fault_while_telling_is_told_of_its_event(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It names event and session, and has a traceback to report."""

    def fail(_hook: object) -> dict[str, str]:
        raise RuntimeError("speechless")

    monkeypatch.setattr("hookline.engine.event_log.hook_place", fail)
    (record,) = log_of(project, "BeforeTool", "true")
    assert record.message.startswith(
        "BeforeTool: hookline failed while logging (RuntimeError('speechless')), so the log lacks"
    )
    assert (record.to_dict()["kind"], record.to_dict()["event"], record.to_dict()["session"]) == (
        "fault",
        "BeforeTool",
        "s1",
    )
    assert "speechless" in record.to_dict()["traceback"]


class KeepsStarts(MemorySink, DurableSink):
    """A sink that also keeps starts."""

    def __init__(self) -> None:
        super().__init__()
        self.at_once: list[LogRecord] = []
        self.is_written = asyncio.Event()

    def write_now(self, *entries: Loggable) -> bool:
        """Keep the start's record."""
        for entry in entries:
            self.at_once += entry.records()
        self.is_written.set()
        return True


def test_that_hooks_start_is_in_the_file_before_they_run(project: Path, tmp_path: Path) -> None:
    """A hook finds the record of its start: it could end the program now, and would still be in the log."""
    hook = {"type": "command", "name": "curious", "command": "cat '{}'".format(tmp_path / "state" / "hooks.jsonl")}
    settings = {"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": [hook]}]}}
    memory = MemorySink()

    async def main() -> None:
        system = Config(project, session_id="s1", settings=settings, log_sinks=[memory]).get_hook_system()
        assert system is not None
        await system.initialize()
        await system.get_event_handler().fire_event("BeforeTool", {"tool_name": "ls", "tool_input": {}})
        system.dispose()

    asyncio.run(main())
    (run,) = of_kind(memory.records, "hook")
    started = json.loads(run.to_dict()["stdout"])
    assert (started["kind"], started["fire"], started["hooks"]) == ("start", run.fire, ["curious"])
    assert of_kind(memory.records, "start") == []


@pytest.mark.parametrize("ending", ["event", "cancel", "fault"])
def test_whatever_ends_an_event_has_the_id_of_its_start(project: Path, ending: str) -> None:
    """So a start without an end is one whose program ended."""
    sink = KeepsStarts()
    hook = {"type": "command", "command": "sleep 10" if ending == "cancel" else "true", "name": "guard"}
    settings = {
        "enableHooks": True,
        "hooksConfig": {"log": {"enabled": False}},
        "hooks": {"BeforeTool": [{"hooks": [hook]}]},
    }

    async def fail(*_: Any) -> Any:
        raise RuntimeError("a fault of the engine")

    async def main() -> None:
        system = Config(project, session_id="s1", settings=settings, log_sinks=[sink]).get_hook_system()
        assert system is not None
        await system.initialize()
        handler = system.get_event_handler()
        if ending == "fault":
            handler.runner.run = fail  # type: ignore[method-assign,assignment]
        task = asyncio.create_task(handler.fire_event("BeforeTool", {"tool_name": "ls", "tool_input": {}}))
        await sink.is_written.wait()
        if ending == "cancel":
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    asyncio.run(main())
    (start,) = sink.at_once
    (end,) = of_kind(sink.records, ending)
    assert (start.event, start.subject, start.session) == ("BeforeTool", "ls", "s1")
    assert start.message == "BeforeTool ls: guard started"
    assert end.fire == start.fire


def test_an_event_that_no_hook_runs_for_has_no_start(project: Path) -> None:
    """Nothing could end the program, and nothing is waited for."""
    sink = KeepsStarts()
    settings = {"enableHooks": True, "hooksConfig": {"log": {"enabled": False}}, "hooks": {}}

    async def main() -> None:
        system = Config(project, session_id="s1", settings=settings, log_sinks=[sink]).get_hook_system()
        assert system is not None
        await system.initialize()
        await system.get_event_handler().fire_event("BeforeTool", {"tool_name": "ls", "tool_input": {}})

    asyncio.run(main())
    assert sink.at_once == []
