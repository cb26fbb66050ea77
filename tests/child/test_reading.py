import os
from collections.abc import Iterable

import pytest

from hookline.child.reading import Stream


def read_from(pieces: Iterable[bytes], limit: int) -> Stream:
    """A stream that was given these pieces one after another, and is at its end."""
    source, sink = os.pipe()
    os.set_blocking(source, False)
    stream = Stream(source, limit)
    try:
        for piece in pieces:
            os.write(sink, piece)
            assert stream.reads()
        os.close(sink)
        assert not stream.reads()
    finally:
        os.close(source)
    return stream


@pytest.mark.parametrize(
    ("pieces", "limit", "kept", "is_cut"),
    [
        ([], 6, b"", False),
        ([b"abcd"], 4, b"abcd", False),
        ([b"abcde"], 4, b"abcd", True),
        ([b"ab", b"cd", b"efgh", b"ij"], 6, b"abcdef", True),
        ([b"ab", b"cd", b"ef"], 6, b"abcdef", False),
        ([b"a", b"b"], 0, b"", True),
    ],
)
def test_output_is_kept_up_to_its_limit(pieces: list[bytes], limit: int, kept: bytes, is_cut: bool) -> None:
    """Pieces are joined; what is beyond the limit is dropped and the cut is told."""
    stream = read_from(pieces, limit)
    assert (stream.kept(), stream.is_cut) == (kept, is_cut)


def test_pieces_of_any_size_stay_in_order() -> None:
    """Crumbs and large pieces, however they are mixed, come out as they came in."""
    sizes = [1, 9000, 3, 65_536, 33_000, *[4000] * 40, 5, 40_000, 5000, 2]
    pieces = [bytes([number % 251]) * size for number, size in enumerate(sizes)]
    stream = read_from(pieces, 10**9)
    assert (stream.kept(), stream.is_cut) == (b"".join(pieces), False)


def test_reading_tells_the_end_from_a_pause() -> None:
    """A pipe that somebody holds open is not at its end, even when it is empty."""
    source, sink = os.pipe()
    os.set_blocking(source, False)
    stream = Stream(source, 100)
    os.write(sink, b"some")
    assert (stream.reads(), stream.reads(), stream.reads_to_the_end()) == (True, True, False)
    os.write(sink, b"more")
    os.close(sink)
    assert (stream.reads_to_the_end(), stream.kept(), stream.fd) == (True, b"somemore", -1)
    assert stream.reads_to_the_end()
    with pytest.raises(OSError, match="descriptor"):
        os.fstat(source)
