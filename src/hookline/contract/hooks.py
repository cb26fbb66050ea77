"""How a hook is configured. Loaded only with the engine: what is needed without it is in `vocabulary`."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from hookline.contract.events import LIFECYCLE_EVENTS, HookEventName
from hookline.contract.patterns import lazy_pattern
from hookline.contract.vocabulary import (
    DEFAULT_TIMEOUT_MS,
    DEFAULT_WORKER_MEMORY_BYTES,
    OWN_DIALECT,
    ConfigSource,
    HookMode,
    HookType,
    OnError,
)


class ResourceLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What the processes of a hook may use; None means no limit of ours."""

    memory_bytes: int | None = None
    cpu_s: int | None = None
    processes: int | None = None
    files: int | None = None
    network: bool = True
    fault: str | None = None
    """Why the limits can't be understood. Such a hook fails: it must not run without them."""

    def to_dict(self) -> dict[str, Any]:
        """The limits as they are written in settings, in bytes and seconds; only those that were given."""
        names = {"memory": self.memory_bytes, "cpu": self.cpu_s, "processes": self.processes, "files": self.files}
        given = {name: value for name, value in names.items() if value is not None}
        return {**({"limits": given} if given else {}), **({} if self.network else {"network": False})}


class WorkerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a hook is run whose program stays and gets one line for each event."""

    runs_cold: bool = False
    """Whether the program is started for each event while it is given up as a worker; else those events fail."""
    restart_after: int | None = None
    """How many events one process gets."""
    memory_bytes: int = DEFAULT_WORKER_MEMORY_BYTES
    """How much memory its process may use before it is replaced, between two events."""

    def to_dict(self) -> dict[str, Any]:
        """The options as settings have them; `true` for the usual ones."""
        given = {
            "fallback": "cold" if self.runs_cold else None,
            "restartAfter": self.restart_after,
            "memory": None if self.memory_bytes == DEFAULT_WORKER_MEMORY_BYTES else self.memory_bytes,
        }
        return {"worker": {name: value for name, value in given.items() if value is not None} or True}


# A variable in a header, as `Bearer $TOKEN` has one; its name is in one of the two groups.
HEADER_VARIABLE = lazy_pattern(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")


class HttpTarget(msgspec.Struct, frozen=True, kw_only=True):
    """Where a hook of the type `http` is asked."""

    url: str
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Their values may name variables, such as `Bearer $TOKEN`."""
    variables: tuple[str, ...] = ()
    """The only variables that may be used in headers."""

    @property
    def used(self) -> set[str]:
        """The variables in headers."""
        return {place[1] or place[2] for text in self.headers.values() for place in HEADER_VARIABLE.finditer(text)}

    @property
    def unlisted(self) -> list[str]:
        """The variables in headers that may not be used, and are empty."""
        return sorted(self.used - set(self.variables))

    def to_dict(self) -> dict[str, Any]:
        """The target as settings have it; only what was given."""
        more = {"headers": dict(self.headers), "allowedEnvVars": list(self.variables)}
        return {"url": self.url, **{name: value for name, value in more.items() if value}}


class Callback(msgspec.Struct, frozen=True, kw_only=True):
    """A hook that is a function."""

    function: Callable[[Any], Any]
    in_thread: bool
    """True for a plain function, which would stop the event loop if it waits; async ones run on the loop."""


class PolicyMark(msgspec.Struct, frozen=True, kw_only=True):
    """Which version of the company's policy a hook is from, and its scripts."""

    version: int
    directory: str
    """Where the scripts are."""
    files: Mapping[str, str]
    """The SHA-256 of each of them, by its name there; nothing else may be in the directory."""


class HookEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One configured hook of one event, with the group options that apply to it and where it came from."""

    event: HookEventName
    source: ConfigSource
    origin: str
    """The settings file (or the extension) that configures it, as a person would look for it."""
    location: str
    """The JSON path inside that file, such as `hooks.BeforeTool[0].hooks[1]`."""
    type: HookType = HookType.COMMAND
    command: str | None = None
    timeout_ms: float = DEFAULT_TIMEOUT_MS
    name: str | None = None
    description: str | None = None
    matcher: str | None = None
    sequential: bool = False
    disabled_by: str | None = None
    """What switched it off (a settings file, a call), or None for a hook that runs."""
    env: Mapping[str, str] = msgspec.field(default_factory=dict)
    on_error: OnError = OnError.ALLOW
    budget_ms: float | None = None
    rank: int = 0
    """How trusted the layer is: a hook can't undo what a hook of a higher rank decided."""
    final: bool = False
    """True for a BeforeTool guard that runs after all other hooks and can't rewrite the arguments."""
    limits: ResourceLimits | None = None
    """What it may use; None for a hook without any limit, which is started without a detour."""
    warm: bool = True
    """False for a command whose interpreter must not be started before an event."""
    needs_trust: bool = False
    """True for hooks of a project's settings file, which run only when a person has accepted them."""
    dialect: str = OWN_DIALECT
    """Whose words it reads and answers in: ours, or those of the agent that it was written for."""
    their_event: str | None = None
    """That agent's name of the event, where its settings use it; None means any that this event stands for."""
    at_approval: bool = False
    """True for a hook that runs when a person would be asked to allow a tool (PermissionRequest), and not before."""
    condition: str | None = None
    """The key `if`: a rule such as `Bash(git *)` for the calls that it runs for."""
    args: tuple[str, ...] | None = None
    """With these the command is a program, which is started without a shell."""
    shell: str | None = None
    """The shell that reads the command, where it is not the usual one."""
    worker: WorkerOptions | None = None
    """Set for a command whose program stays and gets a line for each event."""
    target: HttpTarget | None = None
    call: Callback | None = None
    """The function of a hook of the type `callable`."""
    pack: Mapping[str, Any] | None = None
    """The options of a hook of the type `pack`, whose name is the pack."""
    plugin: str | None = None
    """The entry point of a hook of the type `plugin`: `package:name`."""
    subject: str | None = None
    """What the workers of a hook of the type `remote` are asked about."""
    is_async: bool = False
    """True for a hook that runs beside the agent, which does not wait for it and ignores its decisions."""
    status_message: str | None = None
    """What to show while it runs."""
    refusal: str | None = None
    """Why it can't be run as it is configured. It fails at its event: it must not be skipped in silence."""
    is_misconfigured: bool = False
    """True for a hook whose settings are wrong in a way that makes it block, whatever its onError says."""
    required: bool = False
    """True for a hook without which nothing goes on: where it can't run, its event is blocked if that is possible."""
    policy: PolicyMark | None = None
    """Set for a hook of the company's policy."""
    is_canary: bool = False
    """True for the guard of `hookline prove`, and for no other hook, whatever its name is."""
    project: str | None = None
    """The directory of a project inside the session's own, if the hook is from there: it runs and is trusted there."""
    mode: HookMode = HookMode.ENFORCE
    is_applied: bool = True
    """False for a hook of a lifecycle event whose answers are only logged; see `counts`."""

    @property
    def enabled(self) -> bool:
        """True unless this hook is switched off."""
        return self.disabled_by is None

    @property
    def is_asked_about(self) -> bool:
        """Whether it has to be asked before each event if it may run as it is now: its scripts may have changed."""
        return self.needs_trust or (self.policy is not None and bool(self.policy.files))

    @property
    def counts(self) -> bool:
        """Whether its answers are applied: on lifecycle events only if settings say so, never in a trial."""
        return self.mode is HookMode.ENFORCE and self.would_count

    @property
    def would_count(self) -> bool:
        """Whether its answers are applied, or would be if it were not on trial."""
        return self.is_applied or self.event not in LIFECYCLE_EVENTS

    @property
    def why_strict(self) -> str:
        """Why its failure blocks, for a hook of which that is so."""
        if self.required:
            return "it is required"
        if self.is_misconfigured:
            return "a hook whose settings are wrong blocks until you fix them"
        return "its onError is block"

    @property
    def label(self) -> str:
        """What people call this hook: its name, or else its command, its URL, or where its function is."""
        if self.name or self.command:
            return self.name or self.command or ""
        if self.call is not None:
            return self.origin
        if self.subject is not None:
            return f"remote {self.subject}"
        return self.plugin or (self.target.url if self.target else f"{self.type} hook")


def particulars(hook: HookEntry) -> dict[str, Any]:
    """What makes a hook more than a command of ours, under its names in settings; empty for most hooks."""
    given = {
        "dialect": hook.dialect if hook.dialect != OWN_DIALECT else None,
        "theirEvent": hook.their_event,
        "if": hook.condition,
        "args": None if hook.args is None else list(hook.args),
        "shell": hook.shell,
        "plugin": hook.plugin,
        "subject": hook.subject,
        "pack": None if hook.pack is None else {"name": hook.name, **hook.pack},
        "async": hook.is_async or None,
        "required": hook.required or None,
        "mode": hook.mode if hook.mode is not HookMode.ENFORCE else None,
        **(hook.target.to_dict() if hook.target else {}),
        **(hook.worker.to_dict() if hook.worker else {}),
    }
    return {name: value for name, value in given.items() if value is not None}
