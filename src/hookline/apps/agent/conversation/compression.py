"""Compresses a long history: cuts it, and requests a summary of its beginning."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hookline.apps.agent.conversation.contents import has_responses, user_content
from hookline.formats.genai import sdk
from hookline.protocol.llm import GenerateContentParameters

if TYPE_CHECKING:
    from hookline.formats.genai.sdk import Content

NEARLY_FULL = 0.8
"""The share of the context limit at which a history is compressed."""

_KEPT = 0.3
_CHARACTERS_PER_TOKEN = 4
_INSTRUCTION = (
    "You summarize the conversation of a coding agent so that it can continue from the summary alone. Keep the user's "
    "requests, word for word where it matters, every important file and command, what was found, what was changed, "
    "what failed, and what is still to be done. Write the summary and nothing else."
)
_REQUEST = "Summarize our conversation so far."
_OPENING = "This is a summary of our conversation so far:\n\n"
_ACKNOWLEDGEMENT = "I have read the summary and will continue from there."


def cut(history: "Sequence[Content]") -> int | None:
    """Return how many contents at the beginning to summarize, or None.

    The last exchange remains, and a function call is never separated from its responses.
    """
    cuts = [index for index in range(1, len(history)) if not has_responses(history[index])]
    sizes = [_size(content) for content in history]
    small_enough = (index for index in cuts if sum(sizes[index:]) <= _KEPT * sum(sizes))
    return next(small_enough, cuts[-1] if cuts else None)


def summary_request(
    model: str, beginning: "Sequence[Content]", context: str | None = None
) -> GenerateContentParameters:
    """Return the request for a summary of these contents, with the context of hooks."""
    config = sdk.types().GenerateContentConfig(system_instruction=_INSTRUCTION)
    request = user_content([_REQUEST, context] if context else [_REQUEST])
    return GenerateContentParameters(model=model, contents=[*beginning, request], config=config)


def compressed(summary: str, rest: "Sequence[Content]", contexts: Sequence[str] = ()) -> "list[Content]":
    """Return the compressed history: the summary, the contexts of hooks, and the rest."""
    types = sdk.types()
    opening = [user_content([_OPENING + summary, *contexts])]
    if not rest or rest[0].role == "user":
        opening.append(types.Content(role="model", parts=[types.Part(text=_ACKNOWLEDGEMENT)]))
    return [*opening, *rest]


def estimate_tokens(history: "Sequence[Content]") -> int:
    """Estimate the tokens of a history; the model's next answer reports the exact number."""
    return sum(map(_size, history)) // _CHARACTERS_PER_TOKEN


def _size(content: "Content") -> int:
    try:
        return len(content.model_dump_json(exclude_none=True))
    except ValueError:  # a lone surrogate in a model's answer
        return len(repr(content))
