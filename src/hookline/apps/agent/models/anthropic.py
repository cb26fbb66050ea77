"""Anthropic's messages, and every server that speaks them, through the package `anthropic`."""

import base64
import os
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hookline.apps.agent.models.client import NO_ENDING, ClientModel, words_of
from hookline.apps.agent.models.turns import (
    Call,
    Media,
    Result,
    Turn,
    last_chunk,
    read_arguments,
    read_system,
    read_tools,
    read_turns,
    text_chunk,
)
from hookline.errors import ModelError
from hookline.extensions import lazy_module
from hookline.formats import anthropic as form
from hookline.formats.genai.request import read_options
from hookline.protocol.llm import GenerateContentParameters

if TYPE_CHECKING:
    import anthropic

    from hookline.formats.genai.sdk import GenerateContentResponse
else:
    anthropic = lazy_module("anthropic", extra="agent,anthropic")

CONTEXT_LIMIT = 200_000
# The API wants a limit for each answer; this one suits every current model.
_MAX_TOKENS = 32_000
# A server of one's own wants no key, but the client does.
_NO_KEY = "none"
_OLDER = ("temperature", "top_p", "top_k")
_KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")


class AnthropicModel(ClientModel):
    """A model of messages; the client takes key and address from ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL."""

    context_limit = CONTEXT_LIMIT

    def __init__(self, name: str, *, base_url: str | None = None, **options: Any) -> None:
        super().__init__(name, **options)
        self._errors = (anthropic.APIStatusError, anthropic.APIConnectionError, anthropic.APIError)
        address: dict[str, Any] = {} if base_url is None else {"base_url": base_url}
        if (address or os.environ.get("ANTHROPIC_BASE_URL")) and not any(map(os.environ.get, _KEYS)):
            address["api_key"] = _NO_KEY
        self._client = anthropic.AsyncAnthropic(max_retries=0, **address)
        if not (self._client.api_key or self._client.auth_token or self._client.credentials):
            raise ModelError(
                "Anthropic cannot be used: there is no key. Set ANTHROPIC_API_KEY; for a server of your own, give"
                " --base-url URL."
            )

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._client.close()

    async def chunks(self, request: GenerateContentParameters) -> "AsyncGenerator[GenerateContentResponse]":
        """The stream of one request."""
        answer = _Answer()
        native = native_request(request)
        # The client has no words for these any more; older models and other servers know them.
        older = {name: native.pop(name) for name in _OLDER if name in native}
        async with await self._client.messages.create(**native, stream=True, extra_body=older or None) as stream:
            async for event in stream:
                if text := answer.add(event):
                    yield text_chunk(text)
        yield answer.end()

    def refusal(self, error: Exception) -> tuple[int | None, str] | None:
        """What the API answered."""
        with_status, of_network, any_of_api = self._errors
        if not isinstance(error, any_of_api) or isinstance(error, of_network):
            return None
        status = error.status_code if isinstance(error, with_status) else None
        return status, words_of(status, error.body, error.message)


def native_request(request: GenerateContentParameters) -> dict[str, Any]:
    """The parameters of the call."""
    turns = read_turns(request)
    messages = [{"role": "assistant" if turn.is_model else "user", "content": _blocks(turn)} for turn in turns]
    native: dict[str, Any] = {"model": request.model, "max_tokens": _MAX_TOKENS, "messages": messages}
    if system := read_system(request):
        native["system"] = system
    declared = read_tools(request)
    native["tools"] = [
        {"name": tool.name, "description": tool.description, "input_schema": dict(tool.schema)} for tool in declared
    ]
    if not declared:
        # The API refuses a conversation with calls, such as one to summarize, if it declares no tools.
        called = dict.fromkeys(call.name for turn in turns for call in turn.of(Call))
        native["tools"] = [{"name": name, "input_schema": {"type": "object"}} for name in called]
        native["tool_choice"] = {"type": "none"}
    if not native["tools"]:
        del native["tools"], native["tool_choice"]
    return form.from_hook_llm_request(read_options(request), native)


def _blocks(turn: Turn) -> list[dict[str, Any]]:
    # Results come first: the API wants them at the beginning of their message.
    first = sorted(turn.pieces, key=lambda piece: not isinstance(piece, Result))
    return [_block(piece) for piece in first]


def _block(piece: str | Call | Result | Media) -> dict[str, Any]:
    match piece:
        case str():
            return {"type": "text", "text": piece}
        case Call():
            return {"type": "tool_use", "id": piece.id, "name": piece.name, "input": dict(piece.arguments)}
        case Result():
            error = {"is_error": True} if piece.is_error else {}
            return {"type": "tool_result", "tool_use_id": piece.id, "content": piece.text, **error}
        case Media() if piece.mime_type.startswith("image/"):
            data = base64.b64encode(piece.data).decode()
            return {"type": "image", "source": {"type": "base64", "media_type": piece.mime_type, "data": data}}
        case Media():
            return {"type": "text", "text": f"[a part of the type {piece.mime_type} was left out here]"}


@dataclass(slots=True)
class _PartialCall:
    id: str
    name: str
    input: dict[str, Any]
    json: list[str] = field(default_factory=list)

    def whole(self) -> Call:
        """The call; its input comes in pieces, or at once from some servers."""
        return Call(self.id, self.name, read_arguments("".join(self.json), self.name) or self.input)


class _Answer:
    """Puts the events of one answer together."""

    def __init__(self) -> None:
        self._calls: dict[int, _PartialCall] = {}
        self._ending: str | None = None
        self._counts = [0, 0]

    def add(self, event: Any) -> str:
        """Takes an event and returns its text."""
        match event.type:
            case "message_start":
                self._count(event.message.usage)
            case "content_block_start" if event.content_block.type == "tool_use":
                block = event.content_block
                self._calls[event.index] = _PartialCall(block.id, block.name, dict(block.input or {}))
            case "content_block_start" if event.content_block.type == "text":
                return event.content_block.text or ""
            case "content_block_delta" if event.delta.type == "input_json_delta":
                self._calls[event.index].json.append(event.delta.partial_json)
            case "content_block_delta" if event.delta.type == "text_delta":
                return str(event.delta.text)
            case "message_delta":
                self._ending = event.delta.stop_reason or self._ending
                self._count(event.usage)
            case _:
                pass
        return ""

    def end(self) -> "GenerateContentResponse":
        """The last chunk. Raises ModelError when the answer is not complete."""
        if self._ending is None:
            raise ModelError(NO_ENDING)
        calls = [call.whole() for call in self._calls.values()]
        return last_chunk(calls, form.ENDINGS.get(self._ending, "OTHER"), (self._counts[0], self._counts[1]))

    def _count(self, usage: Any) -> None:
        given = (getattr(usage, "input_tokens", None), getattr(usage, "output_tokens", None))
        self._counts = [new or old for new, old in zip(given, self._counts, strict=True)]
