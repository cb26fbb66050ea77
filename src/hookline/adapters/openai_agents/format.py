"""The model calls, answers and tool outputs of OpenAI's Agents SDK ↔ those of the Responses API.

It needs `openai-agents`. A request is a dictionary, and a response one with `output` and `usage`; a new response is a
`ModelResponse`.
"""

import dataclasses
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agents import ModelResponse, Usage
from agents.models.fake_id import FAKE_RESPONSES_ID
from agents.tool import ToolOutputText
from openai.types import responses as events

from hookline.formats import openai, responses
from hookline.formats.native import kind_of, with_fields

to_hook_llm_request = openai.to_hook_llm_request
from_hook_llm_request = openai.from_hook_llm_request
to_hook_llm_response = openai.to_hook_llm_response
with_note = openai.with_note
offer = openai.offer
tool_names = openai.tool_names

_WORDS = (None, "auto", "required", "none")


@dataclass(slots=True)
class CallArguments:
    """The arguments with which the SDK calls a model."""

    system_instructions: str | None
    input: Any
    model_settings: Any
    tools: list[Any]
    output_schema: Any
    handoffs: list[Any]
    tracing: Any

    @property
    def arguments(self) -> tuple[Any, ...]:
        """In the order of the SDK."""
        return tuple(getattr(self, one.name) for one in dataclasses.fields(self))

    @property
    def is_text(self) -> bool:
        """Whether the agent's output is a text."""
        return self.output_schema is None or bool(self.output_schema.is_plain_text())


def call_of(given: tuple[Any, ...], named: dict[str, Any]) -> tuple[CallArguments, dict[str, Any]]:
    """The call of a model, and the arguments that hooks have nothing to do with."""
    own = [one.name for one in dataclasses.fields(CallArguments)]
    call = CallArguments(*given, **{name: named[name] for name in own if name in named})
    return call, {name: value for name, value in named.items() if name not in own}


def request_of(model: Any, call: CallArguments) -> dict[str, Any]:
    """The call as a request of the Responses API; a handoff is a tool."""
    settings, choice = call.model_settings, call.model_settings.tool_choice
    names = [tool.name for tool in call.tools] + [one.tool_name for one in call.handoffs]
    return {
        "model": str(getattr(model, "model", "")),
        "instructions": call.system_instructions,
        "input": call.input,
        "tools": [{"type": "function", "name": name} for name in names],
        "tool_choice": choice if choice in _WORDS else {"type": "function", "name": str(choice)},
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        "max_output_tokens": settings.max_tokens,
    }


def put(call: CallArguments, wanted: Mapping[str, Any], native: Mapping[str, Any]) -> None:
    """Puts what hooks changed into the call."""
    call.system_instructions, call.input = wanted.get("instructions"), wanted["input"]
    left = {tool["name"] for tool in wanted["tools"]}
    call.tools = [tool for tool in call.tools if tool.name in left]
    call.handoffs = [one for one in call.handoffs if one.tool_name in left]
    names = {"temperature": "temperature", "top_p": "top_p", "max_output_tokens": "max_tokens"}
    changes = {ours: wanted.get(key) for key, ours in names.items() if wanted.get(key) != native.get(key)}
    if wanted.get("tool_choice") != native["tool_choice"]:
        changes["tool_choice"] = wanted.get("tool_choice")
    if changes:
        call.model_settings = dataclasses.replace(call.model_settings, **changes)


def from_hook_llm_response(hook_response: Mapping[str, Any], base: Any = None) -> Any:
    """The response with the hooks' text; without one, a new `ModelResponse`."""
    if base is not None:
        return openai.from_hook_llm_response(hook_response, base)
    return ModelResponse(output=[_message(responses.texts_of(hook_response)[0])], usage=Usage(), response_id=None)


def native_of(response: Any) -> dict[str, Any]:
    """A response of the SDK, or of OpenAI, as hooks' format has it."""
    return {"output": response.output, "usage": response.usage}


def with_output(response: Any, output: list[Any]) -> Any:
    """The response with other items; a message that hooks added is JSON."""
    items = [_message(one["content"][0]["text"]) if isinstance(one, dict) else one for one in output]
    return with_fields(response, output=items)


def _message(text: str) -> Any:
    part = events.ResponseOutputText(type="output_text", text=text, annotations=[])
    return events.ResponseOutputMessage(
        id=FAKE_RESPONSES_ID, type="message", role="assistant", status="completed", content=[part]
    )


def arguments_of(raw: str) -> Any:
    """The arguments of a tool call; the text itself if it is no JSON, so that the call is refused."""
    try:
        return json.loads(raw) if raw else {}
    except ValueError:
        return raw


def to_tool_content(output: Any) -> Any:
    """The output as hooks read it: its text, or its parts; the SDK also writes any other value as a text."""
    parts = output if isinstance(output, list) else [output]
    if parts and all(_kind(part) in ("text", "image", "file") for part in parts):
        return [part if isinstance(part, dict) else part.model_dump(exclude_none=True) for part in parts]
    return str(output)


def from_tool_content(content: Any) -> Any:
    """The output of a tool; a note that a hook added to a list of parts has no type."""
    if not isinstance(content, list):
        return content
    return [ToolOutputText(text=part["text"]) if part.keys() == {"text"} else part for part in content]


def _kind(part: Any) -> Any:
    return part.get("type") if isinstance(part, dict) else getattr(part, "type", None)


def events_of(response: ModelResponse) -> Iterator[Any]:
    """A stream of a whole response."""
    number = iter(range(1_000_000))
    for index, item in enumerate(response.output):
        yield events.ResponseOutputItemAddedEvent(
            type="response.output_item.added", item=item, output_index=index, sequence_number=next(number)
        )
        parts = item.content if kind_of(item) == "message" else ()
        for place, part in enumerate(parts):
            if kind_of(part) == "output_text":
                yield events.ResponseTextDeltaEvent(
                    type="response.output_text.delta",
                    item_id=item.id,
                    content_index=place,
                    delta=part.text,
                    logprobs=[],
                    output_index=index,
                    sequence_number=next(number),
                )
        yield events.ResponseOutputItemDoneEvent(
            type="response.output_item.done", item=item, output_index=index, sequence_number=next(number)
        )
    whole = events.Response.model_construct(
        id=response.response_id or FAKE_RESPONSES_ID,
        created_at=0,
        model="",
        object="response",
        output=list(response.output),
        tool_choice="auto",
        tools=[],
        parallel_tool_calls=False,
        status="completed",
        usage=_usage(response.usage),
    )
    yield events.ResponseCompletedEvent.model_construct(
        type="response.completed", response=whole, sequence_number=next(number)
    )


def _usage(usage: Usage) -> Any:
    if not usage.requests and not usage.total_tokens:
        return None
    return events.ResponseUsage.model_construct(
        input_tokens=usage.input_tokens,
        input_tokens_details=usage.input_tokens_details,
        output_tokens=usage.output_tokens,
        output_tokens_details=usage.output_tokens_details,
        total_tokens=usage.total_tokens,
    )
