"""Reads requests of google-genai for the messages of other APIs, and turns their answers into its chunks."""

import json
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from hookline.apps.agent.models.client import NO_ENDING, ClientModel
from hookline.errors import ModelError
from hookline.formats.genai import sdk
from hookline.formats.genai.contents import field as attribute
from hookline.formats.genai.contents import parts_of, text_of_part, texts_of
from hookline.formats.hook_format import listed
from hookline.protocol.llm import GenerateContentParameters

if TYPE_CHECKING:
    from hookline.formats.genai.sdk import GenerateContentResponse


class CallPart(NamedTuple):
    """A tool call of the model."""

    id: str
    name: str
    arguments: Mapping[str, Any]


class ToolOutcome(NamedTuple):
    """The result of a tool call."""

    id: str
    text: str
    is_error: bool


class Media(NamedTuple):
    """An image, a sound or another file."""

    mime_type: str
    data: bytes

    @property
    def is_image(self) -> bool:
        """True for an image, the only kind that the other APIs are sent."""
        return self.mime_type.startswith("image/")

    @property
    def placeholder(self) -> str:
        """The text that replaces media of other kinds."""
        return f"[a part of type {self.mime_type} was omitted here]"


Piece = str | CallPart | ToolOutcome | Media


class PlainTurn(NamedTuple):
    """One message of the conversation."""

    is_model: bool
    pieces: tuple[Piece, ...]

    def of(self, kind: type[Any]) -> list[Any]:
        """Return the pieces of one kind."""
        return [piece for piece in self.pieces if isinstance(piece, kind)]


@dataclass(slots=True)
class PartialCall:
    """A tool call whose arguments are still arriving as JSON."""

    index: int
    id: str = ""
    name: str = ""
    input: Mapping[str, Any] = field(default_factory=dict)
    json: str = ""


class AnswerReader(ABC):
    """Assembles the events of one streamed answer."""

    def __init__(self, finish_reasons: Mapping[str, str]) -> None:
        """`finish_reasons` maps the API's finish reasons to Gemini's."""
        self.calls: list[PartialCall] = []
        self.ending: str | None = None
        """The API's finish reason; None until it arrives."""
        self.counts: tuple[int, int] | None = None
        """Input and output tokens."""
        self._finish_reasons = finish_reasons

    @abstractmethod
    def add(self, event: Any) -> str:
        """Handle an event and return its text."""

    def end(self) -> "GenerateContentResponse":
        """Return the last chunk. Raises ModelError if the answer is not complete."""
        if self.ending is None:
            raise ModelError(NO_ENDING)
        calls = [
            CallPart(call.id, call.name, _read_arguments(call.json, call.name) or call.input) for call in self.calls
        ]
        return _last_chunk(calls, self._finish_reasons.get(self.ending, "OTHER"), self.counts)


def read_turns(request: GenerateContentParameters) -> list[PlainTurn]:
    """Return the conversation; calls and results without an id, such as Gemini's, get one from their position."""
    turns: list[PlainTurn] = []
    waiting: list[str] = []
    for number, content in enumerate(listed(request.contents)):
        own_ids = iter(waiting)
        pieces = tuple(_pieces(parts_of(content), f"call_{number}", own_ids))
        turn = PlainTurn(attribute(content, "role") == "model", pieces)
        waiting = [call.id for call in turn.of(CallPart)]
        if pieces:
            turns.append(turn)
    return turns


def read_system(request: GenerateContentParameters) -> str:
    """Return the system instruction, or an empty text."""
    instruction = attribute(request.config, "system_instruction")
    return "".join(text for one in listed(instruction) for text in texts_of(one))


def read_tools(request: GenerateContentParameters) -> list[tuple[str, str, Any]]:
    """Return name, description and JSON Schema of each declared tool."""
    return [
        (
            attribute(one, "name") or "",
            attribute(one, "description") or "",
            attribute(one, "parameters_json_schema") or {"type": "object", "properties": {}},
        )
        for tool in attribute(request.config, "tools") or ()
        for one in attribute(tool, "function_declarations") or ()
    ]


def _read_arguments(text: str, tool: str) -> dict[str, Any]:
    """Decode a call's arguments. Raises ModelError, because a tool must not run with a part of them."""
    try:
        arguments = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise ModelError(f"the arguments of its call of {tool} are not JSON: {error}") from error
    if not isinstance(arguments, dict | None):
        raise ModelError(f"the arguments of its call of {tool} are not an object")
    return arguments or {}


def text_chunk(text: str) -> "GenerateContentResponse":
    """Return a piece of the answer's text as a chunk."""
    return _chunk([sdk.types().Part(text=text)])


def _last_chunk(calls: Sequence[CallPart], ending: str, counts: tuple[int, int] | None) -> "GenerateContentResponse":
    """Return the chunk with the tool calls, the finish reason and the token counts."""
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


def _pieces(parts: Sequence[Any], new_id: str, waiting: Iterator[str]) -> Iterator[Piece]:
    for number, part in enumerate(parts):
        text, call, result = text_of_part(part), attribute(part, "function_call"), attribute(part, "function_response")
        media = attribute(part, "inline_data")
        if call is not None:
            own_id = attribute(call, "id") or f"{new_id}_{number}"
            yield CallPart(own_id, attribute(call, "name") or "", attribute(call, "args") or {})
        elif result is not None:
            expected = next(waiting, f"{new_id}_{number}")
            yield _result(attribute(result, "id") or expected, attribute(result, "response") or {})
        elif media is not None:
            yield Media(attribute(media, "mime_type") or "", attribute(media, "data") or b"")
        elif text:
            # Thoughts are only valid for the model that wrote them.
            if not attribute(part, "thought"):
                yield text
        elif text is None:
            yield "[content that this model does not support was omitted here]"


def _result(own_id: str, response: Mapping[str, Any]) -> ToolOutcome:
    error = response.get("error")
    value = response.get("output") if error is None else error
    return ToolOutcome(own_id, value if isinstance(value, str) else json.dumps(dict(response)), error is not None)


class VendorModel(ClientModel):
    """A model behind the package `openai` or `anthropic`, which have the same exceptions."""

    def __init__(self, name: str, vendor: Any, client: Any, **options: Any) -> None:
        super().__init__(name, **options)
        self._vendor = vendor
        self._client = client

    @abstractmethod
    async def open(self, request: GenerateContentParameters) -> Any:
        """Send a request, and return its stream of events."""

    @abstractmethod
    def new_reader(self) -> AnswerReader:
        """Return a reader for the events of one answer."""

    async def chunks(self, request: GenerateContentParameters) -> "AsyncGenerator[GenerateContentResponse]":
        """Return the chunks of one attempt."""
        answer = self.new_reader()
        async with await self.open(request) as events:
            async for event in events:
                if text := answer.add(event):
                    yield text_chunk(text)
        yield answer.end()

    def refusal(self, error: Exception) -> tuple[int | None, str] | None:
        """Return the API's status and message."""
        vendor = self._vendor
        if not isinstance(error, vendor.APIError) or isinstance(error, vendor.APIConnectionError):
            return None
        body: Any = error.body
        inner = body.get("error", body) if isinstance(body, Mapping) else None
        text = inner.get("message") if isinstance(inner, Mapping) else None
        message = text if isinstance(text, str) and text else error.message
        status = error.status_code if isinstance(error, vendor.APIStatusError) else None
        return status, message if status is None else f"{status}: {message}"

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()
