"""An event that a worker is asked about."""

import time
from collections.abc import Callable

import msgspec

from hookline.protocol.constants import RunWay
from hookline.runners.process.job import ChildOutcome

_LONGEST_TIMER_S = 86400.0


class WorkerEvent(msgspec.Struct, eq=False):
    """One event, from the moment it is asked about until there is an outcome."""

    event: str
    stdin: bytes
    timeout_ms: float
    reply: Callable[[ChildOutcome | None], None]
    """Called once, with None if it was not sent, so that it can be run in another way."""
    began: float = msgspec.field(default_factory=time.monotonic)
    is_over: bool = False
    is_returned: bool = False
    """True if it was not sent because the program has changed; else None means that the worker is given up for now."""

    @property
    def deadline(self) -> float:
        """On the clock of `time.monotonic`."""
        return self.began + min(self.timeout_ms / 1000, _LONGEST_TIMER_S)

    def end(self, outcome: ChildOutcome | None) -> None:
        """Gives the outcome; a second call does nothing."""
        if self.is_over:
            return
        self.is_over = True
        if outcome is not None:
            took_ms = (time.monotonic() - self.began) * 1000
            outcome = msgspec.structs.replace(outcome, duration_ms=took_ms, way=RunWay.WORKER)
        self.reply(outcome)

    def return_unsent(self) -> None:
        """Ends it unsent: it was meant for another program than the one that would be started now."""
        self.is_returned = True
        self.end(None)
