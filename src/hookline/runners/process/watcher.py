"""Calls back when a file descriptor is ready or a child process has exited, on the thread of the event loop."""

import asyncio
import contextlib
import os
import threading
import weakref
from collections.abc import Callable
from typing import Protocol

from hookline.runners.process.features import FEATURES


class OnExit(Protocol):
    """Called once, when a child has exited."""

    def __call__(self, status: int | None = None, /) -> None:
        """Take the status from waitpid, or None if the child is still to be reaped."""


class Watcher:
    """Uses the readers and writers of the loop; exits are reported by pidfds, or by a waiting thread for each child."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def watch(self, fd: int, callback: Callable[[], None], *, for_writing: bool = False) -> None:
        """Call back while there is something to read, or room to write, or the other end is closed."""
        (self._loop.add_writer if for_writing else self._loop.add_reader)(fd, callback)

    def close(self, fd: int) -> None:
        """Stop watching a descriptor and close it."""
        # A process that is just being started may hold a copy, so closing alone does not stop epoll.
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.remove_reader(fd)
            self._loop.remove_writer(fd)
        os.close(fd)

    def watch_exit(self, pid: int, on_exit: OnExit) -> int:
        """Call back when the child has exited. Return a pidfd that the caller may `close` before that, or -1."""
        try:
            pidfd = os.pidfd_open(pid) if FEATURES.pidfd else -1
        except OSError:  # out of file descriptors, or already reaped by other code
            pidfd = -1
        if pidfd < 0:
            self.wait_in_thread(pid, on_exit)
            return -1

        def exited() -> None:
            self.close(pidfd)
            on_exit()

        try:
            self.watch(pidfd, exited)
        except BaseException:
            os.close(pidfd)
            raise
        return pidfd

    def wait_in_thread(self, pid: int, on_exit: OnExit) -> None:
        """Call `on_exit`, a method, once the child can be reaped."""
        # Weak references: the thread must not keep alive what a closed loop has left behind.
        method, its_loop = weakref.WeakMethod(on_exit), weakref.ref(self._loop)

        def wait() -> None:
            status = _wait(pid)
            callback, loop = method(), its_loop()
            if callback and loop:
                with contextlib.suppress(RuntimeError):  # the loop is closed
                    loop.call_soon_threadsafe(callback, status)

        threading.Thread(target=wait, name=f"hookline-wait-{pid}", daemon=True).start()


def _wait(pid: int) -> int | None:
    with contextlib.suppress(ChildProcessError):  # the status is lost; the loop's thread will find out
        if not hasattr(os, "waitid"):
            return os.waitpid(pid, 0)[1]
        # Leave the zombie to the loop's thread: as long as it exists, its process group's number is not reused.
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    return None
