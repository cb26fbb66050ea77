"""Find denials that a hook misspelt: no decision is read from them, and they must not pass for an approval."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from hookline.protocol.text.json_text import parse_json, repeated_key, stringify_json
from hookline.protocol.text.patterns import lazy_pattern
from hookline.protocol.text.strings import nearest, shortened

_MOST_FIELDS = 200
_NO = ("deny", "denied", "block", "blocked", "reject", "rejected", "refuse", "refused", "forbid", "forbidden")
_DECIDING = (
    *("decision", "permissiondecision", "permission", "action", "behavior", "continue", "allow", "allowed", "approved"),
    *("permitted", "result", "verdict", "outcome", "answer"),
)
# Arguments and messages are a hook's material, not its answer.
_MATERIAL = frozenset({"tool_input", "updatedInput", "llm_request", "llm_response"})
# Texts for the model, the user or a log: what they mention decides nothing.
_TEXTS = frozenset(
    """
    additionalcontext comment description detail details explanation label labels log message msg note notes prompt
    reason reasons stopreason summary systemmessage tag tags text title usermessage
    """.split()
)
# The words of a key such as `isAllowed` or `safe_to_run`: no as its value denies.
_YES_KEYS = frozenset(
    """
    accept accepted acceptable allow allowed allows approve approved authorised authorized can clean compliant continue
    grant granted ok okay pass passed passes permission permit permitted permits proceed safe succeeded success
    successful valid yes
    """.split()
)
# And of a key such as `is_blocked` or `notAllowed`: anything but no as its value denies.
_NO_KEYS = frozenset(
    """
    block blocked blocks danger dangerous denied denies deny disallow disallowed error errors exception failed failure
    forbid forbidden invalid malicious no not prohibited refuse refused reject rejected unauthorized unsafe violation
    violations
    """.split()
)
_NO_VALUES = frozenset(
    {
        *(*_NO, "not allowed", "not ok"),
        *"""
        no n false 0 off never fail failed failure unsafe dangerous disallow disallowed prohibited unauthorized
        malicious invalid abort cancel
        """.split(),
    }
)
_HARMLESS = frozenset({"", "none", "null", "no", "n", "false", "0", "off", "ok"})

TEXT_OF_A_DENIAL = lazy_pattern(
    rf"""^["'`*]*(?:(?:{"|".join(_NO)})\b|(?:permission)?decision\s*[:=]|(?:no|false|unsafe|not\ allowed)\W*$)""",
    re.IGNORECASE,
)
MENTIONS_A_DENIAL = lazy_pattern(r"den(?:y|ied)|block|reject|refuse|forbid|false", re.IGNORECASE)


NOTHING_READ = "none of its fields is read"


def quoted(value: Any) -> str:
    """A value as JSON, cut if it is long."""
    return shortened(stringify_json(value).decode())


def misspelt_denial(unread: Mapping[str, Any]) -> str | None:
    """Return the fault of the first field that means a denial and is not read, or None."""
    for path, key, value in _fields(unread):
        if _means_no(key, value):
            return f'{shortened(path)} is {quoted(value)}, which is not read; write "decision": "deny" at the top level'
    return None


def unknown_answer(given: Mapping[str, Any], known: frozenset[str]) -> str | None:
    """Return the fault of an object of which no field is read, or None: it is not a clear approval."""
    if not given or not known.isdisjoint(given):
        return None
    names = ", ".join(shortened(str(name)) for name in list(given)[:3])
    return f'{NOTHING_READ} ({names}); print {{}} or {{"decision": "allow"}} to let the operation go on'


def repeated_field(text: str, among: frozenset[str] | None = None) -> str | None:
    """Return the fault of JSON with a repeated key in an object, or None: programs differ in which one they read.

    `among` limits it to these keys.
    """
    repeated = repeated_key(text, among)
    if repeated is None:
        return None
    name, values = repeated
    shown = " and ".join(map(quoted, values[:2]))
    return f"{shortened(name)} is given twice ({shown}), and only the last one is read"


def is_garbled(text: str) -> bool:
    """True if the text was not UTF-8: it has a NUL, or replacement characters for bytes that are not UTF-8."""
    return "\0" in text or "\ufffd" in text


def _fields(unread: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """The fields at all levels, each with its path and its key."""
    pending: list[tuple[str, Any]] = [("", unread)]
    for _ in range(_MOST_FIELDS):
        if not pending:
            return
        prefix, value = pending.pop(0)
        if isinstance(value, list):
            pending += [(prefix, item) for item in value[:_MOST_FIELDS]]
        elif isinstance(value, Mapping):
            for name, item in list(value.items())[:_MOST_FIELDS]:
                yield f"{prefix}{name}", str(name), item
                if name not in _MATERIAL:
                    pending.append((f"{prefix}{name}.", _unwrapped(_letters(str(name)), item)))


def _unwrapped(key: str, value: Any) -> Any:
    if key != "hookspecificoutput" or not isinstance(value, str):
        return value
    try:
        return parse_json(value)
    except (ValueError, RecursionError):
        return None


def _letters(name: str) -> str:
    return re.sub("[^a-z]", "", name.lower())


def _words(name: str) -> set[str]:
    """The words of a key: `isAllowed`, `is_allowed` and `is-allowed` have the same."""
    return set(re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name).replace("_", " ").replace("-", " ").lower().split())


def _means_no(name: str, value: Any) -> bool:
    key, words = _letters(name), _words(name)
    text = value.strip().lower() if isinstance(value, str) else None
    if key in _TEXTS:
        return False
    if text in _NO:
        return True
    if not words.isdisjoint(_NO_KEYS):
        return text not in _HARMLESS if text is not None else bool(value)
    is_no = text in _NO_VALUES or value is False or (type(value) in (int, float) and value == 0)
    if not is_no or not words.isdisjoint(_YES_KEYS):
        return is_no
    return nearest(key, _DECIDING, cutoff=0.8) is not None
