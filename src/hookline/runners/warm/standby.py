"""A standby: a copy of a warm interpreter that waits for one event; interpreter.py has the messages.

Its states, in order:

- forked: the loop's thread (at an event) or the pool thread has requested it from the interpreter.
- ready: it has sent its process id, which `look` reads.
- announced: the loop's thread has sent `soon`, maybe before it was ready; the standby starts its exit helper, and
  answers.
- sent: the loop's thread has sent the event. If the standby dies now, a cold start follows.
- taken: it has answered that the script runs now. From here on the event is never run again.
- exited: the loop's thread has seen its exit, has read its last messages, and has closed the socket.
- freed: the pool thread has killed its exit helper.

A standby that gets no event is discarded instead of `sent`: by the loop's thread if it owes no answer, otherwise by the
pool thread, which retries until the answer is there.
"""

import contextlib
import os
import select
import signal
import socket
import time

from hookline.runners.process.job import Stdio
from hookline.runners.process.reaper import REAPER

LONGEST_MESSAGE = 1 << 17

_EXITING_S = 1.0


class Standby:
    """A copy of a parked interpreter that waits for one event."""

    pid = 0
    """Its process id, once it is ready."""
    _is_announced = False
    _has_answered = False
    _has_taken = False
    _exit_helper = -1

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel

    @property
    def is_quick(self) -> bool:
        """Whether it can be discarded without waiting for an answer."""
        return self.pid > 0 and self._is_announced == self._has_answered

    def fileno(self) -> int:
        """The socket, which can be read when the standby is ready."""
        return self._channel.fileno()

    def announce(self) -> None:
        """Have it get ready for an event, while we find out whether it can have that; call `send` or `discard` then."""
        if not self._is_announced:
            self._is_announced = True
            with contextlib.suppress(OSError):  # `look` will notice
                self._channel.send(b"soon", socket.MSG_NOSIGNAL)

    def look(self) -> bool:
        """Whether it is ready; raise OSError if it is gone."""
        if not self.pid:
            try:
                message = self._channel.recv(64)
            except BlockingIOError:
                return False
            if not message.isdigit():
                raise ConnectionResetError
            pid = int(message)
            # Another process must not be taken for it, and signalled.
            if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                leave(pid)
                raise ConnectionResetError
            self.pid = pid
            REAPER.running.add(pid)
        return True

    def send(self, message: bytes, stdio: Stdio) -> bool:
        """Give it its event; False if it did not get it."""
        if len(message) > LONGEST_MESSAGE:
            return False
        wake_stopped(self.pid)
        try:
            socket.send_fds(self._channel, [message], stdio, socket.MSG_NOSIGNAL)
        except OSError:
            return False
        # Now, while it runs: after its exit, the event waits for us.
        self._receive()
        return True

    def has_taken(self) -> bool:
        """Whether it was about to run the script; known when it has exited."""
        self._receive()
        return self._has_taken

    def close(self) -> None:
        """Let go of it, because it has got its event or has exited; call `free` later."""
        self._receive()
        self._channel.close()

    def discard(self, patience_s: float = _EXITING_S) -> bool:
        """Let it exit without an event; False if it does not answer yet, and then call this again later.

        Only this object reaps it and its exit helper, and their numbers are unknown before.
        """
        try:
            self._channel.shutdown(socket.SHUT_WR)
            if not self.pid and not (self._has_message(patience_s) and self.look()):
                return False
            self._receive()
            if not self.is_quick:
                if not self._has_message(patience_s):
                    return False
                self._receive()
        except OSError:  # it is gone
            pass
        self.close()
        if self.pid:
            leave(self.pid)
        self.free()
        return True

    def free(self) -> None:
        """End its exit helper, which frees the memory of both; that takes a millisecond."""
        if self._exit_helper >= 0:
            pidfd, self._exit_helper = self._exit_helper, -1
            with contextlib.suppress(OSError):  # it has ended, and may be reaped already
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)
                os.waitid(os.P_PIDFD, pidfd, os.WEXITED)
            os.close(pidfd)

    def forget(self) -> None:
        """Close what we have of it, and leave it alone."""
        self._channel.close()
        if self._exit_helper >= 0:
            os.close(self._exit_helper)

    def _has_message(self, patience_s: float) -> bool:
        # Not `select`, which knows no descriptors above 1023.
        poll = select.poll()
        poll.register(self._channel, select.POLLIN)
        return bool(poll.poll(patience_s * 1000))

    def _receive(self) -> None:
        """Take in what it has sent since it was ready."""
        with contextlib.suppress(OSError):  # there is no more, for now or forever
            while not (self._has_taken and self._has_answered is self._is_announced):
                message, fds, _, _ = socket.recv_fds(self._channel, 64, 1, socket.MSG_CMSG_CLOEXEC)
                if not message:
                    return
                word, _, exit_helper = message.partition(b" ")
                self._has_answered = self._has_answered or word in {b"kept", b"alone"}
                self._has_taken = self._has_taken or word == b"taken"
                if fds:
                    self._exit_helper = fds[0]
                elif exit_helper:  # the file descriptors are exhausted
                    leave(int(exit_helper))


def wake_stopped(pid: int) -> None:
    """Continue a process that was stopped while it waited: a hook that is started now would also run."""
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGCONT)


def leave(pid: int, patience_s: float = _EXITING_S) -> None:
    """Have a process reaped that is about to exit, and killed if it does not."""
    REAPER.take_over(pid, deadline=time.monotonic() + patience_s, unreaped=True)
    REAPER.running.discard(pid)
