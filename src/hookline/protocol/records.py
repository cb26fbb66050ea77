"""The records of the log, one type per kind. The log writes them and `hookline log` reads them."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from hookline.protocol.constants import OWN_DIALECT
from hookline.protocol.hook_entry import HookEntry
from hookline.protocol.text.json_text import utc_timestamp


class LogLevel(StrEnum):
    """How much a record matters."""

    DEBUG = "debug"
    INFO = "info"
    WARN = "warn"
    ERROR = "error"


class LogRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The fields that readers filter by and count. Each kind uses some of them; a field that is None is not written."""

    time: str = msgspec.field(default_factory=utc_timestamp)
    level: LogLevel
    message: str
    id: str | None = None
    """One run of one hook: the event's id and the hook's position."""
    fire: str | None = None
    """One event that was fired."""
    session: str | None = None
    project: str | None = None
    """The resolved directory of the project; None where there is none, and in records of older versions."""
    agent: str | None = None
    """The agent that asked, where hookline is another agent's hook command."""
    agent_event: str | None = None
    """That agent's own name of the event."""
    fired_by: str | None = None
    """The origin of the event: see FiredBy. None in records of older versions."""
    policy: int | None = None
    """The version of the company's policy that was in force."""
    event: str | None = None
    subject: str | None = None
    call: str | None = None
    """Of a tool call: its command, its file or its arguments, shortened and without secrets."""
    hook: str | None = None
    """The hook's name in messages."""
    origin: str | None = None
    duration: float | None = None
    """Milliseconds."""
    success: bool | None = None
    exit_code: int | None = None
    signal: int | None = None
    timed_out: bool | None = None
    decision: str | None = None
    mode: str | None = None
    """`shadow` for a hook whose decision does not count."""
    error: str | None = None
    reason: str | None = None
    blocked: bool | None = None
    count: int | None = None

    def records(self) -> "Sequence[LogRecord]":
        """This record alone."""
        return (self,)

    def to_dict(self) -> dict[str, Any]:
        """The record as its line in the log has it."""
        plain: dict[str, Any] = msgspec.to_builtins(self, enc_hook=str)
        return plain


class _HookPlace(LogRecord, frozen=True, kw_only=True):
    """Which hook a record is about."""

    type: str | None = None
    command: str | None = None
    source: str | None = None
    location: str | None = None
    dialect: str | None = None
    """The dialect of the hook's input and output, if it is not hookline's; `stdin` is the input as it was sent."""
    their_event: str | None = None
    """That agent's name of the event."""


class HookRecord(_HookPlace, tag_field="kind", tag="hook", frozen=True, kw_only=True):
    """One run of one hook."""

    truncated: bool
    digest: str | None = None
    """The fingerprint of the hook and its scripts, where the log goes to a company's record."""
    result: str | None = None
    """The answer in one word: see HookResult."""
    way: str | None = None
    """`cold`, `warm`, `worker`, `http`, `function` or `remote`: see RunWay."""
    worker: str | None = None
    """The worker that ran a remote hook, and the hooks there that decided."""
    unasked: bool | None = None
    """True if the hook never got the event; then its duration means nothing."""
    would: Sequence[str] | None = None
    """For a hook whose decision does not count: what it would have done, of `block`, `stop`, `ask` and `change`."""
    env: Mapping[str, str] = {}
    """The hook's own variables. The variables that every hook gets can be derived from `stdin`."""
    stdin: str
    stdout: str
    stderr: str


class StartRecord(LogRecord, tag_field="kind", tag="start", frozen=True, kw_only=True):
    """The hooks of one event are about to start. Kept before they run, because a hook can end this program."""

    hooks: Sequence[str]


class EventRecord(LogRecord, tag_field="kind", tag="event", frozen=True, kw_only=True):
    """The outcome of one event: one record for each event that was decided, by hooks or without them."""

    outcome: str | None = None
    """In a word: see EventOutcome."""
    decider: str | None = None
    """The part that decided, if the event was not allowed: see Decider."""
    untrusted: Sequence[str] = ()
    """The hooks that were meant for this event, and did not run because they are not trusted."""
    would: Sequence[str] = ()
    """The decisions of hooks in the mode shadow, of `block`, `stop`, `ask` and `change`."""
    hooks: int
    succeeded: int
    failed: int
    stop: bool
    stop_reason: str | None
    system_message: str | None
    suppress_output: bool
    denied: bool = False
    """True when a hook denied, whether or not this event can block."""
    go_on: bool = False
    ask: bool = False
    effect: Sequence[str] = ()
    """The rewritten fields, by their names on the wire."""
    by: Sequence[str] = ()
    """The hooks that blocked it, stopped the agent, or want the user to be asked."""
    provenance: Mapping[str, Sequence[str]] = {}
    """For each field of the merged answer, by its path, the hooks that gave its value."""
    model: str | None = None
    """The model that is asked, on events about a request."""


class UnmatchedRecord(LogRecord, tag_field="kind", tag="unmatched", frozen=True, kw_only=True):
    """`count` events that no hook ran for, so that a reader can tell "never ran" from "never fired"."""

    hooks: int


class SkipRecord(_HookPlace, tag_field="kind", tag="skip", frozen=True, kw_only=True):
    """A hook that did not run, or many (`hooks`) that did not match, and the reason."""

    hooks: Sequence[str] = ()


class AdviceRecord(_HookPlace, tag_field="kind", tag="advice", frozen=True, kw_only=True):
    """Advice for a hook's author about its answer."""


class OverrideRecord(LogRecord, tag_field="kind", tag="override", frozen=True, kw_only=True):
    """A hook undid the decision of an earlier one."""


class SettingsRecord(_HookPlace, tag_field="kind", tag="settings", frozen=True, kw_only=True):
    """A problem in the settings, or a change of them."""


class FaultRecord(LogRecord, tag_field="kind", tag="fault", frozen=True, kw_only=True):
    """hookline itself failed."""

    stage: str | None = None
    traceback: str | None = None
    lost: int | None = None
    """How many entries of the log are missing."""


class WorkerRecord(_HookPlace, tag_field="kind", tag="worker", frozen=True, kw_only=True):
    """A change of state of a hook's worker between events, or a line of its stderr."""

    stderr: str | None = None


class BridgeRecord(LogRecord, tag_field="kind", tag="bridge", frozen=True, kw_only=True):
    """A decision that could not be expressed in another agent's format, or was made without a hook."""


class CancelRecord(LogRecord, tag_field="kind", tag="cancel", frozen=True, kw_only=True):
    """The program that fired an event did not wait for its hooks, and they were ended."""

    hooks: Sequence[str]


class AnswerRecord(LogRecord, tag_field="kind", tag="answer", frozen=True, kw_only=True):
    """The answer to a question whether a tool may run.

    `fire` is the event whose hooks wanted the question, and `by` are these hooks; both are empty for a question of
    the agent's own.
    """

    answer: str | None = None
    """See UserAnswer; None if no user could be asked."""
    asked: str | None = None
    """The party that was asked, if any: `the user`, `on_ask` of the program, or the user of an MCP client."""
    by: Sequence[str] = ()


class Consent(StrEnum):
    """A decision of the user about a hook."""

    TRUSTED = "trusted"
    UNTRUSTED = "untrusted"
    ENABLED = "enabled"
    DISABLED = "disabled"
    IMPORTED = "imported"


class ConsentRecord(_HookPlace, tag_field="kind", tag="consent", frozen=True, kw_only=True):
    """Somebody decided whether a hook may run."""

    action: Consent
    digest: str | None = None
    """The fingerprint of the hook and its scripts at that time."""
    via: str
    """The command that was used, or `the program` when it did it itself."""
    uid: int
    user: str
    terminal: str | None = None


def about(event: str, subject: str | None) -> str:
    """The beginning of an event's message: `BeforeTool write_file`."""
    return f"{event} {subject}" if subject else event


def hook_place(hook: HookEntry) -> dict[str, Any]:
    """The fields of a record that say which hook it is about."""
    return {
        "hook": hook.label,
        "type": hook.type.value,
        "command": hook.command,
        "source": hook.source.value,
        "origin": hook.origin,
        "location": hook.location,
        **({} if hook.dialect == OWN_DIALECT else {"dialect": hook.dialect, "their_event": hook.foreign_event}),
    }
