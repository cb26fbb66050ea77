"""Reads and writes text files whole, for tools that change them."""

import os
import stat
from pathlib import Path

from hookline.settings.files import write_atomically

MAX_TEXT_BYTES = 20 * 1024 * 1024


class NotTextError(ValueError):
    """The file can't be treated as text; the message says why, as the end of a sentence."""


def open_regular(path: Path) -> int:
    """A descriptor of a file that has content of its own; OSError or NotTextError otherwise, without waiting."""
    # Not blocking, because opening a pipe waits for its other end.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    raise NotTextError(
        "is a directory" if stat.S_ISDIR(mode) else "is not a regular file (a pipe, a socket or a device)"
    )


def read_text(path: Path) -> str:
    """The whole text of a file, its line endings as they are."""
    with os.fdopen(open_regular(path), "rb") as file:
        data = file.read(MAX_TEXT_BYTES + 1)
    if len(data) > MAX_TEXT_BYTES:
        raise NotTextError(f"is larger than {MAX_TEXT_BYTES // 1024 // 1024} MiB")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotTextError(f"is not UTF-8 text (byte {error.start})") from error


def write_text(path: Path, text: str) -> None:
    """Puts the text into the file in one step; missing directories are made, permissions of a file kept."""
    data = text.encode("utf-8")
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        # Empty first, so that a new file gets the permissions that the person's umask asks for.
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
        # Replacing it would work all the same, against what its permissions say.
        raise PermissionError(13, "the file is read-only", str(target))
