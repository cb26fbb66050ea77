"""The server's HTTP form, for agents with HTTP hooks: POST /bridge/AGENT/EVENT on loopback, with a token."""

import asyncio
import hmac
import secrets
from collections.abc import Callable, Mapping
from http import HTTPStatus
from pathlib import Path

from hookline.bridge.call import Bridge, Call, no_in_json
from hookline.files import make_private_directory, write_atomically

_MOST_HEADERS = 64 * 1024
_MOST_BODY = 32 * 1024**2
_MOST_REQUESTS = 128
_READ_S = 10.0


class _RefusedError(Exception):
    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(status.phrase)
        self.status = status


class HttpForm:
    """Answers the questions of agents; whoever can read the token's file may ask."""

    def __init__(self, folder: Path, environ: Mapping[str, str], on_call: Callable[[], None]) -> None:
        """Takes the state directory, the environment for hooks, since a request brings none, and whom to notify."""
        self._bridge = Bridge()
        self._environ = environ
        self._on_call = on_call
        self.token_file = folder / "http-token"
        self.port = 0
        self._token = ""
        self._running = 0
        self._server: asyncio.Server | None = None

    async def start(self, port: int) -> None:
        """Listens on 127.0.0.1; the token stays the same, because agents have it in their settings."""
        make_private_directory(self.token_file.parent)
        if not self.token_file.exists():
            write_atomically(self.token_file, secrets.token_urlsafe(32).encode() + b"\n")
        self.token_file.chmod(0o600)
        self._token = self.token_file.read_text(encoding="utf-8").strip()
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", port, limit=_MOST_HEADERS)
        self.port = self._server.sockets[0].getsockname()[1]

    def close(self) -> None:
        """Stops listening, and closes the log."""
        if self._server is not None:
            self._server.close()
        self._bridge.systems.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._running += 1
        try:
            status, body = await self._respond(reader)
            head = f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: application/json\r\n"
            writer.write(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
            async with asyncio.timeout(_READ_S):
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            pass  # the agent is gone, or too slow
        finally:
            self._running -= 1
            writer.close()

    async def _respond(self, reader: asyncio.StreamReader) -> tuple[HTTPStatus, bytes]:
        try:
            if self._running > _MOST_REQUESTS:
                raise _RefusedError(HTTPStatus.SERVICE_UNAVAILABLE)  # noqa: TRY301 - all refusals end below
            async with asyncio.timeout(_READ_S):
                words, body = await self._read(reader)
        except _RefusedError as error:
            return error.status, b""
        self._on_call()
        reply = await self._bridge.answer(Call(words=words, stdin=body, cwd="/", environ=self._environ))
        if reply.exit_code == 0:
            return HTTPStatus.OK, reply.stdout
        # There is no exit code here: the same no in the words of the agent, if it has some.
        refused = no_in_json(*words, reply.stderr.decode("utf-8", "replace").strip())
        return (HTTPStatus.INTERNAL_SERVER_ERROR, b"") if refused is None else (HTTPStatus.OK, refused)

    async def _read(self, reader: asyncio.StreamReader) -> tuple[tuple[str, str], bytes]:
        try:
            text = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        except asyncio.LimitOverrunError:
            raise _RefusedError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE) from None
        first, *lines = text.split("\r\n")
        pairs = (line.partition(":") for line in lines if line)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        # A web page could have its own name lead here.
        if headers.get("host") not in (f"127.0.0.1:{self.port}", f"localhost:{self.port}"):
            raise _RefusedError(HTTPStatus.MISDIRECTED_REQUEST)
        if not hmac.compare_digest(headers.get("authorization", "").encode(), f"Bearer {self._token}".encode()):
            raise _RefusedError(HTTPStatus.UNAUTHORIZED)
        method, _, rest = first.partition(" ")
        start, *words = rest.partition(" ")[0].strip("/").split("/")
        if start != "bridge" or len(words) != 2 or not all(word.isalnum() for word in words):  # noqa: PLR2004 - agent and event
            raise _RefusedError(HTTPStatus.NOT_FOUND)
        if method != "POST":
            raise _RefusedError(HTTPStatus.METHOD_NOT_ALLOWED)
        size = headers.get("content-length", "")
        if not size.isdecimal():
            raise _RefusedError(HTTPStatus.LENGTH_REQUIRED)
        if int(size) > _MOST_BODY:
            raise _RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        return (words[0], words[1]), await reader.readexactly(int(size))
