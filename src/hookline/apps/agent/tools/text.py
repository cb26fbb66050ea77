"""Reads and writes text files by their real paths."""

import os
import stat
import threading
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice, takewhile
from typing import BinaryIO

from hookline.apps.agent.tools.real_files import ChangedPathError, open_real, parent_of
from hookline.files import replace_at

MAX_LINES = 2000
MAX_LINE_BYTES = 4000
MAX_BYTES = 256 * 1024
MAX_TEXT_BYTES = 20 * 1024 * 1024

_SAMPLE_BYTES = 8192
_MEGABYTE = 1024 * 1024


class NotTextError(ValueError):
    """The file is not text; the message is the end of a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """Lines of a file."""

    text: str
    count: int
    skipped: int
    """The number of skipped lines; smaller than requested if the file is shorter."""
    has_more: bool
    has_cut_lines: bool


def read_lines(path: str, skip: int, limit: int | None, stop: threading.Event) -> Excerpt:
    """Return the lines after `skip` lines: at most `limit`, and at most the maximum of one call."""
    wanted = MAX_LINES if limit is None else min(int(limit), MAX_LINES)
    with _open(path) as file:
        if b"\0" in file.read(_SAMPLE_BYTES):
            raise NotTextError("is a binary file")
        file.seek(0)
        lines = iter(partial(_next_line, file), (b"", False))
        skipped = sum(1 for _ in takewhile(lambda _: not stop.is_set(), islice(lines, skip)))
        kept: list[bytes] = []
        size, has_cut_lines = 0, False
        for line, is_cut in islice(lines, wanted):
            kept.append(line)
            size += len(line)
            has_cut_lines |= is_cut
            if size >= MAX_BYTES:
                break
        has_more = bool(file.read(1))
    text = b"".join(kept).decode("utf-8", "replace")
    return Excerpt(text=text, count=len(kept), skipped=skipped, has_more=has_more, has_cut_lines=has_cut_lines)


def read_text(path: str) -> str:
    """Return the whole text of a file, with its line endings unchanged."""
    with _open(path) as file:
        data = file.read(MAX_TEXT_BYTES + 1)
    if len(data) > MAX_TEXT_BYTES:
        raise NotTextError(f"is larger than {MAX_TEXT_BYTES // _MEGABYTE} MiB")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotTextError(f"is not UTF-8 text (byte {error.start})") from error


def write_text(path: str, text: str) -> bool:
    """Write the file atomically, and return True if it is new.

    Creates missing directories, and keeps the permissions of an existing file.
    """
    data = text.encode("utf-8")
    with parent_of(path, create=True) as (directory, name):
        is_new = _create(path, name, directory)
        try:
            replace_at(directory, name, data)
        except BaseException:
            if is_new:
                with suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=directory)
            raise
    return is_new


def _create(path: str, name: str, directory: int) -> bool:
    """Create the file empty, with permissions from the umask. Return False if it exists."""
    try:
        os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666, dir_fd=directory))
    except FileExistsError:
        mode = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
        if stat.S_ISLNK(mode):
            raise ChangedPathError(path) from None
        _require_regular(mode)
        if not os.access(name, os.W_OK, dir_fd=directory):
            # Replacing the file would succeed despite its permissions.
            raise PermissionError(13, "the file is read-only", path) from None
        return False
    except OSError as error:
        error.filename = path
        raise
    return True


def _open(path: str) -> BinaryIO:
    """Open a regular file. Raises OSError or NotTextError for anything else, and never blocks."""
    # Without O_NONBLOCK, opening a FIFO waits for a writer.
    descriptor = open_real(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        _require_regular(os.fstat(descriptor).st_mode)
    except NotTextError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def _require_regular(mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise NotTextError("is a directory")
    if not stat.S_ISREG(mode):
        raise NotTextError("is not a regular file (a pipe, a socket or a device)")


def _next_line(file: BinaryIO) -> tuple[bytes, bool]:
    """Return the next line, cut to the maximum length, and whether it was cut; empty at EOF."""
    line = file.readline(MAX_LINE_BYTES)
    if not line or line.endswith(b"\n") or len(line) < MAX_LINE_BYTES:
        return line, False
    rest = piece = file.readline(_MEGABYTE)
    while piece and not piece.endswith(b"\n"):
        piece = file.readline(_MEGABYTE)
    return (line + b"...\n", True) if rest.strip(b"\r\n") else (line + rest, False)
