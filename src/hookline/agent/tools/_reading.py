"""Reads some lines of a file of any size, and keeps only those in memory."""

import os
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from hookline.agent.tools._text import NotTextError, open_regular

MAX_LINES = 2000
MAX_LINE_BYTES = 4000
MAX_BYTES = 256 * 1024

_SAMPLE_BYTES = 8192
_MEGABYTE = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """Some lines of a file."""

    text: str
    count: int
    skipped: int
    """How many lines were skipped; fewer than asked for when the file is shorter."""
    has_more: bool
    has_cut_lines: bool


def read_lines(path: Path, skip: int, limit: int | None, stop: threading.Event) -> Excerpt:
    """The lines after `skip` lines: at most `limit`, and at most what can be shown at once."""
    wanted = MAX_LINES if limit is None else min(int(limit), MAX_LINES)
    with os.fdopen(open_regular(path), "rb") as file:
        _refuse_binary(file)
        skipped = 0
        while skipped < skip and not stop.is_set() and _next_line(file)[0]:
            skipped += 1
        kept: list[bytes] = []
        size, has_cut_lines = 0, False
        while len(kept) < wanted and size < MAX_BYTES:
            line, is_cut = _next_line(file)
            if not line:
                break
            kept.append(line)
            size += len(line)
            has_cut_lines |= is_cut
        has_more = bool(file.read(1))
    text = b"".join(kept).decode("utf-8", "replace")
    return Excerpt(text=text, count=len(kept), skipped=skipped, has_more=has_more, has_cut_lines=has_cut_lines)


def _next_line(file: BinaryIO) -> tuple[bytes, bool]:
    """The next line, cut to the maximum length, and whether it was cut; empty at EOF."""
    line = file.readline(MAX_LINE_BYTES)
    if not line or line.endswith(b"\n") or len(line) < MAX_LINE_BYTES:
        return line, False
    rest = piece = file.readline(_MEGABYTE)
    while piece and not piece.endswith(b"\n"):
        piece = file.readline(_MEGABYTE)
    return (line + b"...\n", True) if rest.strip(b"\r\n") else (line + rest, False)


def _refuse_binary(file: BinaryIO) -> None:
    if b"\0" in file.read(_SAMPLE_BYTES):
        raise NotTextError("is a binary file")
    file.seek(0)
