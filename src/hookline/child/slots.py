"""The limit on hooks that run at the same time, for the whole program."""

import asyncio
import itertools
import os
import threading
from collections.abc import Hashable
from heapq import heapify, heappop, heappush
from typing import NamedTuple


class _Waiting(NamedTuple):
    ticket: int
    turn: asyncio.Future[None]
    """Is done when it is called."""
    limit: int


class Slots:
    """Knows who runs, over all loops and threads; who finds no free slot waits in line.

    A slot is taken first and looked at then, so that nothing has to be locked where there are enough.
    """

    def __init__(self) -> None:
        self._tickets = itertools.count()
        self.start_over()

    def start_over(self) -> None:
        """Forgets everybody: after a fork they are in the parent."""
        self._holders: set[Hashable] = set()
        # May be taken again by its own thread, when collecting garbage gives back the slot of a forgotten child.
        self._lock = threading.RLock()
        # A heap: who was called in vain comes back to its old place.
        self._line: list[_Waiting] = []

    @property
    def taken(self) -> int:
        """How many children run now."""
        return len(self._holders)

    def try_take(self, who: Hashable, limit: int) -> bool:
        """Takes a slot if there is one below the limit and nobody has waited longer."""
        if self._line:
            return False
        self._holders.add(who)
        if len(self._holders) <= limit:
            return True
        self.give_back(who)
        return False

    async def take(self, who: Hashable, limit: int) -> None:
        """Takes a slot when there is one and everybody before has theirs."""
        loop = asyncio.get_running_loop()
        ticket = next(self._tickets)
        while True:
            # Not under the lock: making it may collect garbage, and the slot that this gives back must be seen.
            waiting = _Waiting(ticket, loop.create_future(), limit)
            try:
                is_taken = self._take_or_queue(who, waiting)
                # There may be one more; or it was given back meanwhile, or who was called to it is on a loop that has
                # stopped since.
                self._call_next()
                if is_taken:
                    return
                await waiting.turn
            except BaseException:
                self._leave_line(waiting)
                self.give_back(who)
                raise

    def give_back(self, who: Hashable) -> None:
        """Frees a slot and calls the next in line; a second call frees nothing."""
        self._holders.discard(who)
        if self._line:
            self._call_next()

    def _take_or_queue(self, who: Hashable, waiting: _Waiting) -> bool:
        with self._lock:
            if not self._line or waiting < self._line[0]:
                self._holders.add(who)
                if len(self._holders) <= waiting.limit:
                    return True
                self._holders.discard(who)
            heappush(self._line, waiting)
            return False

    def _leave_line(self, waiting: _Waiting) -> None:
        with self._lock:
            if waiting in self._line:
                self._line.remove(waiting)
                heapify(self._line)

    def _call_next(self) -> None:
        """Calls the first in line, if there is a slot for it."""
        while True:
            first: _Waiting | None = None
            try:
                with self._lock:
                    if not self._line or len(self._holders) >= self._line[0].limit:
                        return
                    first = self._line[0]
                    heappop(self._line)
                loop = first.turn.get_loop()
                loop.call_soon_threadsafe(_wake, first.turn)
            except RuntimeError:
                continue  # its loop was closed while it waited
            except BaseException:
                # An interruption of ours must not cost it its place.
                with self._lock:
                    if first and first not in self._line:
                        heappush(self._line, first)
                raise
            # One that has stopped looks for a slot when it runs again; meanwhile the slot is for the next.
            if loop.is_running():
                return


def _wake(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)


SLOTS = Slots()
os.register_at_fork(after_in_child=SLOTS.start_over)
