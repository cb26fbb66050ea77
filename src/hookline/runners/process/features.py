"""The features of the operating system that run hooks. Hooks can't tell the difference.

The best available features are used. The environment variable HOOKLINE_CHILD switches some of it off, for a platform
where a feature misbehaves. It may have these words, separated by spaces or commas: `threads` (wait for each process
in a thread instead of with pidfd and epoll), `shell` (run every command in a shell), `cold` (start every hook when its
event is fired, none before).
"""

import os
import select
import sys
from functools import cached_property

WORDS = ("threads", "shell", "cold")
# Where child/parked/site/sitecustomize.py knows the numbers of system calls.
_KNOWN_MACHINES = ("x86_64", "aarch64")


class Features:
    """One way to run processes, chosen on first use because importing must do nothing."""

    @cached_property
    def pidfd(self) -> bool:
        """Watch processes with pidfd and one nested epoll."""
        return hasattr(select, "epoll") and not _is_off("threads") and _has_pidfd()

    @cached_property
    def direct(self) -> bool:
        """Execute simple commands without a shell."""
        return not _is_off("shell")

    @cached_property
    def warm(self) -> bool:
        """Start the interpreters of scripts before their events."""
        return self.why_cold is None

    @cached_property
    def why_cold(self) -> str | None:
        """Why interpreters can't be started before their events; None where they can."""
        if _is_off("cold"):
            return "HOOKLINE_CHILD switches it off"
        if sys.platform != "linux" or os.uname().machine not in _KNOWN_MACHINES:
            return "only Linux on x86_64 and aarch64 has what it needs"
        return None if self.direct else "HOOKLINE_CHILD has every command run by a shell"


FEATURES = Features()


def unknown_word() -> str | None:
    """Return a message about the first unknown word in HOOKLINE_CHILD; None without one."""
    unknown = next((word for word in _words() if word not in WORDS), None)
    return unknown and f"HOOKLINE_CHILD has {unknown!r}, which is not one of {', '.join(WORDS)}"


def _is_off(word: str) -> bool:
    return word in _words()


def _words() -> list[str]:
    return os.environ.get("HOOKLINE_CHILD", "").replace(",", " ").lower().split()


def _has_pidfd() -> bool:
    """Whether both the interpreter and the kernel have pidfds."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return True
