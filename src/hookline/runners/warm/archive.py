"""The modules that stop Python before its script, in an archive that exists in memory only.

Python finds it by a descriptor that it inherits. So they can't be removed or replaced while it starts, which would make
Python run the script, and they are those of the version of hookline that this program has loaded.
"""

import errno
import fcntl
import marshal
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib.util import MAGIC_NUMBER, source_hash
from io import BytesIO
from pathlib import Path

SITE = str(Path(__file__).with_name("site"))
# In the child, lower ones become its stdin, stdout and stderr.
_LOWEST = 3


def _modules() -> dict[str, bytes]:
    try:
        return {path.name: path.read_bytes() for path in sorted(Path(SITE).glob("*.py"))}
    except OSError:
        return {}


# Read when this program loads hookline: later, they may be of another version, or gone.
_MODULES = _modules()


@contextmanager
def opened() -> Iterator[int]:
    """A descriptor of the archive for one start; raise OSError if there is none."""
    fd = os.memfd_create("hookline")
    try:
        content = _archive()
        if os.write(fd, content) != len(content):  # Python would not find them in a part of it, and run the script
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _LOWEST)
    finally:
        os.close(fd)
    try:
        yield moved
    finally:
        os.close(moved)


@lru_cache(maxsize=1)
def _archive() -> bytes:
    import zipfile  # noqa: PLC0415 - most programs fire each hook once

    buffer = BytesIO()
    # Stored, because zlib would be a module more that the script finds imported.
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, text in _MODULES.items():
            archive.writestr(zipfile.ZipInfo(name), text)
            archive.writestr(zipfile.ZipInfo(f"{name}c"), _compiled(name, text))
    return buffer.getvalue()


def _compiled(name: str, text: bytes) -> bytes:
    """The content of a .pyc file that is not compared with its source; other versions of Python pass over it."""
    is_hash_based = (1).to_bytes(4, "little")
    return MAGIC_NUMBER + is_hash_based + source_hash(text) + marshal.dumps(compile(text, name, "exec"))
