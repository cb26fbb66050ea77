"""One worker's process: written to and read line by line, until it ends or is ended with all that it started."""

import asyncio
import contextlib
import os
import select
import time
from collections import deque
from collections.abc import Callable
from typing import Protocol

from hookline.runners.process import command, orphans
from hookline.runners.process.command import refusal
from hookline.runners.process.job import ChildJob
from hookline.runners.process.reaper import REAPER
from hookline.runners.process.status import STATUSES
from hookline.runners.process.watcher import Watcher

_READ_BYTES = 1 << 16
# Then the loop gets its turn, however fast the worker writes.
_READS_IN_A_ROW = range(16)
# How long the exit of a worker is waited for that has closed its stdout.
_ENDING_S = 0.3
_STDERR_KEPT = 1 << 16
# The limit on consecutive empty lines.
_MOST_EMPTY_BYTES = 1 << 16
# Each takes all that the pipe holds, up to a megabyte; a process that was left behind may go on filling it.
_LAST_READS = range(4)
# Between SIGTERM and SIGKILL.
_GRACE_S = 1.0
# How long a worker has for its own end after EOF on its stdin.
_RETIRING_S = 2.0


class WorkerOwner(Protocol):
    """The callbacks of the process's owner."""

    def on_line(self, process: "WorkerProcess", line: bytes) -> None:
        """Called with each line that it writes."""

    def on_end(self, process: "WorkerProcess", why: str, *, is_clean: bool) -> None:
        """Called once if it ends by itself, or misbehaves; it is gone or being killed then."""


class WorkerProcess:
    """A process in its own session, on one event loop. Its owner has to `end` or `retire` it."""

    def __init__(self, job: ChildJob, owner: WorkerOwner, *, most_bytes: int) -> None:
        """Start it; raise an OSError or ValueError if that is not possible."""
        self._owner = owner
        self._job = job
        self._most_bytes = most_bytes
        self._loop = asyncio.get_running_loop()
        self._unwritten: deque[memoryview] = deque()
        self._line = bytearray()
        self._empty_bytes = 0
        self._stderr_kept = bytearray()
        self._stderr_read = 0
        self._timers: list[asyncio.TimerHandle] = []
        self._pidfd = -1
        self.is_over = False
        """True once nothing more is read from it."""
        self.is_status_lost = False
        """True if it has exited and the program around us has taken its status."""
        self._mark = next(orphans.MARKS)
        self._fds: dict[str, int] = {}
        self._watched: set[str] = set()
        self.pid = self._spawn()
        REAPER.running.add(self.pid)
        self._watcher: Watcher = Watcher(self._loop)
        try:
            self._watch("stdout", self._read_stdout)
            self._watch("stderr", self._read_stderr)
            self._pidfd = self._watcher.watch_exit(self.pid, self._on_exit)
        except (OSError, RuntimeError):
            self.end()
            raise

    def write(self, line: bytes) -> None:
        """Send a line; what the pipe does not take now is written when there is room."""
        self._unwritten.append(memoryview(line))
        if len(self._unwritten) == 1:
            self._write()

    @property
    def can_answer(self) -> bool:
        """False once it has closed its stdout."""
        return "stdout" in self._fds

    @property
    def unfinished(self) -> bytes:
        """The stdout since the last line break."""
        return bytes(self._line)

    def take_stderr(self) -> bytes:
        """Return the stderr since the last call; only the end of a long text."""
        # All stderr from before the answer is in the pipe by now.
        if not self.is_over:
            self._read_stderr()
        kept, self._stderr_kept, self._stderr_read = bytes(self._stderr_kept), bytearray(), 0
        return kept

    def resident_bytes(self) -> int:
        """How much memory it uses; 0 where that can't be known."""
        try:
            with open(f"/proc/{self.pid}/statm", "rb") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, IndexError, ValueError):
            return 0

    def retire(self) -> None:
        """Lets it end by itself, with EOF on its stdin; if it does not, it is ended."""
        if not self.is_over and "stdin" in self._fds:
            self._close("room")
            self._close("stdin")
            self._timers.append(self._loop.call_later(_RETIRING_S, self.end))

    def end(self) -> None:
        """Ends it with everything that it started: SIGTERM now, SIGKILL after a second. A second call does nothing."""
        if not self.is_over:
            self._signal_all()
            self._let_go(is_reaped=False)

    def forget(self) -> None:
        """Closes what a forked program has inherited; the process belongs to the parent."""
        for fd in self._fds.values():
            with contextlib.suppress(OSError):
                os.close(fd)

    def _spawn(self) -> int:
        child_ends: list[int] = []
        try:
            for name in ("stdin", "stdout", "stderr"):
                read_end, write_end = os.pipe()
                ours, theirs = (write_end, read_end) if name == "stdin" else (read_end, write_end)
                self._fds[name] = ours
                child_ends.append(theirs)
                os.set_blocking(ours, False)
            # As long as we could read it ourselves, a worker that has closed its stdin causes no SIGPIPE.
            self._fds["own stdin"] = os.dup(child_ends[0])
            return command.start(self._job, (child_ends[0], child_ends[1], child_ends[2]), self._mark)
        except BaseException:
            for fd in self._fds.values():
                os.close(fd)
            raise
        finally:
            for fd in child_ends:
                os.close(fd)

    def _write(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._unwritten:
                rest = self._unwritten[0]
                rest = rest[os.write(self._fds["stdin"], rest) :]
                if rest:
                    self._unwritten[0] = rest
                else:
                    self._unwritten.popleft()
        if not self._unwritten:
            self._close("room")
        elif "room" not in self._fds:
            # Watch a duplicate descriptor, so that waiting can end while stdin stays open.
            self._fds["room"] = os.dup(self._fds["stdin"])
            self._watch("room", self._write)

    def _read_stdout(self) -> None:
        for _ in _READS_IN_A_ROW:
            if "stdout" not in self._fds:
                return
            try:
                data = os.read(self._fds["stdout"], _READ_BYTES)
            except BlockingIOError:
                return
            if not data:
                self._close("stdout")
                # It is just ending, in most cases, and how it ended says more.
                self._timers.append(self._loop.call_later(_ENDING_S, self._fail, "closed its stdout"))
                self._take_last_line()
                return
            self._take(data)
            if len(data) < _READ_BYTES:
                return

    def _take(self, data: bytes) -> None:
        *lines, rest = data.split(b"\n")
        for line in lines:
            if self.is_over:
                return
            whole = bytes(self._line) + line if self._line else line
            self._line.clear()
            if len(whole) > self._most_bytes:
                self._fail(f"wrote a line of more than {self._most_bytes} bytes")
            elif whole.strip():
                self._empty_bytes = 0
                self._owner.on_line(self, whole)
            else:
                self._skip_empty(whole)
        self._line += rest
        if len(self._line) > self._most_bytes:
            self._fail(f"wrote a line of more than {self._most_bytes} bytes")

    def _take_last_line(self) -> None:
        """Takes an answer that is whole but for its line break."""
        if not self.is_over and self._line.rstrip().endswith(b"}"):
            self._take(b"\n")

    def _skip_empty(self, line: bytes) -> None:
        self._empty_bytes += len(line) + 1
        if self._empty_bytes > _MOST_EMPTY_BYTES:
            self._fail(f"wrote more than {_MOST_EMPTY_BYTES} bytes of empty lines")

    def _read_stderr(self) -> None:
        try:
            data = os.read(self._fds["stderr"], _READ_BYTES)
        except (BlockingIOError, KeyError):
            return
        if not data:
            self._close("stderr")
            return
        self._stderr_read += len(data)
        self._stderr_kept += data
        del self._stderr_kept[:-_STDERR_KEPT]
        if self._stderr_read > self._most_bytes:
            self._fail(f"wrote more than {self._most_bytes} bytes to its stderr")

    def _on_exit(self, status: int | None = None) -> None:
        self._pidfd = -1
        # Answers that it wrote before it ended are in the pipe.
        for _ in _LAST_READS:
            if not self.is_over and "stdout" in self._fds and self._has_more():
                self._read_stdout()
        self._take_last_line()
        self._read_stderr()
        if self.is_over:
            return
        # Before it is reaped: then its number, which is the group's, is free.
        self._signal_all()
        is_reaped = status is not None
        if status is None:
            try:
                reaped, found = os.waitpid(self.pid, os.WNOHANG)
                is_reaped, status = (True, found) if reaped else (False, None)
            except ChildProcessError:
                self.is_status_lost = STATUSES.was_lost = True
        code = None if status is None else os.waitstatus_to_exitcode(status)
        self._let_go(is_reaped=is_reaped)
        self._owner.on_end(self, _ending(code, bytes(self._stderr_kept)), is_clean=code == 0)

    def _has_more(self) -> bool:
        look = select.poll()
        look.register(self._fds["stdout"], select.POLLIN)
        return bool(look.poll(0))

    def _fail(self, why: str) -> None:
        if not self.is_over:
            self._stderr_read = -_READ_BYTES
            self._read_stderr()
            self.end()
            self._owner.on_end(self, why, is_clean=False)

    def _signal_all(self) -> None:
        self._deadline = time.monotonic() + _GRACE_S
        REAPER.terminate(self.pid, self._mark, deadline=self._deadline)

    def _let_go(self, *, is_reaped: bool) -> None:
        self.is_over = True
        for timer in self._timers:
            timer.cancel()
        if self._pidfd >= 0:
            pidfd, self._pidfd = self._pidfd, -1
            self._watcher.close(pidfd)
        for name in tuple(self._fds):
            self._close(name)
        del self._watcher  # a reference to this object must not keep the loop's epoll open
        REAPER.take_over(self.pid, deadline=self._deadline, unreaped=not is_reaped)
        REAPER.running.discard(self.pid)

    def _watch(self, name: str, callback: Callable[[], None]) -> None:
        self._watcher.watch(self._fds[name], callback, for_writing=name == "room")
        self._watched.add(name)

    def _close(self, name: str) -> None:
        """Closes one of our ends, if it is open."""
        if (fd := self._fds.pop(name, -1)) < 0:
            return
        if name in self._watched:
            self._watched.discard(name)
            self._watcher.close(fd)
        else:
            os.close(fd)


def _ending(code: int | None, stderr: bytes) -> str:
    if why := refusal(code, stderr):
        return why
    if code is None:
        return "ended, and its exit status was lost"
    return f"exited with code {code}" if code >= 0 else f"was ended by signal {-code}"
