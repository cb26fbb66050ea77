"""Searches a tree of files as a program of its own: reads a job from stdin, writes the matches to stdout, as JSON.

A pattern of the model can keep a regular expression engine, and with it the interpreter, busy for hours; a process can
be killed. It uses only the standard library, so that it starts quickly.
"""

import json
import os
import re
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

SKIPPED = frozenset({".git", ".hg", ".svn", ".venv", "__pycache__", "node_modules"})

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY
_SAMPLE_BYTES = 8192
_MAX_FILE_BYTES = 20 * 1024 * 1024
_MAX_LINE_CHARS = 500
_LINES_PER_LOOK = 500

_GLOB_TOKEN = re.compile(r"(?:^|(?<=/))\*\*/|\*\*?|\[.[^\]]*\]|.", re.DOTALL)
_WILDCARDS = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}


class _OutOfTimeError(Exception):
    pass


class Seeker:
    """One search, until the time is up."""

    def __init__(self, job: dict[str, Any]) -> None:
        self._is_file: bool = job["is_file"]
        above, _, name = job["root"].rpartition("/")
        # A component that became a link after the path was checked is not followed.
        self._root = open_below(os.open("/", _DIRECTORY), above if self._is_file else job["root"], _DIRECTORY)
        self._name = name
        self._give_up_at = time.monotonic() + job["seconds"]

    def matches(self, include: re.Pattern[str] | None, pattern: re.Pattern[str] | None) -> Iterator[dict[str, Any]]:
        """The files whose path matches `include`, or their lines that match `pattern`."""
        for path in self._files():
            if include is not None and not include.fullmatch(path):
                continue
            if pattern is None:
                yield {"path": path}
                continue
            for number, line in self._lines(path or self._name):
                if pattern.search(line):
                    yield {"path": path, "line": number, "text": line[:_MAX_LINE_CHARS]}

    def _files(self) -> Iterator[str]:
        """The paths of all files below the root, in order; links are not followed, so there are no cycles."""
        if self._is_file:
            yield ""
            return
        waiting = [""]
        while waiting:
            path = waiting.pop()
            if path and not path.endswith("/"):
                yield path
                continue
            self._look_at_clock()
            with suppress(OSError), self._entries(path) as entries:
                inside = sorted(
                    path + entry.name + ("/" if entry.is_dir(follow_symlinks=False) else "")
                    for entry in entries
                    if entry.name not in SKIPPED
                )
                waiting += reversed(inside)

    @contextmanager
    def _entries(self, path: str) -> "Iterator[Iterator[os.DirEntry[str]]]":
        descriptor = open_below(self._root, path, _DIRECTORY)
        try:
            with os.scandir(descriptor) as entries:
                yield entries
        finally:
            os.close(descriptor)

    def _lines(self, path: str) -> Iterator[tuple[int, str]]:
        self._look_at_clock()
        try:
            # Opening a pipe must not block, and a link must not lead out of the tree.
            descriptor = open_below(self._root, path, os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            return
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return
            data = file.read(_MAX_FILE_BYTES)
        if b"\0" in data[:_SAMPLE_BYTES]:
            return
        for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
            if number % _LINES_PER_LOOK == 0:
                self._look_at_clock()
            yield number, line

    def _look_at_clock(self) -> None:
        if time.monotonic() >= self._give_up_at:
            raise _OutOfTimeError


def open_below(directory: int, path: str, flags: int) -> int:
    """Opens a path below an open directory, one component at a time, without following links."""
    descriptor = os.dup(directory)
    names = [name for name in path.split("/") if name]
    for index, name in enumerate(names):
        try:
            below = os.open(
                name,
                (flags if index == len(names) - 1 else _DIRECTORY) | os.O_NOFOLLOW | os.O_CLOEXEC,
                dir_fd=descriptor,
            )
        finally:
            os.close(descriptor)
        descriptor = below
    return descriptor


def glob_expression(pattern: str) -> str:
    """A file pattern (`*`, `?`, `[…]`, `**` for any directories, `{a,b}` for either) as a regular expression."""
    parts: list[str] = []
    depth = 0
    for found in _GLOB_TOKEN.finditer(pattern):
        mark = found[0]
        if mark in _WILDCARDS:
            parts.append(_WILDCARDS[mark])
        elif len(mark) > 1:
            inside = mark[1:-1].replace("\\", "\\\\").replace("[", "\\[")
            parts.append(f"[{'^' + inside[1:] if inside.startswith('!') else inside}]")
        elif mark == "{" and "}" in pattern[found.end() :]:
            parts.append("(?:")
            depth += 1
        elif mark == "}" and depth:
            parts.append(")")
            depth -= 1
        else:
            parts.append("|" if mark == "," and depth else re.escape(mark))
    return "".join(parts) + ")" * depth


def run(job: dict[str, Any]) -> dict[str, Any]:
    """The matches; `stopped` is "limit", "time" or None; `fault` says why a pattern can't be used."""
    ignore_case = 0 if job["case_sensitive"] else re.IGNORECASE
    include = pattern = None
    try:
        if job["kind"] == "glob":
            include = re.compile(glob_expression(job["pattern"]), re.DOTALL | ignore_case)
        else:
            pattern = re.compile(job["pattern"], ignore_case)
            if (wanted := job["include"]) and not job["is_file"]:
                # A pattern without a slash is for the file name alone.
                include = re.compile(glob_expression(wanted if "/" in wanted else f"**/{wanted}"), re.DOTALL)
    except (re.error, RecursionError, OverflowError) as error:
        return {"found": [], "stopped": None, "fault": str(error)}
    found: list[dict[str, Any]] = []
    stopped = None
    try:
        for match in Seeker(job).matches(include, pattern):
            if len(found) == job["limit"]:
                stopped = "limit"
                break
            found.append(match)
    except _OutOfTimeError:
        stopped = "time"
    return {"found": found, "stopped": stopped, "fault": None}


if __name__ == "__main__":
    try:
        sys.stdout.write(json.dumps(run(json.load(sys.stdin))))
    except OSError as error:
        sys.exit(f"the path can't be opened: {error.strerror}")
