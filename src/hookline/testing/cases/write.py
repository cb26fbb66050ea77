"""Recorded events → the text of a case file."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hookline.engine.event_table import EVENT_TABLE
from hookline.protocol.text.json_text import stringify_json
from hookline.testing.cases.case import Case, Outcome
from hookline.testing.cases.inputs import fields_of
from hookline.testing.cases.recorded import Recorded

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_LARGEST_BMP = 0xFFFF


def case_file_lines(events: Iterable[Recorded]) -> Iterator[str]:
    """The lines of a case file with these events, each as a case that expects what was decided then."""
    for recorded in events:
        yield ""
        if recorded.has_hidden:
            yield "# The log has hidden a secret in this input, so hooks may judge it differently."
        yield from _case_lines(recorded.to_case())


def lines_of_cases(cases: Iterable[Case]) -> Iterator[str]:
    """The lines of a case file with these cases."""
    for case in cases:
        yield ""
        yield from _case_lines(case)


def _case_lines(case: Case) -> Iterator[str]:
    yield "[[case]]"
    yield f"name = {toml_text(case.name)}"
    yield f"event = {toml_text(case.event)}"
    yield from _input_lines(case)
    expected = case.expected
    by = f", by = {toml_value(list(expected.by))}" if expected.by else ""
    yield f"expect = {{ outcome = {toml_text(expected.outcome or Outcome.ALLOWED)}{by} }}"


def _input_lines(case: Case) -> Iterator[str]:
    fields = dict(case.fields)
    if not _is_possible(fields) or not {*fields} <= {*fields_of(case.event)}:
        # TOML has no null, and no lone surrogates; JSON has both. Fields that we do not know are taken from it only.
        text = stringify_json(fields).decode()
        yield f"input = {toml_text(json.dumps(json.loads(text)))}"
        return
    if EVENT_TABLE[case.event].subject == "tool_name":
        yield f"tool = {toml_text(fields.pop('tool_name'))}"
        for key, value in fields.pop("tool_input").items():
            yield f"arguments.{toml_key(key)} = {toml_value(value)}"
    for name, value in fields.items():
        yield f"input.{toml_key(name)} = {toml_value(value)}"


def toml_value(value: Any) -> str:
    """A JSON value without null as TOML, on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return toml_text(value)
    if isinstance(value, Mapping):
        inside = ", ".join(f"{toml_key(key)} = {toml_value(item)}" for key, item in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    return repr(value)


def toml_text(text: str) -> str:
    """A basic string, in which everything that can't be seen is escaped."""
    return f'"{"".join(map(_escaped, text))}"'


def toml_key(key: str) -> str:
    """A key, in quotes where it needs them."""
    return key if _BARE_KEY.fullmatch(key) else toml_text(key)


def _escaped(character: str) -> str:
    if character in _SHORT_ESCAPES:
        return _SHORT_ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04X}" if code <= _LARGEST_BMP else f"\\U{code:08X}"


def _is_possible(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(_is_possible(key) and _is_possible(item) for key, item in value.items())
    if isinstance(value, list | tuple):
        return all(map(_is_possible, value))
    if isinstance(value, str):
        return not any("\ud800" <= character <= "\udfff" for character in value)
    return value is not None
