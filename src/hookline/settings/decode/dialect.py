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

OUR_EVENTS = {event.value: event for event in EVENT_DESCRIPTIONS}
# These say how a hook of another agent is run, and mean nothing to ours.
_THEIR_KEYS = ("if", "async", "asyncRewake", "once", "shell")
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
    """The table of a dialect; None for ours, and for one that does not exist."""
    return dialect_of(name) if name in DIALECTS and name != OWN_DIALECT else None


def why_unknown(name: Any) -> str:
    """Return why a dialect is unknown, with the remedy."""
    return f"{name!r} is not a dialect; the dialects are {', '.join(DIALECTS)}"


def event_of(name: str, dialect: str) -> HookEventName | None:
    """Our event for a name in the settings; None when it has no counterpart here, or is not an event at all."""
    table = table_of(dialect)
    if table is not None:
        ours = OUR_EVENTS.get(name)
        return table.events.get(name) or (ours if ours in table.events.values() else None)
    if dialect == OWN_DIALECT or name in OUR_EVENTS:
        return OUR_EVENTS.get(name)
    # Nobody knows this dialect. A guard of a tool must not be lost, whosever word it uses.
    return next((table.events[name] for table in dialects_with(name) if name in table.events), None)


def why_no_event(name: str, dialect: str, *, may_guess: bool = True) -> str:
    """Return why an event's name is wrong, with the remedy."""
    table = table_of(dialect)
    if table is not None and name in table.without_counterpart:
        return f"{table.agent}'s {name} has no counterpart here, so this hook never runs"
    if table is not None:
        return f"{name} is not an event of {table.agent}, so this hook never runs"
    speakers = [table for table in dialects_with(name) if name in table.events]
    if speakers:
        agents = " and ".join(table.agent for table in speakers)
        names = " or ".join(table.name for table in speakers)
        remedy = (
            f'write {speakers[0].events[name]}, or mark the hook with dialect {names}: "dialect": "{speakers[0].name}"'
        )
        return f"is an event of {agents}, so its hooks do not run here; {remedy}"
    if others := dialects_with(name):
        return f"is an event of {others[0].agent} that has no counterpart here, so its hooks do not run; remove it"
    advice = suggest_event(name) if may_guess else "write the name of an event"
    return f"is not an event, so its hooks do not run; {advice}"


def timeout_ms(raw: Mapping[str, Any], hook: HookSettings, dialect: str) -> float:
    """How long a hook may take, from a number in its agent's unit."""
    table = table_of(dialect)
    if table is None:
        return DEFAULT_TIMEOUT_MS if hook.timeout is None else hook.timeout
    given = raw.get("timeout")
    # Other agents take 0 for their default, and a guard that ends at once would be none.
    is_usable = isinstance(given, int | float) and not isinstance(given, bool) and given > 0
    return given * table.timeout_unit_ms if is_usable and given is not None else table.default_timeout_ms


class TheirKeys:
    """Reads the keys that say how a hook is run; the fields of a HookEntry are in `fields`."""

    def __init__(
        self, raw: Mapping[str, Any], hook: HookSettings, event: HookEventName, dialect: str, env: Mapping[str, str]
    ) -> None:
        self._raw = raw
        self._hook = hook
        self._event = event
        self._table = table_of(dialect)
        self._env = env

    def fields(self, path: Path, problems: LayerProblems) -> dict[str, Any]:
        """The fields that differ from those of an ordinary hook."""
        self._warn(path, problems)
        counts = frozenset() if self._table is None else self._table.keys
        hook = self._hook
        fields: dict[str, Any] = {}
        if hook.status_message:
            fields["status_message"] = hook.status_message
        if "if" in counts and hook.condition is not None:
            fields["condition"] = hook.condition
        if "async" in counts and (hook.is_async or hook.async_rewake):
            fields["is_async"] = True
        if refusal := self._refusal():
            problems.error(path, f"can't be run and fails at each event: {refusal}")
            fields["refusal"] = refusal
        return fields

    def run(self, path: Path, problems: LayerProblems) -> HookRun:
        """Return what is to be run; settings other than of commands and servers are read elsewhere."""
        hook = self._hook
        match hook.type:
            case HookType.COMMAND:
                counts = frozenset() if self._table is None else self._table.keys
                args = tuple(hook.args) if "args" in counts and hook.args is not None else None
                shell = hook.shell if "shell" in counts and hook.shell != _USUAL_SHELL else None
                return CommandLine(hook.command or "", args, shell, hook.warm)
            case HookType.HTTP:
                return self._target(path, problems)
            case HookType.REMOTE:
                return RemoteSubject(hook.subject or "")
            case HookType.PLUGIN if hook.plugin is not None:
                return Plugin(hook.plugin)
            case _:
                return Unsupported(HookType(hook.type))

    def _target(self, path: Path, problems: LayerProblems) -> HttpTarget:
        hook = self._hook
        variables = tuple(hook.allowed_env_vars or ())
        target = HttpTarget(url=hook.url or "", headers=hook.headers or {}, variables=variables)
        if _USER_INFO.match(target.url):
            advice = "use headers, with a variable of allowedEnvVars"
            problems.warn((*path, "url"), f"has a user name or password in it, which is not sent; {advice}")
        for name in target.unlisted:
            advice = "add it there, or remove it"
            problems.warn((*path, "headers"), f"use ${name}, which is empty, since allowedEnvVars lacks it; {advice}")
        return target

    def _refusal(self) -> str | None:
        """Why the hook can't be run, or None."""
        hook = self._hook
        if hook.type in _NOT_RUNNABLE:
            return f'type "{hook.type}" {_NOT_RUNNABLE[HookType(hook.type)]}, which hookline does not do'
        if self._table is None:
            return None
        if "args" in self._table.keys and self._raw.get("args") is not None and hook.args is None:
            return "args is not an array of strings"
        if "shell" in self._table.keys and self._raw.get("shell") is not None and hook.shell not in _SHELLS:
            return f"its shell is not one of {', '.join(_SHELLS)}"
        text = " ".join((hook.command or "", *(hook.args or ())))
        used = re.findall(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)", text)
        missing = [name for name in self._table.plugin_variables if name in used and name not in self._env]
        return f"{missing[0]} is known only for hooks of a plugin" if missing else None

    def _warn(self, path: Path, problems: LayerProblems) -> None:
        counts = frozenset() if self._table is None else self._table.keys
        for key in _THEIR_KEYS:
            if self._raw.get(key) and key not in counts:
                agent = "hooks of ours" if self._table is None else f"hooks of {self._table.agent}"
                problems.warn((*path, key), f"has no effect on {agent}; remove it, or set the dialect it belongs to")
        for key in _IDLE_KEYS.get(self._hook.type, ()):
            if self._raw.get(key) is not None:
                problems.warn((*path, key), f'has no effect on a hook of type "{self._hook.type}"; remove it')
        if "async" in counts and (self._hook.is_async or self._hook.async_rewake) and self._event in _GUARDED:
            message = "makes this hook run beside the agent, so nothing that it decides counts; remove it from a guard"
            problems.warn((*path, "async" if self._hook.is_async else "asyncRewake"), message)
        elif "async" in counts and self._hook.async_rewake:
            problems.warn((*path, "asyncRewake"), "is taken as async: the hook's output does not reach the model")
        if "once" in counts and self._hook.once:
            problems.warn((*path, "once"), "has no effect in a settings file, so the hook runs every time")
        if "if" in counts and self._hook.condition is not None and self._event not in TOOL_EVENTS:
            problems.warn((*path, "if"), "is a rule about tools, so this hook never runs; remove it")
