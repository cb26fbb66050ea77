import asyncio
import sys
import threading

from hookline.runners.process.limit import Limit


def test_slots_are_acquired_up_to_the_limit() -> None:
    """Below the limit no hook waits; releasing a slot twice frees it once."""
    limit = Limit()
    assert [limit.try_acquire("a", 2), limit.try_acquire("b", 2), limit.try_acquire("c", 2), limit.running] == [
        True,
        True,
        False,
        2,
    ]
    limit.release("a")
    limit.release("a")
    assert [limit.try_acquire("c", 2), limit.try_acquire("d", 2), limit.running] == [True, False, 2]


def test_the_longest_waiting_is_next() -> None:
    """A released slot goes to the first in line, and newcomers do not overtake."""

    async def main() -> list[str]:
        limit, order = Limit(), list[str]()

        async def take(name: str) -> None:
            await limit.acquire(name, 1)
            order.append(name)
            limit.release(name)

        await limit.acquire("first", 1)
        waiting = [asyncio.create_task(take(name)) for name in "abc"]
        await asyncio.sleep(0)
        limit.release("first")
        assert not limit.try_acquire("newcomer", 1)
        await asyncio.gather(*waiting)
        return [*order, str(limit.running)]

    assert asyncio.run(main()) == ["a", "b", "c", "0"]


def test_a_cancelled_waiter_leaves_the_line() -> None:
    """A slot that is released while the first in line is cancelled goes to the next."""

    async def main() -> int:
        limit = Limit()
        await limit.acquire("a", 1)
        first, second = (asyncio.create_task(limit.acquire(name, 1)) for name in "bc")
        await asyncio.sleep(0)
        limit.release("a")
        first.cancel()
        await second
        return limit.running

    assert asyncio.run(main()) == 1


def test_a_waiter_whose_loop_was_closed_is_skipped() -> None:
    """A loop that is gone holds no place in the line."""
    limit = Limit()
    assert limit.try_acquire("a", 1)
    gone = asyncio.new_event_loop()
    left = gone.create_task(limit.acquire("b", 1))
    gone.run_until_complete(asyncio.sleep(0))
    gone.close()

    async def main() -> int:
        waiting = asyncio.create_task(limit.acquire("c", 1))
        await asyncio.sleep(0)
        limit.release("a")
        await waiting
        return limit.running

    assert asyncio.run(main()) == 1
    left.get_coro().close()
    left._log_destroy_pending = False  # type: ignore[attr-defined]


def test_each_waiter_has_its_own_limit() -> None:
    """A waiter with a low limit gets its slot when few enough hooks run."""

    async def main() -> int:
        limit = Limit()
        await limit.acquire("a", 3)
        await limit.acquire("b", 3)
        low = asyncio.create_task(limit.acquire("c", 1))
        await asyncio.sleep(0)
        limit.release("a")
        await asyncio.sleep(0.02)
        assert not low.done()
        limit.release("b")
        await low
        return limit.running

    assert asyncio.run(main()) == 1


def test_a_waiter_whose_loop_has_stopped_holds_up_nobody() -> None:
    """The slot goes to the next in line; the skipped one gets a slot when its loop runs again."""
    limit = Limit()
    assert limit.try_acquire("a", 1)
    stopped = asyncio.new_event_loop()
    left = stopped.create_task(limit.acquire("b", 1))
    stopped.run_until_complete(asyncio.sleep(0))

    async def main() -> int:
        waiting = asyncio.create_task(limit.acquire("c", 1))
        await asyncio.sleep(0)
        limit.release("a")
        await asyncio.wait_for(waiting, 30)
        return limit.running

    assert asyncio.run(main()) == 1
    limit.release("c")
    stopped.run_until_complete(asyncio.wait_for(left, 30))
    stopped.close()
    assert (limit.running, limit.try_acquire("d", 1)) == (1, False)


def test_many_at_once_are_served_in_their_order() -> None:
    """A waiter that was woken for nothing keeps its place in the line."""

    async def main() -> list[int]:
        limit, order = Limit(), list[int]()

        async def work(number: int) -> None:
            if not limit.try_acquire(number, 4):
                await limit.acquire(number, 4)
            order.append(number)
            await asyncio.sleep(0.001)
            limit.release(number)

        await asyncio.gather(*map(work, range(40)))
        return order

    assert asyncio.run(main()) == list(range(40))


def test_newcomers_do_not_starve_a_waiter() -> None:
    """However many come, the first is served first."""

    async def main() -> int:
        limit, ticks = Limit(), 0
        await limit.acquire("a", 1)
        waiting = asyncio.create_task(limit.acquire("b", 1))
        await asyncio.sleep(0)
        newcomers = set[asyncio.Task[None]]()
        while not waiting.done() and ticks < 100:
            ticks += 1
            for holder in tuple(limit._running):
                limit.release(holder)
            newcomers |= {asyncio.create_task(limit.acquire((ticks, number), 1)) for number in range(3)}
            await asyncio.sleep(0.01)
        for newcomer in newcomers:
            newcomer.cancel()
        return sum(newcomer.done() and not newcomer.cancelled() for newcomer in newcomers)

    assert asyncio.run(main()) == 0


def test_threads_that_compete_for_one_slot_all_get_it() -> None:
    """Never two at once, and none waits forever."""
    limit, together, began = Limit(), list[int](), threading.Barrier(4)
    held: set[tuple[int, int]] = set()

    async def work(thread: int) -> None:
        began.wait()
        for turn in range(50):
            who = thread, turn
            if not limit.try_acquire(who, 1):
                await limit.acquire(who, 1)
            held.add(who)
            together.append(len(held))
            await asyncio.sleep(0)
            held.discard(who)
            limit.release(who)

    def run(thread: int) -> None:
        asyncio.run(asyncio.wait_for(work(thread), 30))

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert (together, limit.running) == ([1] * 4 * 50, 0)
