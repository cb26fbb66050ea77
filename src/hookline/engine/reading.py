"""What became of a hook's process, or of its request → the result of its run."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.child.job import ChildOutcome
from hookline.contract.answers import Answer, deny, read_stdout, warning_from_stderr
from hookline.contract.denials import shortened
from hookline.contract.endings import show_ending, show_ms
from hookline.contract.hooks import HookEntry
from hookline.contract.verdict import HookExecutionResult
from hookline.contract.vocabulary import OWN_DIALECT, HookType, OnError
from hookline.engine.advice import advise
from hookline.engine.changes import as_changes
from hookline.engine.event_table import EVENT_TABLE, can_block

if TYPE_CHECKING:
    from hookline.engine.telling import Asked, Telling

EXIT_CODE_SUCCESS = 0
EXIT_CODE_BLOCKING_ERROR = 2

# Asking an enumeration for one of its members takes measurable time in every run.
_ALLOW = OnError.ALLOW
# A final guard can't change the arguments that it judged.
_REWRITES = frozenset({"tool_input", "updatedInput", "replacesInput"})
# Answers that need no advice on any event.
_PLAIN_ANSWERS: tuple[Mapping[str, Any], ...] = ({}, {"decision": "allow"})


def read_run(
    hook: HookEntry, outcome: ChildOutcome, stdin: bytes, told: Mapping[str, Any], telling: "Telling | None" = None
) -> HookExecutionResult:
    """The result of one run: exit code 0 means read stdout, 2 means deny, anything else that the hook failed.

    A hook of another agent (`telling`) is read by the rules of that agent instead. `told` is the event in our words.
    """
    stdout = outcome.stdout.decode("utf-8", "replace")
    stderr = outcome.stderr.decode("utf-8", "replace")
    error = outcome.error or (f"timed out after {show_ms(hook.timeout_ms)}" if outcome.timed_out else None)
    success = error is None and outcome.exit_code == EXIT_CODE_SUCCESS
    answer: Answer | None = None
    advice: tuple[str, ...] = ()
    if error is not None:
        pass
    elif telling is not None:
        from hookline.engine.telling import hear  # noqa: PLC0415 - loaded by whoever made the telling

        heard = hear(telling, outcome, _reads(hook), rank=hook.rank)
        answer, advice, error, success = heard.answer, heard.complaints, heard.fault, success and not heard.failed
    elif outcome.exit_code == EXIT_CODE_BLOCKING_ERROR:
        answer = deny(stderr, rank=hook.rank)
    elif not success:
        answer = warning_from_stderr(stderr, rank=hook.rank)
    elif outcome.stdout_truncated:
        advice = (_cut(outcome),)
    elif stdout:
        reads = EVENT_TABLE[hook.event].reads
        answer = read_stdout(stdout, reads - _REWRITES if hook.final else reads, rank=hook.rank)
    if answer is not None and answer.given not in _PLAIN_ANSWERS:
        advice = advise(hook, answer)
        if answer.replaces_input is True:
            answer = as_changes(answer, told)
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
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        answer=answer,
        error=error,
        is_shortage=outcome.is_shortage,
        advice=advice,
    )
    if outcome.is_status_lost:
        return _unknown(result)
    return result if hook.on_error is _ALLOW else _closed(result, is_cut=outcome.stdout_truncated)


def not_runnable(asked: "Asked") -> HookExecutionResult:
    """The result of a hook that can't be run: its type has no way, or its settings are wrong."""
    hook = asked.hook
    why = asked.fault or f'hooks of type "{hook.type}" cannot be run; use "type": "command"'
    result = HookExecutionResult(
        hook=hook,
        event=hook.event,
        success=False,
        exit_code=None,
        stdin=asked.stdin,
        error=f"could not be started: {why}",
        is_shortage=asked.is_our_fault,
    )
    return result if hook.on_error is _ALLOW else _closed(result, is_cut=False)


def left_running(asked: "Asked") -> HookExecutionResult:
    """The result of a hook that runs beside the agent, as far as it is known now."""
    hook = asked.hook
    return HookExecutionResult(
        hook=hook, event=hook.event, success=True, exit_code=None, stdin=asked.stdin, is_running=True
    )


def in_this_context(on_end: Callable[[HookEntry], None]) -> Callable[[HookEntry], None]:
    """The same call with the context variables of now: a hook may end in a callback that another event registered."""
    context = copy_context()
    return lambda hook: context.run(on_end, hook)


def notify(on_end: Callable[[HookEntry], None], hooks: Sequence[HookEntry], index: int) -> None:
    """Tells an observer that one of these hooks has ended."""
    with suppress(Exception):  # an observer must not keep the guards from their work
        on_end(hooks[index])


def _reads(hook: HookEntry) -> frozenset[str]:
    reads = EVENT_TABLE[hook.event].reads
    return reads - _REWRITES if hook.final else reads


def _is_text(body: str) -> bool:
    return bool(body.strip()) and not body.lstrip().startswith("{")


def _cut(outcome: ChildOutcome) -> str:
    cut = f"stdout was cut after {len(outcome.stdout)} bytes, so nothing was read from it"
    return f"{cut}; print less, or raise hooksConfig.outputLimit"


def _unknown(result: HookExecutionResult) -> HookExecutionResult:
    """The result of a hook that has run, and of which nobody knows how it ended, as a deny: it may have been one."""
    if not can_block(result.hook):
        return result
    refusal = deny(f"{result.hook.label} {result.error}; blocked, because it may have denied", rank=result.hook.rank)
    return msgspec.structs.replace(result, answer=refusal)


def _closed(result: HookExecutionResult, *, is_cut: bool) -> HookExecutionResult:
    """The result as a deny, if the hook does not clearly say yes: its failure has to block."""
    if not can_block(result.hook) or result.blocks:
        return result
    doubt = None if result.answer is None else result.answer.doubt
    if result.hook.dialect != OWN_DIALECT and result.stdout and doubt is None:
        from hookline.engine.telling import doubt_about  # noqa: PLC0415 - loaded by whoever made the telling

        doubt = doubt_about(result.stdout)
    if not result.success:
        why = show_ending(result)
    elif is_cut:
        why = "printed more than is read"
    elif doubt is not None:
        why = f"can't be understood ({doubt})"
    elif result.hook.type is HookType.HTTP and _is_text(result.stdout):
        # A login page or a proxy's message has the status 200, too; a guard answers with an object, or with nothing.
        why = f"answered with a text that is no object of JSON ({shortened(result.stdout.strip())!r})"
    else:
        return result
    refusal = deny(f"{result.hook.label} {why}, and {result.hook.why_strict}", rank=result.hook.rank)
    if result.answer is not None:
        # Whatever else was understood stays: a stop, a note.
        given = {**result.answer.to_dict(), **refusal.to_dict()}
        refusal = msgspec.structs.replace(
            result.answer, decision=refusal.decision, reason=refusal.reason, is_explicit=True, given=given
        )
    return msgspec.structs.replace(result, answer=refusal)
