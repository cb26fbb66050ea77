"""Hooks that wait for trust are reported once in a session, not at each event."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hookline.client.config import Config
from hookline.protocol.events import HookEventName

EVENTS = ("BeforeTool", "AfterTool", "BeforeModel", "SessionStart")
REASON = "untrusted: hooks of a project need trust; look at them and run: hookline trust"


def write(project: Path, *more: str) -> None:
    """Settings with one hook for each event, and further ones for BeforeTool."""
    names = [*((event, f"guard-{event}") for event in EVENTS), *(("BeforeTool", name) for name in more)]
    hooks: dict[str, list[Any]] = {}
    for event, name in names:
        hooks.setdefault(event, []).append({"hooks": [{"type": "command", "name": name, "command": f"echo {name}"}]})
    file = project / ".llxprt" / "settings.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"enableHooks": True, "hooks": hooks}))


@pytest.fixture
def fire(project: Path) -> Callable[[], Config]:
    """Fires all events twice in one session, and returns its configuration."""
    write(project)
    config = Config(project)

    def fire_all() -> Config:
        system = config.get_hook_system()
        assert system is not None
        system.start()
        for event in (*EVENTS, *EVENTS):
            asyncio.run(system.get_event_handler().fire(HookEventName(event), {"tool_name": "ls"}))
        return config

    return fire_all


def test_one_line_is_about_all_of_them(fire: Callable[[], Config], capsys: pytest.CaptureFixture[str]) -> None:
    """The first event that lacks a hook also reports the others."""
    fire()
    names = "guard-BeforeTool, guard-AfterTool, guard-BeforeModel and 1 more"
    assert capsys.readouterr().err == f"hookline: 4 hooks are not run ({names}): {REASON}\n"


def test_a_hook_that_comes_later_is_another_line(
    project: Path, fire: Callable[[], Config], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody adds it while the session runs."""
    fire()
    capsys.readouterr()
    write(project, "new")
    monkeypatch.setattr("hookline.settings.read.source._LOOK_AGAIN_S", 0.0)  # all of this may take less than it
    fire()
    assert "BeforeTool hook new is not run: untrusted: " in capsys.readouterr().err


def test_what_was_said_otherwise_is_not_repeated(
    fire: Callable[[], Config], capsys: pytest.CaptureFixture[str], project: Path
) -> None:
    """The greeting of the agent, for example."""
    system = Config(project).get_hook_system()
    assert system is not None
    system.start()
    system.trust_notice.acknowledge()
    asyncio.run(system.get_event_handler().fire(HookEventName.BEFORE_TOOL, {"tool_name": "ls"}))
    assert capsys.readouterr().err == ""
    fire()
    assert capsys.readouterr().err.count("\n") == 1


def test_a_stranger_can_not_fill_the_screen(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A thousand hooks are one line."""
    write(project, *(f"{number} {'x' * 500}" for number in range(1000)))
    system = Config(project).get_hook_system()
    assert system is not None
    system.start()
    asyncio.run(system.get_event_handler().fire(HookEventName.BEFORE_TOOL, {"tool_name": "ls"}))
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert len(said) < 1000
