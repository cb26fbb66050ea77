from dataclasses import replace
from typing import Any

import msgspec
import pytest

from hookline.child.job import ChildOutcome
from hookline.contract.events import HookEventName
from hookline.contract.hooks import ConfigSource, HookEntry, OnError
from hookline.contract.outputs import DefaultHookOutput
from hookline.contract.results import HookExecutionResult
from hookline.engine.exit_codes import read_outcome, show_ending, show_ms, show_signal

HOOK = HookEntry(
    event=HookEventName.BEFORE_TOOL,
    source=ConfigSource.USER,
    origin="user.json",
    location="hooks.BeforeTool[0].hooks[0]",
    command="guard",
    timeout_ms=600,
)
STRICT = replace(HOOK, on_error=OnError.BLOCK)
DENY = b'{"decision":"deny","reason":"json"}'
CUT = "stdout was cut after 35 bytes, so nothing was read from it; print less, or raise hooksConfig.outputLimit"


def outcome(exit_code: int | None = 0, stdout: bytes = b"", stderr: bytes = b"", **fields: Any) -> ChildOutcome:
    ended: dict[str, Any] = {
        "signal": None,
        "timed_out": False,
        "stdout_truncated": False,
        "stderr_truncated": False,
        "duration_ms": 1.5,
        "error": None,
    }
    return ChildOutcome(exit_code=exit_code, stdout=stdout, stderr=stderr, **{**ended, **fields})


def answer(**fields: Any) -> DefaultHookOutput:
    return DefaultHookOutput(fields)


@pytest.mark.req(
    "HOOK-016a",
    "HOOK-063",
    "HOOK-064",
    "HOOK-065",
    "HOOK-066",
    "HOOK-067a",
    "HOOK-067b",
    "HOOK-068",
    "HOOK-069",
    "HOOK-070",
    "HOOK-189",
    "HOOK-196",
    "HOOK-198",
    "HOOK-209",
    "HOOK-212",
    "HOOK-214",
)
@pytest.mark.parametrize(
    ("ended", "success", "exit_code", "output"),
    [
        pytest.param(outcome(0, DENY), True, 0, answer(decision="deny", reason="json"), id="0-json"),
        pytest.param(outcome(0, b"hi\n", b"noise"), True, 0, answer(decision="allow", systemMessage="hi"), id="0-text"),
        pytest.param(outcome(0, b" \n", DENY), True, 0, None, id="0-silent"),
        pytest.param(outcome(0, b'{"reason":"\xff"}'), True, 0, answer(reason="\ufffd"), id="0-undecodable"),
        pytest.param(
            outcome(2, b'{"decision":"allow"}', b" no\n"), False, 2, answer(decision="deny", reason="no"), id="2-stderr"
        ),
        pytest.param(outcome(2, DENY), False, 2, answer(decision="deny", reason="Blocked by hook"), id="2-silent"),
        pytest.param(
            outcome(1, DENY, b"boom"), False, 1, answer(decision="allow", systemMessage="Warning: boom"), id="1-stderr"
        ),
        pytest.param(outcome(1, DENY), False, 1, None, id="1-json-means-nothing"),
        pytest.param(
            outcome(127, b"", DENY),
            False,
            127,
            answer(decision="allow", systemMessage=f"Warning: {DENY.decode()}"),
            id="127-stderr-is-never-read",
        ),
        pytest.param(outcome(None, DENY, signal=9), False, 0, None, id="signal-silent"),
        pytest.param(
            outcome(None, b"", b"dying", signal=15),
            False,
            0,
            answer(decision="allow", systemMessage="Warning: dying"),
            id="signal-stderr",
        ),
    ],
)
def test_what_an_exit_code_means(
    ended: ChildOutcome, success: bool, exit_code: int, output: DefaultHookOutput | None
) -> None:
    """0 reads stdout, 2 denies for what stderr says, anything else is a failure that only warns."""
    assert read_outcome(HOOK, ended, b"{}", can_block=True) == HookExecutionResult(
        hook=HOOK,
        event=HOOK.event,
        success=success,
        exit_code=exit_code,
        signal=ended.signal,
        duration_ms=1.5,
        stdin=b"{}",
        stdout=ended.stdout.decode("utf-8", "replace"),
        stderr=ended.stderr.decode(),
        output=output,
    )


@pytest.mark.req("HOOK-119", "HOOK-110")
@pytest.mark.parametrize(
    ("ended", "exit_code", "error"),
    [
        pytest.param(outcome(None, DENY, b"x", signal=15, timed_out=True), 0, "timed out after 600ms", id="timeout"),
        pytest.param(outcome(2, DENY, b"x", timed_out=True), 2, "timed out after 600ms", id="timeout-that-exits-2"),
        pytest.param(outcome(None, error="could not be started: x"), None, "could not be started: x", id="no-start"),
        pytest.param(outcome(0, DENY, error="status was lost"), 0, "status was lost", id="lost"),
    ],
)
def test_a_hook_that_could_not_do_its_work_says_nothing(ended: ChildOutcome, exit_code: int | None, error: str) -> None:
    """A timeout and a failed start are errors without an answer, whatever was printed."""
    result = read_outcome(HOOK, ended, b"", can_block=True)
    assert (result.success, result.output, result.exit_code, result.error) == (False, None, exit_code, error)
    assert result.timed_out is ended.timed_out


@pytest.mark.req("HOOK-212")
@pytest.mark.parametrize(
    ("ended", "output", "complaints"),
    [
        pytest.param(
            outcome(0, DENY, stdout_truncated=True),
            None,
            (CUT,),
            id="stdout",
        ),
        pytest.param(outcome(0, DENY, stderr_truncated=True), answer(decision="deny", reason="json"), (), id="stderr"),
        pytest.param(
            outcome(2, b"x", b"no", stdout_truncated=True), answer(decision="deny", reason="no"), (), id="exit-2"
        ),
    ],
)
def test_what_was_cut_is_not_read(
    ended: ChildOutcome, output: DefaultHookOutput | None, complaints: tuple[str, ...]
) -> None:
    """Cut stdout is never taken for a whole answer, and its author is told; a block by exit code stands."""
    result = read_outcome(HOOK, ended, b"", can_block=True)
    assert (result.output, result.complaints, result.truncated) == (output, complaints, True)


@pytest.mark.parametrize(
    ("ended", "reason"),
    [
        pytest.param(outcome(1, b"", b"boom"), "guard exited with code 1, and its onError is block", id="crash"),
        pytest.param(
            outcome(None, timed_out=True, signal=15),
            "guard timed out after 600ms, and its onError is block",
            id="timeout",
        ),
        pytest.param(outcome(None, signal=9), "guard was killed by SIGKILL, and its onError is block", id="signal"),
        pytest.param(
            outcome(0, b'{"decision": "deny', stdout_truncated=True),
            "guard printed more than is read, and its onError is block",
            id="cut",
        ),
        pytest.param(outcome(2, b"", b"own words"), "own words", id="its-own-deny"),
    ],
)
def test_a_strict_hook_blocks_when_it_fails(ended: ChildOutcome, reason: str) -> None:
    """With `onError: block` a failure blocks, where an event can block, and says why."""
    assert read_outcome(STRICT, ended, b"", can_block=True).output == answer(decision="deny", reason=reason)
    assert read_outcome(STRICT, ended, b"", can_block=False) == msgspec.structs.replace(
        read_outcome(HOOK, ended, b"", can_block=True), hook=STRICT
    )


def test_a_strict_hook_that_does_well_blocks_nothing() -> None:
    """`onError` is about failures only."""
    assert read_outcome(STRICT, outcome(0), b"", can_block=True).output is None


@pytest.mark.parametrize(
    ("ms", "shown"), [(600, "600ms"), (0.5, "0.5ms"), (60000.0, "60000ms"), (1e30, f"{1e30:.0f}ms")]
)
def test_times_are_shown_as_configured(ms: float, shown: str) -> None:
    """Whole milliseconds have no fraction."""
    assert show_ms(ms) == shown


def test_endings_are_shown_in_words() -> None:
    """A signal goes by its name, an error by its sentence."""
    ended = read_outcome(HOOK, outcome(3), b"", can_block=True)
    assert show_ending(ended) == "exited with code 3"
    assert show_ending(msgspec.structs.replace(ended, signal=11)) == "was killed by SIGSEGV"
    assert show_ending(msgspec.structs.replace(ended, signal=11, error="timed out")) == "timed out"
    assert show_signal(250) == "signal 250"
