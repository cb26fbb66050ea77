"""Finds denials that a hook misspelt: no decision is read from them, and nobody should take them for a yes."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from hookline.contract.patterns import lazy_pattern
from hookline.contract.wire import cut_depth, parse_json, stringify_json

_MOST_QUOTED = 200
_MOST_FIELDS = 200
_NO = ("deny", "denied", "block", "blocked", "reject", "rejected", "refuse", "refused", "forbid", "forbidden")
_DECIDING = ("decision", "permissiondecision", "permission", "action", "behavior")
# Arguments and messages are a hook's material, not its answer.
_MATERIAL = frozenset({"tool_input", "updatedInput", "llm_request", "llm_response"})

DECIDING_KEY = lazy_pattern(r'"(decision|permissionDecision|continue|hookSpecificOutput)"\s*:')
TEXT_OF_A_DENIAL = lazy_pattern(rf"""^["'`*]*(?:(?:{"|".join(_NO)})\b|(?:permission)?decision\s*[:=])""", re.IGNORECASE)
MENTIONS_A_DENIAL = lazy_pattern(r"den(?:y|ied)|block|reject|refuse|forbid|false", re.IGNORECASE)


def quoted(value: Any) -> str:
    """A value as JSON, cut if it is long."""
    return shortened(stringify_json(value).decode())


def shortened(text: str) -> str:
    """The text, cut if it is long."""
    return text if len(text) <= _MOST_QUOTED else f"{text[:_MOST_QUOTED]}…"


def misspelt_denial(unread: Mapping[str, Any]) -> str | None:
    """What is wrong with the first field that means no and is not read, or None."""
    for path, key, value in _fields(unread):
        if _means_no(key, value):
            return f'{shortened(path)} is {quoted(value)}, which is not read; write "decision": "deny" at the top level'
    return None


def repeated_decision(text: str) -> str | None:
    """What is wrong with an object in which a deciding key stands twice with different values, or None."""
    found: list[str] = []

    def read(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        for name in {key for key, _ in pairs if DECIDING_KEY.match(f'"{key}":')}:
            values = [value for key, value in pairs if key == name]
            if any(value != values[0] for value in values):
                shown = " and ".join(map(quoted, values))
                found.append(f"{name} is given twice ({shown}), and only the last one is read")
        return dict(pairs)

    with suppress(ValueError, RecursionError):
        json.loads(cut_depth(text), object_pairs_hook=read)
    return found[-1] if found else None


def _fields(unread: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """The fields at all levels, each with its path and its key in small letters."""
    pending: list[tuple[str, Any]] = [("", unread)]
    for _ in range(_MOST_FIELDS):
        if not pending:
            return
        prefix, value = pending.pop(0)
        if isinstance(value, list):
            pending += [(prefix, item) for item in value[:_MOST_FIELDS]]
        elif isinstance(value, Mapping):
            for name, item in list(value.items())[:_MOST_FIELDS]:
                key = re.sub("[^a-z]", "", str(name).lower())
                yield f"{prefix}{name}", key, item
                if name not in _MATERIAL:
                    pending.append((f"{prefix}{name}.", _unwrapped(key, item)))


def _unwrapped(key: str, value: Any) -> Any:
    if key != "hookspecificoutput" or not isinstance(value, str):
        return value
    try:
        return parse_json(value)
    except (ValueError, RecursionError):
        return None


def _means_no(key: str, value: Any) -> bool:
    if key == "continue":
        return value is False or (isinstance(value, str) and value.strip().lower() == "false")
    if not isinstance(value, str) or value.strip().lower() not in _NO:
        return False
    import difflib  # noqa: PLC0415 - hardly ever needed

    return bool(difflib.get_close_matches(key, _DECIDING, n=1, cutoff=0.8))
