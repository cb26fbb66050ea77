"""A spare that belongs to one run."""

import asyncio
from typing import Protocol

from hookline.child.job import Stdio
from hookline.child.parked.place import Place
from hookline.child.parked.reports import Report, new_report
from hookline.child.parked.spare import Spare

# How long an event waits for a spare that is being made.
_SPARE_S = 0.1


class Owner(Protocol):
    """Where the spare comes from."""

    def discard(self, spare: Spare) -> None:
        """End a spare that has no event."""

    def finished(self, place: Place, report: Report | None, spare: Spare) -> None:
        """Called when the run is over, or was given up: read its report, and make a new spare."""

    def drop(self, place: Place) -> None:
        """End everything that is parked for a place: it did not take its event."""


class Claim:
    """A spare that belongs to one run."""

    def __init__(
        self, owner: Owner, place: Place, spare: Spare, message: tuple[bytes, bytes, tuple[bytes, ...]]
    ) -> None:
        self.spare = spare
        self._owner = owner
        self._place = place
        self._cwd, self._marks, self._changes = message
        self._report: Report | None = None

    async def ready(self, most_s: float) -> bool:
        """Wait until the spare is ready; False if it does not come in time, and then this claim is given up."""
        try:
            if self.spare.look():
                return True
            loop = asyncio.get_running_loop()
            seen: asyncio.Future[None] = loop.create_future()
            loop.add_reader(self.spare.fileno(), _set, seen)
            try:
                await asyncio.wait_for(seen, min(_SPARE_S, most_s))
            finally:
                loop.remove_reader(self.spare.fileno())
            if self.spare.look():
                return True
        except (OSError, TimeoutError, NotImplementedError):
            pass
        except BaseException:
            self.release()
            raise
        self.release()
        return False

    def send(self, stdio: Stdio, mark: bytes) -> int:
        """Give the spare its event; return its process id, or 0 if it did not get it."""
        self._report = new_report(self._place)
        wish = b"" if self._report is None else self._report.wish()
        fields = (self._cwd, wish, self._marks + mark, *self._changes)
        if self.spare.send(b"\0".join(fields), stdio):
            return self.spare.pid
        self.release()
        return 0

    def has_taken(self) -> bool:
        """Whether the script was about to run; known after the exit."""
        return self.spare.has_taken()

    def finish(self) -> None:
        """Called when the run is over: lets go of the spare, and has another one made."""
        if not self.spare.has_taken():
            self._owner.drop(self._place)
        self.spare.close()
        self._owner.finished(self._place, self._report, self.spare)

    def release(self) -> None:
        """Give up a spare that has no event."""
        self._owner.discard(self.spare)
        self._owner.finished(self._place, self._report, self.spare)


def _set(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
