"""The text of the status line: the slowest hook, the running tool, or the model."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from hookline.apps.agent.events import AgentEvent, HookEnded, HooksFinished, HooksStarted, ToolCallChanged
from hookline.apps.agent.tool import CallStatus

PATIENCE_S = 0.3
"""Shorter activities are not shown."""


@dataclass(slots=True)
class _HookGroup:
    """Hooks of one event that run together."""

    event: str
    hooks: list[str]
    since: float
    messages: dict[str, str]


class Activity:
    """Tracks the agent's events."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.begin("thinking")

    def begin(self, default: str) -> None:
        """Reset; `default` is the text while neither hooks nor tools run."""
        self._runs: list[_HookGroup] = []
        self._tools: dict[str, tuple[str, float]] = {}
        self._since = self._clock()
        self._default = default

    def listen(self, event: AgentEvent) -> None:
        """Handle an event."""
        now = self._clock()
        match event:
            case HooksStarted() if event.is_awaited:
                self._runs.append(_HookGroup(event.event, list(event.hooks), now, event.messages))
            case HookEnded():
                running = (run.hooks for run in self._runs if run.event == event.event and event.hook in run.hooks)
                next(running, [event.hook]).remove(event.hook)
            case HooksFinished():
                # Of several groups, the one with the fewest running hooks.
                runs = [run for run in self._runs if run.event == event.event]
                if runs:
                    self._runs.remove(min(runs, key=lambda run: len(run.hooks)))
            case ToolCallChanged() if event.call.status is CallStatus.EXECUTING:
                self._tools[event.call.id] = (event.call.name, now)
            case ToolCallChanged():
                self._tools.pop(event.call.id, None)
            case _:
                pass
        if not self._runs and not self._tools:
            self._since = now

    def text(self) -> str | None:
        """Return the current activity, or None if it is short."""
        now = self._clock()
        run = next((run for run in self._runs if run.hooks), None)
        if run is not None:
            others = f" and {len(run.hooks) - 1} more" if len(run.hooks) > 1 else ""
            what = run.messages.get(run.hooks[0]) or f"waiting for hook {run.hooks[0]}"
            return _after(now - run.since, f"{what}{others} ({run.event})")
        if self._tools:
            name, since = next(iter(self._tools.values()))
            return _after(now - since, name)
        return _after(now - self._since, self._default)


def _after(seconds: float, text: str) -> str | None:
    if seconds < PATIENCE_S:
        return None
    return f"{text}, {seconds:.0f} s" if seconds >= 1 else f"{text}…"
