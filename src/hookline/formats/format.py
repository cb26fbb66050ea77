"""The functions that every format offers, for every model API and every framework."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from hookline.protocol.llm import LLMRequest, LLMResponse, ToolMode


class Format(Protocol):
    """The interface of every module of `hookline.formats`, for one kind of native requests and responses."""

    def to_hook_llm_request(self, native: Any, /) -> LLMRequest:
        """Return the request as hooks see it."""

    def from_hook_llm_request(self, hook_request: Any, base: Any, /) -> Any:
        """The request to send."""

    def to_hook_llm_response(self, response: Any, /) -> LLMResponse:
        """Return the response as hooks see it."""

    def from_hook_llm_response(self, hook_response: Mapping[str, Any], base: Any = None, /) -> Any:
        """The response with the hooks' text; without one, a new response of text alone."""

    def with_note(self, native: Any, text: str, /) -> Any:
        """The request with a hook's note to the model."""

    def offer(self, native: Any, permits: Callable[[str], bool], mode: ToolMode | None, /) -> Any:
        """The request with the tools that are permitted."""

    def tool_names(self, native: Any, /) -> list[str]:
        """The names of the tools that the request offers."""
