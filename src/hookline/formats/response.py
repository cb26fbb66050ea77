from collections.abc import Mapping
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from hookline.contract.llm import LLMCandidate, LLMResponse, LLMSafetyRating
from hookline.formats import sdk
from hookline.formats._parts import remove_text, replace_text, replace_texts
from hookline.formats._reading import (
    field,
    is_thought,
    listed,
    parts_of,
    text_of_part,
    texts_of,
    whole_text,
    with_fields,
    word,
)

if TYPE_CHECKING:
    from hookline.formats.sdk import GenerateContentResponse

_COUNTS = {
    "promptTokenCount": "prompt_token_count",
    "candidatesTokenCount": "candidates_token_count",
    "totalTokenCount": "total_token_count",
}


def to_hook_llm_response(response: Any) -> LLMResponse:
    """What hooks see of a model response: the texts of its candidates, why they ended, and what the call cost."""
    candidates = listed(field(response, "candidates"))
    seen: LLMResponse = {"candidates": [_to_hook_candidate(candidate) for candidate in candidates]}
    text = _spoken_text(candidates[0]) if candidates else ""
    if text:
        seen = {"text": text, **seen}
    usage = field(response, "usage_metadata")
    counts: Any = {name: count for name, attribute in _COUNTS.items() if (count := field(usage, attribute)) is not None}
    if counts:
        seen["usageMetadata"] = counts
    return seen


def from_hook_llm_response(hook_response: Mapping[str, Any]) -> "GenerateContentResponse":
    """An SDK response of text parts only; a bare `text` counts as the only candidate."""
    types = sdk.types()
    candidates = [_from_hook_candidate(candidate) for candidate in hook_candidates(hook_response)]
    text = hook_response.get("text")
    if not candidates and isinstance(text, str):
        candidates = [types.Candidate(content=types.Content(role="model", parts=[types.Part(text=whole_text(text))]))]
    response: GenerateContentResponse = types.GenerateContentResponse(
        candidates=candidates, usage_metadata=_from_hook_usage(hook_response.get("usageMetadata"))
    )
    return response


def hook_candidates(hook_response: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The candidates of a hook's response that have a content."""
    candidates = hook_response.get("candidates")
    if not isinstance(candidates, list):
        return []
    return [
        candidate
        for candidate in candidates
        if isinstance(candidate, Mapping) and isinstance(candidate.get("content"), Mapping | str | list)
    ]


def replace_response_text(original: Any, modified: Any) -> "GenerateContentResponse":
    """The original response with the texts of the modified one; every part that is not text is kept.

    A candidate that the modified response does not have loses its text, and goes if nothing else is left of it.
    """
    before = listed(field(original, "candidates"))
    pairs = zip_longest(before, listed(field(modified, "candidates")))
    after = [told for old, new in pairs if (told := _retell(old, new)) is not None]
    response: GenerateContentResponse = original
    if len(after) != len(before) or any(old is not new for old, new in zip(before, after, strict=True)):
        # What the SDK parsed from the old text would let it through.
        response = with_fields(original, candidates=after, parsed=None)
    return response


def empty_response() -> "GenerateContentResponse":
    """The response to a blocked call for which no hook gave another: one candidate that says nothing."""
    return _single_candidate([])


def stop_response(reason: str) -> "GenerateContentResponse":
    """The response that takes the place of the model's when a hook stops the agent."""
    return _single_candidate([sdk.types().Part(text=whole_text(reason))])


def _single_candidate(parts: list[Any]) -> "GenerateContentResponse":
    types = sdk.types()
    candidate = types.Candidate(
        content=types.Content(role="model", parts=parts), finish_reason=types.FinishReason.STOP, index=0
    )
    response: GenerateContentResponse = types.GenerateContentResponse(candidates=[candidate])
    return response


def _spoken_text(candidate: Any) -> str:
    parts = parts_of(field(candidate, "content"))
    return "".join(text_of_part(part) or "" for part in parts if not is_thought(part))


def _to_hook_candidate(candidate: Any) -> LLMCandidate:
    content = field(candidate, "content")
    seen: LLMCandidate = {"content": {"role": field(content, "role") or "model", "parts": texts_of(content)}}
    finish_reason = word(field(candidate, "finish_reason"))
    if finish_reason is not None:
        seen["finishReason"] = finish_reason
    index = field(candidate, "index")
    if isinstance(index, int):
        seen["index"] = index
    ratings = field(candidate, "safety_ratings")
    if ratings is not None:
        seen["safetyRatings"] = [_to_hook_rating(rating) for rating in listed(ratings)]
    return seen


def _to_hook_rating(rating: Any) -> LLMSafetyRating:
    return {"category": word(field(rating, "category")), "probability": word(field(rating, "probability"))}


def _from_hook_candidate(candidate: Mapping[str, Any]) -> Any:
    types = sdk.types()
    content = candidate["content"]
    given = content.get("parts") if isinstance(content, Mapping) else content
    parts = [types.Part(text=whole_text(text)) for part in listed(given) if (text := text_of_part(part)) is not None]
    return types.Candidate(
        content=types.Content(role="model", parts=parts),
        finish_reason=_member(types.FinishReason, candidate.get("finishReason")),
        index=_count(candidate.get("index")),
        safety_ratings=_from_hook_ratings(candidate.get("safetyRatings")),
    )


def _from_hook_ratings(ratings: Any) -> list[Any] | None:
    if not isinstance(ratings, list):
        return None
    types = sdk.types()
    return [
        types.SafetyRating(
            category=_member(types.HarmCategory, rating.get("category")),
            probability=_member(types.HarmProbability, rating.get("probability")),
        )
        for rating in ratings
        if isinstance(rating, Mapping)
    ]


def _from_hook_usage(usage: Any) -> Any:
    if not isinstance(usage, Mapping):
        return None
    counts = {attribute: _count(usage.get(name)) for name, attribute in _COUNTS.items()}
    return sdk.types().GenerateContentResponseUsageMetadata(**counts)


def _member(vocabulary: Any, value: Any) -> Any:
    """The member of that name; None for a word the SDK does not know, which it would otherwise warn about."""
    return vocabulary.__members__.get(value.upper()) if isinstance(value, str) else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else None


def _retell(old: Any, new: Any) -> Any:
    if old is None:
        return new
    content = field(old, "content")
    parts = listed(field(content, "parts"))
    if new is None:
        told = remove_text(parts)
        return _with_content(old, content, told) if told else None
    told = _retell_parts(parts, texts_of(field(new, "content")))
    finish_reason = field(new, "finish_reason")
    if finish_reason is not None and finish_reason != field(old, "finish_reason"):
        old = with_fields(old, finish_reason=finish_reason)
    unchanged = len(told) == len(parts) and all(now is part for now, part in zip(told, parts, strict=True))
    return old if unchanged else _with_content(old, content or field(new, "content"), told)


def _with_content(candidate: Any, content: Any, parts: list[Any]) -> Any:
    # The probabilities spell out the old text, token by token.
    return with_fields(candidate, content=with_fields(content, parts=parts), logprobs_result=None)


def _retell_parts(parts: list[Any], texts: list[str]) -> list[Any]:
    spoken = [part for part in parts if text_of_part(part) is not None]
    if len(spoken) == len(texts):
        return replace_texts(parts, texts)
    if spoken:
        return replace_text(parts, "".join(texts))
    return [*(sdk.types().Part(text=text) for text in texts if text), *parts]
