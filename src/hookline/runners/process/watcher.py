"""Calls back when a file descriptor is ready or a child process has exited, on the thread of the event loop."""

import asyncio
import contextlib
import os
import select
import threading
import weakref
from collections.abc import Callable
from typing import Protocol

from hookline.runners.process.features import FEATURES

_ATTRIBUTE = "_hookline_child_watcher"


class OnExit(Protocol):
    """Called once, when a child has exited."""

    def __call__(self, status: int | None = None, /) -> None:
        """Take the status from waitpid, or None if the child is still to be reaped."""


def watcher_for(loop: asyncio.AbstractEventLoop) -> "Watcher":
    """Return the watcher of this loop, the best that the system supports."""
    if not FEATURES.pidfd:
        return Watcher(loop)
    reference: weakref.ref[EpollWatcher] | None = getattr(loop, _ATTRIBUTE, None)
    watcher = reference() if reference else None
    if watcher is None:
        try:
            watcher = EpollWatcher(loop)
        except OSError:  # out of file descriptors
            return Watcher(loop)
        # Only the loop's list of readers owns the watcher, so that closing the loop frees it and all it refers to.
        setattr(loop, _ATTRIBUTE, weakref.ref(watcher))
    return watcher


class Watcher:
    """Uses the readers and writers of the loop itself, and a waiting thread for each child."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = weakref.ref(loop)

    def watch(self, fd: int, callback: Callable[[], None], *, for_writing: bool = False) -> None:
        """Call back while there is something to read, or room to write, or the other end is closed."""
        if loop := self._loop():
            (loop.add_writer if for_writing else loop.add_reader)(fd, callback)

    def close(self, fd: int) -> None:
        """Stop watching a descriptor and close it."""
        with contextlib.suppress(RuntimeError):  # the loop is closed
            if loop := self._loop():
                loop.remove_reader(fd)
                loop.remove_writer(fd)
        os.close(fd)

    def watch_exit(self, pid: int, on_exit: OnExit) -> int:
        """Call back when the child has exited. Return a pidfd that the caller may `close` before that, or -1."""
        self.wait_in_thread(pid, on_exit)
        return -1

    def wait_in_thread(self, pid: int, on_exit: OnExit) -> None:
        """Call `on_exit`, a method, once the child can be reaped."""
        # Weak references: the thread must not keep alive what a closed loop has left behind.
        method, its_loop = weakref.WeakMethod(on_exit), self._loop

        def wait() -> None:
            status = _wait(pid)
            callback, loop = method(), its_loop()
            if callback and loop:
                with contextlib.suppress(RuntimeError):  # the loop is closed
                    loop.call_soon_threadsafe(callback, status)

        threading.Thread(target=wait, name=f"hookline-wait-{pid}", daemon=True).start()


class EpollWatcher(Watcher):
    """One epoll for all children of a loop, which sees it as a single descriptor; pidfds report exits."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._epoll = select.epoll()
        self._callbacks: dict[int, Callable[[], None]] = {}
        self._pidfds: set[int] = set()
        loop.add_reader(self._epoll.fileno(), self._on_ready)

    def watch(self, fd: int, callback: Callable[[], None], *, for_writing: bool = False) -> None:
        """Call back while there is something to read, or room to write, or the other end is closed."""
        self._epoll.register(fd, select.EPOLLOUT if for_writing else select.EPOLLIN)
        self._callbacks[fd] = callback

    def close(self, fd: int) -> None:
        """Stop watching a descriptor and close it."""
        del self._callbacks[fd]
        self._pidfds.discard(fd)
        # A process that is just being started may hold a copy, so closing alone does not stop epoll.
        self._epoll.unregister(fd)
        os.close(fd)

    def watch_exit(self, pid: int, on_exit: OnExit) -> int:
        """Call back when the child has exited. Return a pidfd that the caller may `close` before that, or -1."""
        try:
            pidfd = os.pidfd_open(pid)
        except OSError:  # out of file descriptors, or already reaped by other code
            return super().watch_exit(pid, on_exit)
        try:
            self._epoll.register(pidfd, select.EPOLLIN)
        except OSError:
            os.close(pidfd)
            raise
        self._callbacks[pidfd] = on_exit
        self._pidfds.add(pidfd)
        return pidfd

    def _on_ready(self) -> None:
        for fd, _ in self._epoll.poll(0):
            # An earlier callback of this round may have closed it.
            if callback := self._callbacks.get(fd):
                if fd in self._pidfds:
                    self.close(fd)
                callback()


def _wait(pid: int) -> int | None:
    with contextlib.suppress(ChildProcessError):  # the status is lost; the loop's thread will find out
        if not hasattr(os, "waitid"):
            return os.waitpid(pid, 0)[1]
        # Leave the zombie to the loop's thread: as long as it exists, its process group's number is not reused.
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    return None
