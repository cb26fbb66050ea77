"""Connections to servers; idle ones are kept for the next event."""

import io
import os
import socket
import ssl
import struct
import threading
import time
import weakref
from contextlib import suppress
from typing import NamedTuple

_MOST_IDLE = 16
_IDLE_S = 30.0
# After this time a server has to show its certificate again.
_LONGEST_S = 300.0
# The embedding program may end on SIGPIPE.
_NO_SIGNAL = getattr(socket, "MSG_NOSIGNAL", 0)
_QUICK_ACK: int | None = getattr(socket, "TCP_QUICKACK", None)


class Target(NamedTuple):
    """The server of a connection."""

    host: str
    port: int
    is_secure: bool


class _StrictReader(io.BufferedReader):
    """The stream of responses. An HTTPResponse can't close it, because the next response may be on it."""

    def close(self) -> None:
        """Keep the buffer."""

    def flush(self) -> None:
        """Do nothing: an HTTPResponse that is freed flushes the stream, which may be closed by then."""

    def readline(self, size: int | None = -1, /) -> bytes:
        """Return a line of a head, or of the frame around a chunk; each has to end with CR LF."""
        line = super().readline(size)
        if not line.endswith(b"\n") and len(line) != size:
            raise EOFError
        if line.startswith((b" ", b"\t")) or b"\r" in line[:-2] or not line.endswith((b"\r\n", b"\r")):
            raise ValueError("the answer has a header line that is continued, or that ends in another way than usual")
        return line


class Connection:
    """A connection with a timeout for each step, used by one thread at a time."""

    def __init__(self, target: Target, deadline: float) -> None:
        """Connect, with TLS if the target is secure; raise an OSError if that fails."""
        self.target = target
        self.made_at = self.idle_since = time.monotonic()
        self._socket = socket.create_connection((target.host, target.port), _left_s(deadline))
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if target.is_secure:
                self._socket = _tls_context().wrap_socket(
                    self._socket, server_hostname=target.host, suppress_ragged_eofs=False
                )
            self._raw = self._socket.makefile("rb", buffering=0)
        except BaseException:
            self._socket.close()
            raise
        self._reader = _StrictReader(self._raw)

    def send(self, data: bytes, deadline: float) -> None:
        """Send all of it; have the answer acknowledged at once."""
        self._socket.settimeout(_left_s(deadline))
        self._socket.sendall(data, 0 if self.target.is_secure else _NO_SIGNAL)
        self._socket.settimeout(_left_s(deadline))
        # A server that writes head and body separately has its body held back until the head is acknowledged (Nagle),
        # for which our kernel would wait 40 ms. Each request turns that delay on again.
        if _QUICK_ACK is not None:
            with suppress(OSError):
                self._socket.setsockopt(socket.IPPROTO_TCP, _QUICK_ACK, 1)

    def makefile(self, _mode: str) -> io.BufferedReader:
        """Return the stream of responses, as HTTPResponse asks a socket for it."""
        return self._reader

    def has_more(self) -> bool:
        """Whether the server has sent something behind its response."""
        self._socket.settimeout(0)
        try:
            return bool(self._reader.peek(1))
        except OSError:  # nothing for now, or the end without a word
            return False

    def is_usable(self) -> bool:
        """Whether it is young enough, and the server has neither closed it nor sent anything unasked."""
        now = time.monotonic()
        if now - self.idle_since > _IDLE_S or now - self.made_at > _LONGEST_S:
            return False
        self._socket.settimeout(0)
        try:
            self._socket.recv(1)
        except (BlockingIOError, ssl.SSLWantReadError):
            return True
        except OSError:
            return False
        return False

    def interrupt(self) -> None:
        """End whatever another thread waits for on it."""
        with suppress(OSError):
            # A server that still writes gets an error when the other thread closes it.
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            # Not the method of SSLSocket, which would take the connection away from the thread that reads.
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the socket."""
        self._raw.close()
        self._socket.close()


class Connections:
    """The idle connections of one engine, for all its loops and threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[Connection] = []
        self._is_closed = False
        self._finalizer = weakref.finalize(self, _close_all, self._idle)
        _KNOWN.add(self)

    def take(self, target: Target) -> Connection | None:
        """Return the connection to this server that was used last, or None; it belongs to the caller now."""
        with self._lock:
            for connection in [each for each in reversed(self._idle) if each.target == target]:
                self._idle.remove(connection)
                if connection.is_usable():
                    return connection
                connection.close()
        return None

    def put(self, connection: Connection) -> None:
        """Keep a connection for the next event, within limits."""
        connection.idle_since = time.monotonic()
        with self._lock:
            self._idle.append(connection)
            if self._is_closed or len(self._idle) > _MOST_IDLE:
                self._idle.pop(0).close()

    def close(self) -> None:
        """Close all of them, and keep none any more."""
        with self._lock:
            self._is_closed = True
            _close_all(self._idle)

    def forget(self) -> None:
        """Close our copies of them, after a fork: they are the parent's."""
        self._lock = threading.Lock()
        _close_all(self._idle)


def _close_all(idle: list[Connection]) -> None:
    while idle:
        idle.pop().close()


def _left_s(deadline: float) -> float:
    return max(0.001, deadline - time.monotonic())


def _tls_context() -> ssl.SSLContext:
    """Return a context with the certificates of this machine as they are now."""
    context = ssl.create_default_context()
    # A connection that is cut off must not look like the end of an answer.
    context.options &= ~ssl.OP_IGNORE_UNEXPECTED_EOF
    return context


_KNOWN: "weakref.WeakSet[Connections]" = weakref.WeakSet()


def _after_fork() -> None:
    for known in list(_KNOWN):
        known.forget()


os.register_at_fork(after_in_child=_after_fork)
