import asyncio
import os
import signal

import pytest

from hookline.child.facilities import facilities
from hookline.child.watch import EpollWatcher, Watcher, watcher_for

pytestmark = pytest.mark.usefixtures("each_path")


def test_readers_and_writers_are_told_until_forgotten() -> None:
    """A descriptor is reported while it is ready, and not after it was forgotten."""

    async def main() -> list[str]:
        watcher, told, heard = watcher_for(asyncio.get_running_loop()), list[str](), asyncio.Event()
        source, sink = os.pipe()

        def readable() -> None:
            told.append(os.read(source, 10).decode())
            watcher.forget(source)
            heard.set()

        def writable() -> None:
            os.write(sink, b"hello")
            watcher.forget(sink)

        watcher.reads(source, readable)
        watcher.writes(sink, writable)
        await heard.wait()
        os.write(sink, b"unheard")
        await asyncio.sleep(0.05)
        os.close(source)
        os.close(sink)
        return told

    assert asyncio.run(main()) == ["hello"]


def test_a_refused_watch_is_no_watch() -> None:
    """A descriptor that could not be watched for reading can be watched for writing under the same number."""

    async def main() -> bool:
        loop = asyncio.get_running_loop()
        watcher, heard = watcher_for(loop), asyncio.Event()
        # A directory can't be polled: epoll and the loop refuse it alike.
        refused = os.open("/", os.O_RDONLY)
        with pytest.raises(OSError, match="not permitted"):
            watcher.reads(refused, heard.set)
        source, sink = os.pipe()
        os.dup2(sink, refused)
        watcher.writes(refused, heard.set)
        await heard.wait()
        watcher.forget(refused)
        heard.clear()
        await asyncio.sleep(0.02)
        for fd in (source, sink, refused):
            os.close(fd)
        return heard.is_set()

    assert not asyncio.run(main())


def start(*argv: str) -> int:
    """A child of ours."""
    return os.posix_spawn(f"/bin/{argv[0]}", argv, {})


def reap(pid: int) -> int:
    """Its exit code, which must be there."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def stop_watching(watcher: Watcher, pidfd: int) -> None:
    """Forgets the end of a child, where it is told by a descriptor."""
    if pidfd >= 0:
        watcher.forget(pidfd)
        os.close(pidfd)


class Listener:
    """Hears of the end of a child."""

    def __init__(self) -> None:
        self.heard: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()

    def ended(self, status: int | None = None) -> None:
        """Is told, until the end is forgotten."""
        if not self.heard.done():
            self.heard.set_result(status)


def test_the_end_of_a_child_is_told_before_it_is_reaped() -> None:
    """Its status is still there for who is told."""

    async def main() -> int:
        listener = Listener()
        pid = start("sh", "-c", "exit 7")
        watcher = watcher_for(asyncio.get_running_loop())
        pidfd = watcher.ends(pid, listener.ended)
        assert await listener.heard is None
        stop_watching(watcher, pidfd)
        return reap(pid)

    assert asyncio.run(main()) == 7


def test_a_child_that_is_gone_already_has_ended() -> None:
    """Somebody else may have reaped it: nobody waits for ever."""

    async def main() -> int | None:
        listener = Listener()
        pid = start("true")
        reap(pid)
        watcher_for(asyncio.get_running_loop()).ends(pid, listener.ended)
        return await listener.heard

    assert asyncio.run(main()) is None


def test_a_forgotten_end_is_not_told() -> None:
    """After that the child is somebody else's; a waiting thread may still tell, and is not listened to then."""
    if not facilities().has_pidfd:
        pytest.skip("a waiting thread can't be called back; RunningChild ignores it")

    async def main() -> bool:
        listener = Listener()
        pid = start("sleep", "60")
        watcher = watcher_for(asyncio.get_running_loop())
        stop_watching(watcher, watcher.ends(pid, listener.ended))
        os.kill(pid, signal.SIGKILL)
        await asyncio.sleep(0.1)
        reap(pid)
        return listener.heard.done()

    assert asyncio.run(main()) is False


def test_a_descriptor_without_its_callback_wakes_the_loop_once() -> None:
    """An interruption may come between the two; the loop must not spin for ever, and forgetting still works."""

    async def main() -> tuple[int, int]:
        watcher = watcher_for(asyncio.get_running_loop())
        if not isinstance(watcher, EpollWatcher):
            pytest.skip("the loop itself keeps both together")
        source, sink = os.pipe()
        os.write(sink, b"unread")
        watcher.reads(source, asyncio.Event().set)
        callback = watcher._ready.pop(source)
        await asyncio.sleep(0.02)
        left = len(watcher._epoll.poll(0))
        watcher._ready[source] = callback
        watcher.forget(source)
        os.close(source)
        os.close(sink)
        return left, len(watcher._ready)

    assert asyncio.run(main()) == (0, 0)
