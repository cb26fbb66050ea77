"""A request in the SDK's types as plain turns, of which other APIs' messages are made; and their answers as chunks."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hookline.errors import ModelError
from hookline.formats.genai import sdk
from hookline.formats.genai.contents import field, parts_of, text_of_part, texts_of
from hookline.formats.hook_format import listed
from hookline.protocol.llm import GenerateContentParameters

if TYPE_CHECKING:
    from hookline.formats.genai.sdk import GenerateContentResponse


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call of the model."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool call came to."""

    id: str
    text: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class Media:
    """A picture, a sound or another file."""

    mime_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of the conversation."""

    is_model: bool
    pieces: tuple[str | Call | Result | Media, ...]

    def of(self, kind: type[Any]) -> list[Any]:
        """The pieces of one kind."""
        return [piece for piece in self.pieces if isinstance(piece, kind)]


@dataclass(frozen=True, slots=True)
class Declaration:
    """A tool that the model may call."""

    name: str
    description: str
    schema: Mapping[str, Any]


def read_turns(request: GenerateContentParameters) -> list[Turn]:
    """The conversation; calls and results without an id, as Gemini's are, get one by their position."""
    turns: list[Turn] = []
    waiting: list[str] = []
    for number, content in enumerate(listed(request.contents)):
        own_ids = iter(waiting)
        pieces = tuple(_pieces(parts_of(content), f"call_{number}", own_ids))
        turn = Turn(field(content, "role") == "model", pieces)
        waiting = [call.id for call in turn.of(Call)]
        if pieces:
            turns.append(turn)
    return turns


def read_system(request: GenerateContentParameters) -> str:
    """The system instruction; empty when there is none."""
    instruction = field(request.config, "system_instruction")
    return "".join(text for one in listed(instruction) for text in texts_of(one))


def read_tools(request: GenerateContentParameters) -> list[Declaration]:
    """The declared tools."""
    declared = (
        one for tool in field(request.config, "tools") or () for one in field(tool, "function_declarations") or ()
    )
    return [
        Declaration(
            field(one, "name") or "",
            field(one, "description") or "",
            field(one, "parameters_json_schema") or {"type": "object", "properties": {}},
        )
        for one in declared
    ]


def read_arguments(text: str, tool: str) -> dict[str, Any]:
    """The arguments that a model wrote as JSON. Raises ModelError: a tool must not run with a part of them."""
    try:
        arguments = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise ModelError(f"the arguments of its call of {tool} are not JSON: {error}") from error
    if not isinstance(arguments, dict | None):
        raise ModelError(f"the arguments of its call of {tool} are not an object")
    return arguments or {}


def text_chunk(text: str) -> "GenerateContentResponse":
    """A piece of the answer's text."""
    return _chunk([sdk.types().Part(text=text)])


def last_chunk(calls: Sequence[Call], ending: str, counts: tuple[int, int] | None) -> "GenerateContentResponse":
    """The end of an answer: its tool calls, why it ended, and how many tokens came in and went out."""
    types = sdk.types()
    parts = [
        types.Part(function_call=types.FunctionCall(id=call.id or None, name=call.name, args=dict(call.arguments)))
        for call in calls
    ]
    chunk = _chunk(parts, finish_reason=types.FinishReason(ending))
    if counts is None:
        return chunk
    usage = types.GenerateContentResponseUsageMetadata(
        prompt_token_count=counts[0], candidates_token_count=counts[1], total_token_count=sum(counts)
    )
    whole: GenerateContentResponse = chunk.model_copy(update={"usage_metadata": usage})
    return whole


def _chunk(parts: list[Any], **facts: Any) -> "GenerateContentResponse":
    types = sdk.types()
    candidate = types.Candidate(index=0, content=types.Content(role="model", parts=parts), **facts)
    chunk: GenerateContentResponse = types.GenerateContentResponse(candidates=[candidate])
    return chunk


def _pieces(parts: Sequence[Any], new_id: str, waiting: Iterator[str]) -> Iterator[str | Call | Result | Media]:
    for number, part in enumerate(parts):
        text, call, result = text_of_part(part), field(part, "function_call"), field(part, "function_response")
        media = field(part, "inline_data")
        if call is not None:
            own_id = field(call, "id") or f"{new_id}_{number}"
            yield Call(own_id, field(call, "name") or "", field(call, "args") or {})
        elif result is not None:
            expected = next(waiting, f"{new_id}_{number}")
            yield _result(field(result, "id") or expected, field(result, "response") or {})
        elif media is not None:
            yield Media(field(media, "mime_type") or "", field(media, "data") or b"")
        elif text:
            # Thoughts are for the model that had them.
            if not field(part, "thought"):
                yield text
        elif text is None:
            yield "[something that this model can't be sent was left out here]"


def _result(own_id: str, response: Mapping[str, Any]) -> Result:
    error = response.get("error")
    value = response.get("output") if error is None else error
    return Result(own_id, value if isinstance(value, str) else json.dumps(dict(response)), error is not None)
