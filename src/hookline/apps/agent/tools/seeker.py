"""Searches a directory tree in a process of its own: reads a job from stdin, and writes the matches to stdout, as JSON.

A pattern of the model can keep the regular expression engine, and with it the interpreter, busy for hours; a process
can be killed. It uses only the standard library, so that it starts quickly.
"""

import json
import os
import re
import stat
import sys
import time
from collections.abc import Iterator
from typing import Any

SKIPPED = frozenset({".git", ".hg", ".svn", ".venv", "__pycache__", "node_modules"})

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
# Opening a FIFO must not block, and a link must not lead out of the tree.
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW
_SAMPLE_BYTES = 8192
_MAX_FILE_BYTES = 20 * 1024 * 1024
_MAX_LINE_CHARS = 500
_LINES_PER_CHECK = 500

_GLOB_TOKEN = re.compile(r"(?:^|(?<=/))\*\*/|\*\*?|\[.[^\]]*\]|.", re.DOTALL)
_WILDCARDS = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}


class _TimeoutError(Exception):
    pass


class _TreeSearch:
    """One search, until its time limit."""

    def __init__(self, job: dict[str, Any]) -> None:
        self._is_file: bool = job["is_file"]
        above, _, self._name = job["root"].rpartition("/")
        self._root = _open_directory(above if self._is_file else job["root"])
        self._deadline = time.monotonic() + job["seconds"]

    def matches(self, include: re.Pattern[str] | None, pattern: re.Pattern[str] | None) -> Iterator[dict[str, Any]]:
        """Yield the files whose path matches `include`, or their lines that match `pattern`."""
        for path, name, directory in self._files():
            if include is not None and not include.fullmatch(path):
                continue
            if pattern is None:
                yield {"path": path}
                continue
            for number, line in self._lines(name, directory):
                if pattern.search(line):
                    yield {"path": path, "line": number, "text": line[:_MAX_LINE_CHARS]}

    def _files(self) -> Iterator[tuple[str, str, int]]:
        """Yield path, name and directory descriptor of each file, without following links."""
        if self._is_file:
            yield "", self._name, self._root
            return
        for above, directories, names, descriptor in os.fwalk(".", dir_fd=self._root):
            self._check_time()
            directories[:] = sorted(set(directories) - SKIPPED)
            for name in sorted(set(names) - SKIPPED):
                yield f"{above}/{name}".removeprefix("./"), name, descriptor

    def _lines(self, name: str, directory: int) -> Iterator[tuple[int, str]]:
        self._check_time()
        try:
            descriptor = os.open(name, _FILE, dir_fd=directory)
        except OSError:
            return
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return
            data = file.read(_MAX_FILE_BYTES)
        if b"\0" in data[:_SAMPLE_BYTES]:
            return
        for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
            if number % _LINES_PER_CHECK == 0:
                self._check_time()
            yield number, line

    def _check_time(self) -> None:
        if time.monotonic() >= self._deadline:
            raise _TimeoutError


def _open_directory(path: str) -> int:
    """Open a directory one component at a time: one that became a link after the check is not followed."""
    descriptor = os.open("/", _DIRECTORY)
    for name in filter(None, path.split("/")):
        above, descriptor = descriptor, os.open(name, _DIRECTORY, dir_fd=descriptor)
        os.close(above)
    return descriptor


def glob_expression(pattern: str) -> str:
    """Return a glob (`*`, `?`, `[…]`, `**` for any directories, `{a,b}` for either) as a regular expression."""
    parts: list[str] = []
    depth = 0
    for found in _GLOB_TOKEN.finditer(pattern):
        piece = found[0]
        if piece in _WILDCARDS:
            parts.append(_WILDCARDS[piece])
        elif len(piece) > 1:
            inside = piece[1:-1].replace("\\", "\\\\").replace("[", "\\[")
            parts.append(f"[{'^' + inside[1:] if inside.startswith('!') else inside}]")
        elif piece == "{" and "}" in pattern[found.end() :]:
            parts.append("(?:")
            depth += 1
        elif piece == "}" and depth:
            parts.append(")")
            depth -= 1
        else:
            parts.append("|" if piece == "," and depth else re.escape(piece))
    return "".join(parts) + ")" * depth


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Return the matches; `stopped` is "limit", "time" or None; `fault` says why a pattern is invalid."""
    ignore_case = 0 if job["case_sensitive"] else re.IGNORECASE
    include = pattern = None
    try:
        if job["kind"] == "glob":
            include = re.compile(glob_expression(job["pattern"]), re.DOTALL | ignore_case)
        else:
            pattern = re.compile(job["pattern"], ignore_case)
            if (wanted := job["include"]) and not job["is_file"]:
                # A pattern without a slash matches the file name alone.
                include = re.compile(glob_expression(wanted if "/" in wanted else f"**/{wanted}"), re.DOTALL)
    except (re.error, RecursionError, OverflowError) as error:
        return {"found": [], "stopped": None, "fault": str(error)}
    found: list[dict[str, Any]] = []
    stopped = None
    try:
        for match in _TreeSearch(job).matches(include, pattern):
            if len(found) == job["limit"]:
                stopped = "limit"
                break
            found.append(match)
    except (_TimeoutError, RecursionError):  # some Pythons walk a very deep tree by recursion
        stopped = "time"
    return {"found": found, "stopped": stopped, "fault": None}


if __name__ == "__main__":
    try:
        sys.stdout.write(json.dumps(run(json.load(sys.stdin))))
    except OSError as error:
        sys.exit(f"the path can't be opened: {error.strerror}")
