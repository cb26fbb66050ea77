"""Tells when descriptors are ready and children have ended, from within a running event loop."""

import asyncio
import contextlib
import os
import select
import threading
import weakref
from collections.abc import Callable
from typing import Protocol

from hookline.child.facilities import facilities


class Ended(Protocol):
    """Is told that a child has ended, again and again until that is forgotten."""

    def __call__(self, status: int | None = None, /) -> None:
        """Takes the status as waitpid gives it, or None where the child is still to be waited for."""


_ATTRIBUTE = "_hookline_child_watcher"
_NO_FD = -1


class Watcher(Protocol):
    """Calls back on the loop's thread."""

    def reads(self, fd: int, ready: Callable[[], None]) -> None:
        """Calls `ready` while there is something to read, or the end."""

    def writes(self, fd: int, ready: Callable[[], None]) -> None:
        """Calls `ready` while there is room to write, or the reader is gone."""

    def forget(self, fd: int) -> None:
        """Stops watching a descriptor; to be called before it is closed."""

    def ends(self, pid: int, ended: Ended) -> int:
        """Calls `ended` when the child has ended, and returns the descriptor that tells it.

        That is to be forgotten and closed by who asked for it. It is negative where a thread waits.
        """

    def ends_late(self, pid: int, ended: Ended) -> None:
        """Calls `ended` once, when the child can be waited for."""


def watcher_for(loop: asyncio.AbstractEventLoop) -> Watcher:
    """The watcher of this loop, made of what the system has."""
    if not facilities().has_pidfd:
        return LoopWatcher(loop)
    reference: weakref.ref[EpollWatcher] | None = getattr(loop, _ATTRIBUTE, None)
    watcher = reference() if reference else None
    if watcher is None:
        try:
            watcher = EpollWatcher(loop)
        except OSError:  # no descriptor left for it
            return LoopWatcher(loop)
        # The loop's readers own it, so that it goes when the loop is closed, with everything that still hangs on it.
        setattr(loop, _ATTRIBUTE, weakref.ref(watcher))
    return watcher


class LoopWatcher:
    """Uses the loop's own readers and writers, and threads that wait."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._reading: set[int] = set()

    def reads(self, fd: int, ready: Callable[[], None]) -> None:  # noqa: D102 - see the protocol
        self._loop.add_reader(fd, ready)
        self._reading.add(fd)

    def writes(self, fd: int, ready: Callable[[], None]) -> None:  # noqa: D102 - see the protocol
        self._loop.add_writer(fd, ready)

    def forget(self, fd: int) -> None:  # noqa: D102 - see the protocol
        with contextlib.suppress(RuntimeError):  # the loop is closed
            if fd in self._reading:
                self._reading.discard(fd)
                self._loop.remove_reader(fd)
            else:
                self._loop.remove_writer(fd)

    def ends(self, pid: int, ended: Ended) -> int:  # noqa: D102 - see the protocol
        self.ends_late(pid, ended)
        return _NO_FD

    def ends_late(self, pid: int, ended: Ended) -> None:  # noqa: D102 - see the protocol
        _wait_in_thread(self._loop, pid, ended)


class EpollWatcher:
    """One epoll for all children of a loop, itself a single descriptor of that loop; their ends come by pidfd."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = weakref.ref(loop)
        self._epoll = select.epoll()
        self._ready: dict[int, Callable[[], None]] = {}
        loop.add_reader(self._epoll.fileno(), self._turn)

    def reads(self, fd: int, ready: Callable[[], None]) -> None:  # noqa: D102 - see the protocol
        self._epoll.register(fd, select.EPOLLIN)
        self._ready[fd] = ready

    def writes(self, fd: int, ready: Callable[[], None]) -> None:  # noqa: D102 - see the protocol
        self._epoll.register(fd, select.EPOLLOUT)
        self._ready[fd] = ready

    def forget(self, fd: int) -> None:  # noqa: D102 - see the protocol
        if fd in self._ready:
            try:  # noqa: SIM105 - costs nothing
                self._epoll.unregister(fd)
            except FileNotFoundError:
                pass  # done before, and interrupted
            del self._ready[fd]

    def ends(self, pid: int, ended: Ended) -> int:  # noqa: D102 - see the protocol
        try:
            pidfd = os.pidfd_open(pid)
        except OSError:  # no descriptor left for it, or gone and reaped already, by somebody else
            self.ends_late(pid, ended)
            return _NO_FD
        try:
            self._epoll.register(pidfd, select.EPOLLIN)
        except OSError:
            os.close(pidfd)
            raise
        self._ready[pidfd] = ended
        return pidfd

    def ends_late(self, pid: int, ended: Ended) -> None:  # noqa: D102 - see the protocol
        if loop := self._loop():
            _wait_in_thread(loop, pid, ended)

    def _turn(self) -> None:
        is_first = True
        for fd, _ in self._epoll.poll(0):
            if ready := self._ready.get(fd):
                ready()
                is_first = False
            elif is_first:
                # An interruption left it without its callback: the loop would be woken by it for ever.
                with contextlib.suppress(OSError):
                    self._epoll.unregister(fd)
            # Otherwise an earlier callback of this turn may have ended the watch on it.


def _wait_in_thread(loop: asyncio.AbstractEventLoop, pid: int, ended: Ended) -> None:
    """Calls `ended`, a method, on the loop's thread when the child has ended."""
    # Waiting must not keep alive what a closed loop left behind: its end ends the hook.
    reference, its_loop = weakref.WeakMethod(ended), weakref.ref(loop)

    def wait() -> None:
        status = _wait(pid)
        method, loop = reference(), its_loop()
        if method and loop:
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
