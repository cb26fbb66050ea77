from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, TypedDict

from hookline.contract.events import LIFECYCLE_EVENTS, HookEventName

DEFAULT_TIMEOUT_MS = 60_000
DEFAULT_OUTPUT_LIMIT_BYTES = 10 * 1024 * 1024
DEFAULT_MAX_CONCURRENT = 128
DEFAULT_MAX_STOP_BLOCKS = 8

# The words that a hook reads and answers in, unless its settings say otherwise; the others are in dialects/.
OWN_DIALECT = "hookline"

# In the environment of every hook, each the directory of the project.
PROJECT_DIR_VARIABLES = ("LLXPRT_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR")


# In the environment of every process that hookline starts (hooks, tools, MCP servers): the marks of the runs that it is
# part of, its own last.
CHILD_MARK = "HOOKLINE_RUN"

# The words that a hook reads and answers in, unless its settings say otherwise; the others are in dialects/.
OWN_DIALECT = "hookline"


at_approval: ContextVar[bool] = ContextVar("at_approval", default=False)
"""True while BeforeTool is fired because a person is about to be asked: then only hooks with `at_approval` run."""


class HookType(StrEnum):
    """How a hook is run; types that engine/run.py has no row for are accepted in settings, and fail when they run."""

    COMMAND = "command"
    HTTP = "http"
    PLUGIN = "plugin"
    PROMPT = "prompt"
    AGENT = "agent"
    MCP_TOOL = "mcp_tool"
    CALLABLE = "callable"
    """A function that the program registered: in no settings file."""


# What a settings file may name.
CONFIGURED_TYPES = tuple(kind for kind in HookType if kind is not HookType.CALLABLE)


class ConfigSource(StrEnum):
    """Where a hook was configured, most specific first: the order in which hooks run and duplicates are kept."""

    PROJECT = "project"
    USER = "user"
    SYSTEM = "system"
    EXTENSIONS = "extensions"
    PROGRAM = "program"
    """The program that fires the events, which registered it in code."""


SOURCE_PRIORITY: Mapping[ConfigSource, int] = {source: rank for rank, source in enumerate(ConfigSource, start=1)}


class OnError(StrEnum):
    """What a failure (of a hook, or of hookline itself) means for the operation."""

    ALLOW = "allow"
    BLOCK = "block"


class Lifecycle(StrEnum):
    """Whether the answers to the six events around a session are only logged, or applied."""

    WATCH = "watch"
    APPLY = "apply"


LIFECYCLE_REMEDY = 'write "hooksConfig": {"lifecycle": "apply"} into your user settings to apply it'


class TrustLevel(StrEnum):
    """Whether a command can be trusted if some of its files can't be found."""

    STANDARD = "standard"
    STRICT = "strict"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceLimits:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpTarget:
    """Where a hook of the type `http` is asked."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    """Their values may name variables, such as `Bearer $TOKEN`."""
    variables: tuple[str, ...] = ()
    """The only variables that may be used in headers."""

    def to_dict(self) -> dict[str, Any]:
        """The target as settings have it; only what was given."""
        more = {"headers": dict(self.headers), "allowedEnvVars": list(self.variables)}
        return {"url": self.url, **{name: value for name, value in more.items() if value}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Callback:
    """A hook that is a function."""

    function: Callable[[Any], Any]
    in_thread: bool
    """True for a plain function, which would stop the event loop if it waits; async ones run on the loop."""


class HookOptions(TypedDict, total=False):
    """The options of a hook that a program registers in code."""

    matcher: str | None
    """A regular expression for the tool's name; for other events the source, reason, trigger or type itself."""
    name: str | None
    """What people call it; its module and name, if not given."""
    description: str | None
    timeout: float
    """How long it may take, in seconds; 60 if not given."""
    on_error: OnError | Literal["allow", "block"]
    """`block` makes a failure (an exception, a timeout, a wrong type) block, where the event can."""
    final: bool
    """Runs after all others on BeforeTool, with the arguments as they will be used."""
    sequential: bool
    """Runs all hooks of the event one after another."""
    thread: bool | None
    """Whether a plain function runs in a thread, as it does if not given, or on the event loop, which waits for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookEntry:
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
    env: Mapping[str, str] = field(default_factory=dict)
    on_error: OnError = OnError.ALLOW
    budget_ms: float | None = None
    rank: int = 0
    """How trusted the layer is: a hook can't undo what a hook of a higher rank decided."""
    final: bool = False
    """True for a BeforeTool guard that runs after all other hooks and can't rewrite the arguments."""
    limits: ResourceLimits | None = None
    """What it may use; None for a hook without any limit, which is started without a detour."""
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
    target: HttpTarget | None = None
    call: Callback | None = None
    """The function of a hook of the type `callable`."""
    plugin: str | None = None
    """The entry point of a hook of the type `plugin`: `package:name`."""
    is_async: bool = False
    """True for a hook that runs beside the agent, which does not wait for it and ignores its decisions."""
    status_message: str | None = None
    """What to show while it runs."""
    refusal: str | None = None
    """Why it can't be run as it is configured. It fails at its event: it must not be skipped in silence."""
    is_applied: bool = True
    """False for a hook of a lifecycle event whose answers are only logged; see `counts`."""

    @property
    def enabled(self) -> bool:
        """True unless this hook is switched off."""
        return self.disabled_by is None

    @property
    def counts(self) -> bool:
        """Whether its answers are applied. Those of a tool or model event always are: no setting turns a guard off."""
        return self.is_applied or self.event not in LIFECYCLE_EVENTS

    @property
    def label(self) -> str:
        """What people call this hook: its name, or else its command, its URL, or where its function is."""
        if self.name or self.command:
            return self.name or self.command or ""
        if self.call is not None:
            return self.origin
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
        "async": hook.is_async or None,
        **(hook.target.to_dict() if hook.target else {}),
    }
    return {name: value for name, value in given.items() if value is not None}
