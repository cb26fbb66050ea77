import asyncio

from hookline.child.slots import Slots


def test_slots_are_taken_up_to_the_limit() -> None:
    """Below the limit nobody waits."""
    slots = Slots()
    assert [slots.try_take(2), slots.try_take(2), slots.try_take(2), slots.taken] == [True, True, False, 2]


def test_who_waits_longest_is_next() -> None:
    """A freed slot goes to the first in line, and newcomers do not overtake."""

    async def main() -> list[str]:
        slots, order = Slots(), list[str]()

        async def take(name: str) -> None:
            await slots.take(1)
            order.append(name)
            slots.give_back()

        await slots.take(1)
        waiting = [asyncio.create_task(take(name)) for name in "abc"]
        await asyncio.sleep(0)
        slots.give_back()
        assert not slots.try_take(1)
        await asyncio.gather(*waiting)
        return [*order, str(slots.taken)]

    assert asyncio.run(main()) == ["a", "b", "c", "0"]


def test_a_cancelled_waiter_passes_its_turn_on() -> None:
    """A turn that was just given to somebody who left reaches the next."""

    async def main() -> int:
        slots = Slots()
        await slots.take(1)
        first, second = (asyncio.create_task(slots.take(1)) for _ in range(2))
        await asyncio.sleep(0)
        slots.give_back()
        first.cancel()
        await second
        return slots.taken

    assert asyncio.run(main()) == 1


def test_a_waiter_whose_loop_was_closed_is_passed_over() -> None:
    """A loop that is gone holds no place in the line."""
    slots = Slots()
    assert slots.try_take(1)
    gone = asyncio.new_event_loop()
    left = gone.create_task(slots.take(1))
    gone.run_until_complete(asyncio.sleep(0))
    gone.close()

    async def main() -> int:
        waiting = asyncio.create_task(slots.take(1))
        await asyncio.sleep(0)
        slots.give_back()
        await waiting
        return slots.taken

    assert asyncio.run(main()) == 1
    left.get_coro().close()
    left._log_destroy_pending = False  # type: ignore[attr-defined]


def test_a_higher_limit_lets_a_waiter_in() -> None:
    """Who waits under a low limit gets its slot when there are few enough."""

    async def main() -> int:
        slots = Slots()
        await slots.take(3)
        await slots.take(3)
        low = asyncio.create_task(slots.take(1))
        await asyncio.sleep(0)
        slots.give_back()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not low.done()
        slots.give_back()
        await low
        return slots.taken

    assert asyncio.run(main()) == 1


def test_a_waiter_whose_loop_has_stopped_holds_up_nobody() -> None:
    """The slot goes to the next; who was passed over finds one when its loop runs again."""
    slots = Slots()
    assert slots.try_take(1)
    stopped = asyncio.new_event_loop()
    left = stopped.create_task(slots.take(1))
    stopped.run_until_complete(asyncio.sleep(0))

    async def main() -> int:
        waiting = asyncio.create_task(slots.take(1))
        await asyncio.sleep(0)
        slots.give_back()
        await asyncio.wait_for(waiting, 5)
        return slots.taken

    assert asyncio.run(main()) == 1
    slots.give_back()
    stopped.run_until_complete(asyncio.wait_for(left, 5))
    stopped.close()
    assert (slots.taken, slots.try_take(1)) == (1, False)


def test_a_loop_that_stops_when_it_is_called_holds_up_nobody() -> None:
    """Who comes later sees the free slot, and calls the next in line to it."""
    slots = Slots()
    assert slots.try_take(1)
    stopped = asyncio.new_event_loop()
    left = [stopped.create_task(slots.take(1)) for _ in range(2)]

    async def give_back() -> None:
        slots.give_back()

    stopped.run_until_complete(asyncio.sleep(0))
    stopped.run_until_complete(give_back())
    assert slots.taken == 0
    asyncio.run(asyncio.wait_for(slots.take(1), 5))
    slots.give_back()
    stopped.run_until_complete(asyncio.wait_for(left[0], 5))
    slots.give_back()
    stopped.run_until_complete(asyncio.wait_for(left[1], 5))
    stopped.close()
    assert slots.taken == 1


def test_garbage_may_give_back_a_slot_while_one_is_taken() -> None:
    """It is collected whenever Python likes, under the lock too."""
    slots = Slots()
    assert slots.try_take(2)
    with slots._lock:
        slots.give_back()
    assert slots.taken == 0
