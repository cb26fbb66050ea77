"""How a hook is configured. Loaded only with the engine: what is needed without it is in `vocabulary`."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import msgspec

from hookline.protocol.constants import (
    DEFAULT_TIMEOUT_MS,
    DEFAULT_WORKER_MEMORY_BYTES,
    OWN_DIALECT,
    ConfigSource,
    HookMode,
    HookType,
    OnError,
)
from hookline.protocol.events import LIFECYCLE_EVENTS, HookEventName
from hookline.protocol.text.patterns import lazy_pattern


class ResourceLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of a hook's processes; None means no limit."""

    memory_bytes: int | None = None
    cpu_s: int | None = None
    processes: int | None = None
    files: int | None = None
    network: bool = True

    def to_dict(self) -> dict[str, Any]:
        """The limits as they are written in settings, in bytes and seconds; only those that were given."""
        names = {"memory": self.memory_bytes, "cpu": self.cpu_s, "processes": self.processes, "files": self.files}
        given = {name: value for name, value in names.items() if value is not None}
        return {**({"limits": given} if given else {}), **({} if self.network else {"network": False})}


class CommandLine(msgspec.Struct, frozen=True, tag_field="kind", tag=True):
    """A command that is started for each event."""

    type: ClassVar[HookType] = HookType.COMMAND

    text: str
    """The text for the shell, or the program if there are `args`. Empty only for an entry that can't be run."""
    args: tuple[str, ...] | None = None
    """With these the program is started without a shell."""
    shell: str | None = None
    """The shell that reads the command, where it is not the usual one."""
    warm: bool = True
    """False for a command whose interpreter must not be started before an event."""

    @property
    def label(self) -> str:
        """The label of a hook without a name."""
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """Return the options that differ from those of an ordinary command, as settings have them."""
        args = {} if self.args is None else {"args": list(self.args)}
        return {**args, **({} if self.shell is None else {"shell": self.shell})}


class WorkerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a worker: a program that gets one line for each event."""

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


class WorkerCommand(CommandLine, frozen=True, kw_only=True, tag_field="kind", tag=True):
    """A command whose process stays and gets one line for each event."""

    options: WorkerOptions

    def to_dict(self) -> dict[str, Any]:
        """Return the options as settings have them."""
        return {**super().to_dict(), **self.options.to_dict()}


# A variable in a header, as `Bearer $TOKEN` has one; its name is in one of the two groups.
HEADER_VARIABLE = lazy_pattern(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")


class HttpTarget(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag=True):
    """The server of a hook of the type `http`."""

    type: ClassVar[HookType] = HookType.HTTP

    url: str
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Their values may name variables, such as `Bearer $TOKEN`."""
    variables: tuple[str, ...] = ()
    """The only variables that may be used in headers."""

    @property
    def label(self) -> str:
        """The label of a hook without a name."""
        return self.url

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


class Callback(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag=True):
    """A function of this program."""

    type: ClassVar[HookType] = HookType.CALLABLE
    label: ClassVar[str] = ""

    function: Callable[[Any], Any]
    in_thread: bool
    """True for a plain function, which would stop the event loop if it waits; async ones run on the loop."""

    def to_dict(self) -> dict[str, Any]:
        """Return nothing: functions are in no settings."""
        return {}


class PackCallback(Callback, frozen=True, kw_only=True, tag_field="kind", tag=True):
    """The function of a pack."""

    type: ClassVar[HookType] = HookType.PACK

    name: str
    options: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return the pack as the key `use` has it."""
        return {"pack": {"name": self.name, **self.options}}


class Plugin(msgspec.Struct, frozen=True, tag_field="kind", tag=True):
    """A function of an installed package."""

    type: ClassVar[HookType] = HookType.PLUGIN

    reference: str
    """The entry point: `package:name`."""

    @property
    def label(self) -> str:
        """The label of a hook without a name."""
        return self.reference

    def to_dict(self) -> dict[str, Any]:
        """Return the plugin as settings have it."""
        return {"plugin": self.reference}


class RemoteSubject(msgspec.Struct, frozen=True, tag_field="kind", tag=True):
    """The subject on which workers on other machines are asked."""

    type: ClassVar[HookType] = HookType.REMOTE

    subject: str

    @property
    def label(self) -> str:
        """The label of a hook without a name."""
        return f"remote {self.subject}"

    def to_dict(self) -> dict[str, Any]:
        """Return the subject as settings have it."""
        return {"subject": self.subject}


class Unsupported(msgspec.Struct, frozen=True, tag_field="kind", tag=True):
    """A type of hook that nothing here can run, such as the prompts of another agent. It fails at its event."""

    type: HookType
    label: ClassVar[str] = ""

    def to_dict(self) -> dict[str, Any]:
        """Return nothing: its options have no effect."""
        return {}


HookRun = CommandLine | WorkerCommand | HttpTarget | Callback | PackCallback | Plugin | RemoteSubject | Unsupported
"""How a hook is run: one member for each row of `runners/table.py: RUNNERS`."""


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
    """The settings file (or the extension) that configures it, as the user would look for it."""
    location: str
    """The JSON path inside that file, such as `hooks.BeforeTool[0].hooks[1]`."""
    run: HookRun = CommandLine("")
    timeout_ms: float = DEFAULT_TIMEOUT_MS
    name: str | None = None
    description: str | None = None
    matcher: str | None = None
    sequential: bool = False
    disabled_by: str | None = None
    """The settings file or the call that disabled it; None for a hook that runs."""
    env: Mapping[str, str] = msgspec.field(default_factory=dict)
    on_error: OnError = OnError.ALLOW
    budget_ms: float | None = None
    rank: int = 0
    """How trusted the layer is: a hook can't undo what a hook of a higher rank decided."""
    final: bool = False
    """True for a BeforeTool guard that runs after all other hooks and can't rewrite the arguments."""
    limits: ResourceLimits | None = None
    """The limits of its processes; None for a hook without limits."""
    needs_trust: bool = False
    """True for hooks of a project's settings file, which run only after the user has accepted them."""
    dialect: str = OWN_DIALECT
    """The format of its input and output: hookline's own, or that of the agent that it was written for."""
    foreign_event: str | None = None
    """That agent's name of the event, where its settings use it; None means any that this event stands for."""
    at_permission_request: bool = False
    """True for a hook that runs only when the user would be asked to allow a tool (PermissionRequest)."""
    condition: str | None = None
    """The key `if`: a rule such as `Bash(git *)` for the calls that it runs for."""
    is_async: bool = False
    """True for a hook that runs in the background: the agent does not wait for it, and its decisions have no effect."""
    status_message: str | None = None
    """The text to show while it runs."""
    refusal: str | None = None
    """Why it can't be run as it is configured. It fails at its event: it must not be skipped in silence."""
    is_misconfigured: bool = False
    """True for a hook whose settings are wrong in a way that makes it block, whatever its onError says."""
    required: bool = False
    """True for a hook that must run: if it can't, its event is blocked where that is possible."""
    policy: PolicyMark | None = None
    """Set for a hook of the company's policy."""
    is_canary: bool = False
    """True for the guard of `hookline doctor --prove`, and for no other hook, whatever its name is."""
    project: str | None = None
    """The directory of a project inside the session's own, if the hook is from there: it runs and is trusted there."""
    mode: HookMode = HookMode.ENFORCE
    is_applied: bool = True
    """False for a hook of a lifecycle event whose answers are only logged; see `is_enforced`."""

    @property
    def type(self) -> HookType:
        """The type as settings have it."""
        return self.run.type

    @property
    def command(self) -> str | None:
        """The command, for a hook that has one."""
        return self.run.text or None if isinstance(self.run, CommandLine) else None

    @property
    def args(self) -> tuple[str, ...] | None:
        """The arguments of a command that is started without a shell."""
        return self.run.args if isinstance(self.run, CommandLine) else None

    @property
    def worker(self) -> WorkerOptions | None:
        """The options of a worker."""
        return self.run.options if isinstance(self.run, WorkerCommand) else None

    @property
    def enabled(self) -> bool:
        """True unless this hook is switched off."""
        return self.disabled_by is None

    @property
    def verify_each_event(self) -> bool:
        """True if trust must be checked again before each event, because its scripts may have changed."""
        return self.needs_trust or (self.policy is not None and bool(self.policy.files))

    @property
    def is_enforced(self) -> bool:
        """True if its answers are applied: on lifecycle events only if settings allow it, never in the mode shadow."""
        return self.mode is HookMode.ENFORCE and self.would_be_enforced

    @property
    def would_be_enforced(self) -> bool:
        """Whether its answers are applied, or would be if it were not on trial."""
        return self.is_applied or self.event not in LIFECYCLE_EVENTS

    @property
    def fail_closed_reason(self) -> str:
        """The reason for which its failure blocks."""
        if self.required:
            return "it is required"
        if self.is_misconfigured:
            return "a hook whose settings are wrong blocks until you fix them"
        return "its onError is block"

    @property
    def label(self) -> str:
        """The name of the hook, or else its command, its URL, or the place of its function."""
        return self.name or self.run.label or (self.origin if isinstance(self.run, Callback) else f"{self.type} hook")


def particulars(hook: HookEntry) -> dict[str, Any]:
    """Return the options that differ from those of an ordinary command, under their names in settings."""
    given = {
        "dialect": hook.dialect if hook.dialect != OWN_DIALECT else None,
        "theirEvent": hook.foreign_event,
        "if": hook.condition,
        **hook.run.to_dict(),
        "async": hook.is_async or None,
        "required": hook.required or None,
        "mode": hook.mode if hook.mode is not HookMode.ENFORCE else None,
    }
    return {name: value for name, value in given.items() if value is not None}
