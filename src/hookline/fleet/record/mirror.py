"""The records of the stream as a log file, so that everything that reads a log can show a fleet."""

import hashlib
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec

from hookline.files import open_regular
from hookline.fleet.record.message import Arrival, Foreign, Stated
from hookline.fleet.record.statement import Source
from hookline.log.write.chain import Link
from hookline.protocol.text.json_text import parse_json, stringify_json

MOST_BYTES = 1024**3
"""How much is copied, at most."""
_HASH_DIGITS = 16


class Mirror:
    """Copies records into a file, each once, with the machine and the user that they are of.

    What a record says about machine and user itself does not count. Ids of events and sessions get the machine's mark,
    because one machine must not write into the story of another.
    """

    def __init__(self, file: Path, most_bytes: int = MOST_BYTES) -> None:
        self._descriptor = open_regular(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._left = most_bytes
        self._seen: set[int] = set()
        self.is_full = False
        """Whether records were left out because there are too many."""

    def close(self) -> None:
        """Closes the file."""
        os.close(self._descriptor)

    async def copy(self, messages: AsyncIterator[Arrival | Stated | Foreign]) -> None:
        """Copies everything that comes."""
        async for found in messages:
            if isinstance(found, Arrival):
                self.add(found)

    def add(self, arrival: Arrival) -> None:
        """Copies records."""
        mark = hashlib.sha256(repr(arrival.source).encode()).hexdigest()[:10]
        lines = b"".join(line for given in arrival.lines if (line := self._line(given, arrival.source, mark)))
        if len(lines) > self._left:
            self.is_full = True
            return
        self._left -= len(lines)
        os.write(self._descriptor, lines)

    def _line(self, line: bytes, source: Source, mark: str) -> bytes | None:
        link = Link.read(line)
        if link is not None:
            # With the source: a machine must not be able to name the hash of another's record, and so hide that.
            number = int(hashlib.sha256(f"{mark}{link.hash}".encode()).hexdigest()[:_HASH_DIGITS], 16)
            if number in self._seen:
                return None
            self._seen.add(number)
        record = _object(line)
        if record is None:
            return None
        record |= {"machine": source.machine, "user": source.user}
        for name in ("id", "fire"):
            if isinstance(record.get(name), str):
                record[name] = mark + record[name]
        if isinstance(record.get("session"), str):
            record["session"] = f"{source.machine}/{record['session']}"
        for name in ("seq", "prev", "hash"):
            record.pop(name, None)
        return stringify_json(record) + b"\n"


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        value = msgspec.json.decode(line)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        try:
            value = parse_json(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None
