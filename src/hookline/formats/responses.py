"""Responses of a model API ↔ hook form: what the APIs have in common."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hookline.formats.hook_format import candidate_texts, hook_candidates
from hookline.formats.native import field
from hookline.protocol.llm import LLMResponse, LLMUsage


@dataclass(frozen=True, slots=True)
class Candidate:
    """One answer of the model."""

    texts: list[str]
    finish_reason: str | None
    index: int


def in_hook_form(candidates: Sequence[Candidate], usage: Any, counts: tuple[str, str, str | None]) -> LLMResponse:
    """A response in hook form; `counts` are the API's names for the tokens of prompt, answer and both."""
    seen: Any = {
        "candidates": [
            {
                "content": {"role": "model", "parts": one.texts},
                **({"finishReason": one.finish_reason} if one.finish_reason else {}),
                "index": one.index,
            }
            for one in candidates
        ]
    }
    if candidates and (text := "".join(candidates[0].texts)):
        seen = {"text": text, **seen}
    if counted := _counts(usage, counts):
        seen["usageMetadata"] = counted
    response: LLMResponse = seen
    return response


def of_one_candidate(
    texts: list[str], finish_reason: str | None, usage: Any, counts: tuple[str, str, str | None]
) -> LLMResponse:
    """The same for a response that is one answer."""
    return in_hook_form([Candidate(texts, finish_reason, 0)], usage, counts)


def texts_of(hook_response: Mapping[str, Any]) -> list[str]:
    """The text of each candidate of a hook's response; a bare `text` is the only candidate's."""
    candidates = ["".join(candidate_texts(candidate)) for candidate in hook_candidates(hook_response)]
    text = hook_response.get("text")
    return candidates or ([text] if isinstance(text, str) else [])


def texts_by_candidate(hook_response: Mapping[str, Any], count: int) -> list[str]:
    """The same for a response with so many candidates: those that hooks dropped lose their text."""
    texts = texts_of(hook_response)[:count]
    return [*texts, *[""] * (count - len(texts))]


def _counts(usage: Any, names: tuple[str, str, str | None]) -> LLMUsage:
    prompt, answer, total = (None if name is None else field(usage, name) for name in names)
    if total is None and isinstance(prompt, int) and isinstance(answer, int):
        total = prompt + answer
    given = {"promptTokenCount": prompt, "candidatesTokenCount": answer, "totalTokenCount": total}
    counts: Any = {name: value for name, value in given.items() if isinstance(value, int)}
    counted: LLMUsage = counts
    return counted
