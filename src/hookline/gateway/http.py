"""An MCP server at a URL, through the streamable HTTP transport of the official client.

Importing this takes more than a second, and raises MissingExtraError if the package is not installed.
"""

import asyncio
import inspect
import logging
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

from msgspec import UNSET

from hookline.extensions import needing
from hookline.gateway.lines import LIMIT, LineReader, wait_for_any
from hookline.gateway.messages import INVALID_REQUEST, encode_message, error_answer, read_messages
from hookline.protocol.inputs import mcp_server_facts
from hookline.stderr import warn_user

with needing("mcp", "agent"):
    import httpx2
    import mcp_types
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared import inbound
    from mcp.shared._httpx_utils import create_mcp_http_client
    from mcp.shared.message import ClientMessageMetadata, SessionMessage

# Without a handler its warnings would be printed unescaped.
logging.getLogger("mcp").addHandler(logging.NullHandler())

_CONNECT_S = 30.0
_CLOSE_S = 2.0
_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"


class HttpServer:
    """A running server."""

    def __init__(self, name: str, url: str, headers: Mapping[str, str] | None = None) -> None:
        """`headers` are sent with each request; they may hold secrets, so no message contains them."""
        self._own_headers = dict(headers or {})
        self.name = name
        self.facts = mcp_server_facts(name, url=url)
        self._url = url
        self._lines: asyncio.Queue[bytes] = asyncio.Queue()
        self._headers = _Headers()
        self._task: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()
        self._ended = asyncio.Event()
        self._error: BaseException | None = None

    async def open(self, reader: LineReader, _source: LineReader) -> None:
        """Connect; the reader receives the server's messages as lines."""
        self._task = asyncio.create_task(self._hold(reader))

    def send(self, line: bytes) -> None:
        """Queue a message."""
        self._lines.put_nowait(line)

    async def why_ended(self) -> str:
        """Return why there are no more messages."""
        return f"can't be reached: {_reason(self._error)}" if self._error is not None else "has closed the connection"

    async def close(self, hurry: asyncio.Event) -> None:
        """End the server's session and the connection."""
        self._closing.set()
        if self._task is None:
            return
        await wait_for_any(self._ended, hurry, timeout_s=_CLOSE_S)
        self._task.cancel()
        await asyncio.wait({self._task}, timeout=_CLOSE_S)

    async def _hold(self, reader: LineReader) -> None:
        # The client decides how long it waits for an answer.
        timeout = httpx2.Timeout(_CONNECT_S, read=None)
        try:
            async with (
                create_mcp_http_client(headers=self._own_headers, timeout=timeout) as http,
                streamable_http_client(self._url, http_client=http, **_limit(streamable_http_client)) as streams,
            ):
                incoming, outgoing = streams
                tasks = [
                    asyncio.create_task(work) for work in (self._read(incoming, reader), self._write(outgoing, reader))
                ]
                closing = asyncio.create_task(self._closing.wait())
                try:
                    await asyncio.wait({*tasks, closing}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    for task in (*tasks, closing):
                        task.cancel()
        except Exception as error:  # noqa: BLE001 - the transport raises exceptions of several libraries
            self._error = error
        finally:
            self._ended.set()
            reader.connection_lost(None)

    async def _read(self, incoming: Any, reader: LineReader) -> None:
        async for item in incoming:
            if isinstance(item, Exception):
                continue  # an unreadable message; it can't be matched to a request
            line = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode()
            self._headers.learn(item.message)
            reader.data_received(line + b"\n")

    async def _write(self, outgoing: Any, reader: LineReader) -> None:
        while True:
            line = await self._lines.get()
            try:
                message = mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:
                self._refuse(line, reader)
                continue
            metadata = ClientMessageMetadata(headers=self._headers.of(message))
            await outgoing.send(SessionMessage(message, metadata))

    def _refuse(self, line: bytes, reader: LineReader) -> None:
        """Answer a message that the transport can't send, such as one with a list as params."""
        message = read_messages(line)[0]
        if message.method is not UNSET and isinstance(message.id, int | str | float):
            answer = error_answer(message.id, INVALID_REQUEST, "the message can't be sent over HTTP")
            reader.data_received(encode_message(answer) + b"\n")
        else:
            warn_user("the client sent a message that can't be sent over HTTP; it was dropped")


def _limit(connect: Callable[..., Any]) -> dict[str, Any]:
    """Return the option that limits the size of a message, if the installed package has it."""
    if "max_sse_event_size" in inspect.signature(connect).parameters:
        return {"max_sse_event_size": LIMIT}
    warn_user(f"mcp {version('mcp')} does not limit the size of messages over HTTP; install mcp 2.3 or later")
    return {}


class _Headers:
    """Computes the HTTP headers of each message, which a client on a pipe does not send."""

    def __init__(self) -> None:
        self._initialize: Any = None
        self._version: str | None = None
        """The protocol version that `initialize` negotiated."""
        self._of_arguments: dict[str, Mapping[tuple[str, ...], str]] = {}
        """For each tool, the headers that repeat some of its arguments."""

    def learn(self, message: Any) -> None:
        """Read the facts from a message of the server that later headers need."""
        result = getattr(message, "result", None)
        if result is None:
            return
        if self._initialize is not None and message.id == self._initialize:
            self._initialize = None
            self._version = result.get("protocolVersion")
        if isinstance(tools := result.get("tools"), list):
            for tool in tools:
                if isinstance(tool, dict) and isinstance(tool.get("name"), str):
                    self._of_arguments[tool["name"]] = inbound.x_mcp_header_map(tool.get("inputSchema"))

    def of(self, message: Any) -> dict[str, str] | None:
        """Return the headers of a message of the client."""
        method = getattr(message, "method", None)
        params = getattr(message, "params", None) or {}
        if method == "initialize":
            self._initialize = message.id
            return None
        meta = params.get("_meta")
        version = meta.get(_VERSION_KEY) if isinstance(meta, dict) else None
        if not isinstance(version, str) or method is None:
            return None if self._version is None else {inbound.MCP_PROTOCOL_VERSION_HEADER: self._version}
        headers = {inbound.MCP_PROTOCOL_VERSION_HEADER: version, inbound.MCP_METHOD_HEADER: method}
        name = params.get("taskId" if method.startswith("tasks/") else inbound.NAME_BEARING_METHODS.get(method, ""))
        if isinstance(name, str):
            headers[inbound.MCP_NAME_HEADER] = inbound.encode_header_value(name)
        if method == "tools/call" and isinstance(name, str) and (found := self._of_arguments.get(name)):
            headers |= inbound.mcp_param_headers(found, params.get("arguments") or {})
        return headers


def _reason(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__
