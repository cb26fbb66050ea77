"""The effect of a dialect on reading a hook: its events, its timeout, and the keys of that agent."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hookline.dialects.registry import DIALECTS, dialect_of, dialects_with
from hookline.protocol.constants import DEFAULT_TIMEOUT_MS, OWN_DIALECT, HookType
from hookline.protocol.events import EVENT_DESCRIPTIONS, TOOL_EVENTS, HookEventName, suggest_event
from hookline.protocol.hook_entry import CommandLine, HookRun, HttpTarget, Plugin, RemoteSubject, Unsupported
from hookline.protocol.text.patterns import lazy_pattern
from hookline.settings.decode.fields import LayerProblems, Path
from hookline.settings.decode.schema import HookSettings

if TYPE_CHECKING:
    from hookline.dialects.table import Dialect

OWN_EVENTS = {event.value: event for event in EVENT_DESCRIPTIONS}
# Keys that only hooks of other agents have.
_FOREIGN_KEYS = ("if", "async", "asyncRewake", "once", "shell")
_SHELLS = ("bash", "sh", "dash", "zsh", "ksh", "pwsh", "powershell")
_USUAL_SHELL = "bash"
# The decision of an async hook on these events has no effect, although it may be meant as a guard.
_GUARDED = frozenset({HookEventName.BEFORE_TOOL, HookEventName.BEFORE_AGENT})
# Keys of other types of hooks. A remote hook has no process here.
_IDLE_KEYS = {
    "command": ("url", "headers", "allowedEnvVars", "subject", "plugin"),
    "http": ("limits", "network", "command", "warm", "subject", "plugin"),
    "remote": ("url", "headers", "allowedEnvVars", "limits", "network", "command", "warm", "plugin"),
}
_USER_INFO = lazy_pattern(r"https?://[^/?#]*@")
_NOT_RUNNABLE = {
    HookType.PROMPT: "asks a model",
    HookType.AGENT: "starts an agent",
    HookType.MCP_TOOL: "calls a tool of an MCP server",
}


def table_of(name: str) -> "Dialect | None":
    """The table of a dialect; None for hookline's own, and for one that does not exist."""
    return dialect_of(name) if name in DIALECTS and name != OWN_DIALECT else None


def why_unknown(name: Any) -> str:
    """Return why a dialect is unknown, with the remedy."""
    return f"{name!r} is not a dialect; the dialects are {', '.join(DIALECTS)}"


def event_of(name: str, dialect: str) -> HookEventName | None:
    """The event for a name in the settings; None when it has no counterpart here, or is not an event at all."""
    table, own = table_of(dialect), OWN_EVENTS.get(name)
    if table is not None:
        return table.events.get(name) or (own if own in table.events.values() else None)
    if dialect == OWN_DIALECT or own is not None:
        return own
    # The dialect does not exist. A guard of a tool must not be lost, whichever agent's event it names.
    return next((table.events[name] for table in dialects_with(name) if name in table.events), None)


def why_no_event(name: str, dialect: str, *, may_guess: bool = True) -> str:
    """Return why an event's name is wrong, with the remedy."""
    table = table_of(dialect)
    if table is not None and name in table.without_counterpart:
        return f"{table.agent}'s {name} has no counterpart here, so this hook never runs"
    if table is not None:
        return f"{name} is not an event of {table.agent}, so this hook never runs"
    tables = [table for table in dialects_with(name) if name in table.events]
    if tables:
        agents, names = " and ".join(table.agent for table in tables), " or ".join(table.name for table in tables)
        remedy = f'write {tables[0].events[name]}, or mark the hook with dialect {names}: "dialect": "{tables[0].name}"'
        return f"is an event of {agents}, so its hooks do not run here; {remedy}"
    if others := dialects_with(name):
        return f"is an event of {others[0].agent} that has no counterpart here, so its hooks do not run; remove it"
    advice = suggest_event(name) if may_guess else "write the name of an event"
    return f"is not an event, so its hooks do not run; {advice}"


class DialectKeys:
    """The keys of one hook that its dialect decides about: how it is run, and for how long."""

    def __init__(
        self,
        raw: Mapping[str, Any],
        hook: HookSettings,
        event: HookEventName,
        dialect: str,
        path: Path,
        problems: LayerProblems,
    ) -> None:
        self._raw = raw
        self._hook = hook
        self._event = event
        self._table = table_of(dialect)
        self._read = frozenset() if self._table is None else self._table.keys
        self._path = path
        self._problems = problems

    def timeout_ms(self) -> float:
        """Return how long the hook may take, from a number in its agent's unit."""
        if self._table is None:
            return DEFAULT_TIMEOUT_MS if self._hook.timeout is None else self._hook.timeout
        given = self._raw.get("timeout")
        # For other agents 0 is the default.
        if isinstance(given, int | float) and not isinstance(given, bool) and given > 0:
            return given * self._table.timeout_unit_ms
        return self._table.default_timeout_ms

    def fields(self, env: Mapping[str, str]) -> dict[str, Any]:
        """Return the fields of a HookEntry that differ from those of an ordinary hook."""
        self._warn()
        hook = self._hook
        fields: dict[str, Any] = {"status_message": hook.status_message or None}
        if "if" in self._read:
            fields["condition"] = hook.condition
        if "async" in self._read:
            fields["is_async"] = hook.is_async or hook.async_rewake
        if refusal := self._refusal(env):
            self._problems.error(self._path, f"can't be run and fails at each event: {refusal}")
            fields["refusal"] = refusal
        return fields

    def run(self) -> HookRun:
        """Return what is to be run."""
        hook = self._hook
        match hook.type:
            case HookType.COMMAND:
                args = tuple(hook.args) if "args" in self._read and hook.args is not None else None
                shell = hook.shell if "shell" in self._read and hook.shell != _USUAL_SHELL else None
                return CommandLine(hook.command or "", args, shell, hook.warm)
            case HookType.HTTP:
                return self._target()
            case HookType.REMOTE:
                return RemoteSubject(hook.subject or "")
            case HookType.PLUGIN if hook.plugin is not None:
                return Plugin(hook.plugin)
            case _:
                return Unsupported(HookType(hook.type))

    def _target(self) -> HttpTarget:
        hook = self._hook
        variables = tuple(hook.allowed_env_vars or ())
        target = HttpTarget(url=hook.url or "", headers=hook.headers or {}, variables=variables)
        if _USER_INFO.match(target.url):
            advice = "use headers, with a variable of allowedEnvVars"
            self._warn_of("url", f"has a user name or password in it, which is not sent; {advice}")
        for name in target.unlisted:
            advice = "add it there, or remove it"
            self._warn_of("headers", f"use ${name}, which is empty, since allowedEnvVars lacks it; {advice}")
        return target

    def _refusal(self, env: Mapping[str, str]) -> str | None:
        """Return why the hook can't be run, or None."""
        hook = self._hook
        if hook.type in _NOT_RUNNABLE:
            return f'type "{hook.type}" {_NOT_RUNNABLE[HookType(hook.type)]}, which hookline does not do'
        if self._table is None:
            return None
        if "args" in self._read and self._raw.get("args") is not None and hook.args is None:
            return "args is not an array of strings"
        if "shell" in self._read and self._raw.get("shell") is not None and hook.shell not in _SHELLS:
            return f"its shell is not one of {', '.join(_SHELLS)}"
        used = re.findall(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)", " ".join((hook.command or "", *(hook.args or ()))))
        missing = [name for name in self._table.plugin_variables if name in used and name not in env]
        return f"{missing[0]} is set for hooks of a plugin only" if missing else None

    def _warn(self) -> None:
        hook = self._hook
        for key in _FOREIGN_KEYS:
            if self._raw.get(key) and key not in self._read:
                agent = "hookline's own hooks" if self._table is None else f"hooks of {self._table.agent}"
                self._warn_of(key, f"has no effect on {agent}; remove it, or set the dialect it belongs to")
        for key in _IDLE_KEYS.get(hook.type, ()):
            if self._raw.get(key) is not None:
                self._warn_of(key, f'has no effect on a hook of type "{hook.type}"; remove it')
        if "async" in self._read and (hook.is_async or hook.async_rewake) and self._event in _GUARDED:
            message = "runs this hook in the background, so its decisions have no effect; remove it from a guard"
            self._warn_of("async" if hook.is_async else "asyncRewake", message)
        elif "async" in self._read and hook.async_rewake:
            self._warn_of("asyncRewake", "is taken as async: the hook's output does not reach the model")
        if "once" in self._read and hook.once:
            self._warn_of("once", "has no effect in a settings file, so the hook runs every time")
        if "if" in self._read and hook.condition is not None and self._event not in TOOL_EVENTS:
            self._warn_of("if", "is a rule about tools, so this hook never runs; remove it")

    def _warn_of(self, key: str, message: str) -> None:
        self._problems.warn((*self._path, key), message)
