import asyncio
import fcntl
import os
import resource
from collections.abc import Iterable, Iterator

import pytest

from hookline.runners.process.pipes import InputPipe, OutputPipe
from hookline.runners.process.watcher import Watcher

Ends = tuple[int, int]


@pytest.fixture
def pipe() -> Iterator[Ends]:
    """A pipe whose read end is closed by the test's end; the write end is closed by InputPipe."""
    source, sink = os.pipe()
    yield source, sink
    os.close(source)


class NoWatcher(Watcher):
    """A watcher that must not be needed."""

    def __init__(self) -> None:
        pass

    def watch(self, fd: int, callback: object, *, for_writing: bool = False) -> None:
        """Fail the test."""
        pytest.fail(f"the pipe {fd} did not take the whole input for {callback} ({for_writing=})")


def read_all(fd: int) -> bytes:
    """Read a pipe to its end."""
    pieces = []
    while piece := os.read(fd, 1 << 20):
        pieces.append(piece)
    return b"".join(pieces)


@pytest.mark.parametrize("size", [0, 1, 4096, 4097, 65_536, 65_537, 1 << 20])
def test_the_input_is_in_the_pipe_before_anybody_reads(pipe: Ends, size: int) -> None:
    """Up to the largest size of a pipe nothing is left to write, and the pipe is closed."""
    data = os.urandom(size)
    source, sink = pipe
    stdin = InputPipe(sink, data, None)
    stdin.send(NoWatcher())
    assert (read_all(source), stdin.fd) == (data, -1)


def test_a_small_pipe_is_filled_whenever_there_is_room(pipe: Ends) -> None:
    """Where the system grants no large pipe, the rest is written while the hook reads."""
    data = os.urandom(50_000)
    source, sink = pipe
    fcntl.fcntl(sink, fcntl.F_SETPIPE_SZ, resource.getpagesize())

    async def main() -> bytes:
        stdin = InputPipe(sink, data, None)
        stdin.send(Watcher(asyncio.get_running_loop()))
        return await asyncio.to_thread(read_all, source)

    assert asyncio.run(main()) == data


@pytest.mark.parametrize("size", [5000, 100_000, 3_000_000])
def test_a_hook_that_does_not_read_is_no_error(size: int) -> None:
    """While a read end is open here, nothing is broken and no SIGPIPE is sent; closing the pipe also closes it."""
    source, sink = os.pipe()

    async def main() -> None:
        stdin = InputPipe(sink, b"x" * size, os.dup(source))
        os.close(source)
        stdin.send(Watcher(asyncio.get_running_loop()))
        await asyncio.sleep(0.01)
        stdin.close()

    asyncio.run(main())
    for fd in (source, sink):
        with pytest.raises(OSError, match="descriptor"):
            os.fstat(fd)


def output_pipe(fd: int, limit: int) -> OutputPipe:
    """Read from a pipe as from a hook's, without waiting."""
    os.set_blocking(fd, False)
    return OutputPipe(fd, limit)


def read_from(pieces: Iterable[bytes], limit: int) -> OutputPipe:
    """Read these pieces, which are written one after another."""
    source, sink = os.pipe()
    output = output_pipe(source, limit)
    for piece in pieces:
        os.write(sink, piece)
        assert not output.read()
    os.close(sink)
    assert output.read()
    return output


@pytest.mark.parametrize(
    ("pieces", "limit", "content", "is_truncated"),
    [
        ([], 6, b"", False),
        ([b"abcd"], 4, b"abcd", False),
        ([b"abcde"], 4, b"abcd", True),
        ([b"ab", b"cd", b"efgh", b"ij"], 6, b"abcdef", True),
        ([b"ab", b"cd", b"ef"], 6, b"abcdef", False),
        ([b"a", b"b"], 0, b"", True),
    ],
)
def test_output_is_kept_up_to_its_limit(pieces: list[bytes], limit: int, content: bytes, is_truncated: bool) -> None:
    """Pieces are joined; the rest above the limit is dropped and reported."""
    output = read_from(pieces, limit)
    assert (output.content.getvalue(), output.is_truncated) == (content, is_truncated)


def test_pieces_of_any_size_stay_in_order() -> None:
    """Small and large pieces come out as they came in."""
    sizes = [1, 9000, 3, 65_536, 33_000, *[4000] * 40, 5, 40_000, 5000, 2]
    pieces = [bytes([number % 251]) * size for number, size in enumerate(sizes)]
    assert read_from(pieces, 10**9).content.getvalue() == b"".join(pieces)


def test_eof_is_told_from_a_pause() -> None:
    """A pipe that a process holds open is not at its end, even when it is empty; at its end it is closed."""
    source, sink = os.pipe()
    output = output_pipe(source, 100)
    os.write(sink, b"some")
    assert (output.read(), output.read()) == (False, False)
    os.write(sink, b"more")
    os.close(sink)
    assert (output.read(), output.content.getvalue(), output.fd) == (True, b"somemore", -1)
    assert output.read()
    with pytest.raises(OSError, match="descriptor"):
        os.fstat(source)


def test_a_watched_pipe_is_read_to_its_end() -> None:
    """`on_eof` is called once, when everything was read and the pipe is closed."""

    async def main() -> tuple[bytes, int]:
        source, sink = os.pipe()
        output, ended = output_pipe(source, 100), asyncio.get_running_loop().create_future()
        output.watch(Watcher(asyncio.get_running_loop()), lambda: ended.set_result(output.fd))
        os.write(sink, b"some")
        await asyncio.sleep(0.01)
        os.write(sink, b"more")
        os.close(sink)
        closed_fd = await asyncio.wait_for(ended, 30)
        return output.content.getvalue(), closed_fd

    assert asyncio.run(main()) == (b"somemore", -1)


def test_closing_twice_closes_once() -> None:
    """The number may belong to another file by then."""
    source, sink = os.pipe()
    output = output_pipe(source, 100)
    output.close()
    reused = os.dup(sink)
    assert reused == source
    output.close()
    os.close(reused)
    os.close(sink)
