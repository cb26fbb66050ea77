"""Looks for the files that a command runs or reads: trust in a hook covers them."""

import contextlib
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import translate
from itertools import islice

from hookline.shell.names import PossiblePaths, is_glob, is_inside

# The file that an interpreter runs when its argument is a directory.
_DIRECTORY_PROGRAMS = ("__main__.py", "index.js")

# Limits on names and directory entries. Not on time, so that the result is always the same.
_MOST_NAMES = 10_000
_MOST_ENTRIES = 2_000
# The time to read a longer one grows with its square, and no path is that long.
_LONGEST_PATTERN = 4096


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """The regular files that a command may run or read."""

    files: dict[str, os.stat_result]
    """By the names they were found under."""
    unresolved: tuple[str, ...]
    """The words of the command that may lead to other files."""
    given_up: tuple[str, ...] = ()
    """Paths that match or name too many files."""
    looked_at: dict[str, os.stat_result | None] | None = None
    """Each name that was asked for; while these answer the same, so does the search. None if folders were listed."""


def existing_files(paths: PossiblePaths, project_dir: str) -> FoundFiles:
    """Return the paths that are regular files.

    Relative ones are looked for in the project and in each directory that is itself among the paths (`cd a && ./x`).
    """
    return _Search(paths, project_dir).run()


class _Search:
    def __init__(self, paths: PossiblePaths, project_dir: str) -> None:
        self._paths = paths
        self._project_dir = project_dir
        self._given_up: dict[str, None] = {}
        self._looked_at: dict[str, os.stat_result | None] = {}
        self._names_left = _MOST_NAMES
        self._entries_left = _MOST_ENTRIES

    def run(self) -> FoundFiles:
        files: dict[str, os.stat_result] = {}
        directories = [self._project_dir]
        known = {_identity(self._status(self._project_dir))}
        for directory in directories:
            if self._names_left < 0:
                break
            for name in self._names_in(directory):
                status = self._status(name)
                if status is None:
                    continue
                if stat.S_ISREG(status.st_mode):
                    files[name] = status
                elif stat.S_ISDIR(status.st_mode) and _identity(status) not in known:
                    known.add(_identity(status))
                    directories.append(name)
        given_up = tuple(self._given_up)
        unresolved = tuple(dict.fromkeys((*self._paths.unresolved, *given_up, *self._modules_elsewhere(files))))
        return FoundFiles(files, unresolved, given_up, None if self._paths.patterns else self._looked_at)

    def _modules_elsewhere(self, files: dict[str, os.stat_result]) -> Iterator[str]:
        """The modules that none of the files has: Python finds them on its path, maybe in this project."""
        for module, candidates in self._paths.modules.items():
            if not any(name.endswith(tuple(f"/{each}" for each in candidates)) for name in files):
                yield module

    def _names_in(self, directory: str) -> Iterator[str]:
        paths = self._paths
        if directory is self._project_dir:
            yield from paths.absolute
            # A link that leads out, as to an interpreter, is not the project's to change.
            yield from (name for name in paths.on_path if is_inside(name, directory))
        else:
            yield from (f"{directory}/{program}" for program in _DIRECTORY_PROGRAMS)
        yield from (f"{directory}/{path}" for path in paths.relative)
        for pattern in paths.patterns:
            if len(pattern) > _LONGEST_PATTERN:
                self._given_up[pattern] = None
                continue
            found = self._matching(pattern.lstrip("/"), "" if pattern.startswith("/") else directory)
            if self._entries_left < 0:
                self._given_up[pattern] = None
            else:
                yield from found

    def _matching(self, pattern: str, root: str) -> list[str]:
        """The names that a pattern leads to, or more: everything between brackets is read as `*`."""
        places = [root]
        for part in pattern.split("/"):
            if is_glob(part):
                before, _, rest = part.partition("[")
                wider = f"{before}*{rest.rpartition(']')[2]}" if "]" in rest else part
                is_match = re.compile(translate(wider)).match
                found = ((place, name) for place in places for name in self._entries(place or "/"))
                hides = not part.startswith(".")
                places = [f"{at}/{name}" for at, name in found if is_match(name) and not (hides and name[0] == ".")]
            else:
                places = [f"{place}/{part}" for place in places]
        return places

    def _entries(self, directory: str) -> list[str]:
        names: list[str] = []
        if self._entries_left < 0:
            return names
        with contextlib.suppress(OSError, ValueError), os.scandir(directory) as entries:
            names = [entry.name for entry in islice(entries, self._entries_left + 1)]
        self._entries_left -= len(names) + 1
        return names

    def _status(self, path: str) -> os.stat_result | None:
        self._names_left -= 1
        if self._names_left < 0:
            self._given_up[self._paths.command] = None
            return None
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            status = None
        self._looked_at[path] = status
        return status


def _identity(status: os.stat_result | None) -> tuple[int, int] | None:
    return status and (status.st_dev, status.st_ino)
