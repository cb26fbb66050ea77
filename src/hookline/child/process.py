"""One hook's process, from spawn to exit."""

import asyncio
import contextlib
import os
import signal
import time
from typing import Protocol

from hookline.child import command, strays
from hookline.child.confine import refusal
from hookline.child.job import ChildJob, ChildLimits, ChildOutcome, Claim, Stdio
from hookline.child.limit import Limit
from hookline.child.pipes import InputPipe, OutputPipe, SharedInput, open_pipes
from hookline.child.reaper import REAPER, signal_group
from hookline.child.spawn import BEING_WRITTEN, SHORTAGES
from hookline.child.status import STATUS_LOST, STATUSES, StatusReport, open_report
from hookline.child.watcher import Watcher, watcher_for
from hookline.contract.vocabulary import RunWay

_UNKILLABLE_S = 2.0
_NEVER = float("inf")
_LONGEST_TIMEOUT_MS = 1e15

_UNKILLABLE = "the hook did not exit even after SIGKILL, so it was left alone"


class Owner(Protocol):
    """What a process needs from the batch it belongs to."""

    limits: ChildLimits
    slots: Limit
    shared_input: SharedInput | None
    quiet_s: float
    """How long we only wait for the exit of a new process and leave its output in the pipes."""
    loop: asyncio.AbstractEventLoop

    def schedule(self, process: "Process", deadline: float) -> None:
        """Call `on_deadline` of the process at this monotonic time, instead of the one set before."""

    def finished(self, process: "Process", outcome: ChildOutcome) -> None:
        """Called when the process has exited and its output has been read, or when it was abandoned."""


class Process:
    """A hook's process: watched, fed, read, timed and reaped until it calls `finished` of its owner."""

    deadline: float = _NEVER
    started_at = 0.0
    """Timeout and duration count from here; if it is not set before `start`, they count from there."""
    _error: str | None = None
    _is_shortage = False
    _is_status_lost = False
    _report: StatusReport | None = None
    _status: int | None = None
    _terminated_at: float | None = None
    _timed_out = False
    _is_killed = False
    _has_exited = False
    _watches_pipes = False
    _may_start_cold = True
    _pid = 0
    _mark = b""
    _pidfd = -1
    _stdin: InputPipe
    _stdout: OutputPipe
    _stderr: OutputPipe
    _watcher: Watcher

    def __init__(self, owner: Owner, index: int, job: ChildJob, slot: object, claim: Claim | None = None) -> None:
        """Take over a slot of the owner's limit, which is released when the process has finished.

        With a claim, a process that waits for this event becomes the hook's process.
        """
        self.index = index
        self.job = job
        self._slot = slot
        self._owner = owner
        self._claim = claim

    def start(self) -> None:
        """Start the process and watch it. Raises if it can't be started; later faults become its error."""
        job, owner = self.job, self._owner
        now = time.monotonic()
        self.started_at = self.started_at or now
        try:
            child_ends, self._stdin, self._stdout, self._stderr = open_pipes(job.stdin, owner.limits.output_bytes)
        except BaseException:
            if self._claim is not None:
                self._claim.release()
            raise
        try:
            self._mark = next(strays.MARKS)
            woken = 0 if self._claim is None else self._wake(self._claim, child_ends)
            self._pid = woken or self._start_new(child_ends)
        except BaseException:
            self._close_pipes()
            raise
        finally:
            for fd in child_ends:
                os.close(fd)
        REAPER.running.add(self._pid)
        try:
            # A short answer fits into the pipe and is read after the exit: waking up for each write and each close
            # costs more than all the rest. Watch the pipes only of hooks that run longer than `quiet_s`; hooks with
            # short timeouts are watched from half of theirs.
            owner.schedule(self, now + min(2000 * owner.quiet_s, job.timeout_ms) / 2000)
            self._watcher = watcher_for(owner.loop)
            if self._stdin.fd >= 0:
                self._stdin.send(self._watcher, owner.shared_input)
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

    def _wake(self, claim: Claim, child_ends: Stdio) -> int:
        """Give the event to the process that waits for it; return its id, or 0 if a process has to be started."""
        pid = claim.send(child_ends, self._mark)
        if not pid:
            self._claim = None
        return pid

    def terminate(self) -> None:
        """Send SIGTERM to the process group and to what left it; SIGKILL follows after the grace period."""
        self._may_start_cold = False
        if self._has_exited:
            self.abandon()
        elif not self._has_ended() and self._terminated_at is None:
            self._terminate()

    def kill(self) -> None:
        """Send SIGKILL to the process group and to what left it."""
        if not self._has_exited and not self._is_killed:
            self._is_killed = True
            signal_group(self._pid, signal.SIGKILL)
            REAPER.hasten(self._mark)
            self._owner.schedule(self, time.monotonic() + _UNKILLABLE_S)

    def on_deadline(self) -> None:
        """Take the next step.

        After the quiet time watch the pipes; at the timeout send SIGTERM, then SIGKILL, then give up. After the exit
        stop waiting for other processes that hold the pipes open.
        """
        if self._has_exited:
            self.abandon()
        elif not self._watches_pipes:
            self._owner.schedule(self, self._timeout_at())
            self._watch_pipes()
        elif self._has_ended():
            return
        elif self._is_killed:
            self._error = _UNKILLABLE
            self.abandon()
        elif self._terminated_at is not None:
            self.kill()
        else:
            self._timed_out = True
            self._terminate()

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
                REAPER.adopt(self._pid, deadline=self._kill_deadline(), unreaped=True)
            self._close_pidfd()
            self._close_pipes()
        finally:
            REAPER.running.discard(self._pid)
            self._finish()

    def _terminate(self) -> None:
        self._send_sigterm()
        self._owner.schedule(self, self._kill_deadline())
        # Before it exits it may write more than its pipes hold.
        self._watch_pipes()

    def _send_sigterm(self) -> None:
        self._terminated_at = time.monotonic()
        hunt = strays.Hunt(self._pid, self._mark)
        signal_group(self._pid, signal.SIGTERM)
        # A stopped process gets its SIGTERM only when it is continued.
        signal_group(self._pid, signal.SIGCONT)
        hunt.terminate()
        REAPER.pursue(hunt, deadline=self._kill_deadline())

    def _timeout_at(self) -> float:
        return self.started_at + min(_LONGEST_TIMEOUT_MS, self.job.timeout_ms) / 1000

    def _kill_deadline(self) -> float:
        return (self._terminated_at or 0.0) + self._owner.limits.grace_s

    def _watch_pipes(self) -> None:
        if self._watches_pipes:
            return
        self._watches_pipes = True
        try:
            self._stdout.watch(self._watcher, self._on_eof)
            self._stderr.watch(self._watcher, self._on_eof)
        except (OSError, RuntimeError) as error:
            self._abandon_unwatched(error)

    def _abandon_unwatched(self, error: Exception) -> None:
        if not self._has_exited:
            self._error = f"the hook could not be watched and was ended: {error}"
            self._is_status_lost = True
            self._is_shortage = getattr(error, "errno", None) in SHORTAGES
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
        if self._should_start_cold():
            self._start_cold()
            return
        self._has_exited = True
        self._status = status
        if self._terminated_at is not None and not self._is_killed:
            REAPER.adopt(self._pid, deadline=self._kill_deadline(), unreaped=False)
        if self._stdin.fd >= 0:
            self._stdin.close()
        # Read both, whatever the first one gives.
        is_stdout_read = self._stdout.read()
        if self._stderr.read() and is_stdout_read:
            self._finish()
        else:
            self._owner.schedule(self, time.monotonic() + self._owner.limits.pipe_grace_s)
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

    def _should_start_cold(self) -> bool:
        """Whether the process has died before it ran anything of the hook, and there is time for another one."""
        if self._claim is None or self._terminated_at is not None or self._claim.has_taken():
            return False
        self._timed_out = time.monotonic() >= self._timeout_at()
        return self._may_start_cold and not self._timed_out

    def _start_cold(self) -> None:
        """Start a process in place of the one that waited and has died."""
        self._release_claim()
        self._close_pipes()
        self._pid, self._error, self._watches_pipes, self._is_status_lost = 0, None, False, False
        try:
            self.start()
        except Exception as error:  # noqa: BLE001 - the others must not wait for this one
            self._has_exited = True
            self._error = why_not_started(error, self.job)
            self._is_shortage = getattr(error, "errno", None) in SHORTAGES
            self._finish()

    def _release_claim(self) -> None:
        if self._claim is not None:
            claim, self._claim = self._claim, None
            claim.finish()

    def _finish(self) -> None:
        way = RunWay.COLD if self._claim is None else RunWay.WARM
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
                duration_ms=(time.monotonic() - self.started_at) * 1000,
                error=self._error,
                is_shortage=self._is_shortage,
                is_status_lost=self._is_status_lost,
                way=way,
            )
        except Exception as error:  # noqa: BLE001 - such as a lack of memory: the others must not wait forever
            outcome = ChildOutcome(
                error=f"the hook's outcome is not known: {error!r}", is_shortage=True, is_status_lost=True
            )
        self._close_report()
        self._owner.slots.release(self._slot)
        self._owner.finished(self, outcome)
        if self._claim is not None:
            with contextlib.suppress(Exception):  # the outcome is known, whatever happens here
                self._release_claim()

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
    """The message for a person."""
    reason = str(error)
    if isinstance(error, OSError) and error.errno:
        reason = os.strerror(error.errno)
        if error.filename == job.cwd:
            reason = f"its working directory {job.cwd} can't be used: {reason}"
        elif error.errno == BEING_WRITTEN:
            what = f"{error.filename}, or its interpreter, is open for writing ({reason})"
            reason = f"{what}; close it, or put a new file in its place"
    return f"could not be started: {reason}"
