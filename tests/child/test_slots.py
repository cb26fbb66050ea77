import asyncio
import sys
import threading
from heapq import heappush
from typing import Any

import pytest

from hookline.child.slots import Slots


def test_slots_are_taken_up_to_the_limit() -> None:
    """Below the limit nobody waits."""
    slots = Slots()
    assert [slots.try_take("a", 2), slots.try_take("b", 2), slots.try_take("c", 2), slots.taken] == [
        True,
        True,
        False,
        2,
    ]
    slots.give_back("a")
    slots.give_back("a")
    assert [slots.try_take("c", 2), slots.try_take("d", 2), slots.taken] == [True, False, 2]


def test_who_waits_longest_is_next() -> None:
    """A freed slot goes to the first in line, and newcomers do not overtake."""

    async def main() -> list[str]:
        slots, order = Slots(), list[str]()

        async def take(name: str) -> None:
            await slots.take(name, 1)
            order.append(name)
            slots.give_back(name)

        await slots.take("first", 1)
        waiting = [asyncio.create_task(take(name)) for name in "abc"]
        await asyncio.sleep(0)
        slots.give_back("first")
        assert not slots.try_take("newcomer", 1)
        await asyncio.gather(*waiting)
        return [*order, str(slots.taken)]

    assert asyncio.run(main()) == ["a", "b", "c", "0"]


def test_a_cancelled_waiter_passes_its_turn_on() -> None:
    """A turn that was just given to somebody who left reaches the next."""

    async def main() -> int:
        slots = Slots()
        await slots.take("a", 1)
        first, second = (asyncio.create_task(slots.take(name, 1)) for name in "bc")
        await asyncio.sleep(0)
        slots.give_back("a")
        first.cancel()
        await second
        return slots.taken

    assert asyncio.run(main()) == 1


def test_a_waiter_whose_loop_was_closed_is_passed_over() -> None:
    """A loop that is gone holds no place in the line."""
    slots = Slots()
    assert slots.try_take("a", 1)
    gone = asyncio.new_event_loop()
    left = gone.create_task(slots.take("b", 1))
    gone.run_until_complete(asyncio.sleep(0))
    gone.close()

    async def main() -> int:
        waiting = asyncio.create_task(slots.take("c", 1))
        await asyncio.sleep(0)
        slots.give_back("a")
        await waiting
        return slots.taken

    assert asyncio.run(main()) == 1
    left.get_coro().close()
    left._log_destroy_pending = False  # type: ignore[attr-defined]


def test_a_higher_limit_lets_a_waiter_in() -> None:
    """Who waits under a low limit gets its slot when there are few enough."""

    async def main() -> int:
        slots = Slots()
        await slots.take("a", 3)
        await slots.take("b", 3)
        low = asyncio.create_task(slots.take("c", 1))
        await asyncio.sleep(0)
        slots.give_back("a")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not low.done()
        slots.give_back("b")
        await low
        return slots.taken

    assert asyncio.run(main()) == 1


def test_a_waiter_whose_loop_has_stopped_holds_up_nobody() -> None:
    """The slot goes to the next; who was passed over finds one when its loop runs again."""
    slots = Slots()
    assert slots.try_take("a", 1)
    stopped = asyncio.new_event_loop()
    left = stopped.create_task(slots.take("b", 1))
    stopped.run_until_complete(asyncio.sleep(0))

    async def main() -> int:
        waiting = asyncio.create_task(slots.take("c", 1))
        await asyncio.sleep(0)
        slots.give_back("a")
        await asyncio.wait_for(waiting, 5)
        return slots.taken

    assert asyncio.run(main()) == 1
    slots.give_back("c")
    stopped.run_until_complete(asyncio.wait_for(left, 5))
    stopped.close()
    assert (slots.taken, slots.try_take("d", 1)) == (1, False)


def test_a_loop_that_stops_when_it_is_called_holds_up_nobody() -> None:
    """Who comes later sees the free slot, and calls the next in line to it."""
    slots = Slots()
    assert slots.try_take("a", 1)
    stopped = asyncio.new_event_loop()
    left = [stopped.create_task(slots.take(name, 1)) for name in "bc"]

    async def give_back() -> None:
        slots.give_back("a")

    stopped.run_until_complete(asyncio.sleep(0))
    stopped.run_until_complete(give_back())
    assert slots.taken == 0
    asyncio.run(asyncio.wait_for(slots.take("d", 1), 5))
    slots.give_back("d")
    stopped.run_until_complete(asyncio.wait_for(left[0], 5))
    slots.give_back("b")
    stopped.run_until_complete(asyncio.wait_for(left[1], 5))
    stopped.close()
    assert slots.taken == 1


def test_garbage_may_give_back_a_slot_while_one_is_taken() -> None:
    """It is collected whenever Python likes, under the lock too."""
    slots = Slots()
    assert slots.try_take("a", 2)
    with slots._lock:
        slots.give_back("a")
    assert slots.taken == 0


def test_a_slot_that_is_given_back_while_somebody_queues_up_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread gives it back between the look at the slots and the place in the line."""
    slots = Slots()
    assert slots.try_take("a", 1)

    def late(line: list[Any], waiting: Any) -> None:
        slots.give_back("a")
        heappush(line, waiting)

    monkeypatch.setattr("hookline.child.slots.heappush", late)
    asyncio.run(asyncio.wait_for(slots.take("b", 1), 5))
    assert slots.taken == 1


def test_many_at_once_are_served_in_their_order() -> None:
    """Who is called in vain comes back to its old place, and who tries and fails calls nobody."""

    async def main() -> list[int]:
        slots, order = Slots(), list[int]()

        async def work(number: int) -> None:
            if not slots.try_take(number, 4):
                await slots.take(number, 4)
            order.append(number)
            await asyncio.sleep(0.001)
            slots.give_back(number)

        await asyncio.gather(*map(work, range(40)))
        return order

    assert asyncio.run(main()) == list(range(40))


def test_newcomers_do_not_starve_who_waits() -> None:
    """However many come, the first is served first."""

    async def main() -> int:
        slots, ticks = Slots(), 0
        await slots.take("a", 1)
        waiting = asyncio.create_task(slots.take("b", 1))
        await asyncio.sleep(0)
        newcomers = set[asyncio.Task[None]]()
        while not waiting.done() and ticks < 100:
            ticks += 1
            for holder in tuple(slots._holders):
                slots.give_back(holder)
            newcomers |= {asyncio.create_task(slots.take((ticks, number), 1)) for number in range(3)}
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        for newcomer in newcomers:
            newcomer.cancel()
        return ticks

    assert asyncio.run(main()) <= 2


def test_who_waits_behind_a_low_limit_gets_all_that_is_free() -> None:
    """Once the one with the low limit has its slot, those behind it need not go one by one."""

    async def main() -> int:
        slots = Slots()
        await slots.take("a", 4)
        low = asyncio.create_task(slots.take("low", 1))
        await asyncio.sleep(0)
        high = [asyncio.create_task(slots.take(number, 4)) for number in range(3)]
        await asyncio.sleep(0.01)  # until all of them wait
        slots.give_back("a")
        await asyncio.wait_for(asyncio.gather(low, *high), 5)
        return slots.taken

    assert asyncio.run(main()) == 4


def test_who_gives_up_waiting_lets_those_behind_it_pass() -> None:
    """They may have found a slot long ago, but for it."""

    async def main() -> int:
        slots = Slots()
        await slots.take("a", 4)
        low = asyncio.create_task(slots.take("low", 1))
        await asyncio.sleep(0)
        high = asyncio.create_task(slots.take("high", 4))
        await asyncio.sleep(0)
        assert not high.done()
        low.cancel()
        await asyncio.wait_for(high, 5)
        return slots.taken

    assert asyncio.run(main()) == 2


def test_an_interrupted_call_costs_nobody_their_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who was about to be called is called by the next who gives something back."""

    async def main() -> int:
        slots = Slots()
        await slots.take("a", 1)
        waiting = asyncio.create_task(slots.take("b", 1))
        await asyncio.sleep(0)
        with monkeypatch.context() as patched:
            patched.setattr(asyncio.get_running_loop(), "call_soon_threadsafe", _interrupt)
            with pytest.raises(KeyboardInterrupt):
                slots.give_back("a")
        slots.give_back("a")
        await asyncio.wait_for(waiting, 5)
        return slots.taken

    assert asyncio.run(main()) == 1


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def test_threads_that_fight_for_one_slot_all_get_it() -> None:
    """Never two at once, and nobody waits for ever."""
    slots, together, began = Slots(), list[int](), threading.Barrier(4)
    held: set[tuple[int, int]] = set()

    async def work(thread: int) -> None:
        began.wait()
        for turn in range(50):
            who = thread, turn
            if not slots.try_take(who, 1):
                await slots.take(who, 1)
            held.add(who)
            together.append(len(held))
            await asyncio.sleep(0)
            held.discard(who)
            slots.give_back(who)

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
    assert (together, slots.taken) == ([1] * 4 * 50, 0)
