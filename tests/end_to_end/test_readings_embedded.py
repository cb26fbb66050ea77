"""Readings of the protocol by embedding programs: each test reproduces one that was wrong, exactly as it was seen.

    12  hooks read the value of an argument, of any class
    13  AfterTool hooks read the arguments that the tool got, and parts as JSON
    14  `execute_tool_with_hooks` raises no exception of hookline
    15  requests on the bus are answered
    16  the `is_*_input` predicates are true, and the bus agrees with them
    17  invalid hooks are logged as warnings
    18  suppressed results are hidden from programs, too
    19  events that match nothing leave a record
    20  a slow matcher never blocks the loop

The number is at the beginning of each test's name. `test_readings.py` has the others.
"""

import asyncio
import json
import typing
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from google.genai import types

import hookline
from hookline import (
    Config,
    HookEventName,
    InProcessBus,
    ToolResult,
    execute_tool_with_hooks,
    fire_before_tool_hook,
)
from hookline.protocol.inputs import is_after_model_input, is_before_model_input, is_before_tool_selection_input
from hookline.protocol.messages import HookExecutionRequest, Message
from hookline.testing import calls, says

if TYPE_CHECKING:
    from tests.end_to_end.conftest import Bench


class Text(str):
    """A text of a subclass, as frameworks use them."""

    __slots__ = ()


class Number(int):
    """A number of a subclass."""

    def __str__(self) -> str:
        return "a number"


async def done(_arguments: dict[str, Any]) -> ToolResult:
    """A tool."""
    return ToolResult(llm_content="done")


def execute(bench: "Bench", arguments: Mapping[str, Any], tool: Any = done, **options: Any) -> ToolResult:
    return asyncio.run(execute_tool_with_hooks(bench.config(), "write_file", arguments, tool, **options))


def told(bench: "Bench") -> dict[str, Any]:
    """Return the input of the hook with `cat > told`."""
    fields: dict[str, Any] = json.loads((bench.project / "told").read_text())
    return fields


@pytest.mark.parametrize(
    ("arguments", "guarded"),
    [
        pytest.param({"path": Text("/etc/passwd")}, '"path":"/etc/passwd"', id="text"),
        pytest.param({"mode": Number(511)}, '"mode":511', id="number"),
        pytest.param({"paths": [{"path": Text("/etc/passwd")}]}, '"path":"/etc/passwd"', id="nested"),
    ],
)
def test_12_a_guard_is_told_the_value_that_an_argument_is(
    arguments: dict[str, Any], guarded: str, bench: "Bench"
) -> None:
    """A `str` or `int` subclass in `tool_input` reaches hooks as that text or number, so the guard blocks it."""
    bench.hook("BeforeTool", f"grep -qF '{guarded}' && {{ echo 'Guarded.' >&2; exit 2; }}; exit 0")
    assert execute(bench, arguments).llm_content == "Guarded."


def test_13_after_tool_is_told_the_arguments_that_the_tool_got(bench: "Bench") -> None:
    """A tool that changes its arguments while it runs does not change the input of AfterTool hooks."""

    async def careless(arguments: dict[str, Any]) -> ToolResult:
        arguments["path"] = "changed"
        arguments["options"]["all"] = "changed"
        return ToolResult(llm_content="done")

    bench.hook("AfterTool", "cat > told")
    execute(bench, {"path": "a.txt", "options": {"all": True}}, careless)
    assert told(bench)["tool_input"] == {"path": "a.txt", "options": {"all": True}}


def test_13_after_tool_is_told_parts_as_json(bench: "Bench") -> None:
    """The SDK's parts in `llm_content` arrive as their JSON, not as a Python repr."""

    async def tool(_arguments: dict[str, Any]) -> ToolResult:
        return ToolResult(llm_content=[types.Part(text="hello")])

    bench.hook("AfterTool", "cat > told")
    execute(bench, {}, tool)
    assert told(bench)["tool_response"]["llmContent"] == [{"text": "hello"}]


def test_14_a_validation_that_raises_is_contained(bench: "Bench") -> None:
    """Exceptions of `validate` are caught: arguments that can't be checked are not run."""

    def validate(_arguments: Mapping[str, Any]) -> NoReturn:
        raise KeyError("no schema")

    bench.answers("BeforeTool", {"hookSpecificOutput": {"tool_input": {"path": "b.txt"}}})
    result = execute(bench, {"path": "a.txt"}, validate=validate)
    assert result.error is not None
    assert "no schema" in result.error


class Fragile(dict[str, Any]):
    """Can't be copied."""

    def __copy__(self) -> NoReturn:
        raise TypeError("not to be copied")


class Opaque(dict[str, Any]):
    """Can't be read."""

    def keys(self) -> NoReturn:
        """Fails."""
        raise OSError("gone")

    items = __iter__ = keys


def test_14_a_dict_subclass_among_the_arguments_is_contained(bench: "Bench") -> None:
    """Exceptions of a dict subclass while it is copied are caught, and the tool runs."""
    bench.hook("BeforeTool", "cat > told")
    assert execute(bench, {"options": Fragile(all=True)}).llm_content == "done"
    assert told(bench)["tool_input"] == {"options": {"all": True}}


def test_14_arguments_that_cannot_be_read_are_contained(bench: "Bench") -> None:
    """Exceptions while the arguments are read are caught, and a tool that can't be judged does not run."""
    bench.hook("BeforeTool", "true")
    result = execute(bench, Opaque(path="a.txt"))
    assert result.error is not None
    assert result.llm_content != "done"


@pytest.mark.parametrize(
    ("output", "content"),
    [
        pytest.param("done", "done", id="str"),
        pytest.param({"lines": 3}, '{"lines":3}', id="dict"),
        pytest.param(None, "", id="none"),
        pytest.param(7, "7", id="wrong-type"),
    ],
)
def test_14_a_tool_may_return_something_else(output: object, content: str, bench: "Bench") -> None:
    """A tool that returns a text or a dict is accepted, and a wrong type raises nothing."""

    async def tool(_arguments: dict[str, Any]) -> Any:
        return output

    bench.hook("AfterTool", "cat > told")
    assert execute(bench, {}, tool).llm_content == content
    assert told(bench)["tool_response"]["llmContent"] == content


REQUEST, RESPONSE = "hook-execution-request", "hook-execution-response"
BLOCKED = types.GenerateContentResponse(
    candidates=[
        types.Candidate(
            finish_reason=types.FinishReason.SAFETY,
            safety_ratings=[
                types.SafetyRating(
                    category=types.HarmCategory.HARM_CATEGORY_HATE_SPEECH,
                    probability=types.HarmProbability.HIGH,
                    blocked=True,
                )
            ],
        )
    ]
)


def ask(bench: "Bench", event: str, fields: object, *, initialize: bool = True, **others: Any) -> list[dict[str, Any]]:
    """The responses to one request on a bus that a program's hooks serve."""
    responses: list[dict[str, Any]] = []

    async def note(message: Message) -> None:
        responses.append(dict(message))

    async def main() -> None:
        bus = InProcessBus()
        bus.subscribe(RESPONSE, note)
        config = bench.config(message_bus=bus)
        system = config.get_hook_system()
        assert system is not None
        if initialize:
            await system.initialize()
        await bus.publish({"type": REQUEST, "eventName": event, "input": fields, "correlationId": "c1", **others})
        system.dispose()

    asyncio.run(main())
    return responses


def test_15_a_request_before_the_first_event_is_answered(bench: "Bench") -> None:
    """A program that only makes a `Config` with a bus serves requests at once, and the hooks run."""
    bench.hook("BeforeAgent", "cat > told")
    (response,) = ask(bench, "BeforeAgent", {"prompt": "go"}, initialize=False)
    assert (response["correlationId"], response["success"]) == ("c1", True)
    assert told(bench)["prompt"] == "go"


@pytest.mark.parametrize("event", ["BeforeAgent", "Unknown"])
def test_15_a_numeric_correlation_id_is_echoed(event: str, bench: "Bench") -> None:
    """`correlationId: 42` comes back as 42, in good and bad answers."""
    (response,) = ask(bench, event, {"prompt": "go"}, correlationId=42)
    assert response["correlationId"] == 42


def test_15_the_type_of_a_request_names_the_events() -> None:
    """`eventName` is a `HookEventName` for a type checker."""
    assert typing.get_type_hints(HookExecutionRequest)["eventName"] is HookEventName


@pytest.mark.parametrize("by_alias", [True, False], ids=["camelCase", "snake_case"])
def test_15_a_response_without_text_is_translated(by_alias: bool, bench: "Bench") -> None:
    """A response in the SDK's JSON that has no text reaches hooks in the form that they know."""
    bench.hook("AfterModel", "cat > told")
    response = BLOCKED.model_dump(mode="json", exclude_none=True, by_alias=by_alias)
    (answered,) = ask(bench, "AfterModel", {"llm_request": {"model": "m"}, "llm_response": response})
    assert answered["success"], answered
    candidate = {
        "content": {"role": "model", "parts": []},
        "finishReason": "SAFETY",
        "safetyRatings": [{"category": "HARM_CATEGORY_HATE_SPEECH", "probability": "HIGH"}],
    }
    assert told(bench)["llm_response"] == {"candidates": [candidate]}


def test_15_a_cancelled_subscriber_breaks_no_publish() -> None:
    """A subscriber's CancelledError reaches neither the publisher nor the other subscribers."""
    delivered: list[str] = []

    async def gives_up(_message: Message) -> None:
        raise asyncio.CancelledError

    async def note(message: Message) -> None:
        await asyncio.sleep(0)
        delivered.append(message["type"])

    async def main() -> str:
        bus = InProcessBus()
        bus.subscribe("t", gives_up)
        bus.subscribe("t", note)
        try:
            await bus.publish({"type": "t"})
        except asyncio.CancelledError:
            return "cancelled"
        return "published"

    assert (asyncio.run(main()), delivered) == ("published", ["t"])


@pytest.mark.parametrize("word", ["InProcessBus", "message_bus", REQUEST, RESPONSE, "correlationId"])
def test_15_the_bus_is_described(word: str) -> None:
    """docs/embedding.md, beside the code under test, says how events are requested on the bus."""
    assert word in (Path(hookline.__file__).parents[2] / "docs" / "embedding.md").read_text()


REQUEST_FIELDS = {"llm_request": {"model": "m", "messages": [{"role": "user", "content": "hi"}]}}
RESPONSE_FIELDS = {**REQUEST_FIELDS, "llm_response": {"text": "ho", "candidates": []}}
NOT_FIELDS = [
    pytest.param("BeforeModel", {"llm_request": {"model": 5}}, id="model-is-a-number"),
    pytest.param("BeforeModel", {"llm_request": {"model": "m", "messages": "hi"}}, id="messages-are-a-text"),
    pytest.param("BeforeModel", {"llm_request": {"messages": [{"role": "user"}]}}, id="message-without-content"),
    pytest.param("BeforeToolSelection", {"llm_request": {"messages": [7]}}, id="message-is-a-number"),
    pytest.param(
        "AfterModel",
        {**REQUEST_FIELDS, "llm_response": {"text": "ho", "usageMetadata": {"totalTokenCount": "many"}}},
        id="count-is-a-text",
    ),
    pytest.param("AfterModel", {**REQUEST_FIELDS, "llm_response": {"text": 7}}, id="text-is-a-number"),
]
PREDICATES: dict[str, tuple[Callable[[object], bool], dict[str, Any]]] = {
    "BeforeModel": (is_before_model_input, REQUEST_FIELDS),
    "BeforeToolSelection": (is_before_tool_selection_input, REQUEST_FIELDS),
    "AfterModel": (is_after_model_input, RESPONSE_FIELDS),
}


@pytest.mark.parametrize(("event", "fields"), NOT_FIELDS)
def test_16_the_predicates_are_true(event: str, fields: dict[str, Any]) -> None:
    """`is_before_model_input` and its kin say no to things that are no `LLMRequest` and no `LLMResponse`."""
    predicate, good = PREDICATES[event]
    assert predicate(good)
    assert not predicate(fields)


@pytest.mark.parametrize(("event", "fields"), NOT_FIELDS)
def test_16_the_bus_narrows_with_the_predicates(event: str, fields: dict[str, Any], bench: "Bench") -> None:
    """A request on the bus that the predicate refuses is answered as invalid, and no hook runs."""
    bench.hook(event, "touch ran")
    (response,) = ask(bench, event, fields)
    assert (response["success"], response.get("error", {}).get("code")) == (False, "invalid_input")
    assert not (bench.project / "ran").exists()


def use(config: Config, *tools: str) -> None:
    """Fires BeforeTool for these tools in turn, in a program that then ends."""

    async def main() -> None:
        for tool in tools:
            await fire_before_tool_hook(config, tool, {})

    asyncio.run(main())
    system = config.get_hook_system()
    assert system is not None
    system.dispose()


def test_17_invalid_hooks_are_logged_as_warnings(bench: "Bench") -> None:
    """A hook without a command is discarded with a record of the level `warn`."""
    bench.hook("BeforeTool", "")
    use(bench.config(), "ls")
    levels = [record["level"] for record in bench.log() if "command" in record["message"]]
    assert levels == ["warn"]


@pytest.mark.parametrize("mode", ["json", "stream-json"])
def test_18_a_suppressed_result_is_hidden_from_programs(mode: str, bench: "Bench") -> None:
    """`--json` shows nothing of a result that AfterTool suppressed; the transcript keeps it."""
    bench.answers("AfterTool", {"suppressOutput": True})
    answers = [calls(("run_shell_command", {"command": "echo to''ken"}))], [says("Done.")]
    shown = bench.agent(*answers, options=("--session-id", "s1", f"--{mode}")).stdout
    assert "token" not in shown
    assert "token" in json.dumps([record for record in bench.transcript() if record["type"] == "tool"])


def counted(records: list[dict[str, Any]]) -> Iterator[tuple[str, str, int]]:
    """Event, subject and number of each record that says how often no hook ran, and why."""
    for record in records:
        if record.get("event") and record.get("reason") and record.get("count"):
            yield record["event"], record["subject"], record["count"]


@pytest.mark.parametrize("has_hook", [True, False], ids=["unmatched", "no-hook"])
def test_19_an_event_that_matches_nothing_leaves_a_record(has_hook: bool, bench: "Bench") -> None:
    """Events for which no hook ran leave one record per event, subject and reason, and the number of the others."""
    if has_hook:
        bench.hook("BeforeTool", "true", matcher="^write_file$")
    use(bench.config(), "ls", "ls", "ls", "ls", "cat")
    assert sorted(counted(bench.log())) == [
        ("BeforeTool", "cat", 1),
        ("BeforeTool", "ls", 1),
        ("BeforeTool", "ls", 3),
    ]


def test_20_a_slow_matcher_never_blocks_the_loop(bench: "Bench") -> None:
    """A matcher that could be searched for years is refused, and its hook runs for every tool."""
    bench.hook("BeforeTool", "exit 2", matcher="^(a|a)*(b|b)*(a+)+$")
    output = asyncio.run(fire_before_tool_hook(bench.config(), "a" * 60 + "!", {}))
    assert output is not None
    assert output.is_blocking_decision()
