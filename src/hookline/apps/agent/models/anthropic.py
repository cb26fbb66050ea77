"""Anthropic's messages, and every server that implements them, through the package `anthropic`."""

import base64
import os
from typing import TYPE_CHECKING, Any

from hookline.apps.agent.models.turns import (
    AnswerReader,
    CallPart,
    Media,
    PartialCall,
    Piece,
    PlainTurn,
    ToolOutcome,
    VendorModel,
    read_system,
    read_tools,
    read_turns,
)
from hookline.errors import ModelError
from hookline.extensions import lazy_module
from hookline.formats import anthropic as form
from hookline.formats.genai.request import read_options
from hookline.protocol.llm import GenerateContentParameters

if TYPE_CHECKING:
    import anthropic
else:
    anthropic = lazy_module("anthropic", extra="agent,anthropic")

CONTEXT_LIMIT = 200_000
# The API requires a limit for each answer; every current model accepts this one.
_MAX_TOKENS = 32_000
# Parameters that the client no longer has, and that older models and other servers support.
_OLD_PARAMETERS = ("temperature", "top_p", "top_k")
_KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")


class AnthropicModel(VendorModel):
    """A messages model; the client reads ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL."""

    context_limit = CONTEXT_LIMIT

    def __init__(self, name: str, *, base_url: str | None = None, **options: Any) -> None:
        address: dict[str, Any] = {} if base_url is None else {"base_url": base_url}
        if (address or os.environ.get("ANTHROPIC_BASE_URL")) and not any(map(os.environ.get, _KEYS)):
            address["api_key"] = "none"  # a local server needs no key, but the client does
        client = anthropic.AsyncAnthropic(max_retries=0, **address)
        if not (client.api_key or client.auth_token or client.credentials):
            raise ModelError(
                "Anthropic cannot be used: there is no key. Set ANTHROPIC_API_KEY; for a server of your own, give"
                " --base-url URL."
            )
        super().__init__(name, anthropic, client, **options)

    async def open(self, request: GenerateContentParameters) -> Any:
        """Send a request, and return its stream of events."""
        native = native_request(request)
        extra = {name: native.pop(name) for name in _OLD_PARAMETERS if name in native}
        return await self._client.messages.create(**native, stream=True, extra_body=extra or None)

    def new_reader(self) -> AnswerReader:
        """Return a reader for the events of one answer."""
        return _MessageReader(form.ENDINGS)


def native_request(request: GenerateContentParameters) -> dict[str, Any]:
    """Return the parameters of the call."""
    turns = read_turns(request)
    messages = [{"role": "assistant" if turn.is_model else "user", "content": _blocks(turn)} for turn in turns]
    native: dict[str, Any] = {"model": request.model, "max_tokens": _MAX_TOKENS, "messages": messages}
    if system := read_system(request):
        native["system"] = system
    if declared := read_tools(request):
        native["tools"] = [
            {"name": name, "description": description, "input_schema": schema} for name, description, schema in declared
        ]
    elif called := dict.fromkeys(call.name for turn in turns for call in turn.of(CallPart)):
        # The API rejects a conversation with calls (one to summarize, for example) if no tools are declared.
        native["tools"] = [{"name": name, "input_schema": {"type": "object"}} for name in called]
        native["tool_choice"] = {"type": "none"}
    return form.from_hook_llm_request(read_options(request), native)


def _blocks(turn: PlainTurn) -> list[dict[str, Any]]:
    # The API requires results at the beginning of their message.
    return [_block(piece) for piece in sorted(turn.pieces, key=lambda piece: not isinstance(piece, ToolOutcome))]


def _block(piece: Piece) -> dict[str, Any]:
    match piece:
        case str():
            return {"type": "text", "text": piece}
        case CallPart():
            return {"type": "tool_use", "id": piece.id, "name": piece.name, "input": dict(piece.arguments)}
        case ToolOutcome():
            error = {"is_error": True} if piece.is_error else {}
            return {"type": "tool_result", "tool_use_id": piece.id, "content": piece.text, **error}
        case Media() if piece.is_image:
            data = base64.b64encode(piece.data).decode()
            return {"type": "image", "source": {"type": "base64", "media_type": piece.mime_type, "data": data}}
        case Media():
            return {"type": "text", "text": piece.placeholder}


class _MessageReader(AnswerReader):
    def add(self, event: Any) -> str:
        """Handle an event and return its text."""
        match event.type:
            case "message_start":
                self._count(event.message.usage)
            case "content_block_start" if event.content_block.type == "tool_use":
                block = event.content_block
                # The input arrives in pieces of JSON, or at once from some servers.
                self.calls.append(PartialCall(event.index, block.id, block.name, dict(block.input or {})))
            case "content_block_start" if event.content_block.type == "text":
                return event.content_block.text or ""
            case "content_block_delta" if event.delta.type == "input_json_delta":
                next(call for call in self.calls if call.index == event.index).json += event.delta.partial_json
            case "content_block_delta" if event.delta.type == "text_delta":
                return str(event.delta.text)
            case "message_delta":
                self.ending = event.delta.stop_reason or self.ending
                self._count(event.usage)
            case _:
                pass
        return ""

    def _count(self, usage: Any) -> None:
        old_input, old_output = self.counts or (0, 0)
        self.counts = (getattr(usage, "input_tokens", 0) or old_input, getattr(usage, "output_tokens", 0) or old_output)
