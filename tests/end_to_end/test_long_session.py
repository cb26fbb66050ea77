"""A long conversation at a terminal, with hooks on every event, seen from outside."""

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import pytest
from tests.patience import until

from hookline.protocol.events import HookEventName
from hookline.testing import calls, says

if TYPE_CHECKING:
    from tests.conftest import Person

TURNS = 100
WARM_UP = 30
MAX_GROWTH = 6 * 1024 * 1024
"""More than the conversation itself takes, and far less than 160 turns that each leaked something would."""


@dataclass(frozen=True, slots=True)
class Footprint:
    """The resources of a process."""

    memory: int
    files: int
    threads: int
    children: tuple[str, ...]

    @classmethod
    def of(cls, pid: int) -> Self:
        """Measure this process now."""
        process = Path(f"/proc/{pid}")
        tasks = list((process / "task").iterdir())
        return cls(
            memory=int((process / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"),
            files=len(list((process / "fd").iterdir())),
            threads=len(tasks),
            children=tuple(child for task in tasks for child in (task / "children").read_text().split()),
        )


@pytest.mark.timeout(150)
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="looks at /proc")
def test_a_long_conversation_stays_small(project: Path, person: "Callable[..., Person]") -> None:
    """After 100 turns memory, open files and threads are where they were after 30, and no process is left."""
    hooks = {event.value: [{"hooks": [{"type": "command", "command": "true"}]}] for event in HookEventName}
    settings, replay = project.parent / "settings.json", project.parent / "replay.jsonl"
    settings.write_text(json.dumps({"enableHooks": True, "hooks": hooks}))
    with replay.open("w") as file:
        for number in range(TURNS):
            answers = [says(f"Answer {number}.", tokens=100)]
            if number % 4 == 0:
                answers.insert(0, calls(("list_directory", {"path": "."})))
            for answer in answers:
                file.write(json.dumps({"method": "generateContentStream", "response": [answer]}) + "\n")
    here = person("agent", "--settings", str(settings), "--model", f"replay:{replay}", "--yes")
    warm = None
    for number in range(TURNS):
        here.say(f"Prompt {number}.")
        here.expect(f"Answer {number}.")
        if number == WARM_UP:
            warm = _at_rest(here)
    assert warm is not None
    after = _at_rest(here)
    # A thread may have a file open for a moment.
    until(lambda: Footprint.of(here.process.pid).files <= warm.files, "the end of every file")
    assert after.memory - warm.memory < MAX_GROWTH
    assert after.children == ()
    # A thread of the pool may be new, but not one for each turn.
    assert after.threads <= warm.threads + 2
    here.say("/quit")
    assert here.leaves_with() == 0


def _at_rest(here: "Person") -> Footprint:
    """Measure the program when it waits for a line, after the time that AfterAgent hooks need to end."""
    here.say("/help")
    here.expect("Alt-Enter")
    deadline = time.monotonic() + 45
    while (now := Footprint.of(here.process.pid)).children and time.monotonic() < deadline:
        time.sleep(0.02)
    return now
