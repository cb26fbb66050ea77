"""A program that runs beside us until we end it: its pipes belong to the caller."""

import asyncio
import os
import signal
import time
from collections.abc import Mapping

from hookline.runners.process import orphans
from hookline.runners.process.command import program_invocation
from hookline.runners.process.reaper import REAPER, group_remains, signal_group
from hookline.runners.process.spawn import spawn
from hookline.runners.process.watcher import Watcher

_POLL_S = 0.01
_DYING_S = 2.0


class Companion:
    """A running program, in a session of its own. Whoever starts it has to `end` it."""

    def __init__(self, argv: tuple[str, ...], cwd: str, env: Mapping[str, str]) -> None:
        """Starts the program; raises OSError if that is not possible."""
        self._mark = next(orphans.MARKS)
        child_stdin, self.stdin = os.pipe()
        self.stdout, child_stdout = os.pipe()
        self.stderr, child_stderr = os.pipe()
        try:
            self.pid = spawn(
                program_invocation(argv, cwd, env, self._mark), cwd, (child_stdin, child_stdout, child_stderr)
            )
        except BaseException:
            for fd in (self.stdin, self.stdout, self.stderr):
                os.close(fd)
            raise
        finally:
            for fd in (child_stdin, child_stdout, child_stderr):
                os.close(fd)
        REAPER.running.add(self.pid)
        self.status: int | None = None
        """Its exit code, or the negative number of the signal that killed it; None while it runs or if it is lost."""
        self.exited = asyncio.Event()
        self._watcher = Watcher(asyncio.get_running_loop())
        self._watcher.watch_exit(self.pid, self._on_exit)

    async def end(self, *, wait_s: float, grace_s: float, hurry: asyncio.Event, hurry_s: float) -> None:
        """Waits for its exit, then ends it with everything that it started: SIGTERM, and SIGKILL after `grace_s`.

        When `hurry` is set it does not wait, and the grace is `hurry_s` at most.
        """
        await self._exits_within(wait_s, hurry)
        deadline = time.monotonic() + grace_s
        search = orphans.OrphanSearch(self.pid, self._mark)
        if self._has_group():
            signal_group(self.pid, signal.SIGTERM)
            # A stopped process gets its SIGTERM only when it is continued.
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
            await self._exits_within(_DYING_S, asyncio.Event())
        if not self.exited.is_set():
            REAPER.take_over(self.pid, deadline=0.0, unreaped=True)
        REAPER.running.discard(self.pid)

    async def _exits_within(self, wait_s: float, hurry: asyncio.Event) -> None:
        tasks = [asyncio.create_task(event.wait()) for event in (self.exited, hurry)]
        try:
            await asyncio.wait(tasks, timeout=wait_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()

    def _has_group(self) -> bool:
        return not self.exited.is_set() or group_remains(self.pid)

    def _on_exit(self, status: int | None = None) -> None:
        if status is None:
            try:
                reaped, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:
                status = None  # a program around us waits for every child
            else:
                if not reaped:  # a tracer has to see the exit first
                    self._watcher.wait_in_thread(self.pid, self._on_exit)
                    return
        self.status = None if status is None else os.waitstatus_to_exitcode(status)
        self.exited.set()
