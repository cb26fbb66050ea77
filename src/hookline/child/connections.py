"""Connections to servers, of which idle ones are kept for the next event.

A kept one is a plain socket that no event loop knows, so that any loop of the program can use it next.
"""

import asyncio
import os
import select
import socket
import threading
import time
import weakref
from contextlib import suppress
from contextvars import Context
from typing import Any

_READ_BYTES = 64 * 1024
_MOST_IDLE = 8
_MOST_IDLE_OF_ALL = 32
_IDLE_S = 30.0
# The embedding program may end on SIGPIPE.
_NO_SIGNAL = getattr(socket, "MSG_NOSIGNAL", 0)
_QUICK_ACK: int | None = getattr(socket, "TCP_QUICKACK", None)

Target = tuple[str, int]


class Stream:
    """A connection with what was read from it and not used yet."""

    def __init__(self) -> None:
        self.sent = 0
        """How many bytes of the last request went out."""
        self._read = bytearray()

    async def send(self, data: bytes) -> None:
        """Sends all of it."""
        raise NotImplementedError

    async def _receive(self) -> bytes:
        raise NotImplementedError

    def is_open(self) -> bool:
        """Whether the other side has neither closed it nor written anything since it was kept."""
        return False

    def close(self) -> None:
        """Ends the connection."""
        raise NotImplementedError

    def is_drained(self) -> bool:
        """Whether everything that was read was used."""
        return not self._read

    async def read_until(self, end: bytes, most: int) -> bytes:
        """What comes before `end`, which is used up; raises a ValueError if that is not within `most` bytes."""
        searched = 0
        while (place := self._read.find(end, searched)) < 0:
            if len(self._read) > most:
                raise ValueError("the answer has too long a head")
            searched = max(0, len(self._read) - len(end) + 1)
            await self._more()
        found = bytes(self._read[:place])
        del self._read[: place + len(end)]
        return found

    async def read_exactly(self, size: int) -> bytes:
        """The next bytes; raises an EOFError if there are fewer."""
        while len(self._read) < size:
            await self._more()
        found = bytes(self._read[:size])
        del self._read[:size]
        return found

    async def read_rest(self, most: int) -> tuple[bytes, bool]:
        """Everything until the other side closes it, and whether there is more than `most` bytes."""
        while len(self._read) <= most:
            if not (data := await self._receive()):
                break
            self._read += data
        return bytes(self._read[:most]), len(self._read) > most

    async def _more(self) -> None:
        if not (data := await self._receive()):
            raise EOFError("the connection was closed before the answer was complete")
        self._read += data


class PlainStream(Stream):
    """A socket."""

    def __init__(self, sock: socket.socket) -> None:
        super().__init__()
        self._socket = sock
        self._is_first = True

    async def send(self, data: bytes) -> None:
        """Sends all of it; after an OSError `sent` is how much went out."""
        self.sent = 0
        self._is_first = True
        left = memoryview(data)
        while left:
            try:
                count = self._socket.send(left, _NO_SIGNAL)
            except BlockingIOError:
                await self._wait_for_room()
                continue
            self.sent += count
            left = left[count:]
        self._acknowledge_at_once()

    def _acknowledge_at_once(self) -> None:
        """Turns off delayed acknowledgements for the answer."""
        # A server that writes head and body separately has its body held back until the head is acknowledged (Nagle),
        # for which our kernel would wait 40 ms. Each request turns that delay on again.
        if _QUICK_ACK is not None:
            with suppress(OSError):
                self._socket.setsockopt(socket.IPPROTO_TCP, _QUICK_ACK, 1)

    async def _receive(self) -> bytes:
        if not self._is_first:
            # What is there already is read without a turn of the loop, and a server may write faster than we read:
            # neither a timeout nor anything else of the program would have its turn.
            await asyncio.sleep(0)
        self._is_first = False
        return await asyncio.get_running_loop().sock_recv(self._socket, _READ_BYTES)

    async def _wait_for_room(self) -> None:
        loop = asyncio.get_running_loop()
        room: asyncio.Future[None] = loop.create_future()
        loop.add_writer(self._socket, _finish, room)
        try:
            await room
        finally:
            loop.remove_writer(self._socket)

    def is_open(self) -> bool:
        """Whether there is nothing to read: an end, or a text that nobody asked for."""
        look = select.poll()
        look.register(self._socket, select.POLLIN | select.POLLHUP)
        return not look.poll(0)

    def close(self) -> None:
        """Closes the socket."""
        self._socket.close()


class _SecureStream(Stream):
    """A connection with TLS, which its event loop takes care of; it is not kept."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        super().__init__()
        self._reader = reader
        self._writer = writer

    async def send(self, data: bytes) -> None:
        """Sends all of it."""
        self.sent = len(data)
        self._writer.write(data)
        await self._writer.drain()

    async def _receive(self) -> bytes:
        return await self._reader.read(_READ_BYTES)

    def close(self) -> None:
        """Closes it."""
        self._writer.close()


async def connect(host: str, port: int, *, is_secure: bool) -> Stream:
    """A new connection; raises an OSError if there is none."""
    sock = await _connected(host, port)
    if not is_secure:
        return PlainStream(sock)
    import ssl  # noqa: PLC0415 - slow to import

    context = ssl.create_default_context()
    return _SecureStream(*await asyncio.open_connection(sock=sock, ssl=context, server_hostname=host))


async def _connected(host: str, port: int) -> socket.socket:
    """A socket that is connected to the first address that answers."""
    loop = asyncio.get_running_loop()
    last: OSError | None = None
    for family, kind, protocol, _, address in await _addresses(loop, host, port):
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(0)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await loop.sock_connect(sock, address)
        except OSError as error:
            sock.close()
            last = error
        except BaseException:
            sock.close()
            raise
        else:
            return sock
    raise last or OSError(f"{host} has no address")


async def _addresses(loop: asyncio.AbstractEventLoop, host: str, port: int) -> list[tuple]:  # type: ignore[type-arg]
    try:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except OSError:  # a name: looking it up may take long
        return await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)


class Connections:
    """The idle connections of one engine, for all its loops and threads."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._idle: dict[Target, list[tuple[float, Stream]]] = {}
        self._sweeping_until = 0.0
        self._is_closed = False
        self._finalizer = weakref.finalize(self, _close_all, self._idle)
        _KNOWN.add(self)

    def take(self, target: Target) -> Stream | None:
        """The connection that was used last, or None; it belongs to the caller now."""
        with self._lock:
            kept = self._idle.get(target)
            return kept.pop()[1] if kept else None

    def put(self, target: Target, stream: Stream) -> None:
        """Keeps a connection for the next event, within limits."""
        with self._lock:
            self._drop_old()
            kept = self._idle.setdefault(target, [])
            if self._is_closed or len(kept) >= _MOST_IDLE or sum(map(len, self._idle.values())) >= _MOST_IDLE_OF_ALL:
                stream.close()
                return
            kept.append((time.monotonic(), stream))
        self._sweep_later()

    def close(self) -> None:
        """Closes all of them, and keeps none any more."""
        self._is_closed = True
        with self._lock:
            _close_all(self._idle)

    def forget(self) -> None:
        """Closes our copies of them, after a fork: they are the parent's."""
        self._lock = threading.RLock()
        _close_all(self._idle)

    def _drop_old(self) -> None:
        before = time.monotonic() - _IDLE_S
        for target, kept in tuple(self._idle.items()):
            while kept and kept[0][0] <= before:
                kept.pop(0)[1].close()
            if not kept:
                del self._idle[target]

    def _sweep_later(self) -> None:
        now = time.monotonic()
        if now < self._sweeping_until:
            return
        self._sweeping_until = now + _IDLE_S + 1
        sweep = weakref.WeakMethod(self._sweep)
        with suppress(RuntimeError):
            # In a context of its own, which keeps nothing alive.
            asyncio.get_running_loop().call_later(_IDLE_S + 1, _call, sweep, context=Context())

    def _sweep(self) -> None:
        with self._lock:
            self._drop_old()
            self._sweeping_until = 0.0
            is_any_left = bool(self._idle)
        if is_any_left:
            self._sweep_later()


def _finish(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)


def _call(method: "weakref.WeakMethod[Any]") -> None:
    if (call := method()) is not None:
        call()


def _close_all(idle: dict[Target, list[tuple[float, Stream]]]) -> None:
    for kept in idle.values():
        for _, stream in kept:
            stream.close()
    idle.clear()


_KNOWN: "weakref.WeakSet[Connections]" = weakref.WeakSet()


def _after_fork() -> None:
    for known in list(_KNOWN):
        known.forget()


os.register_at_fork(after_in_child=_after_fork)
