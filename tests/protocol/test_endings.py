from signal import SIGKILL, SIGXCPU

import pytest
from msgspec.structs import replace

from hookline.protocol.constants import ConfigSource
from hookline.protocol.events import HookEventName
from hookline.protocol.hook_entry import HookEntry, ResourceLimits
from hookline.protocol.text.exit_text import show_ending, show_ms, show_signal
from hookline.protocol.verdict import HookExecutionResult

HOOK = HookEntry(event=HookEventName.BEFORE_TOOL, source=ConfigSource.USER, origin="user.json", location="hooks")


@pytest.mark.parametrize(
    ("ms", "shown"), [(600, "600ms"), (0.5, "0.5ms"), (60000.0, "60000ms"), (1e30, f"{1e30:.0f}ms")]
)
def test_times_are_shown_as_configured(ms: float, shown: str) -> None:
    """Whole milliseconds have no fraction."""
    assert show_ms(ms) == shown


@pytest.mark.parametrize(
    ("error", "signal", "shown"),
    [
        pytest.param(None, None, "exited with code 3", id="exit code"),
        pytest.param(None, 11, "was killed by SIGSEGV", id="signal"),
        pytest.param("timed out after 5ms", 9, "timed out after 5ms", id="error"),
    ],
)
def test_endings_are_shown_in_words(error: str | None, signal: int | None, shown: str) -> None:
    """A signal goes by its name, an error by its sentence."""
    result = HookExecutionResult(hook=HOOK, event=HOOK.event, success=False, exit_code=3, error=error, signal=signal)
    assert show_ending(result) == shown


LIMITED = replace(HOOK, limits=ResourceLimits(memory_bytes=1000, cpu_s=2, files=9, network=False))


@pytest.mark.parametrize(
    ("signal", "stderr", "shown"),
    [
        pytest.param(SIGXCPU, "", "was killed by SIGXCPU (probably because of its limits: cpu 2)", id="cpu"),
        pytest.param(
            SIGKILL,
            "",
            "was killed by SIGKILL (probably because of its limits: memory 1000, cpu 2, files 9)",
            id="kill",
        ),
        pytest.param(
            None, "…\nMemoryError\n", "exited with code 1 (probably because of its limits: memory 1000)", id="memory"
        ),
        pytest.param(
            None, "Too many open files", "exited with code 1 (probably because of its limits: files 9)", id="files"
        ),
        pytest.param(
            None,
            "Network is unreachable",
            "exited with code 1 (probably because of its limits: network false)",
            id="net",
        ),
        pytest.param(
            None, "Resource temporarily unavailable", "exited with code 1", id="a limit that it does not have"
        ),
        pytest.param(None, "no such option", "exited with code 1", id="something else"),
    ],
)
def test_the_ending_names_the_limit_that_was_probably_reached(signal: int | None, stderr: str, shown: str) -> None:
    """As far as a signal or the hook's messages show it."""
    result = HookExecutionResult(
        hook=LIMITED, event=HOOK.event, success=False, exit_code=1, signal=signal, stderr=stderr
    )
    assert show_ending(result) == shown


def test_a_signal_without_a_name_has_its_number() -> None:
    """Python does not know every signal."""
    assert show_signal(250) == "signal 250"
