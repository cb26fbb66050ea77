"""The failures of a worker's processes: when the next one is started, and when none is for a while."""

import time
from collections import deque

MOST_CRASHES = 3
CRASHES_WITHIN_S = 60.0
# Before the next start, after the first crash and after the second.
_PAUSES_S = (0.1, 1.0)


class CrashBackoff:
    """Remembers the latest crashes."""

    def __init__(self) -> None:
        self.times: deque[float] = deque(maxlen=MOST_CRASHES)
        """On the clock of `time.monotonic`."""
        self.last = ""
        """The failure, as in "its worker exited"."""

    def add(self, why: str) -> None:
        """Counts one."""
        self.times.append(time.monotonic())
        self.last = why

    def pause_s(self) -> float:
        """How long to wait before the next start; 0 or less for not at all."""
        now = time.monotonic()
        recent = [at for at in self.times if at > now - CRASHES_WITHIN_S]
        return recent[-1] + _PAUSES_S[min(len(recent), len(_PAUSES_S)) - 1] - now if recent else 0.0

    def why_given_up(self) -> str | None:
        """Why no process is started at the moment, or None."""
        if len(self.times) < MOST_CRASHES:
            return None
        left_s = self.times[0] + CRASHES_WITHIN_S - time.monotonic()
        if left_s <= 0:
            return None
        often = f"its worker failed {MOST_CRASHES} times within a minute, the last time because it {self.last}"
        return f"{often}; it is started again in {left_s:.0f} s"
