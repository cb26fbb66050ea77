"""A connection with TLS, which can be kept like any other: asyncio's own would belong to one event loop."""

import asyncio
import os
import socket
import ssl
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from hookline.child.streams import READ_BYTES, PlainStream

# What a server may send between two events without being asked: tickets for its sessions, and the like.
_MOST_BETWEEN = 8 * READ_BYTES
_CUT_OFF = "the connection was cut off before the answer was complete (the server should send a Content-Length)"


class SecureStream(PlainStream):
    """A socket with TLS."""

    def __init__(self, sock: socket.socket, context: ssl.SSLContext, host: str) -> None:
        super().__init__(sock)
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)

    @classmethod
    async def over(cls, sock: socket.socket, host: str) -> "SecureStream":
        """Agrees with a server on the encryption; raises an OSError if that fails, or if it is another one."""
        stream: SecureStream | None = None
        try:
            # Reading the machine's certificates takes long.
            stream = cls(sock, await asyncio.to_thread(_context), host)
            await stream._until_done(stream._tls.do_handshake)
        except BaseException:
            sock.close()
            raise
        return stream

    async def _write(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            left = left[await self._until_done(self._tls.write, left) :]

    async def _receive(self) -> bytes:
        try:
            found: bytes = await self._until_done(self._tls.read, READ_BYTES)
        except ssl.SSLZeroReturnError:
            return b""
        except ssl.SSLEOFError:
            # Whoever is between us and the server could have cut off the part that denies.
            raise EOFError(_CUT_OFF) from None
        return found

    async def _until_done(self, action: Callable[..., Any], *arguments: Any) -> Any:
        """What an action returns, after everything that it has to exchange with the server for it."""
        while True:
            try:
                result = action(*arguments)
            except ssl.SSLWantReadError:
                result = self
            if self._outgoing.pending:
                await super()._write(self._outgoing.read())
            if result is not self:
                return result
            self._put(await super()._receive())

    def _put(self, received: bytes) -> None:
        if received:
            self._incoming.write(received)
        else:
            self._incoming.write_eof()

    def is_open(self) -> bool:
        """Whether the server has sent nothing but what TLS itself needs."""
        left = _MOST_BETWEEN
        while left > 0 and not super().is_open():
            try:
                received = self._socket.recv(READ_BYTES)
            except OSError:
                return False
            self._put(received)
            left -= len(received) or left
        try:
            self._tls.read(1)
        except ssl.SSLWantReadError:
            return left > 0
        except ssl.SSLError:
            return False
        return False


def _context() -> ssl.SSLContext:
    """How servers are believed: by the certificates of this machine, as they are now."""
    paths = ssl.get_default_verify_paths()
    return _made(tuple((path, _times(path)) for path in (paths.cafile, paths.capath)))


@lru_cache(maxsize=4)
def _made(_certificates: tuple[object, ...]) -> ssl.SSLContext:
    return ssl.create_default_context()


def _times(path: str | None) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path) if path else None  # noqa: PTH116 - as text, or None
    except OSError:
        return None
    return found and (found.st_ino, found.st_size, found.st_mtime_ns)
