"""The words and default values of hook settings. Loaded while hooks are disabled, too, so no msgspec here."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal, TypedDict

DEFAULT_TIMEOUT_MS = 60_000
DEFAULT_OUTPUT_LIMIT_BYTES = 10 * 1024 * 1024
DEFAULT_MAX_CONCURRENT = 128
DEFAULT_MAX_STOP_BLOCKS = 8
DEFAULT_MAX_WARM = 8
DEFAULT_WORKER_MEMORY_BYTES = 512 * 1024 * 1024

# The words that a hook reads and answers in, unless its settings say otherwise; the others are in dialects/.
OWN_DIALECT = "hookline"

# A file that can't be read, which is reported by itself, may be the one that enables them.
WHY_DISABLED = 'the settings that could be read do not say "enableHooks": true'

# The agent of events that only prove something, and what the ids of their sessions begin with: they are in the log, and
# in no statistics.
CANARY_AGENT = "hookline-canary"

# The name of hookline's own agent in evidence.
OWN_AGENT = "hookline"

# The name of the guard of `hookline doctor --prove`, and what the text that it denies begins with.
CANARY_HOOK = "hookline-canary"

# In the environment of every hook, each the directory of the project.
PROJECT_DIR_VARIABLES = ("LLXPRT_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR")

# In the environment of a policy's hooks: where its scripts are.
POLICY_DIR_VARIABLE = "HOOKLINE_POLICY_DIR"

# In the environment of every process that hookline starts (hooks, tools, MCP servers): the marks of the runs that it is
# part of, its own last.
CHILD_MARK = "HOOKLINE_RUN"
# In the environment of a hook that is started as a worker, with the value 1.
WORKER_VARIABLE = "HOOKLINE_WORKER"


class HookType(StrEnum):
    """How a hook is run; types that engine/run.py has no row for are accepted in settings, and fail when they run."""

    COMMAND = "command"
    HTTP = "http"
    PLUGIN = "plugin"
    PROMPT = "prompt"
    AGENT = "agent"
    MCP_TOOL = "mcp_tool"
    REMOTE = "remote"
    """Asked over the company's server; a worker there runs it."""
    CALLABLE = "callable"
    """A function that the program registered: in no settings file."""
    PACK = "pack"
    """Guards that come with hookline: settings name them under `use`."""


class FiredBy(StrEnum):
    """The origin of an event. Only an agent's events are evidence that the agent is guarded."""

    AGENT = "agent"
    """hookline's own agent."""
    BRIDGE = "bridge"
    """Another agent, whose hook command hookline is."""
    GATEWAY = "gateway"
    """An MCP client, through the gateway."""
    PROGRAM = "program"
    """A program that hookline is part of."""
    WORKER = "worker"
    """Another machine, whose remote hooks ask this one."""
    FIRE = "fire"
    TEST = "test"
    REPLAY = "replay"
    CHECK = "check"
    DOCTOR = "doctor"
    CANARY = "canary"


REAL_SOURCES = frozenset({FiredBy.AGENT, FiredBy.BRIDGE, FiredBy.GATEWAY, FiredBy.PROGRAM, FiredBy.WORKER})
"""The events of these are evidence; those of the others only try hooks out."""


class Decider(StrEnum):
    """The part that decided an event which was not allowed."""

    HOOK = "hook"
    SWITCH = "switch"
    """The company's kill switch."""
    POLICY = "policy"
    """The company's policy, for example because it has expired."""
    FAULT = "fault"
    """hookline could not judge the event."""

    @property
    def shown(self) -> str:
        """The part as a phrase for messages: `blocked by the kill switch`."""
        shown = {Decider.SWITCH: "the kill switch", Decider.POLICY: "the company's policy"}
        return shown.get(self, f"a {self} of hookline" if self is Decider.FAULT else f"a {self}")


class RunWay(StrEnum):
    """How one run of a hook came about: what the log, `list` and `stats` call it."""

    COLD = "cold"
    """A process that was started for this event."""
    WARM = "warm"
    """A process that was started before, with its interpreter loaded, and ran the script for this event."""
    WORKER = "worker"
    """A program that answers one event after another."""
    HTTP = "http"
    FUNCTION = "function"
    REMOTE = "remote"
    """A worker on another machine."""


# The types that a settings file may name.
CONFIGURED_TYPES = tuple(kind for kind in HookType if kind not in (HookType.CALLABLE, HookType.PACK))


class ConfigSource(StrEnum):
    """Where a hook was configured, most specific first: the order in which hooks run and duplicates are kept."""

    PROJECT = "project"
    USER = "user"
    SYSTEM = "system"
    EXTENSIONS = "extensions"
    PROGRAM = "program"
    """The program that fires the events, which registered it in code."""
    POLICY = "policy"
    """The company's signed policy, whose hooks run last and have the highest rank."""


SOURCE_PRIORITY: Mapping[ConfigSource, int] = {source: rank for rank, source in enumerate(ConfigSource, start=1)}


class OnError(StrEnum):
    """The effect of a failure (of a hook, or of hookline itself) on the operation."""

    ALLOW = "allow"
    BLOCK = "block"


class HookMode(StrEnum):
    """Whether what a hook decides counts."""

    ENFORCE = "enforce"
    SHADOW = "shadow"
    """It changes nothing, and the log has what it would have decided."""


class Lifecycle(StrEnum):
    """Whether the answers to the six events around a session are only logged, or applied."""

    WATCH = "watch"
    APPLY = "apply"


LIFECYCLE_REMEDY = 'write "hooksConfig": {"lifecycle": "apply"} into your user settings to apply it'


class TrustLevel(StrEnum):
    """Whether a command can be trusted if some of its files can't be found."""

    STANDARD = "standard"
    STRICT = "strict"


class HookOptions(TypedDict, total=False):
    """The options of a hook that a program registers in code."""

    matcher: str | None
    """A regular expression for the tool's name; for other events the source, reason, trigger or type itself."""
    name: str | None
    """The name in messages; the module and name of the function, if not given."""
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
