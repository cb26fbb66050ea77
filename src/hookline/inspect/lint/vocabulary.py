"""The names of the same tool and event in all agents: the tables of the dialects beside hookline's names."""

import re
from collections.abc import Mapping
from functools import cache

import msgspec

from hookline.dialects.registry import FOREIGN_DIALECTS, dialect_of
from hookline.dialects.table import Dialect
from hookline.protocol.constants import OWN_DIALECT
from hookline.protocol.events import HookEventName

FOREIGN = tuple(map(dialect_of, FOREIGN_DIALECTS))
OUR_TOOLS = tuple(dict.fromkeys(tool.ours for table in FOREIGN for tool in table.tools))


class Words(msgspec.Struct, frozen=True, kw_only=True):
    """The names that the hooks of one agent receive."""

    name: str
    agent: str
    tools: Mapping[str, str]
    """Our name of a tool → the name that its hooks read."""
    events: Mapping[HookEventName, tuple[str, ...]]
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
        own_name=re.compile(rf"\b\.?{table.name}|{table.agent}", re.IGNORECASE),
    )
