from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from hookline import Hooks
from hookline.log.write.logger import MemorySink

MakeHooks = Callable[..., Hooks]


def hook(command: str, *, name: str | None = None, matcher: str | None = None, **options: Any) -> dict[str, Any]:
    """A group of one hook."""
    named = {} if name is None else {"name": name}
    matched = {} if matcher is None else {"matcher": matcher}
    return {**matched, "hooks": [{"type": "command", "command": command, **named, **options}]}


@pytest.fixture
def memory() -> MemorySink:
    """The records that the log got."""
    return MemorySink()


@pytest.fixture
def make_hooks(tmp_path: Path, memory: MemorySink) -> Iterator[MakeHooks]:
    """Makes `Hooks` from the groups of each event, and closes them."""
    made: list[Hooks] = []

    def make(
        events: Mapping[str, list[dict[str, Any]]], *, config: Mapping[str, Any] | None = None, **given: Any
    ) -> Hooks:
        options = {"log": {"enabled": False}, **(config or {})}
        settings = {"enableHooks": True, "hooksConfig": options, "hooks": dict(events)}
        made.append(Hooks(tmp_path, settings=settings, log_sinks=[memory], **given))
        return made[-1]

    yield make
    for hooks in made:
        hooks.close()
