"""Tests of requirements that a rewrite of the engine has to keep, through public names only."""

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from hookline import Config
from hookline.log.write.logger import MemorySink

Hooks = Mapping[str, Sequence[str | Mapping[str, Any]]]


class Scene:
    """A project with hooks for some events, and everything that is logged about them."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self._sink = MemorySink()

    def config(self, hooks: Hooks, **options: Any) -> Config:
        """A config with one group per hook; a hook is its command, or a hook with the options of its group."""
        groups = {event: [_group(hook) for hook in of_event] for event, of_event in hooks.items()}
        settings = {"enableHooks": True, "hooks": groups, "hooksConfig": {"log": {"enabled": False}}}
        return Config(self.project, settings=settings, log_sinks=[self._sink], **options)

    def records(self, kind: str | None = None) -> list[dict[str, Any]]:
        """Return the records so far, of one kind or of all, as they would be in the file."""
        records = [record.to_dict() for record in self._sink.records]
        return [record for record in records if kind in (None, record.get("kind"))]


def _group(hook: str | Mapping[str, Any]) -> dict[str, Any]:
    given = {"command": hook} if isinstance(hook, str) else dict(hook)
    group = {name: given.pop(name) for name in ("matcher", "sequential") if name in given}
    return {**group, "hooks": [{"type": "command", **given}]}


@pytest.fixture
def scene(project: Path) -> Scene:
    return Scene(project)


@pytest.fixture
def says() -> Callable[[object], str]:
    """A command that answers this."""
    return lambda answer: f"printf %s {shlex.quote(json.dumps(answer))}"
