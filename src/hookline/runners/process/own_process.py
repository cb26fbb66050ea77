"""How hookline starts itself as a separate process, and whether hookline started the current process."""

import os
import re
import sys
from contextlib import suppress
from pathlib import Path

from hookline.protocol.constants import CHILD_MARK

_ENTRY_POINT = str(Path(__file__).parents[2] / "__main__.py")

# More than any shell has; a longer chain was made to hide something.
_MOST_ANCESTORS = 256
_MOST_BYTES = 16 << 20
_PYTHON = re.compile(rb"(?:.*/)?python[\d.]*")


def own_command(*words: str) -> list[str]:
    """Return the command line of `hookline WORDS` in the interpreter of this program.

    `-m hookline` would look for the package in the current directory first, which may be an untrusted project's.
    `-I` ignores that directory and every PYTHON* variable, and the entry point is named by its absolute path.
    """
    return [sys.executable, "-I", _ENTRY_POINT, *words]


def started_by_hookline() -> str | None:
    """Return the sign that hookline started this process or an ancestor, as a hook, tool or server; None without one.

    A process can't hide this by accident, only on purpose: it must remove the mark and leave its parents. Without /proc
    only the environment is checked.
    """
    if CHILD_MARK in os.environ:
        return f"{CHILD_MARK} is set"
    pid = os.getpid()
    for _ in range(_MOST_ANCESTORS):
        # A process can change its environment, and not the one that its parent was started with.
        if os.fsencode(f"\0{CHILD_MARK}=") in b"\0" + _read(pid, "environ"):
            return f"{CHILD_MARK} was set for process {pid}, which started it"
        if pid != os.getpid() and _is_hookline(_read(pid, "cmdline").split(b"\0")):
            return f"hookline, process {pid}, started it"
        pid = _parent_of(pid)
        if not pid:
            return None
    return f"it has more than {_MOST_ANCESTORS} parents"


def _is_hookline(words: list[bytes]) -> bool:
    """Whether a command line is that of our command: a program of its name, or Python with it."""
    program, *arguments = words
    if os.path.basename(program) == b"hookline":
        return True
    if not _PYTHON.fullmatch(program):
        return False
    if b"-m" in arguments[:-1] and arguments[arguments.index(b"-m") + 1] == b"hookline":
        return True
    script = next((word for word in arguments if not word.startswith(b"-")), b"")
    return os.path.basename(script) == b"hookline" or script.endswith(b"/hookline/__main__.py")


def _parent_of(pid: int) -> int:
    """The parent's number; 0 if there is none, or if it is not known."""
    # The name may contain spaces and parentheses. The state and the parent follow it.
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return int(fields[1]) if len(fields) > 1 else 0


def _read(pid: int, name: str) -> bytes:
    with suppress(OSError), Path(f"/proc/{pid}/{name}").open("rb") as file:
        return file.read(_MOST_BYTES)
    return b""
