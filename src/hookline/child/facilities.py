"""Which of the system's facilities the runner uses; what hooks can observe does not depend on it.

The best of each is chosen by looking at the system. The environment variable HOOKLINE_CHILD takes others, for a
platform where one misbehaves: any of the words `popen` (start children by subprocess.Popen), `threads` (wait for each
child in a thread instead of with pidfd and epoll) and `shell` (execute nothing without a shell), separated by spaces.
"""

import contextlib
import os
import select
import sys
from collections.abc import Iterator
from dataclasses import dataclass

# The private function behind subprocess, whose arguments we know in these versions.
_KNOWN_FORK_EXEC = ((3, 11), (3, 12), (3, 13))


@dataclass(frozen=True, slots=True, kw_only=True)
class Facilities:
    """One way to run children."""

    has_fork_exec: bool
    """Start them with vfork semantics, by the function that subprocess itself uses."""
    has_pidfd: bool
    """Watch them with pidfd and one nested epoll."""
    runs_directly: bool = True
    """Execute simple commands without a shell."""


_chosen: Facilities | None = None


def facilities() -> Facilities:
    """What is used now."""
    return _chosen or _choose()


def _choose() -> Facilities:
    global _chosen  # noqa: PLW0603 - found out once, on first use, because importing must do nothing
    words = os.environ.get("HOOKLINE_CHILD", "").split()
    _chosen = Facilities(
        has_fork_exec="popen" not in words
        and sys.platform == "linux"
        and sys.version_info[:2] in _KNOWN_FORK_EXEC
        and sys.implementation.name == "cpython",
        has_pidfd="threads" not in words and hasattr(select, "epoll") and _opens_pidfds(),
        runs_directly="shell" not in words,
    )
    return _chosen


@contextlib.contextmanager
def using(choice: Facilities) -> Iterator[None]:
    """Runs the block with another choice, in the whole program."""
    global _chosen  # noqa: PLW0603 - the switch itself
    before, _chosen = _chosen, choice
    try:
        yield
    finally:
        _chosen = before


def _opens_pidfds() -> bool:
    """Whether both the interpreter and the kernel know pidfds."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return True
