"""Model responses: the SDK's, and what hooks see and change of them."""

from collections.abc import Mapping
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from hookline.errors import FormatError
from hookline.formats.genai import sdk
from hookline.formats.genai.contents import (
    check_content,
    field,
    is_thought,
    parts_of,
    remove_text,
    replace_text,
    replace_texts,
    snake,
    text_of_part,
    texts_of,
    with_fields,
    word,
)
from hookline.formats.hook_format import candidate_texts, hook_candidates, listed
from hookline.formats.native import shape_of
from hookline.protocol.llm import LLMCandidate, LLMResponse, LLMSafetyRating, LLMUsage

if TYPE_CHECKING:
    from hookline.formats.genai.sdk import GenerateContentResponse

_COUNTS = {name: snake(name) for name in LLMUsage.__annotations__}
_FIELDS = ("text", "candidates", "usage_metadata", "prompt_feedback", "model_version", "response_id", "create_time")
_EXPECTED = (
    """a GenerateContentResponse, or its JSON, such as {"candidates": [{"content": {"parts": [{"text": "hi"}]}}]}"""
)


def is_sdk_response(value: Any) -> bool:
    """True for a response that is not in hook form, which means: one that translating it would change.

    So a response without text is recognised by anything that the hook format lacks: a candidate without parts, a part
    that is no string, a field such as `modelVersion` or `thoughtsTokenCount`.
    """
    if not isinstance(value, Mapping):
        return hasattr(value, "candidates")
    candidates, text = value.get("candidates"), value.get("text")
    if not all(isinstance(one, Mapping) for one in listed(candidates)) or not isinstance(text, str | None):
        return False  # neither form: the check of hook form says what is wrong with it
    told = to_hook_llm_response(value)
    return any(name not in told or told[name] != given for name, given in value.items())  # type: ignore[literal-required]


def to_hook_llm_response(response: Any) -> LLMResponse:
    """Return a model response as hooks see it: the candidates' texts, why they ended, and the token counts.

    Raises FormatError for a response of another API.
    """
    _check(response)
    candidates = listed(field(response, "candidates"))
    for number, candidate in enumerate(candidates):
        if not isinstance(candidate, Mapping) and not hasattr(candidate, "content"):
            raise FormatError(f"candidates[{number}]", shape_of(candidate), _EXPECTED)
        if isinstance(content := field(candidate, "content"), Mapping):  # the SDK's own objects have known fields only
            check_content(content, f"candidates[{number}].content")
    seen: LLMResponse = {"candidates": [_to_hook_candidate(candidate) for candidate in candidates]}
    # The SDK's own `text` is not a field of its JSON, and warns about calls.
    given = response.get("text") if isinstance(response, Mapping) else None
    text = given if isinstance(given, str) else _spoken_text(candidates[0]) if candidates else ""
    if text:
        seen = {"text": text, **seen}
    usage = field(response, "usage_metadata")
    counts: Any = {name: count for name, attribute in _COUNTS.items() if (count := field(usage, attribute)) is not None}
    if counts:
        seen["usageMetadata"] = counts
    return seen


def from_hook_llm_response(hook_response: Mapping[str, Any], base: Any = None) -> "GenerateContentResponse":
    """The response with the hooks' texts in place of the originals; the base itself when nothing changes.

    Without a base it is a new response of text parts only. A bare `text` counts as the only candidate.
    """
    text = hook_response.get("text")
    candidates = hook_candidates(hook_response) or ([{"content": text}] if isinstance(text, str) else [])
    response: GenerateContentResponse = sdk.types().GenerateContentResponse(
        candidates=[_from_hook_candidate(candidate) for candidate in candidates],
        usage_metadata=_from_hook_usage(hook_response.get("usageMetadata")),
    )
    return response if base is None else replace_response_text(base, response)


def replace_response_text(original: Any, modified: Any) -> "GenerateContentResponse":
    """The original response with the texts of the modified one; every part that is not text is kept.

    A candidate that the modified response does not have loses its text, and goes if nothing else is left of it.
    """
    before = listed(field(original, "candidates"))
    pairs = zip_longest(before, listed(field(modified, "candidates")))
    after = [candidate for old, new in pairs if (candidate := _replace(old, new)) is not None]
    response: GenerateContentResponse = original
    if len(after) != len(before) or any(old is not new for old, new in zip(before, after, strict=True)):
        # `parsed` still holds the old text.
        response = with_fields(original, candidates=after, parsed=None)
    return response


def empty_response() -> "GenerateContentResponse":
    """The response to a blocked call for which no hook gave another: one candidate without text."""
    return _stopped([])


def stop_response(reason: str) -> "GenerateContentResponse":
    """The response that takes the place of the model's when a hook stops the agent."""
    return _stopped([reason])


def _stopped(texts: list[str]) -> "GenerateContentResponse":
    return from_hook_llm_response({"candidates": [{"content": texts, "finishReason": "STOP", "index": 0}]})


def _check(response: Any) -> None:
    if isinstance(response, Mapping):
        is_known = not response or any(field(response, name) is not None for name in _FIELDS)
    else:
        is_known = hasattr(response, "candidates")
    if not is_known:
        raise FormatError("the response", shape_of(response), _EXPECTED)


def _spoken_text(candidate: Any) -> str:
    parts = parts_of(field(candidate, "content"))
    return "".join(text_of_part(part) or "" for part in parts if not is_thought(part))


def _to_hook_candidate(candidate: Any) -> LLMCandidate:
    content = field(candidate, "content")
    index, ratings = field(candidate, "index"), field(candidate, "safety_ratings")
    seen: Any = {
        "content": {"role": field(content, "role") or "model", "parts": texts_of(content)},
        "finishReason": word(field(candidate, "finish_reason")),
        "index": index if isinstance(index, int) else None,
        "safetyRatings": None if ratings is None else [*map(_to_hook_rating, listed(ratings))],
    }
    shown: LLMCandidate = {name: value for name, value in seen.items() if value is not None}  # type: ignore[assignment]
    return shown


def _to_hook_rating(rating: Any) -> LLMSafetyRating:
    return {"category": word(field(rating, "category")), "probability": word(field(rating, "probability"))}


def _from_hook_candidate(candidate: Mapping[str, Any]) -> Any:
    types = sdk.types()
    parts = [types.Part(text=text) for text in candidate_texts(candidate)]
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


def _replace(old: Any, new: Any) -> Any:
    if old is None:
        return new
    content = field(old, "content")
    parts = listed(field(content, "parts"))
    if new is None:
        told = remove_text(parts)
        return _with_content(old, content, told) if told else None
    told = _replace_parts(parts, texts_of(field(new, "content")))
    finish_reason = field(new, "finish_reason")
    if finish_reason is not None and finish_reason != field(old, "finish_reason"):
        old = with_fields(old, finish_reason=finish_reason)
    unchanged = len(told) == len(parts) and all(now is part for now, part in zip(told, parts, strict=True))
    return old if unchanged else _with_content(old, content or field(new, "content"), told)


def _with_content(candidate: Any, content: Any, parts: list[Any]) -> Any:
    # The probabilities spell out the old text, token by token.
    return with_fields(candidate, content=with_fields(content, parts=parts), logprobs_result=None)


def _replace_parts(parts: list[Any], texts: list[str]) -> list[Any]:
    spoken = [part for part in parts if text_of_part(part) is not None]
    if len(spoken) == len(texts):
        return replace_texts(parts, texts)
    if spoken:
        return replace_text(parts, "".join(texts))
    return [*(sdk.types().Part(text=text) for text in texts if text), *parts]
