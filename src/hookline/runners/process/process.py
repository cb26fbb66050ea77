"""One hook's process, from spawn to exit."""

import asyncio
import os
import signal
import time
from collections.abc import Callable
from typing import Protocol

from hookline.runners.process import command, orphans
from hookline.runners.process.command import BEING_WRITTEN, RESOURCE_ERRNOS, refusal
from hookline.runners.process.job import ChildJob, ChildLimits, ChildOutcome, Stdio
from hookline.runners.process.limit import Limit
from hookline.runners.process.pipes import InputPipe, OutputPipe, open_pipes
from hookline.runners.process.reaper import REAPER, signal_group
from hookline.runners.process.status import STATUS_LOST, STATUSES, StatusReport, open_report
from hookline.runners.process.watcher import Watcher

# The output of a new process stays in its pipes for so long, unless it exits before.
QUIET_S = 0.01
_UNKILLABLE_S = 2.0
_LONGEST_TIMEOUT_MS = 1e12

_UNKILLABLE = "the hook did not exit even after SIGKILL, so it was left alone"


class ProcessOwner(Protocol):
    """The part of a batch that its processes use."""

    limits: ChildLimits
    slots: Limit
    loop: asyncio.AbstractEventLoop

    def finished(self, process: "Process", outcome: ChildOutcome) -> None:
        """Called when the process has exited and its output has been read, or when it was abandoned."""


class Process:
    """A hook's process: watched, fed, read, timed and reaped until it calls `finished` of its owner."""

    _started_at = 0.0
    _error: str | None = None
    _is_shortage = False
    _is_status_lost = False
    _report: StatusReport | None = None
    _status: int | None = None
    _terminated_at: float | None = None
    _timed_out = False
    _is_killed = False
    _has_exited = False
    _timer: asyncio.TimerHandle | None = None
    _quiet: asyncio.TimerHandle | None = None
    _pid = 0
    _mark = b""
    _pidfd = -1
    _stdin: InputPipe
    _stdout: OutputPipe
    _stderr: OutputPipe
    _watcher: Watcher

    def __init__(self, owner: ProcessOwner, index: int, job: ChildJob, slot: object) -> None:
        """Take over a slot of the owner's limit, which is released when the process has finished."""
        self.index = index
        self.job = job
        self._slot = slot
        self._owner = owner

    def start(self) -> None:
        """Start the process and watch it. Raises if it can't be started; later faults become its error."""
        job, owner = self.job, self._owner
        self._started_at = time.monotonic()
        child_ends, self._stdin, self._stdout, self._stderr = open_pipes(job.stdin, owner.limits.output_bytes)
        try:
            self._mark = next(orphans.MARKS)
            launched = 0 if job.launch is None else job.launch(child_ends, self._mark)
            self._pid = launched or self._start_new(child_ends)
        except BaseException:
            self._close_pipes()
            raise
        finally:
            for fd in child_ends:
                os.close(fd)
        REAPER.running.add(self._pid)
        try:
            self._set_timer(min(_LONGEST_TIMEOUT_MS, job.timeout_ms) / 1000, self._on_timeout)
            # A short answer fits into the pipes and is read after the exit, without a wake-up for each write and close.
            self._quiet = owner.loop.call_later(QUIET_S, self._watch_pipes)
            self._watcher = Watcher(owner.loop)
            if self._stdin.fd >= 0:
                self._stdin.send(self._watcher)
            self._pidfd = self._watcher.watch_exit(self._pid, self._on_exit)
        except Exception as error:  # noqa: BLE001 - the process runs, so it must neither be started again nor be lost
            self._abandon_unwatched(error)

    def _start_new(self, child_ends: Stdio) -> int:
        self._report = open_report()
        if self._report is None:
            return command.start(self.job, child_ends, self._mark)
        try:
            return command.start(self.job, child_ends, self._mark, report=self._report.write_end)
        finally:
            self._report.started()

    def terminate(self) -> None:
        """Send SIGTERM to the process group and to what left it; SIGKILL follows after the grace period."""
        if self._has_exited:
            self.abandon()
        elif not self._has_ended() and self._terminated_at is None:
            self._terminate()

    def kill(self) -> None:
        """Send SIGKILL to the process group and to what left it."""
        if not self._has_exited and not self._is_killed:
            self._is_killed = True
            signal_group(self._pid, signal.SIGKILL)
            REAPER.kill_now(self._mark)
            self._set_timer(_UNKILLABLE_S, self._on_unkillable)

    def abandon(self) -> None:
        """Close everything now; if the process still runs, the reaper terminates it."""
        if self._pid == 0:  # the start was interrupted and has closed its pipes
            self._finish()
            return
        try:
            if not self._has_exited:
                self._has_exited = True
                if self._terminated_at is None:
                    self._send_sigterm()
                REAPER.take_over(self._pid, deadline=self._kill_deadline(), unreaped=True)
            self._close_pidfd()
            self._close_pipes()
        finally:
            REAPER.running.discard(self._pid)
            self._finish()

    def _set_timer(self, delay_s: float, step: Callable[[], None]) -> None:
        """Take this step after a delay, instead of the step that was set before."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._owner.loop.call_later(delay_s, step)

    def _on_timeout(self) -> None:
        if not self._has_ended():
            self._timed_out = True
            self._terminate()

    def _terminate(self) -> None:
        self._send_sigterm()
        self._set_timer(self._owner.limits.grace_s, self._on_grace_over)

    def _on_grace_over(self) -> None:
        if not self._has_ended():
            self.kill()

    def _on_unkillable(self) -> None:
        if not self._has_ended():
            self._error = _UNKILLABLE
            self.abandon()

    def _send_sigterm(self) -> None:
        self._terminated_at = time.monotonic()
        REAPER.terminate(self._pid, self._mark, deadline=self._kill_deadline())

    def _kill_deadline(self) -> float:
        return (self._terminated_at or 0.0) + self._owner.limits.grace_s

    def _watch_pipes(self) -> None:
        if self._quiet is None:
            return
        self._quiet.cancel()
        self._quiet = None
        try:
            self._stdout.watch(self._watcher, self._on_eof)
            self._stderr.watch(self._watcher, self._on_eof)
        except (OSError, RuntimeError) as error:
            self._abandon_unwatched(error)

    def _abandon_unwatched(self, error: Exception) -> None:
        if not self._has_exited:
            self._error = f"the hook could not be watched and was ended: {error}"
            self._is_status_lost = True
            self._is_shortage = getattr(error, "errno", None) in RESOURCE_ERRNOS
        self.abandon()

    def _on_eof(self) -> None:
        if self._has_exited and self._stdout.fd < 0 and self._stderr.fd < 0:
            self._finish()

    def _has_ended(self) -> bool:
        """Whether the process has exited: maybe in time, but the loop was too busy to notice."""
        if not _is_zombie(self._pid):
            return False
        self._close_pidfd()
        self._on_exit()
        return True

    def _on_exit(self, status: int | None = None) -> None:
        if self._has_exited:  # abandoned in the meantime
            return
        self._pidfd = -1
        if status is None:
            try:
                reaped, status = os.waitpid(self._pid, os.WNOHANG)
            except ChildProcessError:
                STATUSES.was_lost = True
            else:
                if not reaped:  # a tracer (a debugger, strace) has to see the exit first
                    self._watcher.wait_in_thread(self._pid, self._on_exit)
                    return
        status = self._hooks_own(status)
        REAPER.running.discard(self._pid)
        self._has_exited = True
        self._status = status
        if self._terminated_at is not None and not self._is_killed:
            REAPER.take_over(self._pid, deadline=self._kill_deadline(), unreaped=False)
        if self._stdin.fd >= 0:
            self._stdin.close()
        # Read both, whatever the first one gives.
        is_stdout_read = self._stdout.read()
        if self._stderr.read() and is_stdout_read:
            self._finish()
        else:
            # Another process holds the pipes open.
            self._set_timer(self._owner.limits.pipe_grace_s, self.abandon)
            self._watch_pipes()

    def _hooks_own(self, status: int | None) -> int | None:
        """The status of the hook, where that of our child may be another program's, or unknown."""
        if self._report is not None:
            # Of the program in front, only its violent end says something about the hook.
            was_killed = status is not None and os.WIFSIGNALED(status)
            reported = self._report.read()
            status = status if reported is None and was_killed else reported
        if status is None and self._terminated_at is None:
            self._is_status_lost = True
            self._error = STATUS_LOST
        return status

    def _finish(self) -> None:
        for timer in (self._timer, self._quiet):
            if timer is not None:
                timer.cancel()
        try:
            code = None if self._status is None else os.waitstatus_to_exitcode(self._status)
            if self.job.limits is not None or self._report is not None:
                self._error = self._error or refusal(code, self._stderr.content.getvalue())
            outcome = ChildOutcome(
                exit_code=code if code is not None and code >= 0 else None,
                signal=-code if code is not None and code < 0 else None,
                timed_out=self._timed_out,
                stdout=self._stdout.content.getvalue(),
                stderr=self._stderr.content.getvalue(),
                stdout_truncated=self._stdout.is_truncated,
                stderr_truncated=self._stderr.is_truncated,
                duration_ms=(time.monotonic() - self._started_at) * 1000,
                error=self._error,
                is_shortage=self._is_shortage,
                is_status_lost=self._is_status_lost,
            )
        except Exception as error:  # noqa: BLE001 - such as a lack of memory: the others must not wait forever
            outcome = ChildOutcome(
                error=f"the hook's outcome is not known: {error!r}", is_shortage=True, is_status_lost=True
            )
        self._close_report()
        self._owner.slots.release(self._slot)
        self._owner.finished(self, outcome)

    def _close_report(self) -> None:
        if self._report is not None:
            self._report.close()

    def _close_pidfd(self) -> None:
        if self._pidfd >= 0:
            pidfd, self._pidfd = self._pidfd, -1
            self._watcher.close(pidfd)

    def _close_pipes(self) -> None:
        self._close_report()
        self._stdin.close()
        self._stdout.close()
        self._stderr.close()


def _is_zombie(pid: int) -> bool:
    """Whether a child has exited, without reaping it."""
    if not hasattr(os, "waitid"):
        return False
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def why_not_started(error: Exception, job: ChildJob) -> str:
    """Return the message for the user."""
    reason = str(error)
    if isinstance(error, OSError) and error.errno:
        reason = os.strerror(error.errno)
        if error.filename == job.cwd:
            reason = f"its working directory {job.cwd} can't be used: {reason}"
        elif error.errno == BEING_WRITTEN:
            what = f"{error.filename}, or its interpreter, is open for writing ({reason})"
            reason = f"{what}; close it, or put a new file in its place"
    return f"could not be started: {reason}"
