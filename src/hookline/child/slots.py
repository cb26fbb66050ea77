"""The limit on hooks that run at the same time, for the whole program."""

import asyncio
import os
import threading
from collections import deque
from collections.abc import Hashable


class Slots:
    """Knows who runs, over all loops and threads; who finds no free slot waits in line.

    A slot is taken first and looked at then, so that nothing has to be locked where there are enough.
    """

    def __init__(self) -> None:
        self.start_over()

    def start_over(self) -> None:
        """Forgets everybody: after a fork they are in the parent."""
        self._holders: set[Hashable] = set()
        # May be taken again by its own thread, when collecting garbage gives back the slot of a forgotten child.
        self._lock = threading.RLock()
        self._line: deque[asyncio.Future[None]] = deque()

    @property
    def taken(self) -> int:
        """How many children run now."""
        return len(self._holders)

    def try_take(self, who: Hashable, limit: int) -> bool:
        """Takes a slot if there is one below the limit and nobody has waited longer."""
        self._holders.add(who)
        if len(self._holders) <= limit and not self._line:
            return True
        self.give_back(who)
        return False

    async def take(self, who: Hashable, limit: int) -> None:
        """Takes a slot when there is one and everybody before has theirs."""
        loop = asyncio.get_running_loop()
        first = True
        while True:
            # Not under the lock: making it may collect garbage, and the slot that this gives back must be seen.
            turn: asyncio.Future[None] = loop.create_future()
            with self._lock:
                if not (first and self._line):
                    self._holders.add(who)
                    if len(self._holders) <= limit:
                        return
                    self._holders.discard(who)
                if first:
                    self._line.append(turn)
                else:
                    self._line.appendleft(turn)
            first = False
            try:
                if len(self._holders) < limit:
                    # One was given back meanwhile, or whoever was called to it is on a loop that has stopped since.
                    self._call_next()
                await turn
            except BaseException:
                self._leave_line(turn)
                raise

    def give_back(self, who: Hashable) -> None:
        """Frees a slot and calls the next in line; a second call frees nothing."""
        self._holders.discard(who)
        if self._line:
            self._call_next()

    def _leave_line(self, turn: asyncio.Future[None]) -> None:
        with self._lock:
            if turn in self._line:
                self._line.remove(turn)
                return
        self._call_next()

    def _call_next(self) -> None:
        while True:
            with self._lock:
                if not self._line:
                    return
                turn = self._line.popleft()
            loop = turn.get_loop()
            try:
                loop.call_soon_threadsafe(_wake, turn)
            except RuntimeError:
                continue  # its loop was closed while it waited
            # One that has stopped looks for a slot when it runs again; meanwhile the slot is for the next.
            if loop.is_running():
                return


def _wake(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)


SLOTS = Slots()
os.register_at_fork(after_in_child=SLOTS.start_over)
