import asyncio
import os
import signal

import pytest

from hookline.child.features import features
from hookline.child.watcher import Watcher, watcher_for

pytestmark = pytest.mark.usefixtures("each_path")


def test_readers_and_writers_are_called_until_removed() -> None:
    """A descriptor is reported while it is ready, and not after it was removed."""

    async def main() -> list[str]:
        watcher, got, heard = watcher_for(asyncio.get_running_loop()), list[str](), asyncio.Event()
        source, sink = os.pipe()

        def readable() -> None:
            got.append(os.read(source, 10).decode())
            watcher.remove(source)
            heard.set()

        def writable() -> None:
            os.write(sink, b"hello")
            watcher.remove(sink)

        watcher.add_reader(source, readable)
        watcher.add_writer(sink, writable)
        await heard.wait()
        os.write(sink, b"unheard")
        await asyncio.sleep(0.05)
        os.close(source)
        os.close(sink)
        return got

    assert asyncio.run(main()) == ["hello"]


def test_a_refused_reader_is_not_watched() -> None:
    """A descriptor that could not be watched for reading can be watched for writing under the same number."""

    async def main() -> bool:
        loop = asyncio.get_running_loop()
        watcher, heard = watcher_for(loop), asyncio.Event()
        # A directory can't be polled: epoll and the loop refuse it alike.
        refused = os.open("/", os.O_RDONLY)
        with pytest.raises(OSError, match="not permitted"):
            watcher.add_reader(refused, heard.set)
        source, sink = os.pipe()
        os.dup2(sink, refused)
        watcher.add_writer(refused, heard.set)
        await heard.wait()
        watcher.remove(refused)
        heard.clear()
        await asyncio.sleep(0.02)
        for fd in (source, sink, refused):
            os.close(fd)
        return heard.is_set()

    assert not asyncio.run(main())


def start(*argv: str) -> int:
    """Start a child."""
    return os.posix_spawn(f"/bin/{argv[0]}", argv, {})


def reap(pid: int) -> int:
    """Return its exit code."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def stop_watching(watcher: Watcher, pidfd: int) -> None:
    """Stop watching a child's exit, if a pidfd reports it."""
    if pidfd >= 0:
        watcher.remove(pidfd)
        os.close(pidfd)


class Listener:
    """Waits for the exit of a child."""

    def __init__(self) -> None:
        self.heard: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()

    def on_exit(self, status: int | None = None) -> None:
        """Called until the pidfd is removed."""
        if not self.heard.done():
            self.heard.set_result(status)


def test_an_exit_is_reported_before_the_child_is_reaped() -> None:
    """The callback can still get the exit status."""

    async def main() -> int:
        listener = Listener()
        pid = start("sh", "-c", "exit 7")
        watcher = watcher_for(asyncio.get_running_loop())
        pidfd = watcher.watch_exit(pid, listener.on_exit)
        assert await listener.heard is None
        stop_watching(watcher, pidfd)
        return reap(pid)

    assert asyncio.run(main()) == 7


def test_a_child_that_was_reaped_already_has_exited() -> None:
    """Other code may have reaped it: nobody waits forever."""

    async def main() -> int | None:
        listener = Listener()
        pid = start("true")
        reap(pid)
        watcher_for(asyncio.get_running_loop()).watch_exit(pid, listener.on_exit)
        return await listener.heard

    assert asyncio.run(main()) is None


def test_a_removed_pidfd_is_not_reported() -> None:
    """A waiting thread may still report the exit; Process ignores that."""
    if not features().pidfd:
        pytest.skip("a waiting thread can't be called back")

    async def main() -> bool:
        listener = Listener()
        pid = start("sleep", "60")
        watcher = watcher_for(asyncio.get_running_loop())
        stop_watching(watcher, watcher.watch_exit(pid, listener.on_exit))
        os.kill(pid, signal.SIGKILL)
        await asyncio.sleep(0.1)
        reap(pid)
        return listener.heard.done()

    assert asyncio.run(main()) is False
