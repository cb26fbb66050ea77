import os

from hookline.child.reading import Output, read, reads_to_the_end


def test_output_is_kept_up_to_its_limit() -> None:
    """Pieces are joined; what is beyond the limit is dropped and the cut is told."""
    output = Output(6)
    for piece in (b"ab", b"cd", b"efgh", b"ij"):
        output.add(piece)
    assert (output.kept(), output.is_cut) == (b"abcdef", True)


def test_pieces_of_any_size_stay_in_order() -> None:
    """Crumbs and large pieces, however they are mixed, come out as they came in."""
    pieces = [
        bytes([number % 251]) * size for number, size in enumerate([1, 9000, 3, 70_000, *[4000] * 40, 5, 5000, 2])
    ]
    output = Output(10**9)
    for piece in pieces:
        output.add(piece)
    assert (output.kept(), output.is_cut) == (b"".join(pieces), False)


def test_output_of_the_limit_is_not_cut() -> None:
    """Exactly as much as allowed is all there was."""
    output = Output(4)
    output.add(b"abcd")
    assert (output.kept(), output.is_cut) == (b"abcd", False)


def test_reading_tells_the_end_from_a_pause() -> None:
    """A pipe that somebody holds open is not at its end, even when it is empty."""
    source, sink = os.pipe()
    os.set_blocking(source, False)
    output = Output(100)
    os.write(sink, b"some")
    assert (read(source, output), read(source, output), reads_to_the_end(source, output)) == (True, True, False)
    os.write(sink, b"more")
    os.close(sink)
    assert (reads_to_the_end(source, output), read(source, output), output.kept()) == (True, False, b"somemore")
    os.close(source)
