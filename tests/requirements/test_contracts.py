import ast
import asyncio
import inspect
import json
import typing
from collections.abc import Awaitable, Callable, Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeGuard

import pytest
from google.genai import types

import hookline
from hookline import (
    AggregatedHookResult,
    Config,
    DefaultHookOutput,
    GenerateContentParameters,
    HookEventHandler,
    HookEventName,
    HookSystem,
    InProcessBus,
    ToolResult,
    execute_tool_with_hooks,
    fire_after_model_hook,
    fire_after_tool_hook,
    fire_before_model_hook,
    fire_before_tool_hook,
    fire_before_tool_selection_hook,
)
from hookline.client.triggers.model import AfterModelHookResult, BeforeModelHookResult, BeforeToolSelectionHookResult
from hookline.engine.decide import HookAggregator
from hookline.engine.plan import HookPlanner
from hookline.engine.registry import HookRegistry
from hookline.engine.run import HookRunner
from hookline.log.write.logger import MemorySink
from hookline.protocol import inputs
from hookline.protocol.messages import HookExecutionRequest, HookExecutionResponse, Message, MessageBusType

TOOLS: list[Any] = [types.Tool(function_declarations=[types.FunctionDeclaration(name="ls")])]


def make_request() -> GenerateContentParameters:
    return GenerateContentParameters(
        model="m",
        contents=[types.Content(role="user", parts=[types.Part(text="hi")])],
        config=types.GenerateContentConfig(temperature=0.5, tools=TOOLS),
    )


def make_response() -> types.GenerateContentResponse:
    content = types.Content(role="model", parts=[types.Part(text="ho")])
    return types.GenerateContentResponse(candidates=[types.Candidate(content=content)])


HOOK_REQUEST = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "config": {"temperature": 0.5}}
HOOK_RESPONSE = {"text": "ho", "candidates": [{"content": {"role": "model", "parts": ["ho"]}}]}


# --- the trigger functions -------------------------------------------------------------------------------------------

NAMES = {
    "Config": Config,
    "DefaultHookOutput": DefaultHookOutput,
    "GenerateContentResponse": types.GenerateContentResponse,
}
SIGNATURES: list[Any] = [
    pytest.param(
        fire_before_tool_hook,
        {"config": Config, "tool_name": str, "tool_input": Mapping[str, Any]},
        DefaultHookOutput | None,
        id="fire_before_tool_hook",
        marks=pytest.mark.req("HOOK-150"),
    ),
    pytest.param(
        fire_after_tool_hook,
        {"config": Config, "tool_name": str, "tool_input": Mapping[str, Any], "tool_response": Mapping[str, Any]},
        DefaultHookOutput | None,
        id="fire_after_tool_hook",
        marks=pytest.mark.req("HOOK-151"),
    ),
    pytest.param(
        fire_before_model_hook,
        {"config": Config, "llm_request": GenerateContentParameters},
        BeforeModelHookResult,
        id="fire_before_model_hook",
        marks=pytest.mark.req("HOOK-152"),
    ),
    pytest.param(
        fire_after_model_hook,
        {
            "config": Config,
            "llm_request": GenerateContentParameters,
            "llm_response": types.GenerateContentResponse,
        },
        AfterModelHookResult,
        id="fire_after_model_hook",
        marks=pytest.mark.req("HOOK-153"),
    ),
    pytest.param(
        fire_before_tool_selection_hook,
        {"config": Config, "llm_request": GenerateContentParameters},
        BeforeToolSelectionHookResult,
        id="fire_before_tool_selection_hook",
        marks=pytest.mark.req("HOOK-154"),
    ),
]


@pytest.mark.parametrize(("trigger", "parameters", "returned"), SIGNATURES)
def test_what_a_trigger_takes_and_returns(
    trigger: Callable[..., Any], parameters: dict[str, Any], returned: Any
) -> None:
    """Its arguments can be given by position, in this order and of these types; all others are optional options."""
    assert inspect.iscoroutinefunction(trigger)
    given = inspect.signature(trigger).parameters.values()
    by_position = [one.name for one in given if one.kind is one.POSITIONAL_OR_KEYWORD]
    assert by_position == list(parameters)
    assert all(one.kind is one.KEYWORD_ONLY and one.default is None for one in given if one.name not in parameters)
    hints = typing.get_type_hints(trigger, localns=NAMES)
    assert {name: hints[name] for name in parameters} == parameters
    assert hints["return"] == returned


@pytest.mark.req("HOOK-150", "HOOK-151")
def test_tool_triggers_pass_on_and_return(scene: Any, says: Any) -> None:
    """Hooks read the trigger's arguments, and the merged answer comes back with its questions."""
    answer = {"decision": "deny", "reason": "no"}
    config = scene.config({event: [f"cat > {event}; {says(answer)}"] for event in ("BeforeTool", "AfterTool")})
    before = asyncio.run(fire_before_tool_hook(config, "ls", {"path": "."}))
    after = asyncio.run(fire_after_tool_hook(config, "ls", {"path": "."}, {"llmContent": "a"}))
    for output in (before, after):
        assert isinstance(output, DefaultHookOutput)
        assert (output.is_blocking_decision(), output.get_effective_reason()) == (True, "no")
    told = [json.loads((scene.project / event).read_text()) for event in ("BeforeTool", "AfterTool")]
    assert [(one["tool_name"], one["tool_input"], one.get("tool_response")) for one in told] == [
        ("ls", {"path": "."}, None),
        ("ls", {"path": "."}, {"llmContent": "a"}),
    ]
    nothing = scene.config({})
    assert asyncio.run(fire_before_tool_hook(nothing, "ls", {})) is None
    assert asyncio.run(fire_after_tool_hook(nothing, "ls", {}, {})) is None


@pytest.mark.req("HOOK-141", "HOOK-152", "HOOK-153", "HOOK-154")
def test_model_triggers_deal_in_sdk_types(scene: Any, says: Any) -> None:
    """Callers pass and get SDK types; hooks read and answer the same in the stable form."""
    answers: dict[str, dict[str, Any]] = {
        "BeforeModel": {"hookSpecificOutput": {"llm_request": {"model": "other"}}},
        "AfterModel": {"hookSpecificOutput": {"llm_response": {"candidates": [{"content": {"parts": ["ha"]}}]}}},
        "BeforeToolSelection": {"hookSpecificOutput": {"toolConfig": {"mode": "ANY", "allowedFunctionNames": ["ls"]}}},
    }
    config = scene.config({event: [f"cat > {event}; {says(answer)}"] for event, answer in answers.items()})
    before = asyncio.run(fire_before_model_hook(config, make_request()))
    after = asyncio.run(fire_after_model_hook(config, make_request(), make_response()))
    chosen = asyncio.run(fire_before_tool_selection_hook(config, make_request()))

    assert isinstance(before, BeforeModelHookResult)
    assert isinstance(before.modified_request, GenerateContentParameters)
    assert before.modified_request.model == "other"
    assert isinstance(after, AfterModelHookResult)
    assert isinstance(after.response, types.GenerateContentResponse)
    assert after.response.text == "ha"
    assert isinstance(chosen, BeforeToolSelectionHookResult)
    assert isinstance(chosen.tool_config, types.ToolConfig)
    calling = chosen.tool_config.function_calling_config
    assert calling is not None
    assert calling.allowed_function_names == ["ls"]
    for event in answers:
        told = json.loads((scene.project / event).read_text())
        assert told["llm_request"] == HOOK_REQUEST
        assert told.get("llm_response") == (HOOK_RESPONSE if event == "AfterModel" else None)


@pytest.mark.req("HOOK-141")
def test_a_response_of_a_hook_is_of_the_sdk(scene: Any, says: Any) -> None:
    """A response in the model's place also has the SDK's type."""
    answer = {"decision": "block", "hookSpecificOutput": {"llm_response": HOOK_RESPONSE}}
    result = asyncio.run(fire_before_model_hook(scene.config({"BeforeModel": [says(answer)]}), make_request()))
    assert isinstance(result.synthetic_response, types.GenerateContentResponse)
    assert result.synthetic_response.text == "ho"


@pytest.mark.req("HOOK-141")
def test_the_agent_never_touches_the_hook_forms() -> None:
    """No module of the agent names the forms in which hooks see a model call."""
    forms = {"LLMRequest", "LLMResponse", "LLMMessage", "LLMCandidate", "to_hook_llm_request", "to_hook_llm_response"}
    modules = sorted((Path(hookline.__file__).parent / "apps" / "agent").rglob("*.py"))
    assert modules
    named = {
        (module.name, name) for module in modules for name in _names(ast.parse(module.read_text(encoding="utf-8")))
    }
    assert {(module, name) for module, name in named if name in forms} == set()


def _names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
                yield name


# --- what is never raised, and never changed -------------------------------------------------------------------------


class Exploding(Mapping[str, Any]):
    """Fails at every look."""

    def __getitem__(self, key: str) -> NoReturn:
        raise OSError(key)

    def __iter__(self) -> NoReturn:
        raise OSError("iter")

    def __len__(self) -> NoReturn:
        raise OSError("len")


ODD: list[Any] = [None, 7, [], object(), Exploding(), "\ud800"]
COUNTS = {
    "before_tool": 2,
    "after_tool": 3,
    "before_model": 1,
    "after_model": 2,
    "before_tool_selection": 1,
    "before_agent": 1,
    "after_agent": 2,
    "session_start": 1,
    "session_end": 1,
    "pre_compress": 1,
    "notification": 3,
}


@pytest.mark.req("HOOK-143", "HOOK-147")
@pytest.mark.parametrize("event", HookEventName)
def test_no_fire_method_raises(scene: Any, event: HookEventName) -> None:
    """With any fields, the method of an event returns a result."""
    method = event.name.lower()

    async def main() -> list[AggregatedHookResult]:
        system = scene.config({event.value: ["true"]}).get_hook_system()
        await system.initialize()
        fire = getattr(system.get_event_handler(), f"fire_{method}_event")
        return [await fire(*[odd] * COUNTS[method]) for odd in ODD]

    results = asyncio.run(main())
    assert [type(result) for result in results] == [AggregatedHookResult] * len(ODD)
    for result in results:
        # It either ran or says what went wrong, which never decides anything.
        assert result.success is not bool(result.errors)
        assert result.final_output is None


class _BrokenRunner(HookRunner):
    """Fails before it runs any hook."""

    async def run(self, *_: Any) -> NoReturn:
        raise RuntimeError("no runner")


@pytest.mark.req("HOOK-113", "HOOK-147", "DELTA-HFAIL-001")
@pytest.mark.parametrize("event", HookEventName)
def test_a_fault_of_ours_is_a_failed_result_and_a_warning(project: Path, event: HookEventName) -> None:
    """On every event a fault of the engine gives a failed result that decides nothing, and a warning in the log."""
    sink, method = MemorySink(), event.name.lower()
    hooks = {event.value: [{"hooks": [{"type": "command", "command": "touch ran; exit 2"}]}]}
    settings = {"enableHooks": True, "hooks": hooks, "hooksConfig": {"log": {"enabled": False}}}
    fields: dict[str, list[Any]] = {"before_tool": ["ls", {}], "after_tool": ["ls", {}, {}]}

    async def main() -> AggregatedHookResult:
        system = Config(project, settings=settings, log_sinks=[sink]).get_hook_system()
        assert system is not None
        await system.initialize()
        system.get_event_handler().runner = _BrokenRunner()
        fire = getattr(system.get_event_handler(), f"fire_{method}_event")
        result: AggregatedHookResult = await fire(*fields.get(method, [{}] * COUNTS[method]))
        return result

    result = asyncio.run(main())
    assert (result.success, result.final_output, result.all_outputs) == (False, None, ())
    assert "no runner" in result.errors[0].message
    faults = [record.to_dict() for record in sink.records if record.to_dict().get("kind") == "fault"]
    assert [(fault["level"], "no runner" in fault["message"]) for fault in faults] == [("warn", True)]
    assert list(project.iterdir()) == []


EVERYTHING = {
    "continue": False,
    "stopReason": "enough",
    "systemMessage": "note",
    "suppressOutput": True,
    "hookSpecificOutput": {
        "additionalContext": "more",
        "tool_input": {"path": "/", "options": {}},
        "llm_request": {"model": "other", "messages": [{"role": "user", "content": "ho"}]},
        "llm_response": HOOK_RESPONSE,
        "toolConfig": {"mode": "NONE"},
    },
}
GOES_ON = {name: value for name, value in EVERYTHING.items() if name != "continue"}
MODEL_EVENTS = ("BeforeModel", "AfterModel", "BeforeToolSelection")


@pytest.mark.req("HOOK-217")
@pytest.mark.parametrize(
    "answer", [EVERYTHING, GOES_ON, {"systemMessage": "note"}], ids=["stop", "go on", "only a note"]
)
def test_the_engine_changes_nothing_of_its_callers(
    scene: Any, says: Any, answer: dict[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    """With any answers, arguments, results and conversation stay unchanged, and nothing is shown."""
    config = scene.config({event: [says(answer)] for event in ("BeforeTool", "AfterTool", *MODEL_EVENTS)})
    arguments = {"path": ".", "options": {"all": True}}
    response = {"llmContent": "a", "returnDisplay": "b", "metadata": {"lines": [1]}}
    given = (arguments, response, make_request(), make_response())
    before = deepcopy(given)

    async def main() -> None:
        system = config.get_hook_system()
        await system.initialize()
        handler = system.get_event_handler()
        arguments, response, request, reply = given
        for result in (
            await handler.fire_before_tool_event("ls", arguments),
            await handler.fire_after_tool_event("ls", arguments, response),
            await handler.fire_before_model_event(request),
            await handler.fire_after_model_event(request, reply),
            await handler.fire_before_tool_selection_event(request),
        ):
            assert result.final_output is not None
            assert result.final_output.system_message == "note"
        await fire_before_tool_hook(config, "ls", arguments)
        await fire_after_tool_hook(config, "ls", arguments, response)
        await fire_before_model_hook(config, request)
        await fire_after_model_hook(config, request, reply)
        await fire_before_tool_selection_hook(config, request)

    asyncio.run(main())
    assert given == before
    assert capfd.readouterr() == ("", "")


@pytest.mark.req("HOOK-217")
def test_a_tool_s_own_result_stays_as_it_was(scene: Any, says: Any) -> None:
    """Additions of AfterTool hooks are in the caller's result, and not in the tool's."""
    own = ToolResult(llm_content=[{"text": "a"}], return_display="b", metadata={"lines": [1]})
    before = deepcopy(own)

    async def tool(_: dict[str, Any]) -> ToolResult:
        return own

    config = scene.config({"AfterTool": [says(GOES_ON)]})
    result = asyncio.run(execute_tool_with_hooks(config, "ls", {}, tool))
    assert result.suppress_display
    assert result != own
    assert own == before


@pytest.mark.req("HOOK-159")
@pytest.mark.parametrize("event", ["BeforeTool", "AfterTool"])
@pytest.mark.parametrize("decision", ["allow", "deny"])
def test_a_system_message_is_for_the_model_alone(scene: Any, says: Any, event: str, decision: str) -> None:
    """The model reads the note, also beside a block; the user never does."""

    async def tool(_: dict[str, Any]) -> ToolResult:
        return ToolResult(llm_content="done", return_display="Done.")

    config = scene.config({event: [says({"decision": decision, "reason": "no", "systemMessage": "note"})]})
    result = asyncio.run(execute_tool_with_hooks(config, "ls", {}, tool))
    assert str(result.llm_content).endswith("\n\n[System] note")
    is_blocked = (event, decision) == ("BeforeTool", "deny")
    assert result.return_display == ("no" if is_blocked else "Done.")


# --- events by name, and requests on the bus -------------------------------------------------------------------------

GOOD: Mapping[HookEventName, Mapping[str, Any]] = {
    HookEventName.BEFORE_TOOL: {"tool_name": "ls", "tool_input": {}},
    HookEventName.AFTER_TOOL: {"tool_name": "ls", "tool_input": {}, "tool_response": {"llmContent": "a"}},
    HookEventName.BEFORE_MODEL: {"llm_request": HOOK_REQUEST},
    HookEventName.AFTER_MODEL: {"llm_request": HOOK_REQUEST, "llm_response": HOOK_RESPONSE},
    HookEventName.BEFORE_TOOL_SELECTION: {"llm_request": HOOK_REQUEST},
    HookEventName.BEFORE_AGENT: {"prompt": "go"},
    HookEventName.AFTER_AGENT: {"prompt": "go", "prompt_response": "gone", "stop_hook_active": False},
    HookEventName.SESSION_START: {"source": "startup"},
    HookEventName.SESSION_END: {"reason": "logout"},
    HookEventName.PRE_COMPRESS: {"trigger": "auto"},
    HookEventName.NOTIFICATION: {"notification_type": "ToolPermission", "message": "May I?", "details": {}},
}


_WRONG: tuple[Any, ...] = (None, 7, [])


def wrong_inputs(good: Mapping[str, Any]) -> Iterator[Any]:
    """Inputs in which one thing is wrong: nothing at all, a field that is missing, or one of another kind."""
    yield from (None, [], "text", {})
    for name in good:
        yield {key: value for key, value in good.items() if key != name}
        for wrong in _WRONG:
            yield {**good, name: wrong}
    for name in ("source", "reason", "trigger"):
        if name in good:
            yield {**good, name: "nonsense"}


def answers_on_the_bus(config: Callable[[InProcessBus], Config], *messages: Message) -> list[Any]:
    """Return the responses to these requests, in turn."""

    async def main() -> list[Any]:
        bus, answers = InProcessBus(), list[Any]()

        async def note(message: Message) -> None:
            answers.append(message)

        bus.subscribe(MessageBusType.HOOK_EXECUTION_RESPONSE, note)
        system = config(bus).get_hook_system()
        assert system is not None
        await system.initialize()
        for message in messages:
            await bus.publish(message)
        system.dispose()
        return answers

    return asyncio.run(main())


def request_of(event: object, fields: object) -> Message:
    return {"type": "hook-execution-request", "eventName": event, "input": fields, "correlationId": "c1"}


@pytest.mark.req("DELTA-HPAY-005", "DELTA-HPAY-001", "DELTA-HPAY-002")
@pytest.mark.parametrize("event", HookEventName)
def test_each_check_narrows_to_what_the_boundary_lets_in(scene: Any, event: HookEventName) -> None:
    """An event's check is a type predicate for its own fields, and true of exactly what is served on the bus."""
    check = getattr(inputs, f"is_{event.name.lower()}_input")
    returned = typing.get_type_hints(check)["return"]
    assert typing.get_origin(returned) is TypeGuard
    (narrowed,) = typing.get_args(returned)
    assert narrowed.__required_keys__ == GOOD[event].keys()

    cases = [GOOD[event], *wrong_inputs(GOOD[event])]
    messages = (request_of(event.value, case) for case in cases)
    answers = answers_on_the_bus(lambda bus: scene.config({event.value: ["true"]}, message_bus=bus), *messages)
    assert [check(case) for case in cases] == [True] + [False] * (len(cases) - 1)
    assert [answer["success"] for answer in answers] == [True] + [False] * (len(cases) - 1)
    assert {answer["error"]["code"] for answer in answers[1:]} == {"invalid_input"}
    assert len(scene.records("hook")) == 1


@pytest.mark.req("DELTA-HBUS-001")
def test_the_types_of_the_bus() -> None:
    """Requests and responses differ by their `type`, and have the typed fields of the contract."""
    assert {kind.name: kind.value for kind in MessageBusType} == {
        "HOOK_EXECUTION_REQUEST": "hook-execution-request",
        "HOOK_EXECUTION_RESPONSE": "hook-execution-response",
    }
    request = typing.get_type_hints(HookExecutionRequest)
    response = typing.get_type_hints(HookExecutionResponse)
    for hints, kind in ((request, "hook-execution-request"), (response, "hook-execution-response")):
        assert typing.get_origin(hints["type"]) is Literal
        assert typing.get_args(hints["type"]) == (kind,)
    assert request.keys() == {"type", "eventName", "input", "correlationId"}
    assert typing.get_origin(request["input"]) in (dict, Mapping)
    assert response.keys() == {"type", "correlationId", "success", "output", "error"}
    assert response["success"] is bool
    failure = typing.get_type_hints(response["error"])
    assert {name: failure[name] for name in ("code", "message")} == {"code": str, "message": str}
    assert "details" in failure
    assert {"type", "correlationId", "success"} <= HookExecutionResponse.__required_keys__
    assert {"output", "error"} <= HookExecutionResponse.__optional_keys__


def test_a_request_names_its_event_by_the_vocabulary() -> None:
    """A type checker refuses a request for an event that does not exist."""
    assert typing.get_type_hints(HookExecutionRequest)["eventName"] is HookEventName


@pytest.mark.req("DELTA-HBUS-001", "DELTA-HEVT-002")
def test_responses_have_the_fields_of_the_contract(scene: Any) -> None:
    """A response has an output or an error, never both, and nothing that the contract does not name."""
    messages = [request_of("BeforeAgent", {"prompt": "go"}), request_of("BeforeAgent", {}), request_of("Nothing", {})]
    served, *failed = answers_on_the_bus(
        lambda bus: scene.config({"BeforeAgent": ["echo hi"]}, message_bus=bus), *messages
    )
    common = {"type": "hook-execution-response", "correlationId": "c1"}
    assert served.keys() == {*common, "success", "output"}
    assert (served.items() >= common.items(), served["success"]) == (True, True)
    assert served["output"].keys() >= {"success", "finalOutput", "allOutputs", "errors", "totalDuration"}
    for answer in failed:
        assert answer.keys() == {*common, "success", "error"}
        assert (answer.items() >= common.items(), answer["success"]) == (True, False)
        assert answer["error"].keys() == {"code", "message", "details"}


@pytest.mark.req("DELTA-HFAIL-005")
@pytest.mark.parametrize(
    ("method", "parameter"),
    [
        (HookPlanner.create_execution_plan, "event"),
        (HookRegistry.get_hooks_for_event, "event"),
        (HookAggregator.aggregate_results, "event"),
        (HookSystem.explain, "event"),
    ],
)
def test_the_parts_take_events_by_their_vocabulary(method: Callable[..., Any], parameter: str) -> None:
    """Inside, an event is a HookEventName, so that a type checker refuses any other text."""
    assert typing.get_type_hints(method)[parameter] is HookEventName


@pytest.mark.req("DELTA-HFAIL-005")
def test_the_handler_passes_events_on_by_their_vocabulary() -> None:
    """No inner method of the handler takes an event's name as a mere text."""
    loose = []
    for name, method in inspect.getmembers(HookEventHandler, inspect.isfunction):
        # Imported for type checkers only: they would load a library with every command.
        unloaded = ("GenerateContentParameters", "AddressedResponse", "Message", "MessageBus", "Subscription")
        hints = typing.get_type_hints(method, localns=dict.fromkeys(unloaded, object))
        named = [hint for parameter, hint in hints.items() if parameter in ("event", "event_name", "name")]
        if name.startswith("_") and any(hint is not HookEventName for hint in named):
            loose.append(name)
    assert loose == []


@pytest.mark.req("DELTA-HFAIL-005")
def test_an_event_by_name_is_narrowed_or_refused(scene: Any) -> None:
    """A name from outside is turned into the event it names; what names none gives a failed result and runs nothing."""

    async def main() -> list[AggregatedHookResult]:
        system = scene.config({"BeforeAgent": ["true"]}).get_hook_system()
        await system.initialize()
        fire: Callable[..., Awaitable[AggregatedHookResult]] = system.get_event_handler().fire_event
        names: list[Any] = ["BeforeAgent", "beforeagent", "", None, 7, ["BeforeAgent"]]
        return [await fire(name, {"prompt": "go"}) for name in names]

    good, *bad = asyncio.run(main())
    (result,) = good.results
    assert result.event is HookEventName.BEFORE_AGENT
    assert good.verdict is not None
    assert good.verdict.event is HookEventName.BEFORE_AGENT
    assert [(one.success, one.final_output, one.results, len(one.errors)) for one in bad] == [(False, None, (), 1)] * 5
