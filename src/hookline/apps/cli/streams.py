"""Standard streams that were closed when the program started."""

import os
import sys

TYPE_CHECKING = False  # as in main.py: this is loaded first
if TYPE_CHECKING:
    from typing import TextIO

CLOSED: set[str] = set()
"""The names of those streams."""

_LAST = 2


def open_missing() -> None:
    """Put the null device in place of each closed stream, so that no file or socket gets its number."""
    for name, flags, mode in (("stdin", os.O_RDONLY, "r"), ("stdout", os.O_WRONLY, "w"), ("stderr", os.O_WRONLY, "w")):
        if getattr(sys, name) is None:
            CLOSED.add(name)
            descriptor = os.open(os.devnull, flags)
            # Child processes inherit all three.
            os.set_inheritable(descriptor, descriptor <= _LAST)
            # Not closed with the object: its number would be free again.
            stream = open(descriptor, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)


def deliver(stdout: bytes, stderr: bytes) -> bool:
    """Write the two outputs; False if part of the first can't be written."""
    is_delivered = not stdout or ("stdout" not in CLOSED and _write(sys.stdout, stdout))
    if stderr:
        _write(sys.stderr, stderr)
    return is_delivered


def _write(stream: "TextIO", data: bytes) -> bool:
    try:
        stream.buffer.write(data)
        stream.buffer.flush()
    except OSError:
        # A second failure of the buffer at the end of the interpreter would change the exit code.
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
        return False
    return True
