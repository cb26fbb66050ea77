import asyncio
import json
import shlex
import typing
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NoReturn, TypeGuard

import pytest
from google.genai import types

from hookline.client.bus import InProcessBus
from hookline.client.config import Config
from hookline.engine.mediation import respond
from hookline.log.write.logger import MemorySink
from hookline.protocol import inputs
from hookline.protocol.events import HookEventName
from hookline.protocol.llm import GenerateContentParameters
from hookline.protocol.messages import Message
from hookline.protocol.records import LogLevel
from hookline.protocol.results import failure_verdict
from hookline.protocol.verdict import Verdict

REQUEST, RESPONSE = "hook-execution-request", "hook-execution-response"

FIELDS: Mapping[HookEventName, dict[str, Any]] = {
    HookEventName.BEFORE_TOOL: {"tool_name": "ls", "tool_input": {"path": "."}},
    HookEventName.AFTER_TOOL: {"tool_name": "ls", "tool_input": {}, "tool_response": {"llmContent": "a"}},
    HookEventName.BEFORE_MODEL: {"llm_request": {"model": "m", "messages": [], "config": {}}},
    HookEventName.AFTER_MODEL: {"llm_request": {"model": "m"}, "llm_response": {"text": "hello", "candidates": []}},
    HookEventName.BEFORE_TOOL_SELECTION: {"llm_request": {"model": "m", "messages": [], "config": {}}},
    HookEventName.BEFORE_AGENT: {"prompt": "go"},
    HookEventName.AFTER_AGENT: {"prompt": "go", "prompt_response": "gone", "stop_hook_active": False},
    HookEventName.SESSION_START: {"source": "startup"},
    HookEventName.SESSION_END: {"reason": "exit"},
    HookEventName.PRE_COMPRESS: {"trigger": "manual"},
    HookEventName.NOTIFICATION: {"notification_type": "ToolPermission", "message": "May I?", "details": {}},
}
TOOL = FIELDS[HookEventName.BEFORE_TOOL]


def says(answer: object) -> str:
    """A command that answers this."""
    return f"printf %s {shlex.quote(json.dumps(answer))}"


def settings(hooks: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    return {
        "enableHooks": True,
        "hooksConfig": {"log": {"enabled": False}},
        "hooks": {
            event: [{"hooks": [{"type": "command", "command": command} for command in commands]}]
            for event, commands in hooks.items()
        },
    }


def ask(
    project: Path,
    hooks: Mapping[str, Sequence[str]],
    *requests: Message,
    systems: int = 1,
    sink: MemorySink | None = None,
) -> list[dict[str, Any]]:
    """The responses on a bus that one or more systems serve."""
    responses: list[dict[str, Any]] = []

    async def main() -> None:
        bus = InProcessBus()

        async def note(message: Message) -> None:
            responses.append(dict(message))

        bus.subscribe(RESPONSE, note)
        with ExitStack() as stack:
            for _ in range(systems):
                config = Config(project, settings=settings(hooks), message_bus=bus, log_sinks=[sink] if sink else [])
                system = config.get_hook_system()
                assert system is not None
                await system.initialize()
                stack.callback(system.dispose)
            for request in requests:
                await bus.publish(request)
        assert len(bus._subscribers.get(REQUEST, ())) == 0
        await bus.publish({"type": REQUEST, "eventName": "BeforeAgent", "input": {"prompt": "anyone?"}})

    asyncio.run(main())
    return responses


def request(event: str, fields: object, **others: Any) -> Message:
    return {"type": REQUEST, "eventName": event, "input": fields, "correlationId": "c1", **others}


@pytest.mark.req("DELTA-HSYS-001", "DELTA-HEVT-001", "DELTA-HEVT-002", "DELTA-HBUS-001")
@pytest.mark.parametrize("event", HookEventName)
def test_every_event_can_be_requested(project: Path, event: HookEventName) -> None:
    """A request fires the event that it names, and its answer carries its correlation id and the whole result."""
    (response,) = ask(project, {event: ["cat > told", says({"reason": "because"})]}, request(event, FIELDS[event]))
    output = response["output"]
    assert response == {"type": RESPONSE, "correlationId": "c1", "success": True, "output": output}
    assert output.keys() == {"success", "finalOutput", "allOutputs", "errors", "totalDuration"}
    assert (output["allOutputs"], output["errors"]) == ([{"reason": "because"}], [])
    told = json.loads((project / "told").read_text())
    assert told["hook_event_name"] == event
    assert FIELDS[event].items() <= told.items()


@pytest.mark.req("DELTA-HEVT-002", "HOOK-160")
def test_a_block_is_answered_with_the_reason(project: Path) -> None:
    """A hook that exits with 2 has not run well, and what it decided is in the output."""
    (response,) = ask(project, {"BeforeTool": ["echo no >&2; exit 2"]}, request("BeforeTool", TOOL))
    assert response["success"] is False
    assert response["output"]["finalOutput"]["reason"] == "no"
    assert "error" not in response


@pytest.mark.req("DELTA-HFAIL-003")
def test_a_request_that_no_hook_matches_succeeds(project: Path) -> None:
    """Nothing to run is a plain success."""
    (response,) = ask(project, {}, request("BeforeTool", TOOL))
    assert response == {
        "type": RESPONSE,
        "correlationId": "c1",
        "success": True,
        "output": {"success": True, "finalOutput": None, "allOutputs": [], "errors": [], "totalDuration": 0.0},
    }


@pytest.mark.req("DELTA-HBUS-003")
@pytest.mark.parametrize("given", [{}, {"correlationId": ""}, {"correlationId": None}])
@pytest.mark.parametrize("event", ["BeforeTool", "Unknown"])
def test_a_request_without_an_id_gets_one(project: Path, given: dict[str, Any], event: str) -> None:
    """Where a request has no usable correlation id, good and bad answers carry a fresh UUID."""
    bare: Message = {"type": REQUEST, "eventName": event, "input": TOOL, **given}
    first, second = (response["correlationId"] for response in ask(project, {}, bare, bare))
    assert (uuid.UUID(first).version, uuid.UUID(second).version) == (4, 4)
    assert first != second


@pytest.mark.req("DELTA-HBUS-003", "DELTA-HEVT-002")
@pytest.mark.parametrize("given", [42, "c7", 0])
@pytest.mark.parametrize("event", ["BeforeTool", "Unknown"])
def test_any_id_is_echoed(project: Path, given: object, event: str) -> None:
    """The sender recognizes its own id, whatever it is."""
    (response,) = ask(project, {}, request(event, TOOL, correlationId=given))
    assert response["correlationId"] == given


@pytest.mark.req("DELTA-HEVT-002")
def test_answers_to_simultaneous_requests_keep_their_ids(project: Path) -> None:
    """Two requests under way at once are each answered under their own id."""

    async def main() -> dict[str, Any]:
        bus = InProcessBus()
        answers: dict[str, Any] = {}

        async def note(message: Message) -> None:
            answers[message["correlationId"]] = message["output"]["finalOutput"]["systemMessage"]

        bus.subscribe(RESPONSE, note)
        # The first can only end after the second has begun.
        command = """p=$(sed 's/.*"prompt":"//; s/".*//'); touch $p; until [ -e two ]; do sleep 0.01; done; echo $p"""
        system = Config(project, settings=settings({"BeforeAgent": [command]}), message_bus=bus).get_hook_system()
        assert system is not None
        await system.initialize()
        await asyncio.gather(
            *(bus.publish(request("BeforeAgent", {"prompt": name}, correlationId=name)) for name in ("one", "two"))
        )
        system.dispose()
        return answers

    assert asyncio.run(main()) == {"one": "one", "two": "two"}


@pytest.mark.req("DELTA-HEVT-003", "DELTA-HFAIL-002", "DELTA-HFAIL-005")
@pytest.mark.parametrize("event", ["PreToolUse", "beforetool", "", None, 7, ["BeforeTool"]])
def test_an_unknown_event_is_answered(project: Path, event: Any) -> None:
    """An unknown event is an error with the names of all events, and nothing is raised."""
    known = [name.value for name in HookEventName]
    assert ask(project, {}, request(event, {})) == [
        {
            "type": RESPONSE,
            "correlationId": "c1",
            "success": False,
            "error": {
                "code": "unsupported_event",
                "message": f"{event!r} is not an event; use one of {', '.join(known)}",
                "details": {"supported": known},
            },
        }
    ]


def wrong_inputs() -> Iterator[tuple[HookEventName, Any, str]]:
    for event, fields in FIELDS.items():
        yield event, None, "input is null, expected an object with "
        for name in fields:
            yield event, {key: value for key, value in fields.items() if key != name}, f"{name} is missing"
            yield event, {**fields, name: 7}, f"{name}: expected `"
    yield HookEventName.BEFORE_MODEL, {"llm_request": "hi"}, "llm_request: expected `object`, got `str`"
    yield HookEventName.BEFORE_MODEL, {"llm_request": {"model": 5}}, "llm_request.model: expected `str`, got `int`"
    yield HookEventName.SESSION_END, {"reason": "tired"}, "reason: invalid enum value 'tired'"


@pytest.mark.req("DELTA-HPAY-001", "DELTA-HPAY-002", "DELTA-HFAIL-002")
@pytest.mark.parametrize("event", HookEventName)
def test_invalid_payloads_are_answered_and_not_planned(project: Path, event: HookEventName) -> None:
    """Each field of each event is checked first; where one is wrong no hook is planned or run."""
    cases = [(fields, problem) for one, fields, problem in wrong_inputs() if one is event]
    memory = MemorySink()
    responses = ask(project, {event: ["touch ran"]}, *(request(event, fields) for fields, _ in cases), sink=memory)
    for (fields, problem), response in zip(cases, responses, strict=True):
        assert "error" in response, fields
        error = response["error"]
        assert (response["success"], response["correlationId"], error["code"]) == (False, "c1", "invalid_input")
        assert error["message"].startswith(f"{event}: {problem}")
        assert error["details"] == {"event": event, "problems": [error["message"].removeprefix(f"{event}: ")]}
    assert (memory.records, list(project.iterdir())) == ([], [])


@pytest.mark.req("DELTA-HPAY-005")
@pytest.mark.parametrize("event", HookEventName)
def test_validators_are_type_predicates(event: HookEventName) -> None:
    """The check of each event narrows the input's type for a type checker."""
    validator = getattr(inputs, f"is_{event.name.lower()}_input")
    assert typing.get_origin(typing.get_type_hints(validator)["return"]) is TypeGuard
    assert validator(FIELDS[event])
    assert not validator({})


@pytest.mark.req("DELTA-HPAY-003")
def test_a_response_without_text_is_translated(project: Path) -> None:
    """The SDK's JSON form of a response that only calls a function also reaches hooks in the stable form."""
    call = {"function_call": {"name": "ls", "args": {}}}
    response = {"candidates": [{"content": {"role": "model", "parts": [call]}, "finish_reason": "STOP"}]}
    fields = {"llm_request": {"model": "m"}, "llm_response": response}
    (answered,) = ask(project, {"AfterModel": ["cat > told"]}, request("AfterModel", fields))
    assert answered["success"], answered
    told = json.loads((project / "told").read_text())
    assert "ls" not in json.dumps(told["llm_response"])
    assert inputs.is_after_model_input({key: told[key] for key in fields})


@pytest.mark.req("DELTA-HPAY-003")
def test_model_payloads_are_translated(project: Path) -> None:
    """SDK types, and their JSON forms, also reach hooks in the stable form on this path."""
    content = types.Content(role="user", parts=[types.Part(text="hi")])
    response = types.GenerateContentResponse(candidates=[types.Candidate(content=content)])
    fields = [
        {"llm_request": GenerateContentParameters(model="m", contents=[content]), "llm_response": response},
        {
            "llm_request": {"model": "m", "contents": [content.model_dump(exclude_none=True)]},
            "llm_response": response.model_dump(exclude_none=True),
        },
    ]
    ask(project, {"AfterModel": ["cat >> told; echo >> told"]}, *(request("AfterModel", given) for given in fields))
    for line in (project / "told").read_text().splitlines():
        told = json.loads(line)
        assert told["llm_request"] == {"model": "m", "messages": [{"role": "user", "content": "hi"}], "config": {}}
        assert told["llm_response"] == {"text": "hi", "candidates": [{"content": {"role": "user", "parts": ["hi"]}}]}


class Odd:
    """Cannot be looked at."""

    @property
    def parts(self) -> NoReturn:
        """Fails."""
        raise OSError("gone")


@pytest.mark.req("DELTA-HPAY-004", "DELTA-HFAIL-002")
def test_a_failed_translation_is_answered(project: Path) -> None:
    """A payload that can't be translated is answered with event, error and the request's id; no hook runs."""
    payload = {"llm_request": GenerateContentParameters(model="m", contents=[Odd()])}
    assert ask(project, {"BeforeModel": ["touch ran"]}, request("BeforeModel", payload)) == [
        {
            "type": RESPONSE,
            "correlationId": "c1",
            "success": False,
            "error": {
                "code": "translation_failed",
                "message": "BeforeModel: translation failed: OSError('gone')",
                "details": {"event": "BeforeModel", "problems": ["gone"]},
            },
        }
    ]
    assert list(project.iterdir()) == []


class Exploding(Mapping[str, Any]):
    """Has every key and gives none."""

    def __getitem__(self, key: str) -> NoReturn:
        raise OSError(f"no {key}")

    def __contains__(self, key: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


@pytest.mark.req("DELTA-HFAIL-002")
def test_an_input_that_cannot_be_read_is_answered(project: Path) -> None:
    """However wrong the input is, every request gets an answer."""
    (response,) = ask(project, {"BeforeAgent": ["touch ran"]}, request("BeforeAgent", Exploding()))
    assert (response["success"], response["correlationId"]) == (False, "c1")
    assert "OSError('no " in response["error"]["message"]
    assert list(project.iterdir()) == []


@pytest.mark.req("DELTA-HFAIL-002")
def test_a_fault_while_serving_is_answered() -> None:
    """After any fault the sender gets the error under the request's id."""

    async def fail(_event: HookEventName, _fields: Mapping[str, Any], _session: object) -> NoReturn:
        raise OSError("no disk")

    assert asyncio.run(respond(request("BeforeAgent", {"prompt": "go"}), fail, dict)) == {
        "type": RESPONSE,
        "correlationId": "c1",
        "success": False,
        "error": {
            "code": "internal_error",
            "message": "the request could not be served: OSError('no disk')",
            "details": {"error": "OSError"},
        },
    }


@pytest.mark.req("DELTA-HFAIL-001", "DELTA-HFAIL-002")
def test_a_fault_of_the_engine_is_answered_by_its_stage() -> None:
    """A verdict with a fault of hookline becomes an error whose code names the stage."""

    async def fire(event: HookEventName, _fields: Mapping[str, Any], _session: object) -> Verdict:
        return failure_verdict(event, None, OSError("no disk"), "execution")

    response = asyncio.run(respond(request("BeforeAgent", {"prompt": "go"}), fire, dict))
    assert response["success"] is False
    assert response["error"] == {
        "code": "execution_failed",
        "message": "execution failed: OSError('no disk')",
        "details": {"error": "OSError", "event": "BeforeAgent"},
    }


@pytest.mark.req("DELTA-HEVT-002", "DELTA-HEVT-004")
def test_two_systems_on_one_bus_both_answer(project: Path) -> None:
    """Each system serves the bus for itself; disposed of, neither does."""
    responses = ask(project, {"BeforeAgent": ["echo ran"]}, request("BeforeAgent", {"prompt": "go"}), systems=2)
    assert [(response["correlationId"], response["success"]) for response in responses] == [("c1", True)] * 2


@pytest.mark.req("DELTA-HEVT-002")
def test_a_failing_reader_of_answers_hurts_nobody(project: Path) -> None:
    """A subscriber that fails keeps neither the answer from others nor the next request from being served."""

    async def main() -> list[str]:
        bus = InProcessBus()
        read: list[str] = []

        async def fail(_: Message) -> None:
            raise RuntimeError

        async def note(message: Message) -> None:
            read.append(message["correlationId"])

        bus.subscribe(RESPONSE, fail)
        bus.subscribe(RESPONSE, note)
        system = Config(project, settings=settings({}), message_bus=bus).get_hook_system()
        assert system is not None
        await system.initialize()
        for name in ("one", "two"):
            await bus.publish(request("BeforeAgent", {"prompt": "go"}, correlationId=name))
        system.dispose()
        return read

    assert asyncio.run(main()) == ["one", "two"]


@pytest.mark.req("DELTA-HSYS-001", "DELTA-HTEL-001")
def test_requested_events_are_logged_like_any_other(project: Path) -> None:
    """The log has the record of the hook and of the event."""
    memory = MemorySink()
    ask(project, {"BeforeAgent": ["exit 1"]}, request("BeforeAgent", {"prompt": "go"}), sink=memory)
    assert [(record.level, record.to_dict()["kind"]) for record in memory.records] == [
        (LogLevel.WARN, "hook"),
        (LogLevel.DEBUG, "event"),
    ]
