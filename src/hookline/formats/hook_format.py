"""The hook format as hooks write it: foreign JSON, read tolerantly and without the SDK."""

from collections.abc import Mapping
from typing import Any

from hookline.contract.llm import LLMMessage
from hookline.formats._reading import Role, field, listed, whole_text

_ROLES: Mapping[str, Role] = {"user": "user", "model": "model", "assistant": "model", "system": "system"}


def overlay_llm_request(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The request with a hook's partial answer laid over it, key by key; nested objects are replaced whole."""
    changes = normalize_llm_request(changes)
    if "messages" in changes and not read_messages(changes):
        # A conversation without any text is not sent (see request.py), so nobody is told of it either.
        del changes["messages"]
    merged = {**normalize_llm_request(base), **changes}
    instruction = message_text(merged.get("systemInstruction"))
    messages = merged.get("messages")
    # Without messages the instruction stays as it is: a list with nothing but it would drop the conversation.
    if instruction is not None and isinstance(messages, list):
        del merged["systemInstruction"]
        message = {"role": "system", "content": instruction}
        merged["messages"] = messages if message in messages else [message, *messages]
    return merged


def normalize_llm_request(request: Mapping[str, Any]) -> dict[str, Any]:
    """The request with `contents` read as `messages` and `generationConfig` as `config`; other keys as they are."""
    normal = dict(request)
    contents = normal.pop("contents", None)
    messages = [message for content in listed(contents) if (message := _message(content))]
    if "messages" not in normal and (messages or contents == []):
        normal["messages"] = messages
    generation = normal.pop("generationConfig", None)
    if isinstance(generation, Mapping) and "config" not in normal:
        normal["config"] = dict(generation)
    return normal


def read_messages(request: Mapping[str, Any]) -> list[LLMMessage] | None:
    """The usable messages of a hook's request; None when it has none to say, or nothing but nonsense."""
    given = request.get("messages")
    if not isinstance(given, list):
        return None
    messages = [message for entry in given if (message := _message(entry))]
    return messages if messages or not given else None


def message_text(content: Any) -> str | None:
    """The text of a message in any form that hooks write: a string, pieces with `text`, or `parts` of them."""
    if isinstance(content, Mapping):
        content = content.get("parts", [content])
    pieces = [_piece_text(piece) for piece in listed(content)]
    return "".join(piece for piece in pieces if piece is not None) or None


def is_sdk_request(value: Any) -> bool:
    """True for a request in the SDK's form, which has `contents` where the hook format has `messages`."""
    return field(value, "contents") is not None


def is_sdk_response(value: Any) -> bool:
    """True for a response in the SDK's form, whose parts are objects where the hook format has strings."""
    candidates = listed(field(value, "candidates"))
    parts = [part for candidate in candidates for part in listed(field(field(candidate, "content"), "parts"))]
    return any(not isinstance(part, str) for part in parts)


def _message(entry: Any) -> LLMMessage | None:
    given = entry if isinstance(entry, Mapping) else {"content": entry}
    text = message_text(given.get("content", given))
    role = given.get("role")
    return {"role": _ROLES.get(role, "user") if isinstance(role, str) else "user", "content": text} if text else None


def _piece_text(piece: Any) -> str | None:
    text = piece.get("text") if isinstance(piece, Mapping) else piece
    return whole_text(text) if isinstance(text, str) else None
