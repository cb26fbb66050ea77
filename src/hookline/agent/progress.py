"""The progress of the calls of one response; results are reported in the order of the calls."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from hookline.agent.tool import CallStatus, ToolCall, failure
from hookline.triggers.results import ToolResult


class Progress:
    """The current state of the calls; buffers a result until those of earlier calls are reported."""

    def __init__(self, calls: Sequence[ToolCall], on_change: Callable[[ToolCall], None]) -> None:
        self._calls = list(calls)
        self._on_change = on_change
        self._finished: set[int] = set()
        self._published = 0
        self.stop_reason: str | None = None
        """Why calls that have not started yet must not start, or None."""

    def change(self, index: int, call: ToolCall, status: CallStatus) -> None:
        """Reports a new status of a call that is not finished."""
        self._calls[index] = replace(call, status=status)
        self._on_change(self._calls[index])

    def finish(self, index: int, call: ToolCall, status: CallStatus, result: ToolResult) -> None:
        """Stores the result of a call, and reports it when all calls before it have been reported."""
        self._calls[index] = replace(call, status=status, result=result)
        self._finished.add(index)
        if result.should_stop and self.stop_reason is None:
            reason = f" ({result.stop_reason})" if result.stop_reason else ""
            self.stop_reason = f"It was not run, because a hook stopped the agent{reason}."
        while self._published in self._finished:
            # Counted first, so that nothing is reported twice if the listener raises.
            self._published += 1
            self._on_change(self._calls[self._published - 1])

    def cancel_rest(self, reason: str) -> None:
        """Marks every call without a result as cancelled."""
        for index, call in enumerate(self._calls):
            if index not in self._finished:
                self.finish(index, call, CallStatus.CANCELLED, failure(reason))

    def calls(self) -> list[ToolCall]:
        """The calls in their current state, in order."""
        return list(self._calls)
