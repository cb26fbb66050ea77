"""Reads and writes whole text files, for tools that change them."""

import os
import stat
from pathlib import Path

from hookline.files import write_atomically

MAX_TEXT_BYTES = 20 * 1024 * 1024


class NotTextError(ValueError):
    """The file is not text; the message says why, as the end of a sentence."""


def open_regular(path: Path) -> int:
    """A file descriptor of a regular file. Raises OSError or NotTextError for anything else, and never blocks."""
    # Without O_NONBLOCK, opening a pipe waits for its other end.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    raise NotTextError(
        "is a directory" if stat.S_ISDIR(mode) else "is not a regular file (a pipe, a socket or a device)"
    )


def read_text(path: Path) -> str:
    """The whole text of a file, with its line endings unchanged."""
    with os.fdopen(open_regular(path), "rb") as file:
        data = file.read(MAX_TEXT_BYTES + 1)
    if len(data) > MAX_TEXT_BYTES:
        raise NotTextError(f"is larger than {MAX_TEXT_BYTES // 1024 // 1024} MiB")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotTextError(f"is not UTF-8 text (byte {error.start})") from error


def write_text(path: Path, text: str) -> None:
    """Writes the file atomically; creates missing directories, and keeps the permissions of an existing file."""
    data = text.encode("utf-8")
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        # Created empty first, so that a new file gets its permissions from the umask.
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
    except FileExistsError:
        _check_writable(target)
        write_atomically(target, data)
        return
    try:
        write_atomically(target, data)
    except BaseException:
        target.unlink(missing_ok=True)
        raise


def _check_writable(target: Path) -> None:
    if not stat.S_ISREG(target.stat().st_mode):
        raise NotTextError(
            "is a directory" if target.is_dir() else "is not a regular file (a pipe, a socket or a device)"
        )
    if not os.access(target, os.W_OK):
        # Replacing the file would succeed in spite of its permissions.
        raise PermissionError(13, "the file is read-only", str(target))
