"""Connections to servers, of which idle ones are kept for the next event."""

import asyncio
import os
import socket
import threading
import time
import weakref
from contextlib import suppress
from contextvars import Context
from typing import Any

from hookline.runners.http.streams import Stream

_MOST_IDLE = 8
_MOST_IDLE_OF_ALL = 32
_IDLE_S = 30.0
# Then the server has to show its certificate again.
_LONGEST_S = 300.0

_MOST_LOOKUPS = 16
_LOOKUP_POLL_S = 0.005
_LOOKUPS = threading.BoundedSemaphore(_MOST_LOOKUPS)

# As `socket.getaddrinfo` returns it.
_Address = tuple[Any, Any, int, str, Any]

Target = tuple[str, int, bool]
"""A host, its port, and whether the connection has TLS."""


async def connect(target: Target) -> Stream:
    """A new connection; raises an OSError if there is none."""
    host, port, is_secure = target
    sock = await _connected(host, port)
    if not is_secure:
        return Stream(sock)
    from hookline.runners.http.secure import SecureStream  # noqa: PLC0415 - most servers are on this machine

    try:
        stream = SecureStream(sock, host)
        await stream.shake_hands()
    except BaseException:
        sock.close()
        raise
    return stream


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


async def _addresses(loop: asyncio.AbstractEventLoop, host: str, port: int) -> list[_Address]:
    try:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except OSError:  # a name
        return await _looked_up(loop, host, port)


async def _looked_up(loop: asyncio.AbstractEventLoop, host: str, port: int) -> list[_Address]:
    """The addresses of a name. A name server that does not answer delays neither the program's end nor its own work.

    So this is not left to the threads of the loop, which `asyncio.run` waits for.
    """
    answer: asyncio.Future[list[_Address]] = loop.create_future()
    while not _LOOKUPS.acquire(blocking=False):  # noqa: ASYNC110 - places are freed by threads, for any loop
        await asyncio.sleep(_LOOKUP_POLL_S)  # within the hook's timeout

    def look_up() -> None:
        found: list[_Address] | Exception
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except Exception as error:  # noqa: BLE001 - for the caller
            found = error
        finally:
            _LOOKUPS.release()
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(_settle, answer, found)

    try:
        threading.Thread(target=look_up, name="hookline-names", daemon=True).start()
    except BaseException:
        _LOOKUPS.release()
        raise
    return await answer


def _settle(answer: "asyncio.Future[list[_Address]]", found: "list[_Address] | Exception") -> None:
    if answer.done():
        return
    if isinstance(found, Exception):
        answer.set_exception(found)
    else:
        answer.set_result(found)


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
            self._drop_old()
            kept = self._idle.get(target)
            return kept.pop()[1] if kept else None

    def put(self, target: Target, stream: Stream) -> None:
        """Keeps a connection for the next event, within limits."""
        with self._lock:
            self._drop_old()
            kept = self._idle.setdefault(target, [])
            is_full = len(kept) >= _MOST_IDLE or sum(map(len, self._idle.values())) >= _MOST_IDLE_OF_ALL
            if self._is_closed or is_full or time.monotonic() - stream.made_at > _LONGEST_S:
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
    global _LOOKUPS  # noqa: PLW0603 - those of the parent never end here
    _LOOKUPS = threading.BoundedSemaphore(_MOST_LOOKUPS)
    for known in list(_KNOWN):
        known.forget()


os.register_at_fork(after_in_child=_after_fork)
