"""Translates the input and the output of hooks that were written for other agents."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import msgspec

from hookline.dialects.registry import dialect_of
from hookline.dialects.table import Printed, UntranslatableError
from hookline.protocol.answers import HookAnswer, deny, read_object, read_stdout
from hookline.protocol.constants import OWN_DIALECT
from hookline.protocol.hook_entry import HookEntry
from hookline.protocol.text.json_text import stringify_json
from hookline.protocol.text.near_misses import is_garbled, misspelt_denial, repeated_field
from hookline.runners.dialect_files import COPIES, new_env_file
from hookline.runners.invocation import DialectInput, HookInvocation
from hookline.runners.process.environment import own_environment
from hookline.runners.process.job import ChildOutcome


def prepare(
    hooks: Iterable[HookEntry], hook_input: Mapping[str, Any], stdin: bytes, inherited: Mapping[str, str]
) -> list[HookInvocation]:
    """Return each hook with its input, except for those that their own agent would not run for this event."""
    inputs: dict[tuple[str, str | None], DialectInput] = {}
    invocations: list[HookInvocation] = []
    for hook in hooks:
        if hook.dialect == OWN_DIALECT:
            env = own_environment(hook, inherited)
            invocations.append(
                HookInvocation(hook=hook, hook_input=hook_input, stdin=stdin, env=env, fault=hook.refusal)
            )
            continue
        key = hook.dialect, hook.foreign_event
        try:
            dialect_input = inputs.get(key) or inputs.setdefault(key, _dialect_input(hook, hook_input, inherited))
            if dialect_input.why_not(hook) is not None:
                continue
        except Exception as error:  # noqa: BLE001 - a fault in one table must not stop other guards
            fault = f"hookline failed to put the event into its words ({error!r})"
            invocations.append(
                HookInvocation(
                    hook=hook, hook_input=hook_input, stdin=stdin, env=inherited, fault=fault, is_own_fault=True
                )
            )
            continue
        env = {**own_environment(hook, dialect_input.env), **_env_file(hook, dialect_input)}
        invocations.append(
            HookInvocation(
                hook=hook,
                hook_input=hook_input,
                stdin=dialect_input.stdin,
                env=env,
                dialect_input=dialect_input,
                fault=hook.refusal,
            )
        )
    return invocations


def why_not_run(hook: HookEntry, hook_input: Mapping[str, Any]) -> str:
    """Why a hook was not run for an event, although its matcher matches."""
    if hook.dialect != OWN_DIALECT:
        with suppress(Exception):
            dialect = dialect_of(hook.dialect)
            event = dialect.event(hook.event, hook.foreign_event, hook_input)
            return (
                DialectInput(dialect=dialect, event=event, stdin=b"", env={}).why_not(hook)
                or f"its rule {hook.condition!r} did not match then"
            )
    return "it was not asked"


def _env_file(hook: HookEntry, dialect_input: DialectInput) -> dict[str, str]:
    variable = dialect_input.dialect.env_file.get(dialect_input.event.theirs)
    if variable is None:
        return {}
    session = str(dialect_input.event.fields.get("session_id") or "")
    path = new_env_file(session, f"{hook.origin} {hook.location}")
    return {} if path is None else {variable: path}


def _dialect_input(hook: HookEntry, hook_input: Mapping[str, Any], inherited: Mapping[str, str]) -> DialectInput:
    dialect = dialect_of(hook.dialect)
    if dialect.transcript is not None:
        copy = COPIES.copy_of(str(hook_input.get("transcript_path") or ""), dialect.name, dialect.transcript)
        hook_input = {**hook_input, "transcript_path": copy}
    event = dialect.event(hook.event, hook.foreign_event, hook_input)
    stdin = stringify_json(dialect.hook_input(event)) + dialect.input_end
    return DialectInput(dialect=dialect, event=event, stdin=stdin, env={**inherited, **dialect.environment(event)})


class DialectAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of a hook of another agent, translated."""

    answer: HookAnswer | None = None
    complaints: tuple[str, ...] = ()
    failed: bool = False
    """True when its own agent counts this as a failure."""
    fault: str | None = None
    """The fault of hookline, if it failed to read the answer."""


def read_answer(
    dialect_input: DialectInput, outcome: ChildOutcome, reads: frozenset[str], *, rank: int
) -> DialectAnswer:
    """Read a hook's output by the rules of the agent that it was written for."""
    try:
        reading = dialect_input.dialect.read(dialect_input.event, _printed(outcome))
    except UntranslatableError as error:
        # The rewritten call can't be translated, and the original call must not run instead.
        return DialectAnswer(answer=deny(f"The tool was not run: {error}", rank=rank))
    except Exception as error:  # noqa: BLE001 - a fault in one table must not lose what the other hooks answered
        return DialectAnswer(fault=f"answered, and hookline failed to read it ({error!r})", failed=True)
    if reading.answer is None:
        return DialectAnswer(complaints=reading.complaints, failed=reading.failed)
    answer = read_object(reading.answer, reads, rank=rank)
    complaints = (*reading.complaints, *answer.complaints)
    return DialectAnswer(answer=msgspec.structs.replace(answer, complaints=complaints), failed=reading.failed)


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
