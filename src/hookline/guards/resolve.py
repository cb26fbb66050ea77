"""Resolves a path to files: as it is written or decoded, behind links, and by a pattern."""

import fnmatch
import glob
import os
import posixpath
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from urllib.parse import unquote

from hookline.guards.actions import NamedPath
from hookline.guards.findings import RuleFinding, Subject, shortened

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
# Entries of directories, for one pattern.
_MOST_LOOKED_AT = 10_000
_MOST_SPELLINGS = 64
_LONGEST_PATH = 4096
_LONGEST_NAME = 255
_MOST_BRACES = 6
_BRACES = re.compile(r"\{([^{}]*)\}")
_FILE_ADDRESS = re.compile(r"file:(?://[^/]*)?(?=/)", re.IGNORECASE)
_HOME = re.compile(r"~(?=/|$)|\$HOME\b|\$\{HOME\}")


class UnreadablePathError(ValueError):
    """A path that can't be resolved."""


def located(named: NamedPath, cwd: str, home: str) -> list[str] | None:
    """The files that a value of a tool call leads to; None if that can't be known, and the value must be a path."""
    try:
        return list(resolved_paths(named.path, cwd, home))
    except UnreadablePathError:
        if named.is_certain or "\0" in named.path:
            return None
        # Some long text. Only its last part could be the name of a file.
        return [posixpath.join(cwd, named.path[-_LONGEST_NAME:].rpartition("/")[2])]


def unreadable(path: str, subject: Subject) -> RuleFinding:
    """The finding for a path that can't be resolved."""
    reason = f"{shortened(path)} is not a path that can be checked"
    return RuleFinding("unreadable-path", "deny", reason, "Give a short path without control characters.", subject)


def resolved_paths(path: str, cwd: str, home: str) -> Iterator[str]:
    """The absolute paths that a path stands for, by every reading that a tool or a file system may have of it.

    UnreadablePathError if it has none.
    """
    for each in _spellings(path):
        yield from _located(_HOME.sub(lambda _: home, each, count=1) if _HOME.match(each) else each, cwd)


def _located(path: str, cwd: str) -> Iterator[str]:
    # Two slashes at the beginning are one on every system that we know.
    whole = "/" + posixpath.normpath(posixpath.join(cwd, path)).lstrip("/")
    if "\0" in whole or len(whole) > _LONGEST_PATH:
        raise UnreadablePathError
    yield whole
    try:
        yield os.path.realpath(whole)
        if glob.has_magic(whole):
            yield from _by_pattern(whole)
    except (OSError, ValueError, RecursionError) as error:
        raise UnreadablePathError from error


def _by_pattern(whole: str) -> Iterator[str]:
    directory, name = posixpath.split(whole)
    # A pattern for everything does not aim at secrets.
    if name.strip("*."):
        yield from (posixpath.join(directory, each) for each in fnmatch.filter(_TELLING, name.lower()))
    yield from _matching(whole)


def _matching(whole: str) -> Iterator[str]:
    """The files that a pattern matches, hidden ones too, and where they really are."""
    found, looked_at = ["/"], 0
    for part in whole.strip("/").split("/"):
        if not glob.has_magic(part):
            found = [posixpath.join(each, part) for each in found]
            continue
        below: list[str] = []
        for each in found:
            names = _names_in(each)
            looked_at += 1 + len(names)
            if looked_at > _MOST_LOOKED_AT:
                raise UnreadablePathError
            below += [posixpath.join(each, name) for name in fnmatch.filter(names, part)]
        found = below
    real_directories: dict[str, str] = {}
    for each in filter(os.path.lexists, found):
        directory, name = posixpath.split(each)
        if directory not in real_directories:
            real_directories[directory] = os.path.realpath(directory)
        real = posixpath.join(real_directories[directory], name)
        yield from (each, os.path.realpath(real) if os.path.islink(real) else real)


def _names_in(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []


def _spellings(path: str) -> list[str]:
    """The path, and what becomes of it where it is decoded, normalized or expanded before it is used."""
    found = dict.fromkeys((path,))
    for change in _CHANGES:
        for each in list(found):
            found.update(dict.fromkeys(islice(change(each), _MOST_SPELLINGS)))
        if len(found) > _MOST_SPELLINGS:
            raise UnreadablePathError
    return list(found)


def _decoded(path: str) -> Iterator[str]:
    for _ in range(3):
        if "%" not in path or (decoded := unquote(path)) == path:
            return
        path = decoded
        yield path


def _of_address(path: str) -> Sequence[str]:
    found = _FILE_ADDRESS.match(path)
    return () if found is None else (path[found.end() :], re.split(r"[?#]", path[found.end() :])[0])


def _plain_letters(path: str) -> Sequence[str]:
    if path.isascii():
        return ()
    return ("".join(char for char in unicodedata.normalize("NFKC", path) if unicodedata.category(char) != "Cf"),)


def _with_slashes(path: str) -> Sequence[str]:
    return (path.replace("\\", "/"),) if "\\" in path else ()


def _without_tail(path: str) -> Sequence[str]:
    """Some file systems leave out dots and blanks at the end of a name, and take what follows a colon for a stream."""
    directory, slash, name = path.rstrip("/").rpartition("/")
    short = name.partition(":")[0].strip().rstrip(". ")
    return (f"{directory}{slash}{short}",) if short and short != name else ()


def _expanded(path: str) -> Iterator[str]:
    """The choices of `{a,b}`, and the parts of a list such as `*.py,.env`."""
    if path.count("{") > _MOST_BRACES:
        raise UnreadablePathError
    if (found := _BRACES.search(path)) is not None:
        for choice in found[1].split(","):
            one = path[: found.start()] + choice + path[found.end() :]
            yield one
            yield from _expanded(one)
    elif "," in path:
        yield from (each.strip() for each in path.split(",") if each.strip())


_CHANGES: tuple[Callable[[str], Iterator[str] | Sequence[str]], ...] = (
    _of_address,
    _decoded,
    _plain_letters,
    _with_slashes,
    _expanded,
    _without_tail,
)
