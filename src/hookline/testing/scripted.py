"""A model that follows a script, in the SDK's types."""

from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hookline.formats.genai.sdk import response_from_json
from hookline.protocol.llm import DEFAULT_CONTEXT_LIMIT, GenerateContentParameters

if TYPE_CHECKING:
    from hookline.formats.genai.sdk import GenerateContentResponse

Chunk = Mapping[str, Any]
Answer = Sequence[Chunk | Exception]


class ScriptedModel:
    """A model that gives its answers in turn and remembers what it was asked.

    An answer is a list of chunks in the SDK's JSON; an exception among them breaks the stream off there.
    """

    name = "scripted"

    def __init__(self, answers: Iterable[Answer], *, context_limit: int = DEFAULT_CONTEXT_LIMIT) -> None:
        self.context_limit = context_limit
        self.requests: list[GenerateContentParameters] = []
        self.is_closed = False
        self._answers = iter(answers)

    async def stream(self, request: GenerateContentParameters) -> "AsyncGenerator[GenerateContentResponse]":
        """The next answer; AssertionError when there is none left."""
        self.requests.append(request)
        answer = next(self._answers, None)
        if answer is None:
            raise AssertionError(f"the model was called {len(self.requests)} times, more often than the script says")
        for chunk in answer:
            if isinstance(chunk, Exception):
                raise chunk
            yield response_from_json(chunk)

    async def aclose(self) -> None:
        """Remembers that it was closed."""
        self.is_closed = True


def says(text: str, *, finish: str | None = "STOP", tokens: int | None = None) -> dict[str, Any]:
    """A chunk in which the model says a text; `tokens` is the size of the conversation that it reports."""
    return _chunk([{"text": text}], finish, tokens)


def calls(*functions: tuple[str, Mapping[str, Any]], tokens: int | None = None) -> dict[str, Any]:
    """A chunk in which the model calls tools, given as pairs of name and arguments."""
    parts = [{"functionCall": {"name": name, "args": dict(arguments)}} for name, arguments in functions]
    return _chunk(parts, "STOP", tokens)


def _chunk(parts: list[dict[str, Any]], finish: str | None, tokens: int | None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    chunk: dict[str, Any] = {"candidates": [candidate]}
    if tokens is not None:
        chunk["usageMetadata"] = {"totalTokenCount": tokens}
    return chunk
