"""Lines from pipes, whatever pieces they come in."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from hookline.gateway.lines import LineReader
from hookline.gateway.messages import id_of_long_line

LONG = b'{"jsonrpc":"2.0","id":7,"result":{"x":"' + b"y" * 5000 + b'"}}'


def read(data: bytes, step: int, limit: int = 1000) -> list[Any]:
    """The lines, and for a long one its id, of data that comes in pieces of this size."""
    found: list[Any] = []
    reader = LineReader(found.append, lambda start, end, most: found.append((id_of_long_line(start, end), most)), limit)
    for at in range(0, len(data), step):
        reader.data_received(data[at : at + step])
    reader.connection_lost(None)
    return found


@pytest.mark.parametrize("step", [1, 2, 3, 100_000])
def test_lines_come_whole(step: int) -> None:
    """Blank lines are left out, and the last one needs no line feed."""
    assert read(b'{"a":1}\n\n \r\n{"b":2}\r\n{"c":3}', step) == [b'{"a":1}', b'{"b":2}\r', b'{"c":3}']


@pytest.mark.parametrize("step", [1, 700, 100_000])
def test_long_lines_are_dropped(step: int) -> None:
    """They cost bounded memory, the request they belong to is found if its id is at an end, and others pass."""
    last_id = b'{"result":"' + b"y" * 5000 + b'","jsonrpc":"2.0","id":"a"}'
    hidden_id = b'{"result":"' + b"y" * 2500 + b'","id":5,"x":"' + b"y" * 2500 + b'"}'
    data = b"\n".join((LONG, b"{}", last_id, hidden_id, b"{}"))
    assert read(data, step) == [(7, 1000), b"{}", ("a", 1000), (None, 1000), b"{}"]


@pytest.mark.parametrize(("name", "lines"), [("/dev/null", []), ("lines", [b"{}", b"[]"])])
def test_what_a_loop_can_not_wait_for_is_read_at_once(tmp_path: Path, name: str, lines: list[bytes]) -> None:
    """A client that closes stdin by giving /dev/null, and one that gives a file."""
    (tmp_path / "lines").write_bytes(b"{}\n[]")
    found: list[bytes] = []

    async def read_all() -> None:
        reader = LineReader(found.append, lambda *_: None)
        await reader.read(os.open(tmp_path / name, os.O_RDONLY))
        await asyncio.wait_for(reader.ended.wait(), 20)

    asyncio.run(read_all())
    assert found == lines
