"""Replays recorded answers without a key or network, and records them."""

import json
import os
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hookline.apps.agent.conversation.contents import to_json
from hookline.apps.agent.models.client import Model
from hookline.errors import ModelError
from hookline.formats.genai.sdk import response_from_json
from hookline.protocol.llm import DEFAULT_CONTEXT_LIMIT, GenerateContentParameters

if TYPE_CHECKING:
    from hookline.formats.genai.sdk import GenerateContentResponse

_METHODS = ("generateContentStream", "generateContent")
_PLACEHOLDER = "{{CWD}}"


class ReplayModel:
    """Answers each call with the next line of a JSON Lines file: `{"method": …, "response": [chunk, …]}`."""

    name = "replay"
    context_limit = DEFAULT_CONTEXT_LIMIT

    def __init__(self, file: Path, *, project_dir: str) -> None:
        self._file = file
        self._lines = [
            (place := f"{file}:{number}", _replace(_chunks(text, place), _PLACEHOLDER, project_dir))
            # Not splitlines(), which also splits at characters such as U+2028.
            for number, text in enumerate(_read(file).split("\n"), 1)
            if text.strip()
        ]
        self._calls = 0

    async def stream(self, request: GenerateContentParameters) -> "AsyncGenerator[GenerateContentResponse]":  # noqa: ARG002 - the answer does not depend on it
        """Return the chunks of the next line. Raises ModelError after the last one."""
        self._calls += 1
        if self._calls > (count := len(self._lines)):
            raise ModelError(
                f"{self._file} has {count} line{'' if count == 1 else 's'}, but this is model call {self._calls};"
                " add a line with its response"
            )
        place, chunks = self._lines[self._calls - 1]
        for number, chunk in enumerate(chunks, 1):
            yield _response(chunk, f"{place}: chunk {number}")

    async def aclose(self) -> None:
        """Do nothing: the file is closed."""


class Recorder:
    """Wraps a model, and writes each complete answer to a file for `ReplayModel`."""

    def __init__(self, model: Model, file: Path, *, project_dir: str) -> None:
        self._model = model
        self._file = file
        self._project_dir = project_dir
        self.name = model.name
        self.context_limit = model.context_limit
        try:
            os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600))
        except OSError as error:
            raise ModelError(f"can't record to {file}: {error.strerror}") from error

    async def stream(self, request: GenerateContentParameters) -> "AsyncGenerator[GenerateContentResponse]":
        """Return the model's chunks, and write a line after the last one."""
        chunks = []
        async with aclosing(self._model.stream(request)) as answer:
            async for chunk in answer:
                chunks.append(to_json(chunk))
                yield chunk
        line = {"method": _METHODS[0], "response": _replace(chunks, self._project_dir, _PLACEHOLDER)}
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")

    async def aclose(self) -> None:
        """Close the model."""
        await self._model.aclose()


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"can't read {file}: {getattr(error, 'strerror', None) or error}") from error


def _chunks(text: str, place: str) -> list[Any]:
    try:
        line = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{place} is not JSON: {error}") from error
    if not isinstance(line, dict) or line.get("method") not in _METHODS:
        raise ModelError(f'{place}: expected an object with "method": "{_METHODS[0]}"')
    chunks = line.get("response")
    if isinstance(chunks, dict):
        chunks = [chunks]
    if not isinstance(chunks, list) or not chunks:
        raise ModelError(f'{place}: expected "response" to be an array with the chunks of the response')
    return chunks


def _response(chunk: Any, place: str) -> "GenerateContentResponse":
    try:
        response = response_from_json(chunk)
    except ValueError as error:
        raise ModelError(f"{place} is not a Gemini response: {error}") from error
    if not response.model_fields_set:
        # Unknown fields are dropped, which would leave an empty answer.
        known = '"candidates", "promptFeedback" or "usageMetadata"'
        raise ModelError(f"{place} is not a Gemini response: it has none of {known}")
    return response


def _replace(value: Any, old: str, new: str) -> Any:
    """Return the JSON value with a text replaced in every string, except in keys."""
    match value:
        case str():
            return value.replace(old, new)
        case list():
            return [_replace(item, old, new) for item in value]
        case dict():
            return {key: _replace(item, old, new) for key, item in value.items()}
        case _:
            return value
