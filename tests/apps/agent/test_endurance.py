"""A long session with hooks on every event, after which nothing is left that was not there before."""

import asyncio
import gc
import resource
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.patience import children, descriptors, is_alive, until

from hookline.apps.agent.conversation.transcript import TranscriptWriter, transcript_path
from hookline.apps.agent.loop import Agent
from hookline.apps.agent.toolbox import default_toolbox
from hookline.client.config import Config
from hookline.protocol.events import HookEventName
from hookline.testing import Answer, ScriptedModel, calls, says

TURNS = 100
WARM_UP = 30


def answers() -> Iterator[Answer]:
    """A model that calls a tool for every other prompt."""
    for number in range(TURNS):
        if number % 2:
            yield [calls(("list_directory", {"path": "."}))]
        yield [says(f"Answer {number}.", tokens=100)]


def resident_bytes() -> int:
    """How much memory this process has now."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def zombies() -> set[int]:
    """Ended children of this process that nobody has waited for."""
    return {child for child in children() if not is_alive(child)}


@pytest.mark.timeout(240)
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="looks at /proc")
def test_a_long_session_leaves_nothing_behind(project: Path, hook_script: Callable[..., Path]) -> None:
    """After 100 turns memory is where it was, and no zombie, no open file and no task is left."""
    script = str(hook_script("cat > /dev/null"))
    hooks = {event.value: [{"hooks": [{"type": "command", "command": script}]}] for event in HookEventName}
    path = transcript_path("s1")

    async def session() -> tuple[int, int]:
        agent = Agent(
            config=Config(project, settings={"enableHooks": True, "hooks": hooks}, transcript_path=str(path)),
            model=ScriptedModel(answers()),
            toolbox=default_toolbox(),
            approves_all=True,
            transcript=TranscriptWriter(path),
            listener=lambda _: None,
        )
        agent.start()
        warm = 0
        for number in range(TURNS):
            await agent.run(f"Prompt {number}.")
            if number == WARM_UP:
                warm = resident_bytes()
        await agent.close()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return warm, resident_bytes()

    # What earlier tests left to be collected must not be closed in between.
    gc.collect()
    open_before, zombies_before = descriptors(), zombies()
    warm, after = asyncio.run(session())
    until(lambda: descriptors() <= open_before, "the end of every file")
    until(lambda: zombies() <= zombies_before, "the end of every zombie")
    # The conversation itself grows, by some hundred bytes a turn.
    assert after - warm < 8 * 1024 * 1024
