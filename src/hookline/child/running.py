"""One hook from spawn to reap."""

import os
import signal
import time
from collections.abc import Callable
from typing import Protocol

from hookline.child.command import Invocation, direct_invocation, shell_invocation
from hookline.child.facilities import facilities
from hookline.child.feeding import SharedInputs, fill, fits, write
from hookline.child.job import ChildJob, ChildLimits, ChildOutcome
from hookline.child.reading import Output, read, reads_to_the_end
from hookline.child.reaper import REAPER, signal_group
from hookline.child.spawn import ExecError, Stdio, spawn
from hookline.child.watch import Watcher

# How long a new child's pipes are not watched.
_QUIET_S = 0.005
_QUIET_S_PER_CHILD = 0.001
_UNKILLABLE_S = 2.0
_NEVER = float("inf")

_LOST = (
    "the hook's exit status was lost: the program around it ignores SIGCHLD or waits for every child, "
    "so whether the hook succeeded is not known"
)
_UNKILLABLE = "the hook did not end even after SIGKILL, so it was left alone"


class Surroundings(Protocol):
    """What a running hook needs from the batch it belongs to."""

    limits: ChildLimits
    inputs: SharedInputs | None
    count: int
    watcher: Watcher

    def call_at(self, when: float, action: Callable[[], None]) -> None:
        """Calls the action at that monotonic time, if the batch still exists."""

    def ended(self, child: "RunningChild") -> None:
        """Is told once, when the child's outcome is known."""


class RunningChild:
    """A started hook: watched, fed, read, timed and waited for until `ended` is called with it."""

    __slots__ = (
        "__weakref__",
        "_batch",
        "_deadline",
        "_error",
        "_feed",
        "_has_ended",
        "_is_killed",
        "_is_watching_pipes",
        "_job",
        "_pid",
        "_rest",
        "_started",
        "_status",
        "_stderr",
        "_stderr_fd",
        "_stdout",
        "_stdout_fd",
        "_terminated_at",
        "_timed_out",
        "index",
    )

    def __init__(self, batch: Surroundings, index: int, job: ChildJob) -> None:
        self.index = index
        self._job = job
        self._batch = batch
        self._error: str | None = None
        self._status: int | None = None
        self._terminated_at: float | None = None
        self._has_ended = self._is_killed = self._timed_out = self._is_watching_pipes = False
        self._started = time.monotonic()

    def start(self) -> None:
        """Starts the process; OSError or ValueError if there is none."""
        job = self._job
        opened: list[int] = []
        try:
            for _ in range(3):
                opened += os.pipe()
            stdin, feed, stdout_fd, stdout, stderr_fd, stderr = opened
            # A short input waits in the pipe for its reader; a long one is written while the child starts.
            if fits(job.stdin):
                self._rest = fill(feed, job.stdin, None)
            self._pid = _spawn(job, Stdio(stdin, stdout, stderr))
        except BaseException:
            for fd in opened:
                os.close(fd)
            raise
        # From here on the child runs beside us, and our own work costs no time.
        REAPER.track(self._pid)
        os.close(stdin)
        os.close(stdout)
        os.close(stderr)
        self._feed, self._stdout_fd, self._stderr_fd = feed, stdout_fd, stderr_fd
        limit = self._batch.limits.output_bytes
        self._stdout, self._stderr = Output(limit), Output(limit)
        try:
            self._watch()
        except (OSError, RuntimeError) as error:
            # It runs, so it must not be started again.
            self._error = f"the hook could not be watched and was ended: {error}"
            self.abandon()

    def outcome(self) -> ChildOutcome:
        """What became of it."""
        code = None if self._status is None else os.waitstatus_to_exitcode(self._status)
        return ChildOutcome(
            exit_code=code if code is not None and code >= 0 else None,
            signal=-code if code is not None and code < 0 else None,
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
        if self._terminated_at is None and not self._has_ended:
            self._terminated_at = time.monotonic()
            _terminate_group(self._pid)
            self._batch.call_at(self._kill_at(), self.kill)

    def kill(self) -> None:
        """Ends the whole group now."""
        if not self._has_ended and not self._is_killed:
            self._is_killed = True
            signal_group(self._pid, signal.SIGKILL)
            self._batch.call_at(time.monotonic() + _UNKILLABLE_S, self._give_up)

    def abandon(self) -> None:
        """Terminates it without waiting: the reaper does that."""
        if not self._has_ended:
            if self._terminated_at is None:
                self._terminated_at = time.monotonic()
                _terminate_group(self._pid)
            self._batch.watcher.forget_end(self._pid)
            REAPER.adopt(self._pid, kill_at=self._kill_at(), unreaped=True)
            self._has_ended = True
        self._stop_feeding()
        self._stop_reading()
        REAPER.untrack(self._pid)
        self._batch.ended(self)

    def _watch(self) -> None:
        if not fits(self._job.stdin):
            self._rest = fill(self._feed, self._job.stdin, self._batch.inputs)
        if not self._rest:
            os.close(self._feed)
            self._feed = -1
        os.set_blocking(self._stdout_fd, False)
        os.set_blocking(self._stderr_fd, False)
        self._batch.watcher.ends(self._pid, self._process_ended)
        if self._feed >= 0:
            self._batch.watcher.writes(self._feed, self._feed_more)
        # A short answer fits into the pipe and is read when the process has ended: being woken by its writing and by
        # the closing of both pipes costs more than all the rest. Who runs longer is watched.
        self._deadline = self._started + self._job.timeout_ms / 1000
        quiet_s = max(_QUIET_S, _QUIET_S_PER_CHILD * self._batch.count)
        self._batch.call_at(min(self._started + quiet_s, self._deadline), self._after_quiet)

    def _after_quiet(self) -> None:
        if not self._has_ended:
            self._watch_pipes()
            if self._deadline != _NEVER:
                self._batch.call_at(self._deadline, self._time_out)

    def _watch_pipes(self) -> None:
        if not self._is_watching_pipes:
            self._is_watching_pipes = True
            if self._stdout_fd >= 0:
                self._batch.watcher.reads(self._stdout_fd, self._read_stdout)
            if self._stderr_fd >= 0:
                self._batch.watcher.reads(self._stderr_fd, self._read_stderr)

    def _feed_more(self) -> None:
        self._rest = write(self._feed, self._rest)
        if not self._rest:
            self._stop_feeding()

    def _stop_feeding(self) -> None:
        if self._feed >= 0:
            self._batch.watcher.forget(self._feed)
            os.close(self._feed)
            self._feed = -1

    def _read_stdout(self) -> None:
        if not read(self._stdout_fd, self._stdout):
            self._stdout_fd = self._stop(self._stdout_fd)
            self._check_finished()

    def _read_stderr(self) -> None:
        if not read(self._stderr_fd, self._stderr):
            self._stderr_fd = self._stop(self._stderr_fd)
            self._check_finished()

    def _stop_reading(self) -> None:
        self._stdout_fd = self._stop(self._stdout_fd)
        self._stderr_fd = self._stop(self._stderr_fd)

    def _stop(self, fd: int) -> int:
        if fd >= 0:
            if self._is_watching_pipes:
                self._batch.watcher.forget(fd)
            os.close(fd)
        return -1

    def _process_ended(self, status: int | None) -> None:
        if self._has_ended:  # let go meanwhile
            return
        self._has_ended = True
        self._status = _reap(self._pid) if status is None else status
        if self._status is None:
            self._error = _LOST
        REAPER.untrack(self._pid)
        if self._terminated_at is not None and not self._is_killed:
            REAPER.adopt(self._pid, kill_at=self._kill_at(), unreaped=False)
        self._stop_feeding()
        if reads_to_the_end(self._stdout_fd, self._stdout):
            self._stdout_fd = self._stop(self._stdout_fd)
        if reads_to_the_end(self._stderr_fd, self._stderr):
            self._stderr_fd = self._stop(self._stderr_fd)
        if not self._is_read():
            self._watch_pipes()
            self._batch.call_at(time.monotonic() + self._batch.limits.pipe_grace_s, self._end_pipe_grace)
        self._check_finished()

    def _is_read(self) -> bool:
        return self._stdout_fd < 0 and self._stderr_fd < 0

    def _end_pipe_grace(self) -> None:
        if not self._is_read():
            self._stop_reading()
            self._check_finished()

    def _check_finished(self) -> None:
        if self._has_ended and self._is_read():
            self._batch.ended(self)

    def _time_out(self) -> None:
        if self._terminated_at is None and not self._has_ended:
            self._timed_out = True
            self.terminate()

    def _kill_at(self) -> float:
        return (self._terminated_at or 0.0) + self._batch.limits.grace_s

    def _give_up(self) -> None:
        if not self._has_ended:
            self._error = _UNKILLABLE
            self.abandon()


def _reap(pid: int) -> int | None:
    """The status of an ended child; None if somebody else has taken it."""
    try:
        reaped, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return None
    return status if reaped else None


def _spawn(job: ChildJob, stdio: Stdio) -> int:
    direct: Invocation | None = None
    if facilities().runs_directly:
        direct = direct_invocation(job.command, job.cwd, job.env)
    if direct:
        try:
            return spawn(direct, job.cwd, stdio)
        except ExecError:
            pass  # bash knows what to do with it, or how to say what is wrong
    return spawn(shell_invocation(job.command, job.cwd, job.env), job.cwd, stdio)


def _terminate_group(group: int) -> None:
    signal_group(group, signal.SIGTERM)
    # A stopped process takes its TERM only when it goes on.
    signal_group(group, signal.SIGCONT)
