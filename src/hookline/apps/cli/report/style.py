"""Colour on a terminal that shows it, plain text everywhere else."""

import os
import re
import sys
from typing import TextIO

from hookline.protocol.text.strings import printable

# A colour in a line that is not printed yet. Random in each process, so that untrusted text can't contain it.
_MARK = f"<{os.urandom(8).hex()}>"
_MARKS = re.compile(rf"{_MARK}(\d+)m")


def painted(line: str) -> str:
    """The line as it is printed: our colours as escape sequences, and nothing else that a terminal acts on."""
    parts = _MARKS.split(line)
    return "".join(f"\x1b[{part}m" if at % 2 else printable(part) for at, part in enumerate(parts))


_wish = "auto"


def use_colour(wish: str) -> None:
    """Paint `always`, `never`, or as the terminal and the environment have it: `auto`."""
    global _wish  # noqa: PLW0603 - one command, one wish
    _wish = wish


def wants_colour(stream: TextIO) -> bool:
    """Whether to paint: as --color says, then NO_COLOR, then FORCE_COLOR, and else on a terminal that is not dumb."""
    if _wish != "auto":
        return _wish == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if forced := os.environ.get("FORCE_COLOR"):
        return forced not in ("0", "false")
    return stream.isatty() and os.environ.get("TERM") != "dumb"


class Style:
    """Paints words of a line for `painted`, where colours are wanted."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream

    def bold(self, text: str) -> str:
        """For titles."""
        return self._paint("1", text)

    def dim(self, text: str) -> str:
        """For details."""
        return self._paint("2", text)

    def good(self, text: str) -> str:
        """For what works."""
        return self._paint("32", text)

    def warn(self, text: str) -> str:
        """For what deserves a look."""
        return self._paint("33", text)

    def bad(self, text: str) -> str:
        """For what is refused or broken."""
        return self._paint("31", text)

    def _paint(self, code: str, text: str) -> str:
        if not wants_colour(self._stream or sys.stdout):
            return text
        return f"{_MARK}{code}m{text}{_MARK}0m"


style = Style()
"""Paints for whatever `sys.stdout` is at the time."""
