"""Model calls as hooks see them: a form that stays the same when the SDK changes."""

from typing import Any, Literal, Protocol, Required, TypedDict

import msgspec

ToolMode = Literal["AUTO", "ANY", "NONE"]

DEFAULT_CONTEXT_LIMIT = 1_048_576
"""Tokens that fit into a conversation with a model that states no limit."""


class GenerateContentParameters(msgspec.Struct, frozen=True, kw_only=True):
    """The three arguments of the SDK's `generate_content`: what model callers hand in and get back."""

    model: str
    contents: Any
    """Any value that the SDK accepts: a string, a `Content`, or a list of strings, parts and `Content` objects."""
    config: Any = None
    """A `GenerateContentConfig`, its dictionary form, or None."""


class LLMMessage(TypedDict):
    """One message of the conversation, as text."""

    role: Literal["user", "model", "system"]
    content: str


class LLMConfig(TypedDict, total=False):
    """The generation parameters that hooks can read and change."""

    temperature: float
    maxOutputTokens: int
    topP: float
    topK: float
    stopSequences: list[str]
    candidateCount: int
    presencePenalty: float
    frequencyPenalty: float


class HookToolConfig(TypedDict, total=False):
    """Which tools the model may call; no list restricts nothing, an empty list allows nothing."""

    mode: ToolMode
    allowedFunctionNames: list[str]


class LLMRequest(TypedDict, total=False):
    """A model request as hooks see it."""

    model: str
    messages: Required[list[LLMMessage]]
    config: LLMConfig
    toolConfig: HookToolConfig


class LLMRequestFields(TypedDict, total=False):
    """Parts of a model request: what a hook changes of it, and what a request on the bus may have."""

    model: str
    messages: list[LLMMessage]
    config: LLMConfig
    toolConfig: HookToolConfig


class LLMContent(TypedDict):
    """The text parts of one candidate."""

    role: str
    parts: list[str]


class LLMSafetyRating(TypedDict):
    """One safety rating, without the SDK's `blocked` flag."""

    category: str
    probability: str


class LLMCandidate(TypedDict, total=False):
    """One answer of the model."""

    content: LLMContent
    finishReason: str
    index: int
    safetyRatings: list[LLMSafetyRating]


class LLMUsage(TypedDict, total=False):
    """How many tokens the call used."""

    promptTokenCount: int
    candidatesTokenCount: int
    totalTokenCount: int


class LLMResponse(TypedDict, total=False):
    """A model response as hooks see it."""

    text: str
    candidates: list[LLMCandidate]
    usageMetadata: LLMUsage


class Translator(Protocol):
    """Turns an SDK's requests and responses into the form that hooks see."""

    def to_hook_llm_request(self, params: Any) -> LLMRequest:
        """Return a model request as hooks see it."""

    def to_hook_llm_response(self, sdk_response: Any) -> LLMResponse:
        """Return a model response as hooks see it."""
