"""What a hook's process is given and what it returns."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Protocol

import msgspec

from hookline.contract.hooks import ResourceLimits
from hookline.contract.vocabulary import DEFAULT_MAX_CONCURRENT, DEFAULT_OUTPUT_LIMIT_BYTES, RunWay

# The child's ends of its three pipes: stdin, stdout, stderr.
Stdio = tuple[int, int, int]


class LateInput:
    """A long stdin that is made while the process starts, which takes longer than making it."""

    def __init__(self, make: Callable[[], bytes]) -> None:
        self._make = make

    @cached_property
    def data(self) -> bytes:
        """The input; made when this is asked for the first time."""
        return self._make()


class Claim(Protocol):
    """A process that waits for the event of one job; see child/parked/."""

    async def ready(self, most_s: float) -> bool:
        """Wait until it can get the event, at most so long; False if it can't, and then the claim is given up."""

    def send(self, stdio: Stdio, mark: bytes) -> int:
        """Give it the event; return its process id, or 0 if it did not get it."""

    def has_taken(self) -> bool:
        """Whether the script was about to run; known after the exit."""

    def finish(self) -> None:
        """Called when the run is over."""

    def release(self) -> None:
        """Give it up before it has got the event."""


class Claims(Protocol):
    """Where processes wait for events."""

    def claim(self, job: "ChildJob") -> Claim | None:
        """A process for this job, or None if one has to be started."""


class ChildJob(msgspec.Struct, frozen=True, kw_only=True):
    """A command to run."""

    command: str
    """Shell text as configured."""
    stdin: bytes | LateInput
    cwd: str
    env: Mapping[str, str]
    """The complete environment. Its encoded form is cached by identity, so don't change this object."""
    timeout_ms: float
    """0 means at once; any size is allowed, even infinity."""
    argv: tuple[str, ...] | None = None
    """A program and its arguments, to be started in place of the command and without a shell."""
    limits: ResourceLimits | None = None
    """What it may use of the machine; None means no limit."""
    parking: Claims | None = None
    """Where an interpreter may be waiting for this job; None means that a process is started for it."""
    ends_with_us: bool = False
    """True for a process that stays: the system kills it when this program ends, however that happens."""


class ChildLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits on output, time and concurrency."""

    output_bytes: int = DEFAULT_OUTPUT_LIMIT_BYTES
    """Kept of stdout and of stderr, each; the rest is read and dropped."""
    grace_s: float = 5.0
    """Between SIGTERM and SIGKILL."""
    pipe_grace_s: float = 0.25
    """How long we read pipes that a background process holds open after the hook's own process has exited."""
    max_concurrent: int = DEFAULT_MAX_CONCURRENT
    """For the whole program, on all its event loops; further jobs wait."""


class ChildOutcome(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The result of one job."""

    exit_code: int | None = None
    """None if a signal killed the process, if it was never started, or if its status was lost."""
    signal: int | None = None
    timed_out: bool = False
    stdout: bytes = b""
    stderr: bytes = b""
    stdout_truncated: bool = False
    stderr_truncated: bool = False
    duration_ms: float = 0.0
    way: RunWay = RunWay.COLD
    worker: str | None = None
    """Who ran it on another machine, and which of its hooks decided."""
    is_shortage: bool = False
    """True when the process could not be started or watched for lack of descriptors, processes or memory."""
    is_status_lost: bool = False
    """True when the process has run and nobody can say how it ended: it may have denied."""
    error: str | None = None
    """Why the process could not be started, watched or killed, or that its status was lost; None after a timeout."""
