"""What it meant: how a hook's process ended, and what it wrote → its result."""

import signal

from msgspec.structs import replace

from hookline.child.batch import ChildOutcome
from hookline.contract.hooks import HookEntry, OnError
from hookline.contract.outputs import (
    DecodedOutput,
    DefaultHookOutput,
    decode_stdout,
    deny_from_stderr,
    warning_from_stderr,
)
from hookline.contract.results import HookExecutionResult

EXIT_CODE_SUCCESS = 0
EXIT_CODE_BLOCKING_ERROR = 2


def read_outcome(hook: HookEntry, outcome: ChildOutcome, stdin: bytes, *, can_block: bool) -> HookExecutionResult:
    """The result of one run. Exit code 0 means read stdout, 2 means deny, and anything else that the hook failed."""
    stdout = outcome.stdout.decode("utf-8", "replace")
    stderr = outcome.stderr.decode("utf-8", "replace")
    decoded = _decode(outcome, stdout, stderr)
    error = _error(hook, outcome)
    result = HookExecutionResult(
        hook=hook,
        event=hook.event,
        success=error is None and outcome.exit_code == EXIT_CODE_SUCCESS,
        # The specification reports 0 for a hook that a signal ended; `signal` beside it tells the truth.
        exit_code=0 if outcome.signal is not None else outcome.exit_code,
        signal=outcome.signal,
        timed_out=outcome.timed_out,
        truncated=outcome.stdout_truncated or outcome.stderr_truncated,
        duration_ms=outcome.duration_ms,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        output=decoded.output,
        error=error,
        complaints=decoded.complaints,
    )
    return blocked_by_failure(result, is_cut=outcome.stdout_truncated) if can_block else result


def blocked_by_failure(result: HookExecutionResult, *, is_cut: bool = False) -> HookExecutionResult:
    """The result as a deny, if the hook failed, or said more than is read, and its onError is block."""
    if result.hook.on_error is not OnError.BLOCK or (result.success and not is_cut):
        return result
    if result.output is not None and result.output.is_blocking_decision():
        return result
    how = "printed more than is read" if result.success else show_ending(result)
    reason = f"{result.hook.label} {how}, and its onError is block"
    return replace(result, output=DefaultHookOutput({"decision": "deny", "reason": reason}))


def show_ms(milliseconds: float) -> str:
    """A duration as people configure it: `600ms`."""
    return f"{milliseconds:.0f}ms" if float(milliseconds).is_integer() else f"{milliseconds}ms"


def show_signal(number: int) -> str:
    """A signal by its name, or by its number where it has none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def show_ending(result: HookExecutionResult) -> str:
    """How a hook ended, as the end of a sentence that starts with its name."""
    if result.error is not None:
        return result.error
    if result.signal is not None:
        return f"was killed by {show_signal(result.signal)}"
    return f"exited with code {result.exit_code}"


def _decode(outcome: ChildOutcome, stdout: str, stderr: str) -> DecodedOutput:
    if outcome.timed_out or outcome.error is not None:
        return DecodedOutput(None)
    if outcome.exit_code == EXIT_CODE_BLOCKING_ERROR:
        return DecodedOutput(deny_from_stderr(stderr))
    if outcome.exit_code != EXIT_CODE_SUCCESS:
        return DecodedOutput(warning_from_stderr(stderr))
    if outcome.stdout_truncated:
        said = f"stdout was cut after {len(outcome.stdout)} bytes, so nothing was read from it"
        return DecodedOutput(None, (f"{said}; print less, or raise hooksConfig.outputLimit",))
    return decode_stdout(stdout)


def _error(hook: HookEntry, outcome: ChildOutcome) -> str | None:
    if outcome.timed_out:
        return f"timed out after {show_ms(hook.timeout_ms)}"
    return outcome.error
