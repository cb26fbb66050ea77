"""The table about another agent: its names of events, tools and triggers, and its rules for answers."""

import posixpath
from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from typing import Any

import msgspec

from hookline.dialects.spellings import argument_meant
from hookline.protocol.events import TOOL_EVENTS, HookEventName


class MatcherRule(Enum):
    """How a matcher is compared with what an event is about."""

    NAMES = auto()
    """As a list of names, or as a regular expression if it is none."""
    EQUALITY = auto()
    IGNORED = auto()


Arguments = Mapping[str, Any]
Convert = Callable[[dict[str, Any]], dict[str, Any]]


class UntranslatableError(ValueError):
    """A rewrite in another agent's words that has no counterpart in ours; the message is for the model and the user."""


def unchanged(arguments: dict[str, Any]) -> dict[str, Any]:
    """For tools whose arguments need no more than other names."""
    return arguments


def _no_response(_arguments: Arguments, text: str) -> Any:
    return text


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """One tool, by hookline's name and by the other agent's."""

    ours: str
    theirs: str
    aliases: tuple[str, ...] = ()
    """Further names under which that agent's matchers find it."""
    renamed: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Our name of an argument → theirs, where they differ."""
    to_theirs: Convert = unchanged
    """Converts values, after the arguments were renamed."""
    to_ours: Convert = unchanged
    """The way back, before they are renamed."""
    without_counterpart: Mapping[str, str] = msgspec.field(default_factory=dict)
    """The agent's switches that hookline's arguments can't express → why. Kept in a call; refused in a rewrite."""
    paths: tuple[str, ...] = ()
    """Their arguments that hold a path, which that agent makes absolute."""
    relative_paths: tuple[str, ...] = ()
    """Our arguments that hold a path, which that agent has relative to the project where the file is inside of it."""
    response: Callable[[Arguments, str], Any] = _no_response
    """Their arguments and the text of the result → the result in the shape that the agent gives its hooks."""

    def agent_arguments(self, arguments: Arguments, cwd: str) -> dict[str, Any]:
        """Return the arguments under the agent's names."""
        named = {self.renamed.get(name, name): value for name, value in arguments.items()}
        for name in self.relative_paths:
            if isinstance(path := named.get(name), str):
                named[name] = _relative(path, cwd)
        theirs = self.to_theirs(named)
        for name in self.paths:
            if isinstance(path := theirs.get(name), str):
                theirs[name] = posixpath.normpath(posixpath.join(cwd, path))
        return theirs

    def read(self, rewritten: Arguments, arguments: Arguments, cwd: str) -> dict[str, Any]:
        """Return all arguments of a hook's answer under hookline's names; `arguments` are those before the hook.

        A value that the hook left alone stays as it was in ours, and so do arguments that it could not see. An argument
        that it left out is gone. Raises UntranslatableError for what has no counterpart.
        """
        known = self.own_arguments(self.agent_arguments(arguments, cwd))
        new = self.own_arguments(rewritten)
        for name, why in self.without_counterpart.items():
            if known.get(name) or new.get(name):
                raise UntranslatableError(f"a hook asks for {name}, and {why}")
        kept = {name: value for name, value in arguments.items() if name not in known}
        return kept | {
            name: arguments[name] if name in arguments and known.get(name, _ABSENT) == value else value
            for name, value in new.items()
        }

    def rewritten(self, theirs: Arguments, wanted: Arguments, cwd: str) -> dict[str, Any]:
        """Return the agent's arguments with the changes of hookline's hooks; `wanted` are all of hookline's arguments.

        Values that hookline's format can't express stay as the agent sent them, and so do unchanged ones.
        """
        before, after = self.agent_arguments(self.own_arguments(theirs), cwd), self.agent_arguments(wanted, cwd)
        kept = {name: value for name, value in theirs.items() if name in after or name not in before}
        return kept | {name: value for name, value in after.items() if before.get(name, _ABSENT) != value}

    def own_arguments(self, theirs: Arguments) -> dict[str, Any]:
        """Their arguments under our names. The agent's own name of an argument wins over one that it does not know."""
        names = {their_name: name for name, their_name in self.renamed.items()}
        off = {name for name in self.without_counterpart if theirs.get(name) is not True}
        given = self.to_ours({name: value for name, value in theirs.items() if name not in off})
        own = {names[name]: value for name, value in given.items() if name in names}
        return {name: value for name, value in given.items() if name not in names} | own

    def readings(self, theirs: Arguments) -> tuple[dict[str, Any], ...]:
        """Their arguments under our names, once for each value that the tool could take an argument from.

        An agent's tool may accept further spellings (`path` beside `file_path`), and which of two wins is known for
        some agents and versions only, so each is judged. The first reading is the one by the agent's own names.
        """
        first = self.own_arguments(theirs)
        others: list[dict[str, Any]] = []
        for name, value in theirs.items():
            meant = argument_meant(self.ours, name)
            if meant is not None and isinstance(value, str) and first.get(meant) != value:
                reading = first | {meant: value}
                if reading not in others:
                    others.append(reading)
        return (first, *others)


_ABSENT = object()


def _relative(path: str, cwd: str) -> str:
    path = posixpath.normpath(posixpath.join(cwd, path))
    return path.removeprefix(f"{cwd.rstrip('/')}/")


def tool_of_theirs(tools: Sequence[Tool], name: str) -> Tool:
    """The row of a tool by their name or one of its aliases; a tool that has none keeps its name and its arguments."""
    named = [tool for tool in tools if name in (tool.theirs, *tool.aliases)]
    return next((tool for tool in named if tool.theirs == name), named[0] if named else Tool(ours=name, theirs=name))


class DialectEvent(msgspec.Struct, frozen=True, kw_only=True):
    """The event of a hook of another agent, in hookline's format and in that agent's."""

    ours: HookEventName
    theirs: str
    """The name under which its settings have the hook."""
    fields: Mapping[str, Any]
    """Our input, whole: the session's facts and the event's own fields."""

    @property
    def tool_name(self) -> str:
        """Our name of the tool that the event is about."""
        return str(self.fields.get("tool_name"))

    @property
    def arguments(self) -> Arguments:
        """The tool's arguments under hookline's names."""
        given = self.fields.get("tool_input")
        return given if isinstance(given, Mapping) else {}

    def arguments_for(self, tool: Tool) -> Any:
        """Return the arguments in the agent's format; a value that is not an object stays as it is."""
        given = self.fields.get("tool_input")
        return tool.agent_arguments(given, self.cwd) if isinstance(given, Mapping) else given

    @property
    def cwd(self) -> str:
        """The directory in which the agent works."""
        return str(self.fields.get("cwd", ""))


class Printed(msgspec.Struct, frozen=True, kw_only=True):
    """The output of a hook that exited with this code."""

    exit_code: int
    stdout: str
    stderr: str


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """An answer in hookline's format, as a JSON object that a hook could print; None for no answer."""

    answer: Mapping[str, Any] | None = None
    complaints: tuple[str, ...] = ()
    """Advice for the hook's author: fields without effect here, and pitfalls of the other agent."""
    failed: bool = False
    """True when the hook's own agent counts this as a failure, so that `onError` decides."""


class Dialect(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that differs between hookline's own hooks and those of one other agent."""

    name: str
    agent: str
    """The agent's name, for people."""
    events: Mapping[str, HookEventName]
    """Its name of an event → ours."""
    without_counterpart: frozenset[str] = frozenset()
    """Events of this agent that have no counterpart here."""
    at_permission_request: frozenset[str] = frozenset()
    """Events of this agent that happen when the user would be asked to allow a tool."""
    keys: frozenset[str] = frozenset()
    """Keys of a hook that this agent reads, and hookline's own hooks don't have."""
    plugin_variables: tuple[str, ...] = ()
    """Variables that only the hooks of a plugin get."""
    rules: Mapping[HookEventName, MatcherRule] = msgspec.field(default_factory=dict)
    """How matchers are compared on events where it is not by names."""
    bad_matcher_is_text: bool = False
    """True if a matcher that is not a regular expression is compared as text; else its hooks run for everything."""
    tools: tuple[Tool, ...] = ()
    name_of_other: Callable[[str], str] = str
    """Its name of a tool that has no row, such as one of an MCP server."""
    triggers: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Our word for how a session began or ended → theirs, where they differ."""
    timeout_unit_ms: float = 1000.0
    default_timeout_ms: float = 600_000.0
    input_end: bytes = b""
    """The text after the JSON on stdin."""
    exact_names: Callable[[str], frozenset[str] | None]
    """The names that a matcher lists, or None when it is a regular expression."""
    hook_input: Callable[[DialectEvent], dict[str, Any]]
    """Return the hook's input."""
    environment: Callable[[DialectEvent], Mapping[str, str]]
    """Variables that the agent sets for its hooks."""
    read: Callable[[DialectEvent, Printed], Reading]
    """Return the hook's answer."""
    wants: Callable[[DialectEvent], bool] = lambda _event: True
    """Whether the agent would run the hook for this event: some have an event for success and one for failure."""

    transcript: Callable[[Mapping[str, Any], Mapping[str, Any], int], dict[str, Any] | None] | None = None
    """Our record of a session → one in the form that its hooks can read; None where they get ours."""
    env_file: Mapping[str, str] = {}
    """Its events at which hooks can set variables for the agent's shell → the variable with the file's path."""
    meets: Callable[[DialectEvent, str], bool] = lambda _event, _condition: True
    """Whether a call meets a hook's `if`; on doubt it does."""

    def event(self, ours: HookEventName, theirs: str | None, fields: Mapping[str, Any]) -> DialectEvent:
        """Return an event in both formats; without the agent's name, the first one that the agent has for it."""
        if theirs is not None:
            return DialectEvent(ours=ours, theirs=theirs, fields=fields)
        names = [name for name, event in self.events.items() if event is ours]
        events = [DialectEvent(ours=ours, theirs=name, fields=fields) for name in names]
        return next((event for event in events if self.wants(event)), events[0])

    def tool(self, name: str) -> Tool:
        """The row of a tool by our name; a tool that has none keeps its name and its arguments."""
        rows = (tool for tool in self.tools if tool.ours == name)
        return next(rows, None) or Tool(ours=name, theirs=self.name_of_other(name))

    def tool_of_theirs(self, name: str) -> Tool:
        """The row of a tool by their name or one of its aliases."""
        return tool_of_theirs(self.tools, name)

    def names_of(self, event: HookEventName, subject: str) -> tuple[str, ...]:
        """Return all names with which a matcher of this agent is compared, the given one included."""
        if event in TOOL_EVENTS:
            tool = self.tool(subject)
            return tuple(dict.fromkeys((tool.theirs, *tool.aliases, subject)))
        return tuple(dict.fromkeys((self.triggers.get(subject, subject), subject)))
