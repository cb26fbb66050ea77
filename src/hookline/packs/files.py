"""Which files a path leads to: as it is written, behind links, and by a pattern."""

import fnmatch
import glob
import os
import posixpath
from collections.abc import Iterator
from itertools import islice

# Names that a pattern is tried with, in case no such file is there yet or the pattern means many directories.
_TELLING = (
    ".env",
    ".env.local",
    ".env.production",
    "id_rsa",
    "id_ed25519",
    "credentials",
    ".netrc",
    "key.pem",
    ".npmrc",
)
_MOST_FOUND = 200


def meant(path: str, cwd: str, home: str) -> Iterator[str]:
    """The absolute paths that a path stands for."""
    if path == "~" or path.startswith("~/"):
        path = home + path[1:]
    whole = posixpath.normpath(posixpath.join(cwd, path))
    yield whole
    if glob.has_magic(path):
        name = posixpath.basename(path).strip("{}")
        for pattern in name.split(",") if "," in name else (name,):
            # A pattern for everything does not aim at secrets.
            if pattern.strip("*."):
                yield from (
                    posixpath.join(posixpath.dirname(whole), each) for each in fnmatch.filter(_TELLING, pattern)
                )
        yield from islice(glob.iglob(whole, include_hidden=True), _MOST_FOUND)  # noqa: PTH207 - a whole path
    else:
        yield os.path.realpath(whole)
