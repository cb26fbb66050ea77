"""Tools of MCP servers, which the scheduler runs like the built-in ones.

If a server does not start, hangs or dies, its tools are missing and a notice says so; the session continues.
"""

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from hookline.apps.agent.events import Listener, Notice
from hookline.apps.agent.mcp.settings import McpServer, configured_servers
from hookline.apps.agent.tool import AgentTool, ToolContext, failure, success
from hookline.apps.agent.toolbox import ToolBox, UnusableToolError
from hookline.client.triggers.results import ToolResult
from hookline.extensions import lazy_module
from hookline.protocol.constants import CHILD_MARK
from hookline.protocol.inputs import mcp_tool_name

if TYPE_CHECKING:
    import mcp
    import mcp_types
    from mcp import Client
    from mcp import Tool as ServerTool
    from mcp_types import CallToolResult, ContentBlock

    from hookline.client.config import Config
else:
    mcp = lazy_module("mcp", extra="agent")
    mcp_types = lazy_module("mcp_types", extra="agent")

CONNECT_S = 30.0
CLOSE_S = 10.0
MAX_PAGES = 50
MAX_CHARS = 100_000
_STDERR_BYTES = 4096

_INHERITED = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER")


@asynccontextmanager
async def connected_mcp_servers(
    config: "Config", toolbox: ToolBox, listener: Listener, *, connect_s: float = CONNECT_S
) -> AsyncIterator[None]:
    """Connect to the configured servers in parallel, and add their tools to the toolbox in the settings' order.

    Skips a server that does not answer in time, with a notice. On exit, all connections and server processes are ended
    within a bounded time.
    """
    servers, notes = configured_servers(config.get_layers())
    for text in notes:
        listener(Notice(text=text))
    if servers:
        _load_mcp()
    connections = [_ServerConnection(server, ToolContext.of(config), toolbox, listener) for server in servers]
    try:
        await asyncio.gather(*(connection.wait(connect_s) for connection in connections))
        for connection in connections:
            connection.offer_tools()
        yield
    finally:
        await asyncio.gather(*(connection.aclose() for connection in connections))


def _load_mcp() -> None:
    _ = mcp.Client  # takes more than a second, so only if there are servers
    # Without a handler its warnings would be printed unescaped.
    logging.getLogger("mcp").addHandler(logging.NullHandler())


@dataclass(frozen=True, slots=True, kw_only=True)
class McpTool(AgentTool):
    """A tool of an MCP server; its arguments are not normalized."""

    own_name: str
    """The name on the server."""
    connection: "_ServerConnection"

    def needs_approval(self, _arguments: Mapping[str, Any], _context: ToolContext) -> str | None:
        """Require approval unless the settings trust the server; the tool's `readOnlyHint` is only a claim."""
        server = self.connection.server
        return None if server.is_trusted else f"call {self.own_name} of the MCP server {server.name}"

    async def execute(self, arguments: Mapping[str, Any], _context: ToolContext) -> ToolResult:
        """Call the tool on the server, within the server's timeout."""
        return await self.connection.call(self.own_name, arguments)


class _ServerConnection:
    """One server: the task that keeps the connection open, and the server's tools."""

    def __init__(self, server: McpServer, context: ToolContext, toolbox: ToolBox, listener: Listener) -> None:
        self.server = server
        self._context = context
        self._toolbox = toolbox
        self._listener = listener
        self._client: Client | None = None
        self._found: list[ServerTool] = []
        self._offered: list[str] = []
        self._settled = asyncio.Event()
        """Set once connecting has succeeded or failed."""
        self._closing = asyncio.Event()
        self._task = asyncio.create_task(self._hold())

    async def wait(self, connect_s: float) -> None:
        """Wait until the server has listed its tools; on timeout, give up with a notice."""
        try:
            async with asyncio.timeout(connect_s):
                await self._settled.wait()
        except TimeoutError:
            self._note(f"did not answer within {connect_s:g} seconds, so its tools are missing")
            self._closing.set()
            self._task.cancel()

    def offer_tools(self) -> None:
        """Add the server's tools to the toolbox."""
        for found in self._found:
            tool = McpTool(
                name=mcp_tool_name(self.server.name, found.name),
                description=found.description or found.title or f"{found.name} of the MCP server {self.server.name}",
                parameters=found.input_schema,
                is_read_only=bool(found.annotations and found.annotations.read_only_hint),
                mcp_context={**self.server.described(), "tool_name": found.name},
                own_name=found.name,
                connection=self,
            )
            try:
                self._toolbox.add(tool)
            except UnusableToolError as error:
                self._note(f"offers a tool that can't be used: {error}")
            else:
                self._offered.append(tool.name)

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Return the server's result, or an error."""
        if self._client is None:
            return failure(f"The MCP server {self.server.name} has ended, so {name} was not run.")
        limit_s = self.server.timeout_ms / 1000
        try:
            async with asyncio.timeout(limit_s):
                return _result(await self._client.call_tool(name, dict(arguments)))
        except TimeoutError:
            return failure(f"{name} did not answer within {limit_s:g} seconds; it may or may not have had an effect.")
        except mcp.MCPError as error:
            if error.code == mcp_types.CONNECTION_CLOSED:
                self._lose("has ended")
                return failure(f"The MCP server {self.server.name} ended while {name} was running.")
            return failure(f"The MCP server {self.server.name} refused the call: {error.message}")

    async def aclose(self) -> None:
        """Close the connection and end the server process."""
        self._closing.set()
        if not self._settled.is_set():
            # It still connects, and does not check `_closing`.
            self._task.cancel()
        _, pending = await asyncio.wait({self._task}, timeout=CLOSE_S)
        if pending:
            self._task.cancel()
            await asyncio.wait(pending, timeout=CLOSE_S)

    async def _hold(self) -> None:
        """Keep the connection open: the task that enters the client must also exit it."""
        stderr = _StderrTail()
        what = "could not be used, so its tools are missing"
        try:
            async with self._make_client(stderr) as client:
                stderr.stream.close()
                self._found = await _all_tools(client)
                self._client = client
                what = "has ended"
                self._settled.set()
                await self._closing.wait()
        except Exception as error:  # noqa: BLE001 - a broken server must not end the session
            self._lose(f"{what}: {_reason(error)}{stderr.last_line()}")
        finally:
            self._client = None
            self._settled.set()
            stderr.close()

    def _make_client(self, stderr: "_StderrTail") -> "Client":
        if self.server.command is None:
            return mcp.Client(self.server.url or "")
        environ = {name: value for name, value in self._context.environ.items() if name in _INHERITED}
        parameters = mcp.StdioServerParameters(
            command=self.server.command,
            args=list(self.server.args),
            env={**environ, **self.server.env, CHILD_MARK: str(os.getpid())},
            cwd=self._context.project / (self.server.cwd or ""),
            encoding_error_handler="replace",
        )
        return mcp.Client(mcp.stdio_client(parameters, errlog=stderr.stream))

    def _lose(self, what: str) -> None:
        self._client = None
        for name in self._offered:
            self._toolbox.remove(name)
        self._offered.clear()
        if not self._closing.is_set():
            self._closing.set()
            self._note(what)

    def _note(self, what: str) -> None:
        # Without path and query, which may hold a key.
        url = urlsplit(self.server.url or "")
        where = f" at {url.scheme}://{url.netloc.rpartition('@')[2]}" if self.server.command is None else ""
        self._listener(Notice(text=f"The MCP server {self.server.name}{where} {what}.", is_error=True))


class _StderrTail:
    """A pipe for a server's stderr, whose last line usually explains a failed start."""

    def __init__(self) -> None:
        read_fd, write_fd = os.pipe()
        os.set_blocking(read_fd, False)
        self._reader = os.fdopen(read_fd, "rb", buffering=0)
        self.stream = os.fdopen(write_fd, "w")
        """The write end, to close once the server has its own."""
        self._tail = b""
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._reader, self._read)

    def last_line(self) -> str:
        """Return the last line after a dash, or an empty text."""
        self._read()
        lines = self._tail.decode("utf-8", "replace").strip().splitlines()
        return f" - {lines[-1].strip()}" if lines else ""

    def close(self) -> None:
        """Stop reading."""
        self.stream.close()
        self._loop.remove_reader(self._reader)
        self._reader.close()

    def _read(self) -> None:
        data = self._reader.read(65536)
        self._tail = (self._tail + (data or b""))[-_STDERR_BYTES:]
        if data == b"":
            # At EOF a pipe remains readable, and the loop would call this forever.
            self._loop.remove_reader(self._reader)


async def _all_tools(client: "Client") -> "list[ServerTool]":
    tools: list[ServerTool] = []
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        if not (cursor := page.next_cursor):
            break
    return tools


def _result(answer: "CallToolResult") -> ToolResult:
    parts = [_part(block) for block in answer.content]
    if not parts and answer.structured_content is not None:
        parts = [json.dumps(answer.structured_content, ensure_ascii=False)]
    text = "\n".join(part for part in parts if isinstance(part, str))
    if len(text) > MAX_CHARS:
        text = f"{text[:MAX_CHARS]}\n[{len(text) - MAX_CHARS} characters omitted]"
    if answer.is_error:
        return failure(text or "The tool failed and gave no reason.")
    media = [part for part in parts if not isinstance(part, str)]
    if not media:
        return success(text or "(no output)")
    texts = [{"text": text}] if text else []
    attached = f"[{len(media)} attachment{'s' if len(media) > 1 else ''}]"
    return ToolResult(llm_content=[*texts, *media], return_display=f"{text}\n{attached}" if text else attached)


def _part(block: "ContentBlock") -> str | dict[str, Any]:
    """Return the text of a block, or a part with its data."""
    match block.type:
        case "text":
            return block.text
        case "image" | "audio":
            return {"inlineData": {"mimeType": block.mime_type, "data": block.data}}
        case "resource_link":
            return f"{block.name}: {block.uri}"
        case "resource":
            text = getattr(block.resource, "text", None)
            return text if text is not None else f"[binary resource {block.resource.uri}]"


def _reason(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__
