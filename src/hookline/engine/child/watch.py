"""Tells when descriptors are ready and children have ended, from within a running event loop."""

import asyncio
import contextlib
import os
import select
import threading
from collections.abc import Callable
from typing import Protocol


class Watcher(Protocol):
    """Calls back on the loop's thread; `close` ends all watching."""

    def reads(self, fd: int, ready: Callable[[], None]) -> None:
        """Calls `ready` while there is something to read, or the end."""

    def writes(self, fd: int, ready: Callable[[], None]) -> None:
        """Calls `ready` while there is room to write, or the reader is gone."""

    def forget(self, fd: int) -> None:
        """Stops watching a descriptor; to be called before it is closed."""

    def ends(self, pid: int, ended: Callable[[], None]) -> None:
        """Calls `ended` once the child is a zombie, or gone."""

    def close(self) -> None:
        """Stops watching everything."""


class EpollWatcher:
    """One epoll for all children of a batch, itself one descriptor of the loop; children's ends come by pidfd."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._epoll = select.epoll()
        self._ready: dict[int, Callable[[], None]] = {}
        self._pidfds: set[int] = set()
        loop.add_reader(self._epoll.fileno(), self._turn)

    def reads(self, fd: int, ready: Callable[[], None]) -> None:
        self._ready[fd] = ready
        self._epoll.register(fd, select.EPOLLIN)

    def writes(self, fd: int, ready: Callable[[], None]) -> None:
        self._ready[fd] = ready
        self._epoll.register(fd, select.EPOLLOUT)

    def forget(self, fd: int) -> None:
        if self._ready.pop(fd, None) is not None:
            self._epoll.unregister(fd)

    def ends(self, pid: int, ended: Callable[[], None]) -> None:
        pidfd = os.pidfd_open(pid)
        self._pidfds.add(pidfd)

        def once() -> None:
            self.forget(pidfd)
            self._pidfds.discard(pidfd)
            os.close(pidfd)
            ended()

        self.reads(pidfd, once)

    def close(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.remove_reader(self._epoll.fileno())
        self._epoll.close()
        for pidfd in self._pidfds:
            os.close(pidfd)
        self._pidfds.clear()
        self._ready.clear()

    def _turn(self) -> None:
        if self._epoll.closed:
            return
        for fd, _ in self._epoll.poll(0):
            # An earlier callback of this turn may have ended the watch on it.
            if ready := self._ready.get(fd):
                ready()


class ThreadWatcher:
    """The loop's own readers and writers, and a thread that waits for each child: for systems without pidfd or epoll."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._fds: set[int] = set()
        self._closed = False

    def reads(self, fd: int, ready: Callable[[], None]) -> None:
        self._fds.add(fd)
        self._loop.add_reader(fd, ready)

    def writes(self, fd: int, ready: Callable[[], None]) -> None:
        self._fds.add(fd)
        self._loop.add_writer(fd, ready)

    def forget(self, fd: int) -> None:
        if fd in self._fds:
            self._fds.discard(fd)
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self._loop.remove_reader(fd)
                self._loop.remove_writer(fd)

    def ends(self, pid: int, ended: Callable[[], None]) -> None:
        def tell() -> None:
            if not self._closed:
                ended()

        def wait() -> None:
            # WNOWAIT leaves the zombie, and with it the number of its group, to the loop's thread.
            with contextlib.suppress(ChildProcessError):
                os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(tell)

        threading.Thread(target=wait, name=f"hookline-wait-{pid}", daemon=True).start()

    def close(self) -> None:
        self._closed = True
        for fd in tuple(self._fds):
            self.forget(fd)
