"""How a hook ended, in words. Imports nothing heavy: `hookline log` reads it too."""

import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hookline.contract.verdict import HookExecutionResult


def show_ending(ended: "HookExecutionResult") -> str:
    """How a hook ended, as the end of a sentence that starts with its name."""
    if ended.error is not None:
        return ended.error
    if ended.signal is not None:
        return f"was killed by {show_signal(ended.signal)}"
    return f"exited with code {ended.exit_code}"


def show_signal(number: int) -> str:
    """A signal by its name, or by its number where it has none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def show_ms(milliseconds: float) -> str:
    """A duration as people configure it: `600ms`."""
    return f"{milliseconds:.0f}ms" if float(milliseconds).is_integer() else f"{milliseconds}ms"
