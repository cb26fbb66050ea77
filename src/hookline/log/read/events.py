"""Whole events of the log: all records of each, with their texts, in one pass."""

from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from hookline.log.files import open_all
from hookline.protocol.text.json_text import parse_json

Records = list[dict[str, Any]]

_FIRE = b'"fire":"'
_KINDS = ("hook", "event")


def whole_events(path: Path, fires: Collection[str]) -> Iterator[Records]:
    """The runs and the end of each of these events, oldest first; an event whose end is not in the log is left out."""
    wanted = {fire.encode() for fire in fires}
    waiting: dict[str, Records] = {}
    files = open_all(path)
    try:
        for line in (line for file in files for block in file.blocks() for line in block.split(b"\n")):
            begin = line.find(_FIRE) + len(_FIRE)
            if begin < len(_FIRE) or line[begin : line.find(b'"', begin)] not in wanted:
                continue
            with suppress(ValueError):
                record = parse_json(line.decode("utf-8", "replace"))
                if isinstance(record, dict) and record.get("kind") in _KINDS and isinstance(record.get("fire"), str):
                    waiting.setdefault(record["fire"], []).append(record)
                    if record["kind"] == "event":
                        yield waiting.pop(record["fire"])
    finally:
        for file in files:
            file.close()
