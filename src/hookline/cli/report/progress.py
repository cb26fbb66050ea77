"""Says on stderr that something takes long, and how far it is."""

import time

from hookline.contract.text import tell

_QUIET_S = 2.0


class IndexProgress:
    """Reports how much of a large log is read; nothing if it does not take long."""

    def __init__(self) -> None:
        self._next: float | None = None

    def __call__(self, done: int, needed: int) -> None:
        """Called often, with bytes."""
        now = time.monotonic()
        if self._next is None:
            self._next = now + _QUIET_S
        if now >= self._next:
            self._next = now + _QUIET_S
            tell(f"making an index of the log, once: {100 * done // needed} % of {needed / 1e6:,.0f} MB")
