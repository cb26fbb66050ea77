import asyncio
import time

import pytest

from hookline.apps.agent.background import BackgroundHooks


def test_spawning_does_not_wait() -> None:
    """The work begins at the loop's next turn, and draining sees its end."""

    async def session() -> list[str]:
        said: list[str] = []

        async def work() -> None:
            await asyncio.sleep(0)
            said.append("work")

        background = BackgroundHooks()
        background.spawn(work())
        said.append("on")
        await background.drain(30)
        return said

    assert asyncio.run(session()) == ["on", "work"]


@pytest.mark.req("HOOK-203")
def test_draining_is_bounded() -> None:
    """What takes too long is ended, even if it does not want to be at first; no task is left."""

    async def session() -> int:
        async def stubborn() -> None:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                await asyncio.sleep(60)

        background = BackgroundHooks()
        background.spawn(stubborn())
        await background.drain(0.05)
        return len(asyncio.all_tasks())

    began = time.monotonic()
    assert asyncio.run(session()) == 1
    assert time.monotonic() - began < 30
