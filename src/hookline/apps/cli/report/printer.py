"""Everything that a command prints: the only place that writes to stdout, besides the screen of the interactive agent.

Most output contains untrusted text: names, paths, commands, reasons. A command prints whole lines, and no text in a
line can act on the terminal or end the line.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from typing import Any, TextIO

from hookline.apps.cli.parser import terminal_columns
from hookline.apps.cli.report.style import painted
from hookline.protocol.text.json_text import stringify_json
from hookline.protocol.text.readable import plain
from hookline.protocol.text.strings import visible_json


def print_lines(*lines: str, file: TextIO | None = None, flush: bool = False) -> None:
    """Print each line, safe for a terminal, with its colours."""
    for line in lines:
        print(painted(line), file=file, flush=flush)


def print_question(question: str, file: TextIO | None = None) -> None:
    """Print a question, so that the user answers on the same line."""
    print(f"{painted(question)} ", end="", file=file, flush=True)


def print_report(given: argparse.Namespace, report: Any, lines: Iterable[str]) -> None:
    """Print the report with `--json`, and the lines otherwise."""
    if given.json:
        print_json(report)
    else:
        print_lines(*lines)
    sys.stdout.flush()


def print_json(value: Any, indent: int | None = 2) -> None:
    """Print a value as JSON in ASCII."""
    print(json.dumps(value, indent=indent))


def print_wire(value: Any, clean: Callable[[bytes], bytes] = bytes) -> None:
    """Print any value as one line of JSON in UTF-8, as hooks would get it, at once; `clean` may change the line."""
    sys.stdout.buffer.write(visible_json(clean(stringify_json(value)).decode()).encode() + b"\n")
    sys.stdout.buffer.flush()


def print_script(text: str) -> None:
    """Print hookline's own text as it is, for a shell."""
    print(text, end="")


class Prose:
    """Prints a text that arrives in pieces; on a terminal its lines are indented, because the first column is ours."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._indent = "  " if stream.isatty() else ""
        self._at_start = True

    def print(self, text: str) -> None:
        """Print a piece."""
        for line in plain(text).splitlines(keepends=True):
            self._stream.write(self._indent if self._at_start and line != "\n" else "")
            self._stream.write(line)
            self._at_start = line.endswith("\n")
        self._stream.flush()


class ProgressBar:
    """Shows the progress on one line, which disappears at the end; only on a terminal."""

    _WIDTH = 30

    def __init__(self, total: int, stream: TextIO | None = None) -> None:
        self._total = total
        self._done = self._failed = 0
        self._stream = sys.stderr if stream is None else stream
        self._is_shown = self._stream.isatty() and total > 1

    def step(self, *, failed: bool = False) -> None:
        """One more is done."""
        self._done += 1
        self._failed += failed
        if self._is_shown:
            filled = self._WIDTH * self._done // self._total
            more = f", {self._failed} failed" if self._failed else ""
            bar = f"[{'#' * filled}{'.' * (self._WIDTH - filled)}] {self._done}/{self._total}{more}"
            # A line that is too long would be wrapped, and every step would leave one more line behind.
            self._stream.write(f"\r\x1b[K{bar[: terminal_columns() - 1]}")
            self._stream.flush()

    def close(self) -> None:
        """Remove it."""
        if self._is_shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
