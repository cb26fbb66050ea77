"""A case's table → the fields of its event, once for each of its inputs."""

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from hookline.engine.event_table import EVENT_TABLE
from hookline.protocol.events import HookEventName
from hookline.protocol.inputs import HookInput, input_problems
from hookline.protocol.text.json_text import parse_json
from hookline.testing.cases.schema import CaseTable, InputTable

MOST_INPUTS = 10_000
_LONGEST_LABEL = 60
_SCALARS = ("tool", "prompt", "answer", "trigger")
_TABLES = ("arguments", "input", "environment")

# The keys of each event besides `input`.
_USED: Mapping[HookEventName, tuple[str, ...]] = {
    HookEventName.BEFORE_TOOL: ("tool", "arguments"),
    HookEventName.AFTER_TOOL: ("tool", "arguments", "answer"),
    HookEventName.BEFORE_MODEL: ("prompt",),
    HookEventName.BEFORE_TOOL_SELECTION: ("prompt",),
    HookEventName.AFTER_MODEL: ("prompt", "answer"),
    HookEventName.BEFORE_AGENT: ("prompt",),
    HookEventName.AFTER_AGENT: ("prompt", "answer"),
    HookEventName.NOTIFICATION: ("trigger", "prompt"),
}


class CaseError(ValueError):
    """A mistake in a case, and the keys that lead to it."""

    def __init__(self, message: str, *path: str) -> None:
        super().__init__(message)
        self.path = path


def inputs_of(table: CaseTable) -> Iterator[tuple[str, dict[str, Any], dict[str, str]]]:
    """Each input of a case: its label, the event's own fields, and the variables for hooks."""
    event = table.event or HookEventName.BEFORE_TOOL
    for label, given in _each(table):
        unused = [key for key in (*_SCALARS, "arguments") if getattr(given, key) is not None]
        unused = [key for key in unused if key not in _USED.get(event, ("trigger",))]
        if unused:
            raise CaseError(f"{event} has no {unused[0]}; it has {', '.join(_USED.get(event, ('trigger',)))}", *unused)
        fields = {**_fields(event, given), **_object(given.input)}
        # A recorded event is a JSON text, and may have more fields than we know.
        _check(event, fields, strict=not isinstance(given.input, str))
        yield label, fields, given.environment or {}


def fields_of(event: HookEventName) -> tuple[str, ...]:
    """The names of the event's own fields."""
    kinds = EVENT_TABLE[event].input.__mro__
    names = dict.fromkeys(name for kind in kinds for name in getattr(kind, "__annotations__", {}))
    return tuple(name for name in names if name not in HookInput.__annotations__)


def _check(event: HookEventName, fields: Mapping[str, Any], *, strict: bool) -> None:
    row = EVENT_TABLE[event]
    known = fields_of(event)
    for name in fields if strict else ():
        if name not in known:
            raise CaseError(f"{event} has no field {name}; it has {', '.join(known)}", "input", name)
    for problem in input_problems(row.input, fields):
        choices = f" ({row.subject} is one of {', '.join(row.triggers)})" if row.triggers else ""
        raise CaseError(f"the input is not one of {event}: {problem}{choices}", "input")


def _fields(event: HookEventName, given: InputTable) -> dict[str, Any]:
    """The event's own fields, from the keys that are shorter than they."""
    row = EVENT_TABLE[event]
    prompt, answer = given.prompt, given.answer or ""
    if row.subject == "tool_name":
        fields: dict[str, Any] = {} if given.tool is None else {"tool_name": given.tool}
        fields["tool_input"] = given.arguments or {}
        result = {"llmContent": answer, "returnDisplay": answer}
        return {**fields, "tool_response": result} if event is HookEventName.AFTER_TOOL else fields
    if row.triggers:
        told = {} if given.trigger is None else {str(row.subject): given.trigger}
        return {**told, "message": prompt or "", "details": {}} if event is HookEventName.NOTIFICATION else told
    if prompt is None:
        return {}
    if event in (HookEventName.BEFORE_AGENT, HookEventName.AFTER_AGENT):
        more = {"prompt_response": answer, "stop_hook_active": False} if event is HookEventName.AFTER_AGENT else {}
        return {"prompt": prompt, **more}
    request = {"model": "test-model", "messages": [{"role": "user", "content": prompt}]}
    if event is not HookEventName.AFTER_MODEL:
        return {"llm_request": request}
    candidate = {"content": {"role": "model", "parts": [answer]}, "finishReason": "STOP", "index": 0}
    return {"llm_request": request, "llm_response": {"text": answer, "candidates": [candidate]}}


def _each(table: CaseTable) -> Iterator[tuple[str, InputTable]]:
    own = InputTable(**{name: getattr(table, name) for name in (*_SCALARS, *_TABLES)})
    if table.each is None:
        yield "", own
    elif isinstance(table.each, list):
        if not table.each:
            raise CaseError("each is empty, so nothing would be tried", "each")
        for row in table.each:
            yield _label(_values(row)), _laid_over(own, row)
    else:
        yield from _combinations(own, table.each)


def _combinations(own: InputTable, each: Mapping[str, Any]) -> Iterator[tuple[str, InputTable]]:
    """Every combination of the listed values."""
    lists = dict(_lists(each))
    if math.prod(map(len, lists.values())) > MOST_INPUTS:
        raise CaseError(f"each makes more than {MOST_INPUTS} inputs", "each")
    for values in itertools.product(*lists.values()):
        row: dict[str, Any] = {}
        for (table, key), value in zip(lists, values, strict=True):
            row[table] = {**row.get(table, {}), key: value} if key else value
        try:
            overlay = msgspec.convert(row, InputTable)
        except msgspec.ValidationError as error:
            raise CaseError(f"a value of each does not fit: {error}", "each") from error
        yield _label(values), _laid_over(own, overlay)


def _lists(each: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], list[Any]]]:
    for name, value in each.items():
        if name in _SCALARS:
            yield (name, ""), _list(value, f"each.{name}", "each", name)
        elif name in _TABLES and isinstance(value, dict):
            for key, values in value.items():
                yield (name, key), _list(values, f"each.{name}.{key}", "each", name, key)
        else:
            where = f"each.arguments.{name}"
            raise CaseError(
                f"each.{name} is not a key of inputs; for an argument of the tool write {where}", "each", name
            )


def _list(value: Any, shown: str, *path: str) -> list[Any]:
    if not isinstance(value, list):
        raise CaseError(f"{shown} is not a list of values", *path)
    if not value:
        raise CaseError(f"{shown} is empty, so nothing would be tried", *path)
    return value


def _laid_over(own: InputTable, row: InputTable) -> InputTable:
    changes: dict[str, Any] = {name: getattr(row, name) for name in _SCALARS if getattr(row, name) is not None}
    for name in _TABLES:
        if (more := getattr(row, name)) is not None:
            changes[name] = {**_object(getattr(own, name)), **_object(more)}
    return msgspec.structs.replace(own, **changes)


def _object(given: Mapping[str, Any] | str | None) -> Mapping[str, Any]:
    """A table, which may be written as a JSON text: TOML has no null."""
    if not isinstance(given, str):
        return given or {}
    try:
        value = parse_json(given)
    except ValueError as error:
        raise CaseError(f"input is a text, but not JSON: {error}", "input") from error
    if not isinstance(value, dict):
        raise CaseError("input is a JSON text, but not an object with the event's own fields", "input")
    return value


def _values(row: InputTable) -> list[Any]:
    found: list[Any] = []
    for name in (*_SCALARS, *_TABLES):
        value = getattr(row, name)
        found += list(value.values()) if isinstance(value, dict) else [] if value is None else [value]
    return found


def _label(values: Any) -> str:
    text = ", ".join(value if isinstance(value, str) else repr(value) for value in values)
    return text if len(text) <= _LONGEST_LABEL else f"{text[:_LONGEST_LABEL]}…"
