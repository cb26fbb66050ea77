"""Merges the chunks of a stream into one response."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from hookline.formats.genai import sdk

if TYPE_CHECKING:
    from hookline.formats.genai.sdk import GenerateContentResponse, Part


def collect(chunks: "Sequence[GenerateContentResponse]") -> "GenerateContentResponse":
    """Return one response with the parts of all chunks and the last value of every other field."""
    if not chunks:
        empty: GenerateContentResponse = sdk.types().GenerateContentResponse(candidates=[])
        return empty
    pieces: dict[int, list[Any]] = {}
    for chunk in chunks:
        for candidate in chunk.candidates or ():
            pieces.setdefault(candidate.index or 0, []).append(candidate)
    candidates = [_candidate(pieces[index]) for index in sorted(pieces)]
    return chunks[-1].model_copy(update={**_latest(chunks), "candidates": candidates})


def _candidate(pieces: Sequence[Any]) -> Any:
    contents = [piece.content for piece in pieces if piece.content is not None]
    whole = pieces[-1].model_copy(update=_latest(pieces))
    if not contents:
        return whole
    role = next((content.role for content in contents if content.role), "model")
    parts = _parts(part for content in contents for part in content.parts or ())
    return whole.model_copy(update={"content": sdk.types().Content(role=role, parts=parts)})


def _parts(parts: "Iterable[Part]") -> "list[Part]":
    merged: list[Part] = []
    for part in parts:
        if _is_bare_text(part) and not part.text:
            continue
        last = merged[-1] if merged else None
        is_text = last is not None and _is_bare_text(part) and _is_bare_text(last)
        if last is not None and is_text and bool(last.thought) == bool(part.thought):
            merged[-1] = last.model_copy(update={"text": f"{last.text}{part.text}"})
        else:
            merged.append(part)
    return merged


def _is_bare_text(part: "Part") -> bool:
    # A part with a signature must go back to the model unchanged.
    return part.text is not None and set(_latest([part])) <= {"text", "thought"}


def _latest(values: Iterable[Any]) -> dict[str, Any]:
    """Return the last value of each field that is set in any of these SDK objects."""
    return {
        name: given
        for value in values
        for name in type(value).model_fields
        if (given := getattr(value, name)) is not None
    }
