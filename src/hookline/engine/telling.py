"""What hooks of other agents are told, in their words, and how their answers are read."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import msgspec

from hookline.child.env_file import new_env_file
from hookline.child.environment import own_environment
from hookline.child.job import ChildOutcome
from hookline.contract.answers import Answer, deny, read_object, read_stdout
from hookline.contract.denials import is_garbled, misspelt_denial, repeated_field
from hookline.contract.hooks import HookEntry
from hookline.contract.vocabulary import OWN_DIALECT
from hookline.contract.wire import stringify_json
from hookline.dialects.known import dialect_of
from hookline.dialects.table import Dialect, Event, Printed, UntranslatableError
from hookline.engine.transcripts import COPIES


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """One hook and what it is told."""

    hook: HookEntry
    told: Mapping[str, Any]
    """The event in our words."""
    stdin: bytes
    env: Mapping[str, str]
    telling: "Telling | None" = None
    """How it was put into the words of another agent; None for a hook of ours."""
    fault: str | None = None
    """Why it can't be run."""
    is_our_fault: bool = False


class Telling(msgspec.Struct, frozen=True, kw_only=True):
    """An event in the words of another agent; made once for all its hooks."""

    dialect: Dialect
    event: Event
    stdin: bytes
    env: Mapping[str, str]
    """The whole environment of its hooks."""

    def why_not(self, hook: HookEntry) -> str | None:
        """Why the hook's own agent would not run it for this event, or None."""
        if not self.dialect.wants(self.event):
            return f"{self.dialect.agent} has another event than {self.event.theirs} for this"
        if hook.condition is not None and not self.dialect.meets(self.event, hook.condition):
            return f"its rule {hook.condition!r} does not match"
        return None


def ask_each(
    hooks: Iterable[HookEntry], told: Mapping[str, Any], stdin: bytes, inherited: Mapping[str, str]
) -> list[Asked]:
    """What each hook is told, in its own words; without those that their agent would not run for this event."""
    made: dict[tuple[str, str | None], Telling] = {}
    asked: list[Asked] = []
    for hook in hooks:
        if hook.dialect == OWN_DIALECT:
            env = own_environment(hook, inherited)
            asked.append(Asked(hook=hook, told=told, stdin=stdin, env=env, fault=hook.refusal))
            continue
        key = hook.dialect, hook.their_event
        try:
            telling = made.get(key) or made.setdefault(key, _tell(hook, told, inherited))
            if telling.why_not(hook) is not None:
                continue
        except Exception as error:  # noqa: BLE001 - a fault in one table must not keep other guards from running
            fault = f"hookline failed to put the event into its words ({error!r})"
            asked.append(Asked(hook=hook, told=told, stdin=stdin, env=inherited, fault=fault, is_our_fault=True))
            continue
        env = {**own_environment(hook, telling.env), **_env_file(hook, telling)}
        asked.append(Asked(hook=hook, told=told, stdin=telling.stdin, env=env, telling=telling, fault=hook.refusal))
    return asked


def why_not_asked(hook: HookEntry, told: Mapping[str, Any]) -> str:
    """Why a hook was not run for an event, although its matcher matches."""
    if hook.dialect != OWN_DIALECT:
        with suppress(Exception):
            dialect = dialect_of(hook.dialect)
            event = dialect.event(hook.event, hook.their_event, told)
            return (
                Telling(dialect=dialect, event=event, stdin=b"", env={}).why_not(hook)
                or f"its rule {hook.condition!r} did not match then"
            )
    return "it was not asked"


def _env_file(hook: HookEntry, telling: Telling) -> dict[str, str]:
    variable = telling.dialect.env_file.get(telling.event.theirs)
    if variable is None:
        return {}
    session = str(telling.event.fields.get("session_id") or "")
    path = new_env_file(session, f"{hook.origin} {hook.location}")
    return {} if path is None else {variable: path}


def _tell(hook: HookEntry, told: Mapping[str, Any], inherited: Mapping[str, str]) -> Telling:
    dialect = dialect_of(hook.dialect)
    if dialect.transcript is not None:
        copy = COPIES.copy_of(str(told.get("transcript_path") or ""), dialect.name, dialect.transcript)
        told = {**told, "transcript_path": copy}
    event = dialect.event(hook.event, hook.their_event, told)
    stdin = stringify_json(dialect.tell(event)) + dialect.input_end
    return Telling(dialect=dialect, event=event, stdin=stdin, env={**inherited, **dialect.environment(event)})


class Heard(msgspec.Struct, frozen=True, kw_only=True):
    """What a hook of another agent answered, in our words."""

    answer: Answer | None = None
    complaints: tuple[str, ...] = ()
    failed: bool = False
    """True when its own agent counts this as a failure."""
    fault: str | None = None
    """What went wrong on our side."""


def hear(telling: Telling, outcome: ChildOutcome, reads: frozenset[str], *, rank: int) -> Heard:
    """Reads what a hook printed by the rules of its own agent."""
    try:
        reading = telling.dialect.read(telling.event, _printed(outcome))
    except UntranslatableError as error:
        # What the hook wanted to run can't be said in our words, and what it did not want must not run instead.
        return Heard(answer=deny(f"The tool was not run: {error}", rank=rank))
    except Exception as error:  # noqa: BLE001 - a fault in one table must not lose what the other hooks answered
        return Heard(fault=f"answered, and hookline failed to read it ({error!r})", failed=True)
    if reading.answer is None:
        return Heard(complaints=reading.complaints, failed=reading.failed)
    answer = read_object(reading.answer, reads, rank=rank)
    complaints = (*reading.complaints, *answer.complaints)
    return Heard(answer=msgspec.structs.replace(answer, complaints=complaints), failed=reading.failed)


def doubt_about(stdout: str) -> str | None:
    """Why it is unclear what a hook of another agent decided, or None."""
    answer = read_stdout(stdout)
    if answer is None or answer.given is None or not answer.is_explicit:
        return "it is not in UTF-8" if is_garbled(stdout) else None
    return repeated_field(stdout) or misspelt_denial(answer.others)


def _printed(outcome: ChildOutcome) -> Printed:
    return Printed(
        # A hook that a signal ended has no code, and that is not a success.
        exit_code=-1 if outcome.exit_code is None else outcome.exit_code,
        stdout="" if outcome.stdout_truncated else outcome.stdout.decode("utf-8", "replace"),
        stderr=outcome.stderr.decode("utf-8", "replace"),
    )
