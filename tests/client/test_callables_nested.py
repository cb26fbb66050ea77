"""Functions that fire events themselves, and wait for them."""

import asyncio
import time
from pathlib import Path

from hookline import Hooks
from hookline.hook import BeforeTool, Deny
from hookline.runners.function.threads import MOST_THREADS

SETTINGS = {"enableHooks": True, "hooksConfig": {"log": {"enabled": False}}}


def test_functions_that_have_all_threads_still_get_answers(tmp_path: Path) -> None:
    hooks = Hooks(tmp_path, settings=SETTINGS)
    session = hooks.session("s")

    @hooks.on("BeforeTool", matcher="^outer$", timeout=15.0)
    def asks(_event: BeforeTool) -> Deny:
        time.sleep(0.05)  # until all threads are taken
        return Deny(session.sync.before_tool("inner", {}).reason or "nobody answered")

    @hooks.on("BeforeTool", matcher="^inner$", timeout=15.0)
    def answers(_event: BeforeTool) -> Deny:
        return Deny("the inner guard")

    async def fire() -> set[str | None]:
        calls = await asyncio.gather(*(session.before_tool("outer", {}) for _ in range(MOST_THREADS + 8)))
        return {call.reason for call in calls}

    reasons = asyncio.run(fire())
    hooks.close()
    assert reasons == {"the inner guard"}
