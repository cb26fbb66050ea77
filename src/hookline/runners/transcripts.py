"""Copies of our transcript in the form of another agent, for its hooks that read one."""

import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from hookline.files import make_private_directory, open_regular
from hookline.protocol.text.json_text import stringify_json

# A record, the session's first record and the number of the record → the other agent's record, or None.
Convert = Callable[[Mapping[str, Any], Mapping[str, Any], int], dict[str, Any] | None]


class _Copy:
    """The state of one copy; not a dataclass, which every command would load."""

    def __init__(self) -> None:
        self.offset = 0
        """The number of bytes of the transcript that have been copied."""
        self.number = 0
        """How many records the copy has."""
        self.facts: Mapping[str, Any] = {}


class TranscriptCopies:
    """Keeps a copy beside each transcript that a hook asks for; only what is new is copied."""

    def __init__(self) -> None:
        self._copies: dict[tuple[str, str], _Copy] = {}
        self._lock = threading.Lock()

    def copy_of(self, path: str, dialect: str, convert: Convert) -> str:
        """The path of the copy as it is now, or the path itself where the transcript is not ours or can't be read."""
        if not path:
            return path
        try:
            with self._lock:
                return self._update(Path(path), dialect, convert)
        except Exception:  # noqa: BLE001 - whatever is wrong with a transcript, the guard runs
            return path

    def _update(self, path: Path, dialect: str, convert: Convert) -> str:
        copy = self._copies.get((str(path), dialect)) or _Copy()
        with os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
            if os.fstat(file.fileno()).st_size < copy.offset:
                copy = _Copy()  # it was written anew
            file.seek(copy.offset)
            # A line without its end is still being written.
            lines = [line for line in file if line.endswith(b"\n")]
        records = list(_records(lines))
        if not copy.offset and not (records and _is_ours(records[0])):
            return str(path)
        copy.facts = copy.facts or records[0]
        converted: list[bytes] = []
        for record in records:
            try:
                theirs = convert(record, copy.facts, copy.number)
            except Exception:  # noqa: BLE001 - one odd record must not cost the guard all others
                theirs = None
            if theirs is not None:
                converted.append(stringify_json(theirs) + b"\n")
                copy.number += 1
        target = path.parent / dialect / path.name
        make_private_directory(target.parent)
        how = os.O_APPEND if copy.offset else os.O_TRUNC
        with os.fdopen(open_regular(target, os.O_WRONLY | os.O_CREAT | how), "ab") as file:
            file.write(b"".join(converted))
        copy.offset += sum(map(len, converted))
        self._copies[str(path), dialect] = copy
        return str(target)


def _records(lines: Iterable[bytes]) -> Iterator[Mapping[str, Any]]:
    """The records in these lines, without those that are none: a crash may have cut a line in the middle."""
    for line in lines:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, Mapping):
            yield record


def _is_ours(record: Any) -> bool:
    return isinstance(record, Mapping) and record.get("type") == "session" and "project" in record


COPIES = TranscriptCopies()
