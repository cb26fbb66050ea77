"""An MCP server that the gateway starts as a child process."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Mapping
from typing import BinaryIO

from hookline.errors import HooklineError
from hookline.gateway.lines import LineReader, LineWriter, wait_for_any
from hookline.protocol.inputs import mcp_server_facts
from hookline.runners.process import orphans
from hookline.runners.process.command import program_invocation, spawn
from hookline.runners.process.reaper import REAPER, group_remains, signal_group
from hookline.runners.process.watcher import Watcher
from hookline.stderr import warn_user

# The same as in the official clients: the server may take this long to exit after EOF on stdin, and after SIGTERM.
WAIT_S = 2.0
GRACE_S = 2.0
# The grace after a signal to the gateway itself.
HURRY_S = 0.7

_FLUSH_S = 0.5
_STATUS_S = 0.5
_KILL_S = 2.0
_POLL_S = 0.01
_MAX_STDERR_LINE = 8192


class ManagedProcess:
    """A program in a new session, with pipes that belong to the caller, who must call `end`."""

    def __init__(self, argv: tuple[str, ...], cwd: str, env: Mapping[str, str]) -> None:
        """Start the program. Raises OSError if that fails."""
        self._mark = next(orphans.MARKS)
        child_stdin, self.stdin = os.pipe()
        self.stdout, child_stdout = os.pipe()
        self.stderr, child_stderr = os.pipe()
        child_fds = (child_stdin, child_stdout, child_stderr)
        try:
            self.pid = spawn(program_invocation(argv, cwd, env, self._mark), cwd, child_fds)
        except BaseException:
            for fd in (self.stdin, self.stdout, self.stderr):
                os.close(fd)
            raise
        finally:
            for fd in child_fds:
                os.close(fd)
        REAPER.running.add(self.pid)
        self.status: int | None = None
        """The exit code, or the negative signal number; None while it runs and if the status was lost."""
        self.exited = asyncio.Event()
        self._watcher = Watcher(asyncio.get_running_loop())
        self._watcher.watch_exit(self.pid, self._on_exit)

    async def end(self, *, wait_s: float, grace_s: float, hurry: asyncio.Event, hurry_s: float) -> None:
        """Wait for the exit, then end the program and all its descendants: SIGTERM, and SIGKILL after `grace_s`.

        When `hurry` is set, this stops waiting and limits the grace to `hurry_s`.
        """
        await wait_for_any(self.exited, hurry, timeout_s=wait_s)
        deadline = time.monotonic() + grace_s
        search = orphans.OrphanSearch(self.pid, self._mark)
        if self._has_group():
            signal_group(self.pid, signal.SIGTERM)
            # A stopped process receives SIGTERM only after SIGCONT.
            signal_group(self.pid, signal.SIGCONT)
        search.terminate()
        REAPER.track(search, deadline=deadline)
        while self._has_group() and time.monotonic() < deadline:
            if hurry.is_set():
                deadline = min(deadline, time.monotonic() + hurry_s)
                hurry = asyncio.Event()
            await asyncio.sleep(_POLL_S)
        if self._has_group():
            signal_group(self.pid, signal.SIGKILL)
            REAPER.kill_now(self._mark)
            await wait_for_any(self.exited, timeout_s=_KILL_S)
        if not self.exited.is_set():
            REAPER.take_over(self.pid, deadline=0.0, unreaped=True)
        REAPER.running.discard(self.pid)

    def _has_group(self) -> bool:
        return not self.exited.is_set() or group_remains(self.pid)

    def _on_exit(self, status: int | None = None) -> None:
        if status is None:
            try:
                reaped, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:
                status = None  # the embedding program reaps every child
            else:
                if not reaped:  # a tracer must see the exit first
                    self._watcher.wait_in_thread(self.pid, self._on_exit)
                    return
        self.status = None if status is None else os.waitstatus_to_exitcode(status)
        self.exited.set()


class ProcessServer:
    """A program that speaks MCP on stdin and stdout; its stderr lines are copied to the gateway's stderr."""

    def __init__(self, name: str, argv: tuple[str, ...]) -> None:
        self.name = name
        self.facts = mcp_server_facts(name, command=argv[0], args=argv[1:])
        self._argv = argv
        self._writer = LineWriter()
        self._program: ManagedProcess | None = None
        self._reader: LineReader | None = None
        self._stderr: threading.Thread | None = None

    async def open(self, reader: LineReader, source: LineReader) -> None:
        """Start the program."""
        cwd = os.getcwd()  # links must not be resolved
        try:
            self._program = program = ManagedProcess(self._argv, cwd, dict(os.environ))
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise HooklineError(f"the MCP server {self.name} can't be started: {self._argv[0]}: {why}") from error
        stderr = os.fdopen(program.stderr, "rb", buffering=0)
        self._stderr = threading.Thread(target=_copy, args=(self.name, stderr), name="hookline-stderr", daemon=True)
        self._stderr.start()
        self._reader = reader
        await self._writer.open(program.stdin, source)
        await reader.read(program.stdout)

    def send(self, line: bytes) -> None:
        """Send a message to the server."""
        self._writer.write(line)

    async def why_ended(self) -> str:
        """Return why there are no more messages."""
        if self._program is None:
            return "was not started"
        if not await wait_for_any(self._program.exited, timeout_s=_STATUS_S):
            return "has closed its stdout"
        status = self._program.status
        if status is None:
            return "has ended"
        return f"has ended with exit code {status}" if status >= 0 else f"was ended by signal {-status}"

    async def close(self, hurry: asyncio.Event) -> None:
        """Close its stdin, and end the program if it does not exit."""
        if self._program is None:
            return
        await self._writer.close(_FLUSH_S)
        try:
            await self._program.end(wait_s=WAIT_S, grace_s=GRACE_S, hurry=hurry, hurry_s=HURRY_S)
        finally:
            if self._reader is not None:
                self._reader.close()
        if self._stderr is not None:
            await asyncio.to_thread(self._stderr.join, _FLUSH_S)


def _copy(name: str, stderr: BinaryIO) -> None:
    """Copy a program's stderr, in a thread because writing may block."""
    with stderr:
        while line := stderr.readline(_MAX_STDERR_LINE):
            warn_user(f"[{name}] {line.decode('utf-8', 'replace').rstrip()}")
