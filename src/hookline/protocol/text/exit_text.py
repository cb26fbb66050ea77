"""How a hook ended, in words. Imports nothing heavy: `hookline log` reads it too."""

import re
import signal
from typing import TYPE_CHECKING

from hookline.protocol.text.patterns import lazy_pattern
from hookline.protocol.text.strings import shortened

if TYPE_CHECKING:
    from hookline.protocol.verdict import HookExecutionResult

FAILURES = "hookline log --failures"
"""The command that each notice of a failed hook names."""

# Not on every platform.
_SIGXCPU = getattr(signal, "SIGXCPU", None)
# Lines that Python and Node.js print when a program crashes; Python has no headline for a syntax error.
_CRASH = lazy_pattern(r'^(?:Traceback \(most recent call last\)|  File "[^"\n]*+", line \d|Node\.js v\d)', re.MULTILINE)
_ERROR = lazy_pattern(r"^\w*Error\b.*", re.MULTILINE)
_LONGEST_LINE = 120
_IN_PROCESS = ("callable", "plugin", "pack")
# Messages of programs that reach a limit.
_TRACES = {
    "memory": ("MemoryError", "annot allocate memory", "bad_alloc", "ut of memory", "memory exhausted"),
    "processes": ("Resource temporarily unavailable", "can't start new thread", "annot fork"),
    "files": ("Too many open files", "Error 24"),
    "network": ("Network is unreachable", "name resolution", "ENETUNREACH"),
}


def show_ending(ended: "HookExecutionResult") -> str:
    """How a hook ended, as the end of a sentence that starts with its name."""
    if ended.error is not None:
        return ended.error
    if ended.is_running:
        return "runs in the background, and its decisions have no effect"
    if ended.hook.type in _IN_PROCESS:
        return "answered"
    how = f"exited with code {ended.exit_code}"
    if ended.exit_code == 0 and not ended.success:
        how = "answered something that the agent it was written for does not accept"
    if ended.signal is not None:
        how = f"was killed by {show_signal(ended.signal)}"
    return how + _limit_reached(ended)


def _limit_reached(ended: "HookExecutionResult") -> str:
    """Return the limit that a failed hook has probably reached, by its signal and messages.

    No signal is specific to a lack of memory, so after SIGKILL and the like all limits are named.
    """
    given = {} if ended.hook.limits is None else ended.hook.limits.to_dict()
    limits = {**given.get("limits", {}), **({"network": "false"} if "network" in given else {})}
    if not limits:
        return ""
    if ended.signal is None:
        shown = [name for name, traces in _TRACES.items() if any(trace in ended.stderr for trace in traces)]
    else:
        shown = ["cpu"] if ended.signal == _SIGXCPU else [name for name in limits if name != "network"]
    reached = ", ".join(f"{name} {limits[name]}" for name in shown if name in limits)
    return f" (probably because of its limits: {reached})" if reached else ""


def failure_notice(run: "HookExecutionResult") -> str:
    """The message about a failed hook: what happened, where, and what to do."""
    hook = run.hook
    line = "" if hook.type in _IN_PROCESS else telling_line(run.stderr)
    doubt = None if run.answer is None else run.answer.doubt
    how = f"gave an answer that can't be understood: {doubt}" if doubt and not run.failed else show_ending(run)
    # Without onError, a hook blocks only if its ending is unknown.
    why = hook.fail_closed_reason if hook.on_error == "block" else "it may have denied"
    effect = f"and blocks because {why}" if run.blocks else "so it had no effect"
    text = f"The {run.event} hook {shortened(hook.label)} {how}{f' ({line})' if line else ''}, {effect}."
    place = hook.location if hook.type == "callable" else f"{hook.origin}: {hook.location}"
    return f"{text} It is in {place}; {FAILURES} tells more."


def has_traceback(stderr: str) -> bool:
    """Whether a program of Python or Node.js crashed."""
    return _CRASH.search(stderr) is not None


def telling_line(stderr: str) -> str:
    """The line that says most: of a crash the one that names the error, and else the first."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    if not lines:
        return ""
    if not has_traceback(stderr):
        return lines[0][:_LONGEST_LINE]
    # Python's error is the last line; the stack of Node.js comes after it.
    error = _ERROR.search(stderr) if lines[-1].startswith("Node.js v") else None
    return (lines[-1] if error is None else error[0].strip())[:_LONGEST_LINE]


def show_signal(number: int) -> str:
    """A signal by its name, or by its number where it has none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def show_ms(milliseconds: float) -> str:
    """A duration as people configure it: `600ms`."""
    return f"{milliseconds:.0f}ms" if float(milliseconds).is_integer() else f"{milliseconds}ms"
