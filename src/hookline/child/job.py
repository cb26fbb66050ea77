from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from hookline.contract.hooks import DEFAULT_MAX_CONCURRENT, DEFAULT_OUTPUT_LIMIT_BYTES


class ChildJob(msgspec.Struct, frozen=True, kw_only=True):
    """One hook to be run: its command, what it reads, and where."""

    command: str
    """Shell text as configured."""
    stdin: bytes
    cwd: str
    env: Mapping[str, str]
    """The complete environment of the child; what is made of it is kept, so the same object must not be changed."""
    timeout_ms: float
    """0 means at once; any size is allowed, infinity too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildLimits:
    """How much a hook may write, how long an ended one is waited for, and how many run at once."""

    output_bytes: int = DEFAULT_OUTPUT_LIMIT_BYTES
    """Kept of stdout and of stderr, each; the rest is read and dropped."""
    grace_s: float = 5.0
    """Between TERM and KILL."""
    pipe_grace_s: float = 0.25
    """How long pipes that a background process still holds are read after the hook's own process ended."""
    max_concurrent: int = DEFAULT_MAX_CONCURRENT
    """For the whole program, on all its loops; jobs beyond it wait for their turn."""


class ChildOutcome(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What became of one job."""

    exit_code: int | None
    """None when a signal ended it, when it never started, and when its status was lost."""
    signal: int | None
    timed_out: bool
    stdout: bytes
    stderr: bytes
    stdout_truncated: bool
    stderr_truncated: bool
    duration_ms: float
    error: str | None
    """Why it could not be started, watched or ended, or that its status was lost; not that it timed out."""
