"""OpenAI's chat completions, and every server that speaks them, through the package `openai`."""

import base64
import json
import os
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass
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
from hookline.formats import openai as form
from hookline.formats.genai.request import read_options
from hookline.protocol.llm import GenerateContentParameters

if TYPE_CHECKING:
    import openai

    from hookline.formats.genai.sdk import GenerateContentResponse
else:
    openai = lazy_module("openai", extra="agent,openai")

CONTEXT_LIMIT = 128_000
# A server of one's own wants no key, but the client does.
_NO_KEY = "none"


class OpenAIModel(ClientModel):
    """A model of chat completions; the client takes key and address from OPENAI_API_KEY and OPENAI_BASE_URL."""

    context_limit = CONTEXT_LIMIT

    def __init__(self, name: str, *, base_url: str | None = None, **options: Any) -> None:
        super().__init__(name, **options)
        self._errors = (openai.APIStatusError, openai.APIConnectionError, openai.APIError)
        address: dict[str, Any] = {} if base_url is None else {"base_url": base_url}
        if (address or os.environ.get("OPENAI_BASE_URL")) and not os.environ.get("OPENAI_API_KEY"):
            address["api_key"] = _NO_KEY
        try:
            self._client = openai.AsyncOpenAI(max_retries=0, **address)
        except openai.OpenAIError as error:
            raise ModelError(
                f"OpenAI cannot be used: {error} For a server of your own, give --base-url URL."
            ) from error

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._client.close()

    async def chunks(self, request: GenerateContentParameters) -> "AsyncGenerator[GenerateContentResponse]":
        """The stream of one request."""
        answer = _Answer()
        asked = native_request(request)
        async with await self._client.chat.completions.create(
            **asked, stream=True, stream_options={"include_usage": True}
        ) as stream:
            async for chunk in stream:
                if text := answer.add(chunk):
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
    messages: list[dict[str, Any]] = []
    if system := read_system(request):
        messages.append({"role": "system", "content": system})
    for turn in read_turns(request):
        messages += _of_model(turn) if turn.is_model else _of_user(turn)
    native: dict[str, Any] = {"model": request.model, "messages": messages}
    tools = [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.schema)},
        }
        for tool in read_tools(request)
    ]
    return form.from_hook_llm_request(read_options(request), {**native, "tools": tools} if tools else native)


def _of_model(turn: Turn) -> Iterator[dict[str, Any]]:
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.arguments)}}
        for call in turn.of(Call)
    ]
    message: dict[str, Any] = {"role": "assistant", "content": "".join(turn.of(str)) or None}
    yield {**message, "tool_calls": calls} if calls else message


def _of_user(turn: Turn) -> Iterator[dict[str, Any]]:
    # The results come first: they must follow the message with their calls.
    for result in turn.of(Result):
        yield {"role": "tool", "tool_call_id": result.id, "content": result.text}
    texts = turn.of(str)
    if media := turn.of(Media):
        parts = [{"type": "text", "text": text} for text in texts]
        yield {"role": "user", "content": [*parts, *map(_of_media, media)]}
    elif texts:
        yield {"role": "user", "content": "\n\n".join(texts)}


def _of_media(media: Media) -> dict[str, Any]:
    if not media.mime_type.startswith("image/"):
        return {"type": "text", "text": f"[a part of the type {media.mime_type} was left out here]"}
    data = base64.b64encode(media.data).decode()
    return {"type": "image_url", "image_url": {"url": f"data:{media.mime_type};base64,{data}"}}


@dataclass(slots=True)
class _PartialCall:
    id: str = ""
    name: str = ""
    arguments: str = ""


class _Answer:
    """Puts the chunks of one answer together."""

    def __init__(self) -> None:
        self._calls: list[tuple[int, _PartialCall]] = []
        self._ending: str | None = None
        self._counts: tuple[int, int] | None = None

    def add(self, chunk: Any) -> str:
        """Takes a chunk and returns its text."""
        if chunk.usage is not None:
            self._counts = chunk.usage.prompt_tokens or 0, chunk.usage.completion_tokens or 0
        texts = []
        for choice in chunk.choices or ():
            if choice.index:
                continue
            self._ending = choice.finish_reason or self._ending
            for part in choice.delta.tool_calls or ():
                self._add_call(part)
            # A refusal is the model's text, too: hooks and the user shall see it.
            texts += [choice.delta.content or "", choice.delta.refusal or ""]
        return "".join(texts)

    def end(self) -> "GenerateContentResponse":
        """The last chunk. Raises ModelError when the answer is not complete."""
        if self._ending is None:
            raise ModelError(NO_ENDING)
        calls = [Call(call.id, call.name, read_arguments(call.arguments, call.name)) for _, call in self._calls]
        return last_chunk(calls, form.ENDINGS.get(self._ending, "OTHER"), self._counts)

    def _add_call(self, part: Any) -> None:
        index = len(self._calls) if part.index is None else part.index
        last = next((call for number, call in reversed(self._calls) if number == index), None)
        # Some servers number every call 0, and tell them apart by their ids.
        if last is None or (part.id and last.id and part.id != last.id):
            last = _PartialCall()
            self._calls.append((index, last))
        last.id = part.id or last.id
        if part.function is not None:
            last.name += part.function.name or ""
            last.arguments += part.function.arguments or ""
