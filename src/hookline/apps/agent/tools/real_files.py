"""Opens files by their real path, without following links.

A path is resolved once, before it is checked. It is opened directory by directory, each relative to the descriptor of
the one above. If a component was replaced by a link after the check, opening fails.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class ChangedPathError(OSError):
    """A component of a checked path is now a link."""

    def __init__(self, path: str) -> None:
        super().__init__(errno.ELOOP, "the path was replaced by a link after it was checked; try again", path)


@contextmanager
def parent_of(path: str, *, create: bool = False) -> Iterator[tuple[int, str]]:
    """Open the directory that holds a real path, and return its descriptor and the file name.

    `create` makes missing directories.
    """
    *above, name = Path(path).parts
    descriptor = _walk(path, above, create=create)
    try:
        yield descriptor, name
    finally:
        os.close(descriptor)


def open_real(path: str, flags: int) -> int:
    """Open the file with this real path. Raises ChangedPathError if a component is a link."""
    with parent_of(path) as (directory, name):
        return _open(path, name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, directory)


def open_real_directory(path: str) -> int:
    """Open the directory with this real path. Raises ChangedPathError if a component is a link."""
    return _walk(path, Path(path).parts, create=False)


def _walk(path: str, parts: "tuple[str, ...] | list[str]", *, create: bool) -> int:
    root, *names = parts or ("/",)
    descriptor = os.open(root, _DIRECTORY)
    try:
        for name in names:
            if create:
                _make_directory(name, descriptor)
            below = _open(path, name, _DIRECTORY, descriptor)
            os.close(descriptor)
            descriptor = below
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _make_directory(name: str, descriptor: int) -> None:
    try:
        os.mkdir(name, dir_fd=descriptor)
    except FileExistsError:
        pass
    except OSError as error:
        # An existing directory below one without write permission causes this error as well.
        if error.errno not in {errno.EACCES, errno.EPERM, errno.EROFS}:
            raise


def _open(path: str, name: str, flags: int, directory: int) -> int:
    try:
        return os.open(name, flags, dir_fd=directory)
    except OSError as error:
        if error.errno == errno.ELOOP or (error.errno == errno.ENOTDIR and _is_link(name, directory)):
            raise ChangedPathError(path) from error
        error.filename = path
        raise


def _is_link(name: str, directory: int) -> bool:
    try:
        os.readlink(name, dir_fd=directory)
    except OSError:
        return False
    return True
