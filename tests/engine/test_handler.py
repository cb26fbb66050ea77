import asyncio
import json
import os
import re
import shlex
import sys
import typing
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, NoReturn

import pytest
from google.genai import types

from hookline.engine.event_log import EventLog
from hookline.engine.handler import EngineRules, HookEventHandler
from hookline.engine.plan import HookPlanner, PlannedEvent
from hookline.engine.registry import HookRegistry
from hookline.engine.run import HookRunner
from hookline.formats.genai.request import HookTranslatorGenAIv1
from hookline.log.write.logger import HookLogger, MemorySink
from hookline.protocol.arguments import ToolArguments
from hookline.protocol.constants import ConfigSource, Decider, OnError
from hookline.protocol.events import (
    HookEventName,
    PreCompressTrigger,
    SessionEndReason,
    SessionFacts,
    SessionStartSource,
)
from hookline.protocol.hook_entry import HookEntry
from hookline.protocol.llm import GenerateContentParameters
from hookline.protocol.observer import HookObserver
from hookline.protocol.records import LogLevel
from hookline.protocol.results import AggregatedHookResult, BlockingError
from hookline.protocol.verdict import HookError, HookExecutionPlan, HookExecutionResult, SkipKind, Verdict
from hookline.runners.context import BoundObserver
from hookline.settings.decode.settings import decode_settings
from hookline.settings.read.files import Layer

Fire = Callable[[HookEventHandler], Awaitable[AggregatedHookResult]]

REQUEST = GenerateContentParameters(
    model="gemini",
    contents=[
        types.Content(role="user", parts=[types.Part(text="hi")]),
        types.Content(role="model", parts=[types.Part(function_call=types.FunctionCall(name="ls", args={}))]),
    ],
    config=types.GenerateContentConfig(temperature=0.5),
)
RESPONSE = types.GenerateContentResponse(
    candidates=[types.Candidate(content=types.Content(role="model", parts=[types.Part(text="hello")]))]
)
HOOK_REQUEST = {
    "model": "gemini",
    "messages": [{"role": "user", "content": "hi"}],
    "config": {"temperature": 0.5},
}
HOOK_RESPONSE = {"text": "hello", "candidates": [{"content": {"role": "model", "parts": ["hello"]}}]}
TOOL: dict[str, Any] = {"tool_name": "ls", "tool_input": {"path": "."}}


class Broken:
    """Stands in for any part: whatever is asked of it fails."""

    def __getattr__(self, name: str) -> Any:
        def fail(*_: Any, **__: Any) -> NoReturn:
            raise RuntimeError(f"broken {name}")

        return fail


def command(text: str, **options: Any) -> dict[str, Any]:
    return {"type": "command", "command": text, **options}


def says(answer: object) -> str:
    """A command that answers this."""
    return f"printf %s {shlex.quote(json.dumps(answer))}"


def group(*commands: str, **options: Any) -> dict[str, Any]:
    return {"hooks": [command(text) for text in commands], **options}


def make_handler(project: Path, hooks: Mapping[str, Any], sink: MemorySink | None = None, **parts: Any) -> Any:
    """A handler of real parts, except for those given."""
    log = HookLogger([sink] if sink else [])
    values = {"enableHooks": True, "hooks": hooks, "hooksConfig": {"lifecycle": parts.pop("lifecycle", "watch")}}
    layer = Layer(source=ConfigSource.USER, origin="user.json", values=values)
    registry = HookRegistry(lambda: decode_settings((layer,)), log)
    registry.initialize()
    facts = parts.get("facts", SessionFacts(session_id="s1", cwd=str(project)))
    given: dict[str, Any] = {
        "facts": facts,
        "planner": HookPlanner(registry.get_hooks_for_event),
        "runner": HookRunner(),
        "translator": HookTranslatorGenAIv1(),
        "event_log": EventLog(log, facts.session_id),
    }
    return HookEventHandler(**{**given, **parts})


def fire(handler: HookEventHandler, fire_event: Fire) -> AggregatedHookResult:
    async def main() -> AggregatedHookResult:
        return await fire_event(handler)

    return asyncio.run(main())


def before_tool(handler: HookEventHandler) -> Awaitable[AggregatedHookResult]:
    return handler.fire_before_tool_event("ls", {"path": "."})


def before_model(handler: HookEventHandler) -> Coroutine[Any, Any, AggregatedHookResult]:
    return handler.fire_before_model_event(REQUEST)


EVENTS: list[Any] = [
    pytest.param("BeforeTool", before_tool, TOOL, id="BeforeTool", marks=pytest.mark.req("HOOK-015")),
    pytest.param(
        "AfterTool",
        lambda handler: handler.fire_after_tool_event("ls", {"path": "."}, {"llmContent": "a"}),
        {**TOOL, "tool_response": {"llmContent": "a"}},
        id="AfterTool",
        marks=pytest.mark.req("HOOK-026"),
    ),
    pytest.param(
        "BeforeModel",
        before_model,
        {"llm_request": HOOK_REQUEST},
        id="BeforeModel",
        marks=pytest.mark.req("HOOK-034", "HOOK-035", "DELTA-HPAY-003"),
    ),
    pytest.param(
        "AfterModel",
        lambda handler: handler.fire_after_model_event(REQUEST, RESPONSE),
        {"llm_request": HOOK_REQUEST, "llm_response": HOOK_RESPONSE},
        id="AfterModel",
        marks=pytest.mark.req("HOOK-044", "HOOK-045", "HOOK-050", "DELTA-HPAY-003"),
    ),
    pytest.param(
        "BeforeToolSelection",
        lambda handler: handler.fire_before_tool_selection_event(REQUEST),
        {"llm_request": HOOK_REQUEST},
        id="BeforeToolSelection",
        marks=pytest.mark.req("HOOK-054", "HOOK-205", "DELTA-HPAY-003"),
    ),
    pytest.param(
        "BeforeAgent", lambda handler: handler.fire_before_agent_event("go"), {"prompt": "go"}, id="BeforeAgent"
    ),
    pytest.param(
        "AfterAgent",
        lambda handler: handler.fire_after_agent_event("go", "gone", stop_hook_active=True),
        {"prompt": "go", "prompt_response": "gone", "stop_hook_active": True},
        id="AfterAgent",
    ),
    pytest.param(
        "SessionStart",
        lambda handler: handler.fire_session_start_event(SessionStartSource.RESUME),
        {"source": "resume"},
        id="SessionStart",
        marks=pytest.mark.req("DELTA-HPAY-006"),
    ),
    pytest.param(
        "SessionEnd",
        lambda handler: handler.fire_session_end_event(SessionEndReason.LOGOUT),
        {"reason": "logout"},
        id="SessionEnd",
        marks=pytest.mark.req("DELTA-HPAY-006"),
    ),
    pytest.param(
        "PreCompress",
        lambda handler: handler.fire_pre_compress_event(PreCompressTrigger.AUTO),
        {"trigger": "auto"},
        id="PreCompress",
    ),
    pytest.param(
        "Notification",
        lambda handler: handler.fire_notification_event("ToolPermission", "May I?", {"tool": "ls"}),
        {"notification_type": "ToolPermission", "message": "May I?", "details": {"tool": "ls"}},
        id="Notification",
    ),
]


@pytest.mark.req("HOOK-062", "HOOK-143", "HOOK-144", "HOOK-161", "HOOK-203", "HOOK-215")
@pytest.mark.parametrize(("event", "fire_event", "fields"), EVENTS)
def test_what_a_hook_is_told(project: Path, event: str, fire_event: Fire, fields: dict[str, Any]) -> None:
    """Every event tells its hooks the five session facts first and then its own fields, and nothing else."""
    result = fire(make_handler(project, {event: [group("cat > told")]}), fire_event)
    told = json.loads((project / "told").read_text())
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", told["timestamp"])
    assert list(told.items()) == [
        ("session_id", "s1"),
        ("cwd", str(project)),
        ("timestamp", told["timestamp"]),
        ("hook_event_name", event),
        ("transcript_path", ""),
        *fields.items(),
    ]
    assert result.success


@pytest.mark.req("HOOK-161", "HOOK-215")
def test_hooks_are_told_of_a_transcript(project: Path) -> None:
    """Where the session has a transcript, its path is in the input."""
    path = "/tmp/transcript.jsonl"  # noqa: S108 - a path that is never opened
    facts = SessionFacts(session_id="s1", cwd=str(project), transcript_path=path)
    handler = make_handler(project, {"BeforeTool": [group("cat >&2")]}, facts=facts)
    (result,) = fire(handler, before_tool).results
    assert json.loads(result.stderr)["transcript_path"] == path


def test_hooks_are_told_of_an_mcp_server(project: Path) -> None:
    """Where a tool comes from an MCP server, both tool events tell which."""
    handler = make_handler(project, {event: [group("cat >&2")] for event in ("BeforeTool", "AfterTool")})
    context = {"server_name": "files"}
    for result in (
        fire(handler, lambda h: h.fire_before_tool_event("ls", {}, mcp_context=context)),
        fire(handler, lambda h: h.fire_after_tool_event("ls", {}, {}, mcp_context=context)),
    ):
        assert json.loads(result.results[0].stderr)["mcp_context"] == context


@pytest.mark.req("HOOK-035", "HOOK-045", "DELTA-HPAY-003")
def test_payloads_in_hook_form_stay_as_they_are(project: Path) -> None:
    """A payload in the stable form is not translated again, and an SDK's JSON form is."""
    handler = make_handler(project, {"AfterModel": [group("cat >&2")]})
    told = [
        json.loads(fire(handler, fire_event).results[0].stderr)
        for fire_event in (
            lambda h: h.fire_after_model_event(HOOK_REQUEST, HOOK_RESPONSE),
            lambda h: h.fire_after_model_event(
                {"model": "gemini", "contents": "hi", "config": {"temperature": 0.5}}, RESPONSE.model_dump()
            ),
        )
    ]
    assert [(seen["llm_request"], seen["llm_response"]) for seen in told] == [(HOOK_REQUEST, HOOK_RESPONSE)] * 2


@pytest.mark.req("HOOK-034", "HOOK-045")
def test_the_translator_that_was_given_is_used(project: Path) -> None:
    """A program may have another translator, for requests and for responses."""

    class Own:
        def to_hook_llm_request(self, given: Any) -> Any:
            return {**HookTranslatorGenAIv1.to_hook_llm_request(given), "model": "own"}

        def to_hook_llm_response(self, given: Any) -> Any:
            return {**HookTranslatorGenAIv1.to_hook_llm_response(given), "text": "own"}

    handler = make_handler(project, {"AfterModel": [group("cat >&2")]}, translator=Own())
    request = {"model": "gemini", "contents": "hi", "config": {"temperature": 0.5}}
    result = fire(handler, lambda h: h.fire_after_model_event(request, RESPONSE.model_dump()))
    seen = json.loads(result.results[0].stderr)
    assert (seen["llm_request"]["model"], seen["llm_response"]["text"]) == ("own", "own")


@pytest.mark.req("DELTA-HPAY-006")
def test_session_events_take_their_own_vocabulary() -> None:
    """A type checker refuses any string in place of a source or a reason."""
    start = typing.get_type_hints(HookEventHandler.fire_session_start_event)
    end = typing.get_type_hints(HookEventHandler.fire_session_end_event)
    assert (start["source"], end["reason"]) == (SessionStartSource, SessionEndReason)


def run_without_yielding(coroutine: Coroutine[Any, Any, AggregatedHookResult]) -> AggregatedHookResult:
    """The result of a coroutine that ends without ever waiting, with no event loop around."""
    with pytest.raises(StopIteration) as ended:
        coroutine.send(None)
    result: AggregatedHookResult = ended.value.value
    return result


class _Audit:
    """Notes the files that are opened and the processes that are started while it is on."""

    LOOKED_FOR = ("open", "os.", "subprocess.", "socket.")

    def __init__(self) -> None:
        self.seen: list[str] = []
        self._is_on = False
        sys.addaudithook(self._note)

    def __enter__(self) -> list[str]:
        self._is_on = True
        return self.seen

    def __exit__(self, *_: object) -> None:
        self._is_on = False

    def _note(self, event: str, _arguments: Any) -> None:
        if self._is_on and event.startswith(self.LOOKED_FOR):
            self.seen.append(event)


@pytest.mark.req("HOOK-011", "HOOK-012", "HOOK-013", "HOOK-145", "DELTA-HFAIL-003", "DELTA-HFAIL-004")
@pytest.mark.parametrize(
    "hooks",
    [
        pytest.param({}, id="none configured"),
        pytest.param({"AfterTool": [group("touch ran")]}, id="other event"),
        pytest.param({"BeforeTool": [group("touch ran", matcher="write")]}, id="none matches"),
        pytest.param({"BeforeTool": [{"hooks": [command("touch ran", enabled=False)]}]}, id="disabled"),
    ],
)
def test_nothing_happens_where_nothing_matches(project: Path, hooks: dict[str, Any]) -> None:
    """Without a hook to run nothing is read, built, started or awaited, and the result is a fresh empty success."""
    broken = Broken()
    handler = make_handler(project, hooks, runner=broken, translator=broken)
    with _Audit() as seen:
        first, second = (run_without_yielding(handler.fire_before_tool_event("ls", {"path": "."})) for _ in range(2))
        assert run_without_yielding(before_model(handler)).success  # the broken translator is not called
    assert seen == []
    assert first == second == AggregatedHookResult(success=True)
    assert first is not second
    assert list(project.iterdir()) == []


@pytest.mark.req("HOOK-146")
def test_an_event_that_no_hook_ran_for_is_counted(project: Path) -> None:
    """The first such event leaves a record, the others of its kind are counted."""
    memory = MemorySink()
    handler = make_handler(project, {"BeforeTool": [group("true", matcher="write")]}, memory)
    for _ in range(3):
        fire(handler, before_tool)
    counted = [record for record in memory.records if record.to_dict()["kind"] == "unmatched"]
    assert [(record.event, record.subject, record.count) for record in counted] == [("BeforeTool", "ls", 1)]


@pytest.mark.req("HOOK-113", "HOOK-147", "DELTA-HFAIL-001", "DELTA-HFAIL-004")
@pytest.mark.parametrize(
    ("part", "stage", "said"),
    [
        pytest.param("planner", "planning", "broken planned", id="planner"),
        pytest.param(
            "translator",
            "translation",
            "broken to_hook_llm_request",
            id="translator",
            marks=pytest.mark.req("DELTA-HPAY-004"),
        ),
        pytest.param("runner", "execution", "broken run", id="runner"),
    ],
)
def test_a_fault_of_ours_becomes_a_failure_envelope(project: Path, part: str, stage: str, said: str) -> None:
    """Whichever part breaks: the result says where and what, decides nothing, and the log has the traceback."""
    memory = MemorySink()
    handler = make_handler(project, {"BeforeModel": [group("true")]}, memory, **{part: Broken()})
    error = HookError(
        f"{stage} failed: RuntimeError({said!r})",
        stage=stage,
        details={"error": "RuntimeError", "event": "BeforeModel"},
    )
    verdict = Verdict(event=HookEventName.BEFORE_MODEL, success=False, errors=(error,), decider=Decider.FAULT)
    assert fire(handler, before_model) == AggregatedHookResult(success=False, errors=(error,), verdict=verdict)
    record, event = memory.records
    assert (event.to_dict()["outcome"], event.to_dict()["decider"]) == ("allowed", "fault")
    assert (record.level, record.to_dict()["kind"], record.to_dict()["stage"]) == (LogLevel.WARN, "fault", stage)
    assert record.to_dict().get("session") == "s1"
    assert record.to_dict()["traceback"].rstrip().endswith(f"RuntimeError: {said}")


@pytest.mark.req("HOOK-113", "HOOK-147", "DELTA-HFAIL-001")
def test_a_fault_while_deciding_becomes_a_failure_envelope(project: Path) -> None:
    """Runs that can't be decided on are a fault of hookline, and decide nothing."""

    class Nonsense(HookRunner):
        async def execute_hooks_parallel(self, *_: Any) -> Any:
            return [object()]

    memory = MemorySink()
    result = fire(make_handler(project, {"BeforeTool": [group("true")]}, memory, runner=Nonsense()), before_tool)
    assert (result.success, result.final_output, result.results) == (False, None, ())
    assert [error.stage for error in result.errors] == ["aggregation"]
    fault, event = memory.records
    assert (fault.level, fault.to_dict()["stage"]) == (LogLevel.WARN, "aggregation")
    assert (event.to_dict()["outcome"], event.to_dict()["decider"]) == ("allowed", "fault")


@pytest.mark.req("HOOK-113", "HOOK-147")
def test_a_deny_survives_a_fault_of_the_log(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The decision of the hooks is applied even if it can't be written down."""

    def fail(*_arguments: object) -> None:
        raise RuntimeError("no log any more")

    monkeypatch.setattr("hookline.engine.event_log.EventLog.fired", fail)
    memory = MemorySink()
    handler = make_handler(project, {"BeforeTool": [group("echo no >&2; exit 2")]}, memory)
    result = fire(handler, before_tool)
    assert result.final_output is not None
    assert result.final_output.get_blocking_error() == BlockingError(blocked=True, reason="no")
    assert [(record.to_dict()["kind"], record.to_dict()["stage"]) for record in memory.records] == [
        ("fault", "logging")
    ]


class _Watcher(HookObserver):
    """Records its calls, and fails at one of them on request."""

    def __init__(self, *, fails: bool) -> None:
        self.seen: list[Any] = []
        self._fails = fails

    def hooks_started(self, plan: HookExecutionPlan, **_: object) -> None:
        self._see("started", [hook.command for hook in plan.hooks], plan.subject)

    def hook_ended(self, hook: HookEntry, **_: object) -> None:
        self._see("ended", hook.command)

    def hooks_finished(self, verdict: Verdict, **_: object) -> None:
        self._see("finished", len(verdict.runs), verdict.subject)

    def _see(self, *said: Any) -> None:
        self.seen.append(said)
        if self._fails:
            raise RuntimeError("cannot look")


@pytest.mark.parametrize("fails", [False, True], ids=["sound", "failing"])
def test_an_observer_watches_and_changes_nothing(project: Path, fails: bool) -> None:
    """An observer is shown the beginning and the end, and its own faults lift no guard."""
    watcher, memory = _Watcher(fails=fails), MemorySink()
    hooks = {"BeforeTool": [group("exit 2"), group("true", matcher="write")]}
    result = fire(
        make_handler(project, hooks, memory, observer=BoundObserver(watcher, SessionFacts("s", str(project)))),
        before_tool,
    )
    assert result.final_output is not None
    assert result.final_output.is_blocking_decision()
    assert watcher.seen[0] == ("started", ["exit 2"], "ls")
    assert watcher.seen[-1] == ("finished", 1, "ls")
    stages = [record.to_dict()["stage"] for record in memory.records if record.to_dict()["kind"] == "fault"]
    assert stages == ["observing"] * len(watcher.seen) * fails


@pytest.mark.req("DELTA-HPAY-004")
def test_a_payload_that_cannot_be_read_is_a_failure(project: Path) -> None:
    """A request that fails when it is read runs no hook, and the result reports it."""

    class Odd:
        @property
        def parts(self) -> NoReturn:
            raise OSError("gone")

    request = GenerateContentParameters(model="m", contents=[Odd()])
    handler = make_handler(project, {"BeforeModel": [group("touch ran")]})
    result = fire(handler, lambda h: h.fire_before_model_event(request))
    assert (result.success, result.final_output) == (False, None)
    assert [(error.stage, error.message) for error in result.errors] == [
        ("translation", "translation failed: OSError('gone')")
    ]
    assert list(project.iterdir()) == []


@pytest.mark.req("DELTA-HFAIL-005")
def test_an_unknown_event_is_a_failure(project: Path) -> None:
    """An unknown name from outside is an error with the names of all events."""
    result = fire(make_handler(project, {}), lambda handler: handler.fire_event("PreToolUse", {}))
    (error,) = result.errors
    assert (result.success, error.stage) == (False, "event name")
    assert "'PreToolUse' is not a valid HookEventName" in error.message
    assert error.details == {"error": "ValueError", "known": [event.value for event in HookEventName]}


def test_an_event_by_its_name(project: Path) -> None:
    """A known name fires its event with the fields as they are."""
    handler = make_handler(project, {"BeforeAgent": [group("cat >&2")]})
    (result,) = fire(handler, lambda h: h.fire_event("BeforeAgent", {"prompt": "go"})).results
    assert (result.event, json.loads(result.stderr)["prompt"]) == (HookEventName.BEFORE_AGENT, "go")


class _NotingPlanner(HookPlanner):
    """Notes what it is asked for, and plans nothing."""

    def __init__(self) -> None:
        super().__init__(lambda _event: ())
        self.asked: list[tuple[HookEventName, str | None]] = []

    def planned(self, event: HookEventName, subject: str | None = None, **options: bool) -> PlannedEvent:
        self.asked.append((event, subject))
        return super().planned(event, subject, **options)


@pytest.mark.req("HOOK-162", "HOOK-163")
def test_what_matchers_are_compared_with(project: Path) -> None:
    """The planner is given the tool's name or the trigger to match, and nothing for the other events."""
    planner = _NotingPlanner()
    handler = make_handler(project, {}, planner=planner)
    for event in EVENTS:
        result = fire(handler, event.values[1])
        assert (result.success, result.final_output, result.results) == (True, None, ())
    subjects = {
        "BeforeTool": "ls",
        "AfterTool": "ls",
        "SessionStart": "resume",
        "SessionEnd": "logout",
        "PreCompress": "auto",
        "Notification": "ToolPermission",
    }
    assert planner.asked == [(event, subjects.get(event)) for event in HookEventName]


class _NotingRunner(HookRunner):
    """Notes how it is asked to run hooks, and runs none."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, list[str | None]]] = []

    async def execute_hooks_parallel(
        self, hooks: Sequence[HookEntry], event_input: Mapping[str, Any]
    ) -> list[HookExecutionResult]:
        assert event_input["hook_event_name"] == "BeforeTool"
        self.asked.append(("parallel", [hook.command for hook in hooks]))
        return []

    async def execute_hooks_sequential(
        self, hooks: Sequence[HookEntry], event_input: Mapping[str, Any], arguments: ToolArguments | None = None
    ) -> list[HookExecutionResult]:
        assert event_input["hook_event_name"] == "BeforeTool"
        assert arguments is None
        self.asked.append(("sequential", [hook.command for hook in hooks]))
        return []


@pytest.mark.req("HOOK-109", "HOOK-164", "HOOK-165")
@pytest.mark.parametrize(("sequential", "how"), [(False, "parallel"), (True, "sequential")])
def test_how_a_plan_is_run(project: Path, sequential: bool, how: str) -> None:
    """One sequential group makes the whole plan sequential; any other plan runs at once."""
    runner = _NotingRunner()
    hooks = {"BeforeTool": [group("a"), group("b", sequential=sequential), group("c", matcher="write")]}
    fire(make_handler(project, hooks, runner=runner), before_tool)
    assert runner.asked == [(how, ["a", "b"])]


@pytest.mark.req("HOOK-166")
@pytest.mark.parametrize(
    ("event", "answers", "merged"),
    [
        pytest.param(
            "BeforeTool",
            [{"decision": "deny", "reason": "no"}, {"decision": "allow"}],
            {"continue": True, "suppressOutput": False, "decision": "deny", "reason": "no"},
            id="any block",
        ),
        pytest.param(
            "BeforeModel",
            [{"decision": "deny", "reason": "no"}, {"decision": "allow"}],
            {"decision": "allow", "reason": "no"},
            id="later field",
        ),
        pytest.param(
            "BeforeToolSelection",
            [
                {"hookSpecificOutput": {"toolConfig": {"mode": "ANY", "allowedFunctionNames": [name]}}}
                for name in ("b", "a")
            ],
            {
                "continue": True,
                "hookSpecificOutput": {
                    "hookEventName": "BeforeToolSelection",
                    "toolConfig": {"mode": "ANY", "allowedFunctionNames": ["a", "b"]},
                },
            },
            id="union",
        ),
    ],
)
def test_answers_are_merged_by_the_rule_of_the_event(
    project: Path, event: str, answers: list[dict[str, Any]], merged: dict[str, Any]
) -> None:
    """The same answers mean different things on different events."""
    fire_event = next(param.values[1] for param in EVENTS if param.values[0] == event)
    result = fire(make_handler(project, {event: [group(*map(says, answers))]}), fire_event)
    assert result.final_output is not None
    assert result.final_output.to_dict() == merged
    assert [output.to_dict() for output in result.all_outputs] == answers


@pytest.mark.req("HOOK-110", "HOOK-023", "HOOK-160")
@pytest.mark.parametrize(
    ("hook", "errors"),
    [
        pytest.param(command(f"{says({'decision': 'block'})}; exit 1"), 0, id="exit 1"),
        pytest.param(command("kill -9 $$"), 0, id="killed"),
        pytest.param(command("no-such-command-here"), 0, id="no such command"),
        pytest.param(command("sleep 9", timeout=50), 1, id="timeout", marks=pytest.mark.req("HOOK-119")),
        pytest.param({"type": "plugin"}, 1, id="plugin", marks=pytest.mark.req("HOOK-195")),
    ],
)
def test_a_failure_is_not_a_block(project: Path, hook: dict[str, Any], errors: int) -> None:
    """However a hook fails, the result is neither a success nor a block, and the log warns."""
    memory = MemorySink()
    result = fire(make_handler(project, {"BeforeTool": [{"hooks": [hook]}]}, memory), before_tool)
    assert not result.success
    assert result.final_output is None or not result.final_output.is_blocking_decision()
    assert (len(result.errors), result.effect) == (errors, None)
    (warning,) = [record for record in memory.records if record.level is LogLevel.WARN]
    assert warning.message.endswith("; the operation proceeds without it")


@pytest.mark.req("HOOK-119")
def test_a_timeout_names_its_limit(project: Path) -> None:
    """Errors and log tell which limit was exceeded."""
    memory = MemorySink()
    hooks = {"BeforeTool": [{"hooks": [command("sleep 9", timeout=60, name="slow")]}]}
    result = fire(make_handler(project, hooks, memory), before_tool)
    assert result.errors == (HookError("slow timed out after 60ms"),)
    assert memory.records[0].message.startswith("BeforeTool: slow timed out after 60ms (user.json: ")


@pytest.mark.req("HOOK-023", "HOOK-110")
def test_hooks_that_cannot_be_started_block_nothing(project: Path) -> None:
    """Where hooks cannot be started at all, the caller still gets a result that blocks nothing."""
    handler = make_handler(project, {"BeforeTool": [group("a null\0character")]})
    result = fire(handler, before_tool)
    assert (result.success, result.final_output, len(result.errors)) == (False, None, 1)


def test_a_directory_that_is_gone_costs_no_guard(tmp_path: Path) -> None:
    """The guard runs in the nearest directory that is there, and denies."""
    result = fire(make_handler(tmp_path / "gone" / "deeper", {"BeforeTool": [group("exit 2")]}), before_tool)
    assert result.final_output is not None
    assert result.final_output.is_blocking_decision()


@pytest.mark.req("HOOK-160", "HOOK-213", "HOOK-214")
def test_success_is_health_and_not_policy(project: Path) -> None:
    """Exit 2 is a failed run and a block; a block on exit 0 is a good run and a block."""
    by_exit = fire(make_handler(project, {"BeforeTool": [group("exit 2")]}), before_tool)
    by_answer = fire(make_handler(project, {"BeforeTool": [group(says({"decision": "block"}))]}), before_tool)
    assert (by_exit.success, by_answer.success) == (False, True)
    for result in (by_exit, by_answer):
        assert result.final_output is not None
        assert result.final_output.is_blocking_decision()
        assert result.errors == ()


@pytest.mark.req("HOOK-063", "HOOK-064", "HOOK-065", "HOOK-114")
@pytest.mark.parametrize(
    ("text", "merged"),
    [
        pytest.param(says({"reason": "fine"}), {"reason": "fine"}, id="object"),
        pytest.param("echo look out", {"systemMessage": "look out"}, id="text"),
        pytest.param('echo \'{"decision": "block"\'', {"systemMessage": '{"decision": "block"'}, id="broken JSON"),
        pytest.param("printf ' \\n'", None, id="white space"),
    ],
)
def test_what_a_hook_prints_on_exit_0(project: Path, text: str, merged: dict[str, Any] | None) -> None:
    """An object is the answer, other text is for the model, white space is nothing; none of these blocks."""
    result = fire(make_handler(project, {"BeforeTool": [group(text)]}), before_tool)
    rest = {"continue": True, "suppressOutput": False, "decision": "allow"}
    given = result.final_output and result.final_output.to_dict()
    assert given == (None if merged is None else {**rest, **merged})
    assert result.success


@pytest.mark.req("HOOK-019", "HOOK-217")
def test_the_engine_tells_effects_and_changes_nothing(project: Path) -> None:
    """The caller's arguments stay as they are; the new ones are beside them."""
    arguments = {"path": ".", "options": {"all": True}}
    before = deepcopy(arguments)
    answer = says({"hookSpecificOutput": {"tool_input": {"options": {}, "more": 1}}})
    handler = make_handler(project, {"BeforeTool": [group(answer)]})
    result = fire(handler, lambda h: h.fire_before_tool_event("ls", arguments))
    assert result.effect == {"tool_input": {"path": ".", "options": {}, "more": 1}}
    assert arguments == before


def test_cancelling_ends_the_hooks(project: Path) -> None:
    """A cancelled event ends its hooks, and the cancellation is not swallowed."""
    ready, watcher, memory = project / "ready", _Watcher(fails=False), MemorySink()
    os.mkfifo(ready)

    async def main() -> int:
        hooks = {"BeforeTool": [group("echo $$ > ready; exec sleep 30")]}
        handler = make_handler(project, hooks, memory, observer=BoundObserver(watcher, SessionFacts("s", str(project))))
        task = asyncio.ensure_future(before_tool(handler))
        pid = int(await asyncio.to_thread(ready.read_text))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return pid

    with pytest.raises(ProcessLookupError):
        os.kill(asyncio.run(main()), 0)
    assert watcher.seen[-1] == ("finished", 0, "ls")
    (record,) = (record for record in memory.records if record.to_dict()["kind"] == "cancel")
    assert record.message == "BeforeTool ls: cancelled while its hooks ran, so they were ended"


@pytest.mark.req("DELTA-HEVT-004", "DELTA-HBUS-002")
def test_without_a_bus_events_fire_and_dispose_does_nothing(project: Path) -> None:
    """The direct path needs no bus, before and after `dispose()`."""
    handler = make_handler(project, {"BeforeTool": [group("echo ran")]})
    results = [fire(handler, before_tool)]
    handler.dispose()
    handler.dispose()
    results.append(fire(handler, before_tool))
    assert [result.results[0].stdout for result in results] == ["ran\n", "ran\n"]


def test_an_event_comes_to_a_verdict(project: Path) -> None:
    """`fire` returns the verdict with the plan, every run and every hook that did not run; results are its face."""
    hooks = {
        "BeforeTool": [group("exit 2", "touch ran", sequential=True), group("true", matcher="write")],
    }
    handler = make_handler(project, hooks)
    verdict = asyncio.run(handler.fire(HookEventName.BEFORE_TOOL, TOOL))
    assert (verdict.event, verdict.subject, verdict.blocked, verdict.reason) == (
        HookEventName.BEFORE_TOOL,
        "ls",
        True,
        "Blocked by hook",
    )
    assert [run.hook.command for run in verdict.runs] == ["exit 2"]
    assert verdict.plan is not None
    assert [(skip.hook.command, skip.kind) for skip in (*verdict.plan.skipped, *verdict.skipped)] == [
        ("true", SkipKind.UNMATCHED),
        ("touch ran", SkipKind.CHAIN_STOPPED),
    ]
    assert verdict.skipped[0].reason == "chain stopped: exit 2 blocked"
    assert verdict.duration_ms > 0
    assert Verdict.from_dict(verdict.to_dict()) == verdict
    assert not (project / "ran").exists()


@pytest.mark.parametrize("lifecycle", ["watch", "apply"])
@pytest.mark.parametrize("event", HookEventName)
def test_a_fault_of_ours_blocks_where_the_settings_say_so(project: Path, event: HookEventName, lifecycle: str) -> None:
    """With `onFault: block`, an event that can block does so when the engine fails, and the log says which."""
    memory = MemorySink()
    handler = make_handler(project, {event.value: [group("true")]}, memory, runner=Broken(), lifecycle=lifecycle)
    handler.use(handler.runner, EngineRules(on_fault=OnError.BLOCK))
    verdict = asyncio.run(handler.fire(event, {"tool_name": "ls", "tool_input": {}, "llm_request": {}}))
    can_block = event in (HookEventName.BEFORE_TOOL, HookEventName.BEFORE_MODEL) or (
        lifecycle == "apply" and event in (HookEventName.BEFORE_AGENT, HookEventName.PRE_COMPRESS)
    )
    assert (verdict.blocked, verdict.success) == (can_block, False)
    (fault,) = (record.message for record in memory.records if record.to_dict()["kind"] == "fault")
    assert ("so the event is blocked" if can_block else "so its hooks had no effect") in fault
    if can_block:
        assert verdict.reason == "hookline failed while execution (RuntimeError), and onFault is block"
