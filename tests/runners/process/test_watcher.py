import asyncio
import os
import signal

import pytest

from hookline.runners.process.features import FEATURES
from hookline.runners.process.watcher import Watcher

pytestmark = pytest.mark.usefixtures("each_path")


def test_readers_and_writers_are_called_until_closed() -> None:
    """A descriptor is reported while it is ready, and not after it was closed, even if a process holds a copy."""

    async def main() -> list[str]:
        watcher, got, heard = Watcher(asyncio.get_running_loop()), list[str](), asyncio.Event()
        source, sink = os.pipe()
        copies = os.dup(source), os.dup(sink)

        def readable() -> None:
            got.append(os.read(source, 10).decode())
            watcher.close(source)
            heard.set()

        def writable() -> None:
            os.write(sink, b"hello")
            watcher.close(sink)

        watcher.watch(source, readable)
        watcher.watch(sink, writable, for_writing=True)
        await heard.wait()
        os.write(copies[1], b"unheard")
        await asyncio.sleep(0.05)
        for copy in copies:
            os.close(copy)
        return got

    assert asyncio.run(main()) == ["hello"]


def test_a_refused_reader_is_not_watched() -> None:
    """A descriptor that could not be watched for reading can be watched for writing under the same number."""

    async def main() -> bool:
        loop = asyncio.get_running_loop()
        watcher, heard = Watcher(loop), asyncio.Event()
        # A directory can't be polled: epoll and the loop refuse it alike.
        refused = os.open("/", os.O_RDONLY)
        with pytest.raises(OSError, match="not permitted"):
            watcher.watch(refused, heard.set)
        source, sink = os.pipe()
        os.dup2(sink, refused)
        watcher.watch(refused, heard.set, for_writing=True)
        await heard.wait()
        watcher.close(refused)
        heard.clear()
        await asyncio.sleep(0.02)
        for fd in (source, sink):
            os.close(fd)
        return heard.is_set()

    assert not asyncio.run(main())


def start(*argv: str) -> int:
    """Start a child."""
    return os.posix_spawn(f"/bin/{argv[0]}", argv, {})


def reap(pid: int) -> int:
    """Return its exit code."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


class Listener:
    """Waits for the exit of a child."""

    def __init__(self) -> None:
        self.heard: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()

    def on_exit(self, status: int | None = None) -> None:
        """Called once: a second result would be an error."""
        self.heard.set_result(status)


def test_an_exit_is_reported_before_the_child_is_reaped() -> None:
    """The callback can still get the exit status."""

    async def main() -> int:
        listener = Listener()
        pid = start("sh", "-c", "exit 7")
        watcher = Watcher(asyncio.get_running_loop())
        watcher.watch_exit(pid, listener.on_exit)
        assert await listener.heard is None
        return reap(pid)

    assert asyncio.run(main()) == 7


def test_a_child_that_was_reaped_already_has_exited() -> None:
    """Other code may have reaped it: the event ends all the same."""

    async def main() -> int | None:
        listener = Listener()
        pid = start("true")
        reap(pid)
        Watcher(asyncio.get_running_loop()).watch_exit(pid, listener.on_exit)
        return await listener.heard

    assert asyncio.run(main()) is None


def test_a_closed_pidfd_is_not_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without pidfds a waiting thread may still report the exit; Process ignores that."""
    monkeypatch.setitem(vars(FEATURES), "pidfd", True)

    async def main() -> bool:
        listener = Listener()
        pid = start("sleep", "60")
        watcher = Watcher(asyncio.get_running_loop())
        watcher.close(watcher.watch_exit(pid, listener.on_exit))
        os.kill(pid, signal.SIGKILL)
        await asyncio.sleep(0.1)
        reap(pid)
        return listener.heard.done()

    assert asyncio.run(main()) is False
