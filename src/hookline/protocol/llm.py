"""Model calls as hooks see them: a form that stays the same when the SDK changes."""

from typing import TYPE_CHECKING, Any, Literal, Protocol, Required, TypedDict

if TYPE_CHECKING:
    from hookline.protocol._parameters import GenerateContentParameters as GenerateContentParameters  # noqa: PLC0414 - part of this module

ToolMode = Literal["AUTO", "ANY", "NONE"]

DEFAULT_CONTEXT_LIMIT = 1_048_576
"""Tokens that fit into a conversation with a model that states no limit."""


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


def __getattr__(name: str) -> Any:
    """Loads the one dataclass on first use: `dataclasses` loads `inspect`, a tenth of the start of `hookline list`."""
    if name == "GenerateContentParameters":
        from hookline.protocol._parameters import GenerateContentParameters  # noqa: PLC0415

        return GenerateContentParameters
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
