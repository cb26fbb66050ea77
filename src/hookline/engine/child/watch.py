"""Tells when descriptors are ready and children have ended, from within a running event loop."""

import asyncio
import contextlib
import os
import select
import threading
from collections.abc import Callable
from functools import partial
from typing import Protocol
from weakref import WeakMethod

from hookline.engine.child.facilities import facilities

# The status as waitpid gives it, or None where the child is still to be waited for.
Ended = Callable[[int | None], None]


class Watcher(Protocol):
    """Calls back on the loop's thread until it is closed."""

    def reads(self, fd: int, ready: Callable[[], None]) -> None:
        """Calls `ready` while there is something to read, or the end."""

    def writes(self, fd: int, ready: Callable[[], None]) -> None:
        """Calls `ready` while there is room to write, or the reader is gone."""

    def forget(self, fd: int) -> None:
        """Stops watching a descriptor; to be called before it is closed."""

    def ends(self, pid: int, ended: Ended) -> None:
        """Calls `ended` once, when the child has ended."""

    def close(self) -> None:
        """Stops watching everything."""


def open_watcher(loop: asyncio.AbstractEventLoop, *, is_for_many: bool) -> Watcher:
    """A watcher for this loop, made of what the system has."""
    if is_for_many and facilities().has_pidfd:
        with contextlib.suppress(OSError):  # no descriptor left for it
            return EpollWatcher(loop)
    return LoopWatcher(loop)


class LoopWatcher:
    """Uses the loop's own readers and writers, the cheapest way for one child."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._reading: set[int] = set()
        self._writing: set[int] = set()
        self._pidfds: set[int] = set()

    def reads(self, fd: int, ready: Callable[[], None]) -> None:  # noqa: D102 - see the protocol
        self._reading.add(fd)
        self._loop.add_reader(fd, ready)

    def writes(self, fd: int, ready: Callable[[], None]) -> None:  # noqa: D102 - see the protocol
        self._writing.add(fd)
        self._loop.add_writer(fd, ready)

    def forget(self, fd: int) -> None:  # noqa: D102 - see the protocol
        with contextlib.suppress(RuntimeError):  # the loop is closed
            if fd in self._reading:
                self._reading.discard(fd)
                self._loop.remove_reader(fd)
            if fd in self._writing:
                self._writing.discard(fd)
                self._loop.remove_writer(fd)

    def ends(self, pid: int, ended: Ended) -> None:  # noqa: D102 - see the protocol
        if not facilities().has_pidfd:
            _wait_in_thread(self._loop, pid, ended)
            return
        try:
            pidfd = os.pidfd_open(pid)
        except ProcessLookupError:  # gone and reaped already, by somebody else
            self._loop.call_soon(ended, None)
        except OSError:  # no descriptor left for it; a thread needs none
            _wait_in_thread(self._loop, pid, ended)
        else:
            self._pidfds.add(pidfd)
            self.reads(pidfd, partial(self._pidfd_ready, pidfd, ended))

    def close(self) -> None:  # noqa: D102 - see the protocol
        for fd in (*self._reading, *self._writing):
            self.forget(fd)
        for pidfd in self._pidfds:
            os.close(pidfd)
        self._pidfds.clear()

    def _pidfd_ready(self, pidfd: int, ended: Ended) -> None:
        self.forget(pidfd)
        self._pidfds.discard(pidfd)
        os.close(pidfd)
        ended(None)


class EpollWatcher(LoopWatcher):
    """One epoll for all children of a batch, itself a single descriptor of the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._epoll = select.epoll()
        self._ready: dict[int, Callable[[], None]] = {}
        loop.add_reader(self._epoll.fileno(), self._turn)

    def reads(self, fd: int, ready: Callable[[], None]) -> None:  # noqa: D102 - see the protocol
        self._ready[fd] = ready
        self._epoll.register(fd, select.EPOLLIN)

    def writes(self, fd: int, ready: Callable[[], None]) -> None:  # noqa: D102 - see the protocol
        self._ready[fd] = ready
        self._epoll.register(fd, select.EPOLLOUT)

    def forget(self, fd: int) -> None:  # noqa: D102 - see the protocol
        if self._ready.pop(fd, None):
            self._epoll.unregister(fd)

    def close(self) -> None:  # noqa: D102 - see the protocol
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.remove_reader(self._epoll.fileno())
        self._ready.clear()
        super().close()
        self._epoll.close()

    def _turn(self) -> None:
        for fd, _ in self._epoll.poll(0):
            # An earlier callback of this turn may have ended the watch on it.
            if ready := self._ready.get(fd):
                ready()


def _wait_in_thread(loop: asyncio.AbstractEventLoop, pid: int, ended: Ended) -> None:
    """Calls `ended`, a method, on the loop's thread when the child has ended."""
    # Waiting must not keep alive what a closed loop left behind: its end ends the hook.
    reference = WeakMethod(ended)

    def wait() -> None:
        status = _wait(pid)
        method = reference()
        if method:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(method, status)

    threading.Thread(target=wait, name=f"hookline-wait-{pid}", daemon=True).start()


def _wait(pid: int) -> int | None:
    try:
        if not hasattr(os, "waitid"):
            return os.waitpid(pid, 0)[1]
        # The zombie, and with it the number of its group, is left to the loop's thread.
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    except ChildProcessError:
        pass  # its status is lost, which the loop's thread finds out
    return None
