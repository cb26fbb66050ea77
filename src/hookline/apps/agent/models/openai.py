"""OpenAI's chat completions, and every server that implements them, through the package `openai`."""

import base64
import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from hookline.apps.agent.models.turns import (
    AnswerReader,
    CallPart,
    Media,
    PartialCall,
    PlainTurn,
    ToolOutcome,
    VendorModel,
    read_system,
    read_tools,
    read_turns,
)
from hookline.errors import ModelError
from hookline.extensions import lazy_module
from hookline.formats import openai as form
from hookline.formats.genai.request import read_options
from hookline.protocol.llm import GenerateContentParameters

if TYPE_CHECKING:
    import openai
else:
    openai = lazy_module("openai", extra="agent,openai")

CONTEXT_LIMIT = 128_000


class OpenAIModel(VendorModel):
    """A chat completions model; the client reads OPENAI_API_KEY and OPENAI_BASE_URL."""

    context_limit = CONTEXT_LIMIT

    def __init__(self, name: str, *, base_url: str | None = None, **options: Any) -> None:
        address: dict[str, Any] = {} if base_url is None else {"base_url": base_url}
        if (address or os.environ.get("OPENAI_BASE_URL")) and not os.environ.get("OPENAI_API_KEY"):
            address["api_key"] = "none"  # a local server needs no key, but the client does
        try:
            client = openai.AsyncOpenAI(max_retries=0, **address)
        except openai.OpenAIError as error:
            raise ModelError(
                f"OpenAI cannot be used: {error} For a server of your own, give --base-url URL."
            ) from error
        super().__init__(name, openai, client, **options)

    async def open(self, request: GenerateContentParameters) -> Any:
        """Send a request, and return its stream of chunks."""
        options = {"stream": True, "stream_options": {"include_usage": True}}
        return await self._client.chat.completions.create(**native_request(request), **options)

    def new_reader(self) -> AnswerReader:
        """Return a reader for the chunks of one answer."""
        return _CompletionReader(form.ENDINGS)


def native_request(request: GenerateContentParameters) -> dict[str, Any]:
    """Return the parameters of the call."""
    system = read_system(request)
    messages: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
    for turn in read_turns(request):
        messages += _model_messages(turn) if turn.is_model else _user_messages(turn)
    native: dict[str, Any] = {"model": request.model, "messages": messages}
    if tools := read_tools(request):
        native["tools"] = [
            {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}
            for name, description, schema in tools
        ]
    return form.from_hook_llm_request(read_options(request), native)


def _model_messages(turn: PlainTurn) -> Iterator[dict[str, Any]]:
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.arguments)}}
        for call in turn.of(CallPart)
    ]
    message: dict[str, Any] = {"role": "assistant", "content": "".join(turn.of(str)) or None}
    yield {**message, "tool_calls": calls} if calls else message


def _user_messages(turn: PlainTurn) -> Iterator[dict[str, Any]]:
    # The API requires results right after the message with their calls.
    for result in turn.of(ToolOutcome):
        yield {"role": "tool", "tool_call_id": result.id, "content": result.text}
    texts = turn.of(str)
    if media := turn.of(Media):
        parts = [{"type": "text", "text": text} for text in texts]
        yield {"role": "user", "content": [*parts, *map(_media_part, media)]}
    elif texts:
        yield {"role": "user", "content": "\n\n".join(texts)}


def _media_part(media: Media) -> dict[str, Any]:
    if not media.is_image:
        return {"type": "text", "text": media.placeholder}
    data = base64.b64encode(media.data).decode()
    return {"type": "image_url", "image_url": {"url": f"data:{media.mime_type};base64,{data}"}}


class _CompletionReader(AnswerReader):
    def add(self, event: Any) -> str:
        """Handle a chunk and return its text."""
        if event.usage is not None:
            self.counts = event.usage.prompt_tokens or 0, event.usage.completion_tokens or 0
        texts = []
        for choice in event.choices or ():
            if choice.index:
                continue
            self.ending = choice.finish_reason or self.ending
            for part in choice.delta.tool_calls or ():
                self._add_call(part)
            # A refusal is text of the model too, which hooks and the user must see.
            texts += [choice.delta.content or "", choice.delta.refusal or ""]
        return "".join(texts)

    def _add_call(self, part: Any) -> None:
        index = len(self.calls) if part.index is None else part.index
        call = next((call for call in reversed(self.calls) if call.index == index), None)
        # Some servers give every call the index 0, with different ids.
        if call is None or (part.id and call.id and part.id != call.id):
            call = PartialCall(index)
            self.calls.append(call)
        call.id = part.id or call.id
        if part.function is not None:
            call.name += part.function.name or ""
            call.json += part.function.arguments or ""
