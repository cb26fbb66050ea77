"""Colour where a person's terminal shows it, plain text everywhere else."""

import os
import sys
from collections.abc import Mapping
from typing import Self, TextIO


class Style:
    """Paints words, or leaves them as they are."""

    def __init__(self, *, colour: bool) -> None:
        self._colour = colour

    @classmethod
    def for_stdout(cls, stream: TextIO | None = None, environ: Mapping[str, str] | None = None) -> Self:
        """Colour on a terminal, unless NO_COLOR is set or the terminal is dumb."""
        env = os.environ if environ is None else environ
        target = sys.stdout if stream is None else stream
        return cls(colour=target.isatty() and not env.get("NO_COLOR") and env.get("TERM") != "dumb")

    def bold(self, text: str) -> str:
        """Stressed."""
        return self._paint("1", text)

    def dim(self, text: str) -> str:
        """In the background."""
        return self._paint("2", text)

    def good(self, text: str) -> str:
        """As it should be."""
        return self._paint("32", text)

    def warn(self, text: str) -> str:
        """Worth a look."""
        return self._paint("33", text)

    def bad(self, text: str) -> str:
        """Refused or broken."""
        return self._paint("31", text)

    def _paint(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._colour else text
