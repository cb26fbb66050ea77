"""The outcome of a hook's process, request or call → the result of its run."""

from collections.abc import Mapping
from typing import Any

import msgspec

from hookline.engine.event_table import EVENT_TABLE, can_block
from hookline.engine.notices.advice import advise
from hookline.engine.rewrites import as_changes
from hookline.protocol.answers import HookAnswer, deny, read_stdout, warning_from_stderr
from hookline.protocol.constants import OWN_DIALECT, HookType, OnError
from hookline.protocol.hook_entry import HookEntry
from hookline.protocol.text.exit_text import show_ending, show_ms
from hookline.protocol.text.strings import shortened
from hookline.protocol.verdict import HookExecutionResult
from hookline.runners.dialect import doubt_about, read_answer
from hookline.runners.invocation import HookInvocation
from hookline.runners.process.job import ChildOutcome

EXIT_CODE_SUCCESS = 0
EXIT_CODE_BLOCKING_ERROR = 2

# A final guard can't change the arguments that it judged.
_REWRITES = frozenset({"tool_input", "updatedInput", "replacesInput"})
# Answers that need no advice on any event.
_PLAIN_ANSWERS: tuple[Mapping[str, Any], ...] = ({}, {"decision": "allow"})


def to_result(invocation: HookInvocation, outcome: ChildOutcome) -> HookExecutionResult:
    """Return the result of one run: exit code 0 means read stdout, 2 means deny, any other that the hook failed.

    The output of a hook of another agent is read by the rules of that agent instead.
    """
    hook, dialect_input = invocation.hook, invocation.dialect_input
    stdout = outcome.stdout.decode("utf-8", "replace")
    stderr = outcome.stderr.decode("utf-8", "replace")
    error = outcome.error or (f"timed out after {show_ms(hook.timeout_ms)}" if outcome.timed_out else None)
    success = error is None and outcome.exit_code == EXIT_CODE_SUCCESS
    answer: HookAnswer | None = None
    advice: tuple[str, ...] = ()
    if error is not None:
        pass
    elif dialect_input is not None:
        given = read_answer(dialect_input, outcome, _reads(hook), rank=hook.rank)
        answer, advice, error, success = given.answer, given.complaints, given.fault, success and not given.failed
    elif outcome.exit_code == EXIT_CODE_BLOCKING_ERROR:
        answer = deny(stderr, rank=hook.rank)
    elif not success:
        answer = warning_from_stderr(stderr, rank=hook.rank)
    elif outcome.stdout_truncated:
        advice = (_cut(outcome),)
    elif stdout:
        answer = read_stdout(stdout, _reads(hook), rank=hook.rank)
    if answer is not None and answer.given not in _PLAIN_ANSWERS:
        advice = advise(hook, answer)
        if answer.replaces_input is True:
            answer = as_changes(answer, invocation.hook_input)
    result = HookExecutionResult(
        hook=hook,
        event=hook.event,
        success=success,
        # The specification reports 0 for a hook that a signal ended; `signal` beside it has the truth.
        exit_code=0 if outcome.signal is not None else outcome.exit_code,
        signal=outcome.signal,
        timed_out=outcome.timed_out,
        truncated=outcome.stdout_truncated or outcome.stderr_truncated,
        duration_ms=outcome.duration_ms,
        way=outcome.way,
        worker=outcome.worker,
        stdin=invocation.stdin,
        stdout=stdout,
        stderr=stderr,
        answer=answer,
        error=error,
        is_shortage=outcome.is_shortage,
        is_unasked=outcome.is_unasked,
        advice=advice,
    )
    if outcome.is_status_lost:
        return _unknown(result)
    return result if hook.on_error is OnError.ALLOW else _fail_closed(result, is_cut=outcome.stdout_truncated)


def left_running(invocation: HookInvocation) -> HookExecutionResult:
    """Return the result of a hook that runs in the background, as far as it is known now."""
    hook, stdin = invocation.hook, invocation.stdin
    return HookExecutionResult(hook=hook, event=hook.event, success=True, exit_code=None, stdin=stdin, is_running=True)


def _reads(hook: HookEntry) -> frozenset[str]:
    reads = EVENT_TABLE[hook.event].reads
    return reads - _REWRITES if hook.final else reads


def _is_text(body: str) -> bool:
    return bool(body.strip()) and not body.lstrip().startswith("{")


def _cut(outcome: ChildOutcome) -> str:
    cut = f"stdout was cut after {len(outcome.stdout)} bytes, so nothing was read from it"
    return f"{cut}; print less, or raise hooksConfig.outputLimit"


def _unknown(result: HookExecutionResult) -> HookExecutionResult:
    """Return the result of a hook whose exit status was lost as a deny, because it may have been one."""
    if not can_block(result.hook):
        return result
    refusal = deny(f"{result.hook.label} {result.error}; blocked, because it may have denied", rank=result.hook.rank)
    return msgspec.structs.replace(result, answer=refusal)


def _fail_closed(result: HookExecutionResult, *, is_cut: bool) -> HookExecutionResult:
    """The result as a deny, if the hook does not clearly say yes: its failure has to block."""
    if not can_block(result.hook) or result.blocks:
        return result
    doubt = None if result.answer is None else result.answer.doubt
    if result.hook.dialect != OWN_DIALECT and result.stdout and doubt is None:
        doubt = doubt_about(result.stdout)
    if not result.success:
        why = show_ending(result)
    elif is_cut:
        why = "printed more than is read"
    elif doubt is not None:
        why = f"can't be understood ({doubt})"
    elif result.hook.type is HookType.HTTP and _is_text(result.stdout):
        # A login page or a proxy's message also has the status 200; a guard answers with an object, or with nothing.
        why = f"answered with a text that is not a JSON object ({shortened(result.stdout.strip())!r})"
    else:
        return result
    refusal = deny(f"{result.hook.label} {why}, and {result.hook.fail_closed_reason}", rank=result.hook.rank)
    if result.answer is not None:
        # Keep the rest of the answer, such as a stop or a note.
        given = {**result.answer.to_dict(), **refusal.to_dict()}
        refusal = msgspec.structs.replace(
            result.answer, decision=refusal.decision, reason=refusal.reason, is_explicit=True, given=given
        )
    return msgspec.structs.replace(result, answer=refusal)
