import fcntl
import os
import resource
import signal
import threading

import pytest

from hookline.child.feeding import SharedInputs, put_after_start, put_before_start, write


def drain(fd: int) -> bytes:
    """Everything that is in a pipe now."""
    os.set_blocking(fd, False)
    pieces = []
    try:
        while piece := os.read(fd, 1 << 20):
            pieces.append(piece)
    except BlockingIOError:
        pass
    return b"".join(pieces)


@pytest.mark.parametrize("size", [0, 1, 4096, 4097, 65_536, 65_537, 1 << 20])
def test_a_pipe_is_filled_before_there_is_a_reader(size: int) -> None:
    """Up to what a pipe can be made to hold, nothing is left to write."""
    data = os.urandom(size)
    source, feed = os.pipe()
    try:
        rest = put_before_start(feed, data)
        assert (rest is None) == (size > 65_536)
        assert bytes(put_after_start(feed, data, None) if rest is None else rest) == b""
        assert drain(source) == data
    finally:
        os.close(source)
        os.close(feed)


def test_a_small_pipe_takes_what_it_can() -> None:
    """Where the system grants no large pipe, the rest is written in turns."""
    data = os.urandom(300_000)
    source, feed = os.pipe()
    try:
        fcntl.fcntl(feed, fcntl.F_SETPIPE_SZ, resource.getpagesize())
        os.set_blocking(feed, False)
        rest, got = write(feed, memoryview(data)), b""
        assert 0 < len(rest) < len(data)
        while rest:
            got += drain(source)
            rest = write(feed, rest)
        assert got + drain(source) == data
    finally:
        os.close(source)
        os.close(feed)


def test_nobody_to_read_leaves_nothing_to_write() -> None:
    """A reader that is gone is no error."""
    source, feed = os.pipe()
    os.close(source)
    try:
        assert bytes(write(feed, memoryview(b"data"))) == b""
    finally:
        os.close(feed)


def test_a_shared_input_is_lent_to_each_pipe() -> None:
    """Several pipes get the whole input from one copy; what only one hook reads is not shared."""
    data, alone = os.urandom(1 << 20), os.urandom(1 << 20)
    shared = SharedInputs([data, alone, data])
    pipes = [os.pipe() for _ in range(3)]
    try:
        rests = [bytes(put_after_start(feed, data, shared)) for _, feed in pipes[:2]]
        assert rests == [b"", b""]
        assert [drain(source) for source, _ in pipes[:2]] == [data, data]
        assert shared.lend(alone, pipes[2][1]) == 0
    finally:
        shared.close()
        for fd in (fd for pipe in pipes for fd in pipe):
            os.close(fd)


def test_a_broken_pipe_that_another_thread_was_told_of_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pending signal may be the whole program's, and gone when we look for it."""
    monkeypatch.setattr(signal, "sigpending", lambda: {signal.SIGPIPE})
    before = signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    source, feed = os.pipe()
    try:
        # A wait for a signal can't be interrupted: in a thread it costs this test only.
        thread = threading.Thread(target=write, args=(feed, memoryview(b"data")), daemon=True)
        thread.start()
        thread.join(5)
        assert (thread.is_alive(), drain(source)) == (False, b"data")
    finally:
        signal.signal(signal.SIGPIPE, before)
        os.close(source)
        os.close(feed)
