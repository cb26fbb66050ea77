"""A connection that is read and written bit by bit.

It is a plain socket that no event loop knows, so that it can be kept, and any loop of the program can use it next.
"""

import asyncio
import select
import socket
import time
from contextlib import suppress

CLOSED_EARLY = "the connection was closed before the answer was complete"

# The embedding program may end on SIGPIPE.
_NO_SIGNAL = getattr(socket, "MSG_NOSIGNAL", 0)
_QUICK_ACK: int | None = getattr(socket, "TCP_QUICKACK", None)


class Stream:
    """A connection with what was read from it and not used yet."""

    _most_at_once = 64 * 1024

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self.made_at = time.monotonic()
        self.sent = 0
        """How many bytes of the last request went out."""
        self._read = bytearray()
        self._is_first = True

    async def send(self, data: bytes) -> None:
        """Sends all of it; after an OSError `sent` is how much went out."""
        self.sent = 0
        self._is_first = True
        await self._write(data)
        self._acknowledge_at_once()

    async def _write(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            try:
                count = self._socket.send(left, _NO_SIGNAL)
            except BlockingIOError:
                await self._wait_for_room()
                continue
            self.sent += count
            left = left[count:]

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
        return await asyncio.get_running_loop().sock_recv(self._socket, self._most_at_once)

    async def _wait_for_room(self) -> None:
        loop = asyncio.get_running_loop()
        room: asyncio.Future[None] = loop.create_future()
        loop.add_writer(self._socket, _finish, room)
        try:
            await room
        finally:
            loop.remove_writer(self._socket)

    def is_open(self) -> bool:
        """Return whether there is nothing to read: neither an end nor an unexpected text."""
        look = select.poll()
        look.register(self._socket, select.POLLIN | select.POLLHUP)
        return not look.poll(0)

    def close(self) -> None:
        """Closes the socket."""
        self._socket.close()

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
            raise EOFError(CLOSED_EARLY)
        self._read += data


def _finish(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
