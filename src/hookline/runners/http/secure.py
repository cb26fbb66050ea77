"""A connection with TLS, which can be kept like any other: asyncio's own would belong to one event loop."""

import os
import socket
import ssl
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from hookline.runners.http.streams import CLOSED_EARLY, Stream

# What a server may send between two events without being asked: tickets for its sessions, and the like.
_MOST_BETWEEN = 16 * 1024


class SecureStream(Stream):
    """A socket with TLS."""

    # A server can have us do much with few bytes, and the loop waits meanwhile.
    _most_at_once = 16 * 1024

    def __init__(self, sock: socket.socket, host: str) -> None:
        super().__init__(sock)
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = _context().wrap_bio(self._incoming, self._outgoing, server_hostname=host)

    async def shake_hands(self) -> None:
        """Agrees with the server on the encryption; raises an OSError if that fails, or if it is another server."""
        await self._until_done(self._tls.do_handshake)

    async def read_rest(self, most: int) -> tuple[bytes, bool]:
        """Everything until the other side ends TLS, and whether there is more than `most` bytes."""
        try:
            return await super().read_rest(most)
        except EOFError:
            raise EOFError(f"{CLOSED_EARLY} (the server should send a Content-Length)") from None

    async def _write(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            left = left[await self._until_done(self._tls.write, left) :]

    async def _receive(self) -> bytes:
        try:
            found: bytes = await self._until_done(self._tls.read, self._most_at_once)
        except ssl.SSLEOFError:
            # Whoever is between us and the server could have cut off the part that denies.
            raise EOFError(CLOSED_EARLY) from None
        return found

    async def _until_done(self, action: Callable[..., Any], *arguments: Any) -> Any:
        """What an action returns, after everything that it has to exchange with the server for it."""
        while True:
            is_done, result = True, None
            try:
                result = action(*arguments)
            except ssl.SSLWantReadError:
                is_done = False
            if self._outgoing.pending:
                await super()._write(self._outgoing.read())
            if is_done:
                return result
            self._put(await super()._receive())

    def _put(self, received: bytes) -> None:
        if received:
            self._incoming.write(received)
        else:
            self._incoming.write_eof()

    def is_open(self) -> bool:
        """Whether the server has sent nothing but what TLS itself needs."""
        if not super().is_open():
            try:
                received = self._socket.recv(_MOST_BETWEEN)
            except OSError:
                return False
            self._put(received)
        try:
            self._tls.read(1)
        except ssl.SSLWantReadError:
            return super().is_open()
        except ssl.SSLError:
            return False
        return False


def _context() -> ssl.SSLContext:
    """How servers are believed: by the certificates of this machine, as they are now."""
    paths = ssl.get_default_verify_paths()
    folders = (os.environ.get(paths.openssl_capath_env) or paths.capath or "").split(os.pathsep)
    return _made(paths.cafile, tuple((name, _state(name)) for name in (paths.cafile or "", *folders)))


@lru_cache(maxsize=4)
def _made(file: str | None, _certificates: tuple[object, ...]) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if file is not None:
        # It was read already, but without an error if that failed, for example for want of a descriptor.
        try:
            context.load_verify_locations(file)
        except ssl.SSLError as error:
            raise ValueError(f"{file} has no certificates that can be read") from error
        except OSError as error:
            raise OSError(error.errno, error.strerror, file) from error
    return context


def _state(path: str) -> tuple[int, ...] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - as text
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
