"""The server as a program that the gateway starts."""

import asyncio
import os
import threading
from typing import BinaryIO

from hookline.errors import HooklineError
from hookline.gateway.lines import LineReader, LineWriter
from hookline.gateway.managed_process import Companion
from hookline.protocol.mcp import mcp_server_facts
from hookline.protocol.text.strings import warn_user

# As the official clients do it: the server has this long to exit when its stdin is closed, and again after SIGTERM.
WAIT_S = 2.0
GRACE_S = 2.0
# The same when somebody waits for us already.
HURRY_S = 0.7

_FLUSH_S = 0.5
_STATUS_S = 0.5
_LONGEST_TEXT = 8192


class ProcessServer:
    """A program that speaks MCP on its stdin and stdout; lines of its stderr are shown on ours."""

    def __init__(self, name: str, argv: tuple[str, ...]) -> None:
        self.name = name
        self.facts = mcp_server_facts(name, command=argv[0], args=argv[1:])
        self.writer = LineWriter()
        self.send = self.writer.write
        self._argv = argv
        self._program: Companion | None = None
        self._reader: LineReader | None = None
        self._stderr: threading.Thread | None = None

    async def open(self, reader: LineReader) -> None:
        """Starts the program; the reader gets its lines."""
        cwd = os.getcwd()  # noqa: PTH109 - not resolved
        try:
            self._program = program = Companion(self._argv, cwd, dict(os.environ))
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise HooklineError(f"the MCP server {self.name} can't be started: {self._argv[0]}: {why}") from error
        stderr = os.fdopen(program.stderr, "rb", buffering=0)
        self._stderr = threading.Thread(target=_show, args=(self.name, stderr), name="hookline-stderr", daemon=True)
        self._stderr.start()
        self._reader = reader
        await self.writer.open(program.stdin)
        await reader.read(program.stdout)

    async def why_ended(self) -> str:
        """Why there are no more lines."""
        if self._program is None:
            return "was not started"
        try:
            async with asyncio.timeout(_STATUS_S):
                await self._program.exited.wait()
        except TimeoutError:
            return "has closed its stdout"
        status = self._program.status
        if status is None:
            return "has ended"
        return f"has ended with exit code {status}" if status >= 0 else f"was ended by signal {-status}"

    async def close(self, hurry: asyncio.Event) -> None:
        """Closes its stdin, and ends it if it does not exit."""
        if self._program is None:
            return
        await self.writer.close(_FLUSH_S)
        try:
            await self._program.end(wait_s=WAIT_S, grace_s=GRACE_S, hurry=hurry, hurry_s=HURRY_S)
        finally:
            if self._reader is not None:
                self._reader.close()
        if self._stderr is not None:
            await asyncio.to_thread(self._stderr.join, _FLUSH_S)


def _show(name: str, stderr: BinaryIO) -> None:
    """Shows the lines of a program's stderr on ours, in a thread: nobody may read ours."""
    with stderr:
        while line := stderr.readline(_LONGEST_TEXT):
            warn_user(f"[{name}] {line.decode('utf-8', 'replace').rstrip()}")
