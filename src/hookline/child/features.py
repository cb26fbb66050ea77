"""Which features of the operating system we use to run hooks. Hooks can't tell the difference.

We use the best that the system has. The environment variable HOOKLINE_CHILD switches some of it off, for a platform
where a feature misbehaves. It holds any of these words, separated by spaces: `popen` (start processes with
subprocess.Popen), `threads` (wait for each process in a thread instead of with pidfd and epoll), `shell` (run every
command in a shell).
"""

import contextlib
import os
import select
import sys
from collections.abc import Iterator
from dataclasses import dataclass

# The versions in which we know the arguments of the private function behind subprocess.
_KNOWN_FORK_EXEC = ((3, 11), (3, 12), (3, 13))


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """One way to run processes."""

    fork_exec: bool
    """Start processes with vfork, by the function that subprocess itself uses."""
    pidfd: bool
    """Watch processes with pidfd and one nested epoll."""
    direct: bool = True
    """Execute simple commands without a shell."""


_chosen: Features | None = None


def features() -> Features:
    """Return the features in use."""
    return _chosen or _choose()


def _choose() -> Features:
    global _chosen  # noqa: PLW0603 - looked up on first use, because importing must do nothing
    words = os.environ.get("HOOKLINE_CHILD", "").split()
    _chosen = Features(
        fork_exec="popen" not in words
        and sys.platform == "linux"
        and sys.version_info[:2] in _KNOWN_FORK_EXEC
        and sys.implementation.name == "cpython",
        pidfd="threads" not in words and hasattr(select, "epoll") and _has_pidfd(),
        direct="shell" not in words,
    )
    return _chosen


@contextlib.contextmanager
def using(choice: Features) -> Iterator[None]:
    """Use other features within the block, in the whole program."""
    global _chosen  # noqa: PLW0603 - the switch itself
    before, _chosen = _chosen, choice
    try:
        yield
    finally:
        _chosen = before


def _has_pidfd() -> bool:
    """Whether both the interpreter and the kernel have pidfds."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return True
