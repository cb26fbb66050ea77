"""The names of the same tool, event and field in all agents: the tables of the dialects beside hookline's names."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec

from hookline.dialects.registry import FOREIGN_DIALECTS, dialect_of
from hookline.dialects.table import Dialect, DialectEvent
from hookline.protocol.constants import OWN_DIALECT
from hookline.protocol.events import HookEventName

FOREIGN = tuple(map(dialect_of, FOREIGN_DIALECTS))
OUR_TOOLS = tuple(dict.fromkeys(tool.ours for table in FOREIGN for tool in table.tools))

# These values are found again in the input of another agent's hooks, wherever that agent puts them.
_RESPONSE = "the last response"
_SAMPLE: Mapping[str, Any] = {
    "prompt_response": _RESPONSE,
    "cwd": "/project",
    "tool_response": {"llmContent": "hello", "returnDisplay": "hello"},
    "tool_input": {"file_path": "notes.txt"},
}


class Words(msgspec.Struct, frozen=True, kw_only=True):
    """The names that the hooks of one agent receive."""

    name: str
    agent: str
    tools: Mapping[str, str]
    """Our name of a tool → the name that its hooks read."""
    events: Mapping[HookEventName, tuple[str, ...]]
    fields: Mapping[HookEventName, Mapping[str, str]]
    """Where its hooks read what ours read as `prompt_response`, `tool_response` and so on: their name → ours."""
    variables: Mapping[HookEventName, frozenset[str]] = msgspec.field(default_factory=dict)
    """The environment variables of its hooks that hookline's hooks do not have."""
    own_name: re.Pattern[str] = msgspec.field(default_factory=lambda: re.compile(r"(?!)"))
    """Where a script names the agent itself: a hint, if two agents use the same words."""


def speaker_of(tool: str) -> tuple[Dialect, str] | None:
    """The dialect that has a tool of this name, and hookline's name of it; None if no other agent has it."""
    for table in FOREIGN:
        ours = table.tool_of_theirs(tool).ours
        if ours != tool and tool not in OUR_TOOLS:
            return table, ours
    return None


@cache
def tools_by_any_name() -> Mapping[str, str]:
    """The names of tools in other agents, in lower case → hookline's name."""
    names: dict[str, str] = {"shell": "run_shell_command", "shelltool": "run_shell_command"}
    for tool in (tool for table in FOREIGN for tool in table.tools):
        for name in (tool.theirs, *tool.aliases):
            names.setdefault(name.lower(), tool.ours)
    return names


@cache
def all_words() -> Mapping[str, Words]:
    """The words of every dialect by its name, ours first."""
    return {OWN_DIALECT: _our_words(), **{table.name: _words(table) for table in FOREIGN}}


def _our_words() -> Words:
    own_name = re.compile(r"hookline|llxprt", re.IGNORECASE)
    return Words(
        name=OWN_DIALECT,
        agent="hookline",
        tools={tool: tool for tool in OUR_TOOLS},
        events={event: (event.value,) for event in HookEventName},
        fields={event: _fields_in(_SAMPLE, event) for event in HookEventName},
        own_name=own_name,
    )


def _words(table: Dialect) -> Words:
    events: dict[HookEventName, tuple[str, ...]] = {}
    for theirs, ours in table.events.items():
        events[ours] = (*events.get(ours, ()), theirs)
    return Words(
        name=table.name,
        agent=table.agent,
        tools={tool: table.tool(tool).theirs for tool in OUR_TOOLS},
        events=events,
        fields={event: _fields(table, event, names[0]) for event, names in events.items()},
        variables={event: frozenset(table.environment(_sample(event, names[0]))) for event, names in events.items()},
        own_name=re.compile(rf"\b\.?{table.name}|{table.agent}", re.IGNORECASE),
    )


def _sample(ours: HookEventName, theirs: str, tool: str = "") -> DialectEvent:
    return DialectEvent(ours=ours, theirs=theirs, fields={**_SAMPLE, "tool_name": tool, "hook_event_name": ours.value})


def _fields(table: Dialect, ours: HookEventName, theirs: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    for tool in OUR_TOOLS if ours is HookEventName.AFTER_TOOL else ("",):
        fields |= _fields_in(table.hook_input(_sample(ours, theirs, tool)), ours)
    return fields


def _fields_in(told: Mapping[str, Any], event: HookEventName) -> dict[str, str]:
    if event is HookEventName.AFTER_TOOL:
        response = told.get("tool_response")
        return {f"tool_response.{name}": "tool_response" for name in response} if isinstance(response, dict) else {}
    is_last = event is HookEventName.AFTER_AGENT
    return {name: "prompt_response" for name, value in told.items() if is_last and value == _RESPONSE}
