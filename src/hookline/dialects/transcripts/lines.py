"""Read a file of JSON lines that another program writes, while it grows, whatever its content."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hookline.files import open_regular

_LONGEST_LINE = 64 << 20
_LARGEST_FILE = 4 << 20


def json_lines(path: Path) -> Iterator[tuple[int, Mapping[str, Any] | None]]:
    """Each line with its number, as an object; None for one that can't be read. A last line without an end is left."""
    with os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
        number = 0
        while line := file.readline(_LONGEST_LINE):
            number += 1
            if not line.endswith(b"\n") and len(line) < _LONGEST_LINE:
                return  # it is being written
            yield number, _object(line)


class JsonLines:
    """The objects in a file of JSON lines, each with the number of its line; `unread` counts all other lines."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.unread = 0

    def __iter__(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        for number, line in json_lines(self._path):
            if line is None:
                self.unread += 1
            else:
                yield number, line


def json_object(path: Path) -> Mapping[str, Any]:
    """Return the JSON object that a file contains; an empty one if it can't be read."""
    try:
        with os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
            content = file.read(_LARGEST_FILE + 1)
    except OSError:
        return {}
    return (_object(content) or {}) if len(content) <= _LARGEST_FILE else {}


def _object(line: bytes) -> Mapping[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is an object, or else an empty one."""
    return value if isinstance(value, Mapping) else {}


def arguments_of(value: Any) -> Mapping[str, Any]:
    """The arguments of a call; anything but an object as one argument, so that it is not read as empty."""
    return value if isinstance(value, Mapping) else {} if value is None else {"arguments": value}


def text(value: Any) -> str:
    """The value if it is a text, or else an empty one."""
    return value if isinstance(value, str) else ""
