"""How far the calls of one response are; results are told in the order of the calls."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from hookline.agent.tool import CallStatus, ToolCall, failure
from hookline.triggers.results import ToolResult


class Progress:
    """The calls as they stand, and a buffer for results that earlier calls keep waiting."""

    def __init__(self, calls: Sequence[ToolCall], on_change: Callable[[ToolCall], None]) -> None:
        self._calls = list(calls)
        self._on_change = on_change
        self._finished: set[int] = set()
        self._published = 0
        self.stop_reason: str | None = None
        """Why calls that have not started must not start any more, or None."""

    def change(self, index: int, call: ToolCall, status: CallStatus) -> None:
        """Tells a new status of a call that goes on."""
        self._calls[index] = replace(call, status=status)
        self._on_change(self._calls[index])

    def finish(self, index: int, call: ToolCall, status: CallStatus, result: ToolResult) -> None:
        """Keeps the last status of a call, and tells it as soon as all calls before it are told."""
        self._calls[index] = replace(call, status=status, result=result)
        self._finished.add(index)
        if result.should_stop and self.stop_reason is None:
            reason = f" ({result.stop_reason})" if result.stop_reason else ""
            self.stop_reason = f"It was not run, because a hook stopped the agent{reason}."
        while self._published in self._finished:
            # Counted first, so that nothing is told twice if the listener raises.
            self._published += 1
            self._on_change(self._calls[self._published - 1])

    def cancel_rest(self, reason: str) -> None:
        """Ends every call that has no result yet."""
        for index, call in enumerate(self._calls):
            if index not in self._finished:
                self.finish(index, call, CallStatus.CANCELLED, failure(reason))

    def calls(self) -> list[ToolCall]:
        """The calls as they stand, in order."""
        return list(self._calls)
