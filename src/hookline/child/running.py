"""One hook from spawn to reap."""

import os
import signal
import time
from functools import partial
from typing import Protocol

from hookline.child.command import direct_invocation, shell_invocation
from hookline.child.facilities import facilities
from hookline.child.feeding import SharedInputs, put_after_start, put_before_start, write
from hookline.child.job import ChildJob, ChildLimits, ChildOutcome
from hookline.child.reading import Stream
from hookline.child.reaper import REAPER, signal_group
from hookline.child.spawn import ExecError, Stdio, spawn
from hookline.child.watch import Watcher

_UNKILLABLE_S = 2.0
_NEVER = float("inf")
_LONGEST_TIMEOUT_MS = 1e15
_CLOSED = Stream(-1, 0)

_LOST = (
    "the hook's exit status was lost: the program around it ignores SIGCHLD or waits for every child, "
    "so whether the hook succeeded is not known"
)
_UNKILLABLE = "the hook did not end even after SIGKILL, so it was left alone"


class Surroundings(Protocol):
    """What a running hook needs from the batch it belongs to."""

    limits: ChildLimits
    inputs: SharedInputs | None
    quiet_s: float
    """How long a new child is only waited for, and its output left in the pipes."""
    watcher: Watcher

    def wake_at(self, when: float) -> None:
        """Sees to it that what is due at that monotonic time is done then."""

    def ended(self, child: "RunningChild") -> None:
        """Is told once, when the child's outcome is known."""


class RunningChild:
    """A started hook: watched, fed, read, timed and waited for until `ended` is called with it."""

    due: float = _NEVER
    """The monotonic time of `do_due`."""
    _error: str | None = None
    _status: int | None = None
    _terminated_at: float | None = None
    _timed_out = False
    _is_killed = False
    _has_ended = False
    _is_past_quiet = False
    _pid = 0
    _pidfd = -1
    _feed = -1
    _stdout = _stderr = _CLOSED

    def __init__(self, batch: Surroundings, index: int, job: ChildJob) -> None:
        self.index = index
        self._job = job
        self._batch = batch
        self._started = time.monotonic()

    def start(self) -> None:
        """Starts the process and has it watched; raises only where there is none, but for an interruption."""
        job, batch = self._job, self._batch
        opened: list[int] = []
        try:
            opened += os.pipe()
            opened += os.pipe()
            opened += os.pipe()
            stdin, feed, stdout_fd, stdout, stderr_fd, stderr = opened
            rest = put_before_start(feed, job.stdin)
            # From the process's first moment on they are closed by whoever ends it.
            self._feed = feed
            self._stdout = Stream(stdout_fd, batch.limits.output_bytes)
            self._stderr = Stream(stderr_fd, batch.limits.output_bytes)
            self._pid = pid = _spawn(job, (stdin, stdout, stderr))
        except BaseException:
            for fd in opened:
                os.close(fd)
            raise
        try:
            REAPER.running.add(pid)
            os.close(stdin)
            os.close(stdout)
            os.close(stderr)
            if rest is None:
                rest = put_after_start(feed, job.stdin, batch.inputs)
            self._pidfd = batch.watcher.ends(pid, self._process_ended)
            if rest:
                self._rest = rest
                batch.watcher.writes(feed, self._feed_more)
            else:
                # Noted first: after an interruption the number may be somebody else's.
                self._feed = -1
                os.close(feed)
            os.set_blocking(stdout_fd, False)
            os.set_blocking(stderr_fd, False)
            # A short answer fits into the pipe and is read when the process has ended: being woken by its writing and
            # by the closing of both pipes costs more than all the rest. Who runs longer is watched, and who must be
            # quick has half of its time left then.
            self._wake_at(self._started + min(2000 * batch.quiet_s, job.timeout_ms) / 2000)
        except Exception as error:  # noqa: BLE001 - it runs, so it must neither be started again nor stay unwatched
            self._abandon_unwatched(error)

    @property
    def is_started(self) -> bool:
        """Whether there is a process."""
        return self._pid > 0

    def outcome(self) -> ChildOutcome:
        """What became of it."""
        exit_code: int | None = None
        number: int | None = None
        if self._status is not None:
            code = os.waitstatus_to_exitcode(self._status)
            if code >= 0:
                exit_code = code
            else:
                number = -code
        return ChildOutcome(
            exit_code=exit_code,
            signal=number,
            timed_out=self._timed_out,
            stdout=self._stdout.kept(),
            stderr=self._stderr.kept(),
            stdout_truncated=self._stdout.is_cut,
            stderr_truncated=self._stderr.is_cut,
            duration_ms=(time.monotonic() - self._started) * 1000,
            error=self._error,
        )

    def terminate(self) -> None:
        """Asks the whole group to end, and sees to it that it does."""
        if self._has_ended or not self.is_started:
            self.abandon()
        elif _is_over(self._pid):
            self._process_ended()
        elif self._terminated_at is None:
            self._terminate()

    def kill(self) -> None:
        """Ends the whole group now."""
        if self.is_started and not self._has_ended and not self._is_killed:
            self._is_killed = True
            signal_group(self._pid, signal.SIGKILL)
            self._wake_at(time.monotonic() + _UNKILLABLE_S)

    def do_due(self) -> None:
        """Does what comes next when nothing else has happened until `due`.

        After the quiet time its pipes are watched, at its deadline it is terminated, then killed, then left alone; once
        it has ended, those who still hold its pipes are not waited for any longer.
        """
        if self._has_ended:
            self.abandon()
        elif not self._is_past_quiet and self._terminated_at is None:
            self._wake_at(self._started + min(_LONGEST_TIMEOUT_MS, self._job.timeout_ms) / 1000)
            self._watch_pipes()
        elif _is_over(self._pid):  # in time, but the loop was busy, or an interruption kept us from hearing of it
            self._process_ended()
        elif self._is_killed:
            self._error = _UNKILLABLE
            self.abandon()
        elif self._terminated_at is not None:
            self.kill()
        else:
            self._timed_out = True
            self._terminate()

    def abandon(self) -> None:
        """Lets go of it; one that still runs is terminated without waiting: the reaper does that."""
        try:
            if self.is_started and not self._has_ended:
                if self._terminated_at is None:
                    self._terminated_at = time.monotonic()
                    _terminate_group(self._pid)
                REAPER.adopt(self._pid, kill_at=self._kill_at(), unreaped=True)
            self._has_ended = True
            self._stop_watching_end()
            self._stop_feeding()
            self._stdout.close()
            self._stderr.close()
        finally:
            REAPER.running.discard(self._pid)
            self._batch.ended(self)

    def _terminate(self) -> None:
        self._terminated_at = time.monotonic()
        _terminate_group(self._pid)
        self._wake_at(self._kill_at())
        # It may have more to say before it ends than its pipes hold.
        self._watch_pipes()

    def _wake_at(self, when: float) -> None:
        self.due = when
        self._batch.wake_at(when)

    def _watch_pipes(self) -> None:
        if self._is_past_quiet:
            return
        self._is_past_quiet = True
        try:
            for stream in (self._stdout, self._stderr):
                stream.watch(self._batch.watcher, partial(self._read, stream))
        except (OSError, RuntimeError) as error:
            self._abandon_unwatched(error)

    def _abandon_unwatched(self, error: Exception) -> None:
        if not self._has_ended:
            self._error = f"the hook could not be watched and was ended: {error}"
        self.abandon()

    def _feed_more(self) -> None:
        self._rest = write(self._feed, self._rest)
        if not self._rest:
            self._stop_feeding()

    def _stop_feeding(self) -> None:
        if self._feed >= 0:
            self._batch.watcher.forget(self._feed)
            feed, self._feed = self._feed, -1
            os.close(feed)

    def _read(self, stream: Stream) -> None:
        if not stream.reads():
            stream.close()
            if self._has_ended and self._stdout.fd < 0 and self._stderr.fd < 0:
                self._batch.ended(self)

    def _process_ended(self, status: int | None = None) -> None:
        if self._has_ended:  # let go meanwhile
            return
        self._stop_watching_end()
        if status is None:
            try:
                reaped, status = os.waitpid(self._pid, os.WNOHANG)
            except ChildProcessError:
                self._error = _LOST
            else:
                if not reaped:  # somebody traces it, and is told first
                    self._batch.watcher.ends_late(self._pid, self._process_ended)
                    return
        self._has_ended = True
        self._status = status
        REAPER.running.discard(self._pid)
        if self._terminated_at is not None and not self._is_killed:
            REAPER.adopt(self._pid, kill_at=self._kill_at(), unreaped=False)
        if self._feed >= 0:
            self._stop_feeding()
        # Both are read, whatever is found in the first.
        is_read = self._stdout.reads_to_the_end()
        if self._stderr.reads_to_the_end() and is_read:
            self._batch.ended(self)
        else:
            self._wake_at(time.monotonic() + self._batch.limits.pipe_grace_s)
            self._watch_pipes()

    def _stop_watching_end(self) -> None:
        if self._pidfd >= 0:
            self._batch.watcher.forget(self._pidfd)
            pidfd, self._pidfd = self._pidfd, -1
            os.close(pidfd)

    def _kill_at(self) -> float:
        return (self._terminated_at or 0.0) + self._batch.limits.grace_s


def _is_over(pid: int) -> bool:
    """Whether a child has ended, which is left to be waited for."""
    if not hasattr(os, "waitid"):
        return False
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def _spawn(job: ChildJob, stdio: Stdio) -> int:
    if facilities().runs_directly and (direct := direct_invocation(job.command, job.cwd, job.env)):
        try:
            return spawn(direct, job.cwd, stdio)
        except ExecError:
            pass  # bash knows what to do with it, or how to say what is wrong
    return spawn(shell_invocation(job.command, job.cwd, job.env), job.cwd, stdio)


def _terminate_group(group: int) -> None:
    signal_group(group, signal.SIGTERM)
    # A stopped process takes its TERM only when it goes on.
    signal_group(group, signal.SIGCONT)
