"""Is this really in hook form? Checked where a program hands in a request or a response."""

from collections.abc import Mapping
from typing import Any

from hookline.errors import FormatError
from hookline.formats.native import shape_of
from hookline.protocol.llm import LLMRequest, LLMResponse

_ROLES = frozenset({"user", "model", "system"})
_REQUEST = frozenset(LLMRequest.__annotations__)
_RESPONSE = frozenset(LLMResponse.__annotations__)
_HINT = "; hookline.formats.openai, .anthropic and .genai translate the requests and responses of these APIs"
_MESSAGE = '{"role": "user", "content": "a text"} with the role user, model or system'


def check_request(request: Any) -> None:
    """FormatError for a request that is not in hook form, so that hooks would miss something in it."""
    if not isinstance(request, Mapping):
        raise FormatError("the request", shape_of(request), f"an LLMRequest{_HINT}")
    if not _REQUEST.issuperset(request):
        raise FormatError("the request", shape_of(request), f"the keys {', '.join(LLMRequest.__annotations__)}{_HINT}")
    messages = request.get("messages")
    if not isinstance(messages, list | tuple):
        raise FormatError("the request's messages", shape_of(messages), f"a list of messages{_HINT}")
    for number, message in enumerate(messages):
        if type(message) is dict and _has_role(message) and type(message.get("content")) is str:
            continue  # nearly always, and quicker
        if not isinstance(message, Mapping) or not isinstance(message.get("content"), str) or not _has_role(message):
            raise FormatError(f"messages[{number}]", _shape_of_message(message), _MESSAGE + _HINT)
    for name in ("config", "toolConfig"):
        if not isinstance(request.get(name, {}), Mapping):
            raise FormatError(f"the request's {name}", shape_of(request[name]), "an object")


def _has_role(message: Mapping[str, Any]) -> bool:
    role = message.get("role")
    return isinstance(role, str) and role in _ROLES


def check_response(response: Any) -> LLMResponse:
    """The response with its text and its candidates, or FormatError if it is not in hook form.

    A text without candidates is the only candidate's, and the text of the first candidate is the response's.
    """
    if not isinstance(response, Mapping) or not _RESPONSE.issuperset(response):
        expected = f"an LLMResponse with {', '.join(LLMResponse.__annotations__)}{_HINT}"
        raise FormatError("the response", shape_of(response), expected)
    text, candidates = response.get("text"), response.get("candidates")
    if not isinstance(text, str | None):
        raise FormatError("the response's text", shape_of(text), f"a text{_HINT}")
    if candidates is None:
        only: Any = [{"content": {"role": "model", "parts": [text]}}] if text else []
        told: Any = {**response, "candidates": only}
    else:
        texts = _parts(candidates)
        first = "".join(texts[0]) if texts else ""
        told = response if text or not first else {"text": first, **response}
    checked: LLMResponse = told
    return checked


def _parts(candidates: Any) -> list[list[str]]:
    """The texts of each candidate."""
    if not isinstance(candidates, list | tuple):
        raise FormatError("the response's candidates", shape_of(candidates), f"a list{_HINT}")
    found: list[list[str]] = []
    for number, candidate in enumerate(candidates):
        content = candidate.get("content", {}) if isinstance(candidate, Mapping) else None
        parts = content.get("parts", ()) if isinstance(content, Mapping) else None
        if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
            expected = '{"content": {"role": "model", "parts": ["a text"]}}'
            raise FormatError(f"candidates[{number}]", shape_of(candidate), expected + _HINT)
        found.append(list(parts))
    return found


def _shape_of_message(message: Any) -> str:
    if not isinstance(message, Mapping) or not {"role", "content"} <= message.keys():
        return shape_of(message)
    content = message["content"]
    what = "a text" if isinstance(content, str) else f"a content {shape_of(content)}"
    return f"{what} with the role {message['role']!r}"
