"""A standby that belongs to one run."""

import asyncio
import os
from typing import Protocol

from hookline.runners.process.job import Stdio
from hookline.runners.warm.launch_spec import signature
from hookline.runners.warm.slot import ScriptSlot
from hookline.runners.warm.standby import Standby

# How long an event waits for a standby that is being made.
_STANDBY_S = 0.1
# As much as a pipe holds.
_LONGEST_REPORT = 1 << 16
# A run that ends without its report is followed by another one that is to report.
_MOST_REPORTS = 3


class ReportPipe:
    """A pipe for the modules that one run has used.

    The run opens it by its path, so that it has no descriptor more than others.
    """

    def __init__(self) -> None:
        """Raise OSError if there are no descriptors."""
        self._fd, write_end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        os.close(write_end)

    def path(self) -> bytes:
        """Return the identity of the pipe and its path, for the run."""
        pipe = os.fstat(self._fd)
        return f"{pipe.st_dev}:{pipe.st_ino} /proc/{os.getpid()}/fd/{self._fd}".encode()

    def read(self) -> list[bytes]:
        """Return the report, or nothing if the run has written none. The pipe is closed."""
        try:
            found = os.read(self._fd, _LONGEST_REPORT)
        except BlockingIOError:
            return []
        finally:
            os.close(self._fd)
        entries = found.split(b"\0")
        if len(found) == _LONGEST_REPORT:
            entries.pop()  # may be cut
        return [each for each in entries if each]


def _new_report(slot: ScriptSlot) -> ReportPipe | None:
    """Return the report of the next run; None if it need not report."""
    now = signature(slot.script)
    if now != slot.reporting:
        slot.reporting, slot.reports_left = now, _MOST_REPORTS
    if not slot.reports_left:
        return None
    slot.reports_left -= 1
    try:
        return ReportPipe()
    except OSError:
        return None


class LeaseOwner(Protocol):
    """Where the standby comes from."""

    def discard(self, standby: Standby) -> None:
        """End a standby that has no event."""

    def finished(self, slot: ScriptSlot, report: ReportPipe | None, standby: Standby) -> None:
        """Called when the run is over, or was given up: read its report, and make a new standby."""

    def drop(self, slot: ScriptSlot) -> None:
        """End everything that is parked for a place: it did not take its event."""


class Lease:
    """A standby that belongs to one run."""

    def __init__(
        self, owner: LeaseOwner, slot: ScriptSlot, standby: Standby, message: tuple[bytes, bytes, tuple[bytes, ...]]
    ) -> None:
        self.standby = standby
        self._owner = owner
        self._slot = slot
        self._cwd, self._marks, self._changes = message
        self._report: ReportPipe | None = None
        self._is_over = False
        self.is_sent = False
        """True once the standby has got the event."""

    async def ready(self, most_s: float) -> bool:
        """Wait until the standby is ready; False if it does not come in time, and then this claim is given up."""
        try:
            if self.standby.look():
                return True
            loop = asyncio.get_running_loop()
            seen: asyncio.Future[None] = loop.create_future()
            loop.add_reader(self.standby.fileno(), _set, seen)
            try:
                await asyncio.wait_for(seen, min(_STANDBY_S, most_s))
            finally:
                loop.remove_reader(self.standby.fileno())
            if self.standby.look():
                return True
        except (OSError, TimeoutError, NotImplementedError):
            pass
        except BaseException:
            self.release()
            raise
        self.release()
        return False

    def launch(self, stdio: Stdio, mark: bytes) -> int:
        """Give the standby its event; return its process id, or 0 if it did not get it."""
        if self._is_over:
            return 0
        self._report = _new_report(self._slot)
        pipe = b"" if self._report is None else self._report.path()
        fields = (self._cwd, pipe, self._marks + mark, *self._changes)
        if self.standby.send(b"\0".join(fields), stdio):
            self.is_sent = True
            return self.standby.pid
        self.release()
        return 0

    def has_taken(self) -> bool:
        """Whether the script was about to run; known after the exit."""
        return self.standby.has_taken()

    def finish(self) -> None:
        """Let go of the standby when the run is over, and have another one made; a second call does nothing."""
        if not self.is_sent:
            self.release()
            return
        if self._is_over:
            return
        self._is_over = True
        if not self.standby.has_taken():
            self._owner.drop(self._slot)
        self.standby.close()
        self._owner.finished(self._slot, self._report, self.standby)

    def release(self) -> None:
        """Give up a standby that has no event; a second call does nothing."""
        if self._is_over:
            return
        self._is_over = True
        self._owner.discard(self.standby)
        self._owner.finished(self._slot, self._report, self.standby)


def _set(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
