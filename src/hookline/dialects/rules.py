"""Steps that the rules of several agents share."""

import re
from collections.abc import Mapping
from typing import Any

from hookline.protocol.events import BLOCKING_DECISIONS
from hookline.protocol.text.json_text import parse_json, stringify_json, trim

_LIST = re.compile(r"[A-Za-z0-9_\- ,|]+")


def listed_names(matcher: str) -> frozenset[str] | None:
    """The names of a matcher that is a plain list, such as `Bash|Write`; None for a regular expression."""
    if not _LIST.fullmatch(matcher):
        return None
    return frozenset(filter(None, map(str.strip, re.split(r"[|,]", matcher))))


def json_object(text: str) -> Mapping[str, Any] | None:
    """The JSON object in a text, or None when it is something else."""
    try:
        value = parse_json(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def text_of_result(response: Any) -> str:
    """Return the text of a tool's result as hookline's own hooks get it."""
    content = response.get("llmContent") if isinstance(response, Mapping) else response
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = [
            part if isinstance(part, str) else part.get("text") for part in content if isinstance(part, str | dict)
        ]
        if texts and all(isinstance(text, str) for text in texts):
            return "\n".join(text for text in texts if text)
    return "" if content is None else stringify_json(content).decode()


def error_of_result(response: Any) -> str | None:
    """Why a tool failed, or None when it did not."""
    error = response.get("error") if isinstance(response, Mapping) else None
    if error is None or error is False:
        return None
    message = error.get("message") if isinstance(error, Mapping) else error
    return message if isinstance(message, str) else stringify_json(error).decode()


def is_block(value: Any) -> bool:
    """Whether a decision plainly means no, however it is spelled."""
    return isinstance(value, str) and trim(value).lower() in BLOCKING_DECISIONS


def object_in(given: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The field if it is a JSON object, else an empty one."""
    value = given.get(name)
    return value if isinstance(value, dict) else {}


def denies(given: Mapping[str, Any]) -> bool:
    """Whether an answer in the format of Claude Code denies in any of its three ways."""
    specific = object_in(given, "hookSpecificOutput")
    behaviour = object_in(specific, "decision").get("behavior")
    return any(map(is_block, (given.get("decision"), specific.get("permissionDecision"), behaviour)))


def allows(given: Mapping[str, Any]) -> bool:
    """Whether an answer to PermissionRequest says yes to the call as it is.

    A yes with other arguments is none: guards have judged those that the user would be asked about.
    """
    decision = object_in(object_in(given, "hookSpecificOutput"), "decision")
    return not denies(given) and decision.get("behavior") == "allow" and decision.get("updatedInput") is None


def deny_reason(given: Mapping[str, Any]) -> str | None:
    """Why such an answer says no."""
    specific = object_in(given, "hookSpecificOutput")
    message = object_in(specific, "decision").get("message")
    return some_text(specific.get("permissionDecisionReason"), message, given.get("reason"))


def some_text(*values: Any) -> str | None:
    """The first of these that is a text and not blank."""
    return next((value for value in values if isinstance(value, str) and trim(value)), None)
