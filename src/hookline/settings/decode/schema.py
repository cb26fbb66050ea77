"""The types of a settings file. The JSON Schema in docs/schema/ is generated from them."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from hookline.dialects.registry import DIALECTS, FOREIGN_DIALECTS
from hookline.extensions import PACK_NAMES
from hookline.protocol.constants import (
    DEFAULT_MAX_CONCURRENT,
    DEFAULT_MAX_STOP_BLOCKS,
    DEFAULT_MAX_WARM,
    DEFAULT_OUTPUT_LIMIT_BYTES,
    DEFAULT_TIMEOUT_MS,
    HookMode,
    Lifecycle,
    OnError,
    TrustLevel,
)
from hookline.protocol.events import EVENT_DESCRIPTIONS
from hookline.protocol.text.json_schema import json_schema
from hookline.protocol.text.secret_names import SECRET_NAMES


def about(description: str) -> Meta:
    """The description of a field, for the JSON Schema."""
    return Meta(description=description)


Milliseconds = Annotated[float, Meta(ge=0)]
Count = Annotated[int, Meta(ge=1)]
MEMORY_PATTERN = r"^[1-9][0-9]{0,8} ?[KMG]i?B$"


class LimitSettings(msgspec.Struct, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Resource limits of the processes of one hook. With an invalid limit the hook fails."""

    memory: Annotated[
        Count | Annotated[str, Meta(pattern=MEMORY_PATTERN)] | None,
        about("Address space of each process, in bytes or as text such as 256MB (1 MB is 1024 times 1024 bytes)."),
    ] = None
    cpu: Annotated[Count | None, about("Processor time of each process, in seconds.")] = None
    processes: Annotated[
        Count | None, about("How many processes and threads its user may have altogether when it starts another.")
    ] = None
    files: Annotated[Count | None, about("How many files each process may have open.")] = None


class WorkerSettings(msgspec.Struct, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """How a worker is run. With an option that can't be understood the hook fails."""

    fallback: Annotated[
        Literal["fail", "cold"],
        about(
            "After three failures within a minute: fail (the default) lets the hook fail, cold "
            "starts its program for each event."
        ),
    ] = "fail"
    restart_after: Annotated[Count | None, about("How many events one process gets before it is replaced.")] = None
    memory: Annotated[
        Count | Annotated[str, Meta(pattern=MEMORY_PATTERN)] | None,
        about("How much memory its process may use before it is replaced between two events; 512MB when not given."),
    ] = None


DialectName = Annotated[
    str | None,
    Meta(
        examples=list(DIALECTS),
        description="The agent whose format hooks use; the innermost one applies.",
    ),
]


class RolloutSettings(msgspec.Struct, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Which machines a hook runs on, while it is introduced step by step."""

    percent: Annotated[
        Annotated[float, Meta(ge=0, le=100)] | None,
        about("On how many of 100 machines and users; always the same ones."),
    ] = None
    teams: Annotated[
        list[str] | None, about("In which teams; hooksConfig.teams says which ones this machine is in.")
    ] = None


class HookSettings(msgspec.Struct, kw_only=True, rename="camel"):
    """One hook: a command to run, or a server to ask."""

    type: Annotated[
        Literal["command", "http", "remote", "plugin", "prompt", "agent", "mcp_tool"],
        about(
            "How the hook is run: `command`, `http`, `remote`, or `plugin` with its name. With another type it fails."
        ),
    ]
    command: Annotated[
        str | None, about("The command, as a shell would take it. $LLXPRT_PROJECT_DIR is the project's directory.")
    ] = None
    timeout: Annotated[
        Milliseconds | None,
        about("How long it may take, in milliseconds; 60000 when not given. With another dialect in its agent's unit."),
    ] = DEFAULT_TIMEOUT_MS
    name: Annotated[str | None, about("The name of the hook, in the log and in hooksConfig.disabled.")] = None
    description: Annotated[str | None, about("The purpose of the hook, in one sentence.")] = None
    enabled: Annotated[bool, about("false keeps the hook configured without running it.")] = True
    env: Annotated[dict[str, str] | None, about("Environment variables to add for this hook alone.")] = None
    on_error: Annotated[
        OnError, about("The effect of a crash or a timeout where a hook can block: allow (the default) or block.")
    ] = OnError.ALLOW
    budget: Annotated[
        Milliseconds | None, about("The time it should stay under, in milliseconds; `hookline log --stats` compares.")
    ] = None
    final: Annotated[
        bool, about("BeforeTool: true runs it after all others, with the arguments as they will be used.")
    ] = False
    required: Annotated[
        bool,
        about("true blocks its event, if that can block, whenever the hook is not there, not trusted or can't run."),
    ] = False
    limits: Annotated[LimitSettings | None, about("Resource limits of its processes.")] = None
    worker: Annotated[
        bool | WorkerSettings | None,
        about("type command: true starts the program once; it then gets one line of JSON for each event."),
    ] = None
    network: Annotated[
        bool, about("false runs it without a network, where the system can do that; elsewhere the hook fails.")
    ] = True
    warm: Annotated[
        bool,
        about("false starts its interpreter at each event; true (the default) lets a Python script's wait for it."),
    ] = True
    plugin: Annotated[
        str | None,
        Meta(
            description="type plugin: the hook of an installed package, as package:name. Not in a project's file.",
            examples=["my-guards:no-secrets"],
        ),
    ] = None
    dialect: DialectName = None
    url: Annotated[str | None, about("type http: where the input is sent (POST); on this machine, unless allowed.")] = (
        None
    )
    subject: Annotated[
        str | None,
        Meta(
            description="type remote: what the workers that run it listen for, on the server of hooksConfig.fleet.",
            examples=["dlp"],
        ),
    ] = None
    headers: Annotated[
        dict[str, str] | None, about("type http: further headers; $NAME stands for a variable of allowedEnvVars.")
    ] = None
    allowed_env_vars: Annotated[list[str] | None, about("type http: the variables that headers may use.")] = None
    on_failure: Annotated[
        Literal["continue", "block"] | None, about("Claude Code's name for onError; block means the same.")
    ] = None
    condition: Annotated[
        str | None, about("With the dialect claude: a rule such as Bash(git *) for the calls that it runs for.")
    ] = msgspec.field(default=None, name="if")
    is_async: Annotated[
        bool, about("With another dialect: true runs it in the background, and its decisions have no effect.")
    ] = msgspec.field(default=False, name="async")
    async_rewake: Annotated[bool, about("With the dialect claude: the same as async here.")] = False
    once: Annotated[bool, about("With the dialect claude: has no effect in settings, there and here.")] = False
    status_message: Annotated[str | None, about("The text that the agent shows while the hook runs.")] = None
    mode: Annotated[
        HookMode | None,
        about("enforce (the default), or shadow, which only logs what it would decide."),
    ] = None
    rollout: Annotated[RolloutSettings | None, about("Which machines it runs on.")] = None
    args: Annotated[
        list[str] | None, about("With the dialect claude: the command is a program, and these are its arguments.")
    ] = None
    shell: Annotated[str | None, about("With the dialect claude: the shell that reads the command.")] = None

    @property
    def label(self) -> str:
        """The hook's name in messages and in hooksConfig.disabled."""
        if self.type == "remote" and not self.name:
            return f"remote {self.subject}"
        return self.name or self.command or self.plugin or self.url or f"{self.type} hook"


class HookGroupSettings(msgspec.Struct, kw_only=True, rename="camel"):
    """Hooks that share a matcher."""

    hooks: Annotated[list[HookSettings], about("The hooks, in the order in which they are planned.")]
    matcher: Annotated[
        str | None, about("For tools: an ECMAScript regular expression, found anywhere in the name. Empty or * is all.")
    ] = None
    mode: Annotated[HookMode | None, about("The mode of all its hooks that do not have their own.")] = None
    rollout: Annotated[RolloutSettings | None, about("The rollout of all its hooks that do not have their own.")] = None
    sequential: Annotated[
        bool | None, about("true runs all hooks of the event one after another, each seeing earlier changes.")
    ] = False
    dialect: DialectName = None


Groups = list[HookGroupSettings] | None


# Other agents' names, as their tables in dialects/ have them: the tables are loaded when a hook needs them.
THEIR_EVENTS = (
    *("PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "Stop"),
    "PreCompact",
)
_THEIR_EVENT = about("An event of Claude Code or Codex; its hooks need that dialect.")

_groups_by_event: Any = msgspec.defstruct(
    "_GroupsByEvent",
    [
        *[(event.value, Annotated[Groups, about(text)], None) for event, text in EVENT_DESCRIPTIONS.items()],
        *[(name, Annotated[Groups, _THEIR_EVENT], None) for name in THEIR_EVENTS],
    ],
    kw_only=True,
    forbid_unknown_fields=True,
)


class HooksByEvent(_groups_by_event):  # type: ignore[misc]  # its fields are the events
    """Groups of hooks for each event."""


class ExtensionSettings(msgspec.Struct, kw_only=True, rename="camel"):
    """Hooks that an extension brings."""

    name: Annotated[str, about("The extension's name.")]
    is_active: Annotated[bool, about("false leaves its hooks out.")] = True
    hooks: Annotated[HooksByEvent | None, about("As in the file's own `hooks`.")] = None
    dialect: DialectName = None


class LogSettings(msgspec.Struct, kw_only=True, rename="camel", frozen=True):
    """Where the record of all hook runs goes."""

    enabled: Annotated[bool, about("false writes no log file.")] = True
    path: Annotated[str | None, about("The file; by default hooks.jsonl in the user's state directory.")] = None
    max_bytes: Annotated[Count, about("The size at which the file is rotated.")] = 10 * 1024 * 1024
    backups: Annotated[Annotated[int, Meta(ge=0)], about("How many rotated files are kept.")] = 5


class EnvironmentSettings(msgspec.Struct, kw_only=True, rename="camel", frozen=True):
    """Which environment variables hooks inherit; everything, when neither list is given."""

    allow: Annotated[
        tuple[str, ...], about("Patterns of the only names that are passed on, besides PATH and HOME.")
    ] = ()
    deny: Annotated[tuple[str, ...], about("Patterns of names that are never passed on.")] = ()


class HttpSettings(msgspec.Struct, kw_only=True, rename="camel", frozen=True):
    """Hooks of the type http."""

    allow: Annotated[tuple[str, ...], about("Hosts that they may be on, besides this machine.")] = ()


class WarmSettings(msgspec.Struct, kw_only=True, rename="camel", frozen=True):
    """Python interpreters that are started before their events."""

    max: Annotated[
        Annotated[int, Meta(ge=0)], about("How many of them may wait at the same time; 0 is the same as false.")
    ] = DEFAULT_MAX_WARM


class TlsSettings(msgspec.Struct, kw_only=True, rename="camel", frozen=True, forbid_unknown_fields=True):
    """Files for connections to the fleet's server that are encrypted and show who asks."""

    ca: Annotated[str | None, about("The certificate of the authority that the server's is signed by.")] = None
    cert: Annotated[str | None, about("This machine's own certificate.")] = None
    key: Annotated[str | None, about("The key of that certificate.")] = None


class CanarySettings(msgspec.Struct, kw_only=True, rename="camel", frozen=True, forbid_unknown_fields=True):
    """A tool call that a guard has to deny. It is asked about, and never run."""

    tool: Annotated[str, about("The tool, such as run_shell_command.")]
    input: Annotated[Mapping[str, Any], about("Its arguments.")] = {}


class FleetSettings(msgspec.Struct, kw_only=True, rename="camel", frozen=True, forbid_unknown_fields=True):
    """A company's NATS server. Without `servers` nothing is loaded, and nothing leaves the machine."""

    servers: Annotated[tuple[str, ...], about("Addresses such as nats://fleet.example:4222.")] = ()
    team: Annotated[str, about("The team whose policy applies here, and that owns the records.")] = "all"
    machine: Annotated[str | None, about("This machine's name in the fleet; by default its host name.")] = None
    credentials: Annotated[str | None, about("A credentials file (JWT and nkey) for the server.")] = None
    nkey: Annotated[str | None, about("A file with the seed of an nkey, in place of credentials.")] = None
    tls: Annotated[TlsSettings | None, about("Encryption, with the company's own certificates.")] = None
    audit: Annotated[bool, about("false keeps this machine's log records here.")] = True
    spool_bytes: Annotated[
        Count, about("How much of the disk records may take that wait for the server; older ones are then dropped.")
    ] = 256 * 1024 * 1024
    anchors: Annotated[str | None, about("A file or a directory that also gets the signed heads of the log.")] = None
    canaries: Annotated[
        tuple[CanarySettings, ...], about("Tool calls that a guard here has to deny; they are tried every day.")
    ] = ()

    @property
    def sends_records(self) -> bool:
        """Whether this machine's log goes to the company's record."""
        return bool(self.servers) and self.audit


class PolicySettings(msgspec.Struct, kw_only=True, rename="camel", frozen=True, forbid_unknown_fields=True):
    """A company's signed policy. Only the system's settings file can name its key."""

    public_keys: Annotated[
        tuple[str, ...],
        about("Public keys that a policy must be signed with; `hookline fleet policy keygen` prints one."),
    ]
    directory: Annotated[str | None, about("Where policies are unpacked; by default /var/lib/hookline/policy.")] = None
    on_expiry: Annotated[
        OnError, about("The effect of a policy that has expired or can't be read: allow (with a warning) or block.")
    ] = OnError.ALLOW


class HooksConfigSettings(msgspec.Struct, kw_only=True, rename="camel", frozen=True):
    """Every option of the hook system that is not a hook."""

    disabled: Annotated[
        tuple[str, ...], about("Names of hooks that do not run (their command, where they have no name).")
    ] = ()
    output_limit: Annotated[Count, about("How many bytes are kept of a hook's stdout and of its stderr, each.")] = (
        DEFAULT_OUTPUT_LIMIT_BYTES
    )
    max_concurrent: Annotated[
        Count, about("How many hooks may run at the same time in one program; more than that wait.")
    ] = DEFAULT_MAX_CONCURRENT
    stream_during_after_model: Annotated[
        bool, about("true shows the model's answer while it streams, before AfterModel hooks have run.")
    ] = False
    lifecycle: Annotated[
        Lifecycle, about("apply lets hooks around a prompt or session block and add context; watch only logs it.")
    ] = Lifecycle.WATCH
    max_stop_blocks: Annotated[
        Annotated[int, Meta(ge=0)],
        about("How many times in a row AfterAgent hooks can make the agent go on before its turn ends anyway."),
    ] = DEFAULT_MAX_STOP_BLOCKS
    on_fault: Annotated[
        OnError, about("The effect of a fault of hookline itself where a hook can block: allow or block.")
    ] = OnError.ALLOW
    trust: Annotated[
        TrustLevel, about("strict refuses to run a project's command if the files that it uses can't all be found.")
    ] = TrustLevel.STANDARD
    redact: Annotated[
        tuple[str, ...],
        about("Patterns of names whose values are kept out of the log and the transcript, in place of the usual ones."),
    ] = SECRET_NAMES
    dialects: Annotated[
        tuple[str, ...],
        Meta(examples=[list(FOREIGN_DIALECTS)]),
        about(
            "Other agents whose own settings files are read as well: claude, codex, gemini. Not in a project's file."
        ),
    ] = ()
    teams: Annotated[tuple[str, ...], about("The teams of this machine or user, for rollouts.")] = ()
    serve: Annotated[
        bool, about("false keeps `hookline bridge` from starting and using a server, so that each call loads hookline.")
    ] = True
    warm: Annotated[
        bool | WarmSettings,
        about(
            "false starts every hook at its event; otherwise Python scripts that run often have interpreters waiting."
        ),
    ] = WarmSettings()
    environment: Annotated[EnvironmentSettings, about("The variables that hooks inherit.")] = EnvironmentSettings()
    http: Annotated[HttpSettings, about("Hooks of the type http.")] = HttpSettings()
    log: Annotated[LogSettings, about("The log file.")] = LogSettings()
    managed_only: Annotated[
        bool, about("true lets only the hooks of the company's policy run. Only in a signed policy.")
    ] = False
    fleet: Annotated[FleetSettings | None, about("The company's server.")] = None
    policy: Annotated[PolicySettings | None, about("The company's signed policy. Only in the system's settings.")] = (
        None
    )

    @property
    def rotated_files(self) -> int:
        """How many rotated files of the log are kept: more of them where they may have to wait for the server."""
        waiting = self.fleet.spool_bytes // self.log.max_bytes if self.fleet and self.fleet.sends_records else 0
        return max(self.log.backups, waiting)


class PackSettings(msgspec.Struct, kw_only=True, rename="camel"):
    """A pack of guards that comes with hookline, with what is changed about it."""

    pack: Annotated[str, Meta(examples=list(PACK_NAMES), description="Which pack; `hookline list --packs` lists them.")]
    allow: Annotated[list[str], about("Ids of rules that do not count, and patterns of what is let through.")] = []
    deny: Annotated[list[str], about("Ids of rules that always deny, and patterns of what is denied.")] = []
    ask: Annotated[list[str], about("Ids of rules that ask, and patterns of calls that the user is asked about.")] = []
    enabled: Annotated[bool, about("false keeps the pack configured without running it.")] = True
    mode: Annotated[HookMode, about("enforce (the default), or shadow, which only logs what it would decide.")] = (
        HookMode.ENFORCE
    )


class ToolsSettings(msgspec.Struct, kw_only=True, rename="camel"):
    """The older home of enableHooks."""

    enable_hooks: Annotated[bool | None, about("An older spelling of the top-level enableHooks.")] = None


class SettingsFile(msgspec.Struct, kw_only=True, rename="camel"):
    """A settings.json, as far as hooks are concerned; other keys belong to others."""

    enable_hooks: Annotated[bool | None, about("true switches the hook system on; it is off by default.")] = None
    hooks: Annotated[HooksByEvent | None, about("Groups of hooks for each event.")] = None
    use: Annotated[
        list[Annotated[str, Meta(examples=list(PACK_NAMES))] | PackSettings] | None,
        about("Packs of guards that come with hookline."),
    ] = None
    hooks_config: Annotated[HooksConfigSettings | None, about("Options of the hook system.")] = None
    extensions: Annotated[list[ExtensionSettings] | None, about("Extensions that bring hooks.")] = None
    tools: Annotated[ToolsSettings | None, about("The older home of enableHooks.")] = None
    dialect: DialectName = None


# Their keys are all ours. Other objects have keys of other programs: the file itself, tools, extensions.
_CLOSED = (
    *(HookSettings, HookGroupSettings, HooksConfigSettings, LogSettings, EnvironmentSettings, HttpSettings),
    *(WarmSettings, PackSettings),
)


def settings_schema() -> dict[str, Any]:
    """The JSON Schema of a settings file. An editor marks a key that nothing reads; the reader only warns of it."""
    schema = json_schema(SettingsFile, "hookline settings")
    for described in _CLOSED:
        schema["$defs"][described.__name__]["additionalProperties"] = False
    return schema
