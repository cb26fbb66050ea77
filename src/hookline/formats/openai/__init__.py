"""OpenAI's requests and responses ↔ hook form: chat completions and the Responses API.

Requests are the keyword arguments of `client.chat.completions.create` or `client.responses.create`. Messages, items and
responses may be dictionaries or the SDK's objects. Hooks see texts only: tool calls and their results, images, files,
reasoning and refusals stay as they are.
"""

from collections.abc import Callable, Mapping
from typing import Any

from hookline.errors import FormatError
from hookline.formats import requests
from hookline.formats.native import field, given
from hookline.formats.openai import chat, items
from hookline.protocol.llm import LLMRequest, LLMResponse, ToolMode

ENDINGS = chat.ENDINGS
"""Why an answer ended, in hook form, by chat completions' word for it."""


def to_hook_llm_request(native: Mapping[str, Any]) -> LLMRequest:
    """Return the request as hooks see it; raise FormatError for a shape in which a text could be missed."""
    return _api_of(native).to_hook(native)


def from_hook_llm_request(hook_request: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, Any]:
    """The request to send; the base itself when hooks changed nothing, and its messages where they left them alone."""
    return _api_of(base).from_hook(hook_request, base)


def to_hook_llm_response(response: Any) -> LLMResponse:
    """Return the response as hooks see it: its texts, the reason why it ended, and the token counts."""
    is_items = field(response, "output") is not None
    return items.to_hook_response(response) if is_items else chat.to_hook_response(response)


def from_hook_llm_response(hook_response: Mapping[str, Any], base: Any = None, *, is_items: bool = False) -> Any:
    """Return the response with the hooks' texts in place of the originals; the base itself when nothing changes.

    Without a base it is a new response of text alone, as JSON; `is_items` makes it one of the Responses API.
    """
    if base is None:
        return (items if is_items else chat).make_response(hook_response)
    return (items if field(base, "output") is not None else chat).replace_response_text(hook_response, base)


def with_note(native: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The request with a hook's note as its last message, for this call only."""
    return _api_of(native).with_note(native, text)


def offer(native: Mapping[str, Any], permits: Callable[[str], bool], mode: ToolMode | None = None) -> dict[str, Any]:
    """The request with those of its tools that a `Selection` permits, and with its mode."""
    return _api_of(native).offer(native, permits, mode)


def tool_names(native: Mapping[str, Any]) -> list[str]:
    """The names of the tools that are offered, but those without a name, which the API runs itself."""
    return _api_of(native).tool_names(native)


def _api_of(native: Any) -> requests.Api:
    if isinstance(native, Mapping) and given(native.get("messages")) is not None and given(native.get("input")):
        raise FormatError("the request", "with both messages and input", "one of them, as its API has it")
    for name in ("functions", "function_call"):
        if isinstance(native, Mapping) and given(native.get(name)) is not None:
            raise FormatError("the request", f"with {name}, which OpenAI has replaced", "tools and tool_choice")
    is_items = isinstance(native, Mapping) and "messages" not in native and ("input" in native or "prompt" in native)
    return items.API if is_items else chat.API
