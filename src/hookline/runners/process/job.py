"""The input and the outcome of a hook's process."""

from collections.abc import Callable, Mapping

import msgspec

from hookline.protocol.constants import DEFAULT_MAX_CONCURRENT, DEFAULT_OUTPUT_LIMIT_BYTES, RunWay
from hookline.protocol.hook_entry import ResourceLimits

# The child's ends of its three pipes: stdin, stdout, stderr.
Stdio = tuple[int, int, int]


Launch = Callable[[Stdio, bytes], int]
"""Pass pipes and a mark to an existing process. Return its id, or 0 to start a new one."""


class ChildJob(msgspec.Struct, frozen=True, kw_only=True):
    """A command to run."""

    command: str
    """Shell text as configured."""
    stdin: bytes
    cwd: str
    env: Mapping[str, str]
    """The complete environment. Its encoded form is cached by identity, so don't change this object."""
    timeout_ms: float
    """0 means at once; any size is allowed, even infinity."""
    argv: tuple[str, ...] | None = None
    """A program and its arguments, to be started in place of the command and without a shell."""
    limits: ResourceLimits | None = None
    """The resources that the process may use; None means no limit."""
    launch: Launch | None = None
    """How the job gets its process; None means that its command is started."""
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
    """The remote worker that ran the hook, and the worker's hook that decided."""
    is_shortage: bool = False
    """True when the process could not be started or watched for lack of descriptors, processes or memory."""
    is_unasked: bool = False
    """True when the hook never got the event, for example because its worker was given up."""
    is_status_lost: bool = False
    """True when the process has run and its exit status is unknown: it may have denied."""
    error: str | None = None
    """Why the process could not be started, watched or killed, or that its status was lost; None after a timeout."""
