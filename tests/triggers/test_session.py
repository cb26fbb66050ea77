import asyncio
import json
import shlex
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from hookline.config import Config
from hookline.contract.events import PreCompressTrigger, SessionEndReason, SessionStartSource
from hookline.contract.records import LogLevel
from hookline.log.logger import MemorySink
from hookline.triggers.session import (
    fire_after_agent_hook,
    fire_before_agent_hook,
    fire_notification_hook,
    fire_pre_compress_hook,
    fire_session_end_hook,
    fire_session_start_hook,
)

Trigger = Callable[[Config], Coroutine[Any, Any, None]]

TRIGGERS: list[Any] = [
    pytest.param(
        "SessionStart",
        lambda config: fire_session_start_hook(config, SessionStartSource.STARTUP),
        {"source": "startup"},
        id="SessionStart",
    ),
    pytest.param(
        "SessionEnd",
        lambda config: fire_session_end_hook(config, SessionEndReason.EXIT),
        {"reason": "exit"},
        id="SessionEnd",
    ),
    pytest.param(
        "BeforeAgent", lambda config: fire_before_agent_hook(config, "go"), {"prompt": "go"}, id="BeforeAgent"
    ),
    pytest.param(
        "AfterAgent",
        lambda config: fire_after_agent_hook(config, "go", "gone"),
        {"prompt": "go", "prompt_response": "gone", "stop_hook_active": False},
        id="AfterAgent",
    ),
    pytest.param(
        "PreCompress",
        lambda config: fire_pre_compress_hook(config, PreCompressTrigger.MANUAL),
        {"trigger": "manual"},
        id="PreCompress",
    ),
    pytest.param(
        "Notification",
        lambda config: fire_notification_hook(config, "ToolPermission", "May I?", {"tool": "ls"}),
        {"notification_type": "ToolPermission", "message": "May I?", "details": {"tool": "ls"}},
        id="Notification",
    ),
]


def config_of(project: Path, event: str, command: str, sink: MemorySink, matcher: str | None = None) -> Config:
    group = {"hooks": [{"type": "command", "command": command}], "matcher": matcher}
    settings = {"enableHooks": True, "hooks": {event: [group]}, "hooksConfig": {"log": {"enabled": False}}}
    return Config(project, settings=settings, log_sinks=[sink])


@pytest.mark.req("HOOK-008", "HOOK-203")
@pytest.mark.parametrize(("event", "trigger", "fields"), TRIGGERS)
def test_hooks_run_and_are_logged_and_nothing_is_applied(
    project: Path, event: str, trigger: Trigger, fields: dict[str, Any]
) -> None:
    """The hook is told what happened, the log has its answer, and the caller gets nothing to apply."""
    memory = MemorySink()
    answer = shlex.quote(json.dumps({"decision": "block", "continue": False, "stopReason": "enough"}))
    config = config_of(project, event, f"cat > told; printf %s {answer}", memory)
    # The type says None; that it is None in fact is what this is about.
    given: Any = asyncio.run(trigger(config))
    assert given is None
    told = json.loads((project / "told").read_text())
    assert {"hook_event_name": event, **fields}.items() <= told.items()
    hook, summary = (record for record in memory.records if record.to_dict()["kind"] in ("hook", "event"))
    assert (hook.to_dict()["event"], hook.to_dict()["decision"]) == (event, "block")
    assert (summary.to_dict()["event"], summary.to_dict()["stopReason"]) == (event, "enough")


@pytest.mark.req("HOOK-010", "HOOK-013")
@pytest.mark.parametrize("enabled", [False, True], ids=["disabled", "no hooks"])
@pytest.mark.parametrize(("event", "trigger", "fields"), TRIGGERS)
def test_without_hooks_nothing_is_awaited(
    project: Path, event: str, trigger: Trigger, fields: dict[str, Any], enabled: bool
) -> None:
    """Where there is nothing to run a trigger ends at once."""
    del event, fields
    with pytest.raises(StopIteration):
        trigger(Config(project, settings={"enableHooks": enabled})).send(None)


@pytest.mark.req("HOOK-110", "HOOK-203")
@pytest.mark.parametrize(("event", "trigger", "fields"), TRIGGERS)
def test_a_failing_hook_is_a_warning(project: Path, event: str, trigger: Trigger, fields: dict[str, Any]) -> None:
    """A hook that fails is told in the log, and not to the caller."""
    del fields
    memory = MemorySink()
    asyncio.run(trigger(config_of(project, event, "exit 1", memory)))
    (warning,) = [record for record in memory.records if record.level is LogLevel.WARN]
    assert (warning.to_dict()["kind"], warning.to_dict()["event"], warning.to_dict()["exitCode"]) == ("hook", event, 1)


@pytest.fixture
def unreadable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hooks that cannot be read, by a fault of ours."""

    def fail(_layers: object) -> None:
        raise OSError("unreadable")

    monkeypatch.setattr("hookline.system.decode_settings", fail)


@pytest.mark.req("HOOK-111")
@pytest.mark.usefixtures("unreadable")
@pytest.mark.parametrize(("event", "trigger", "fields"), TRIGGERS)
def test_a_fault_of_ours_is_told_and_goes_no_further(
    project: Path, event: str, trigger: Trigger, fields: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """When the hooks cannot even be read, stderr says so, and the caller goes on."""
    del event, fields
    asyncio.run(trigger(Config(project, settings={"enableHooks": True})))
    said = capsys.readouterr().err
    assert said.startswith("hookline: hooks had no effect, because of a fault in hookline: OSError('unreadable')")


@pytest.mark.parametrize(("matcher", "runs"), [("startup", True), (" startup ", True), ("start", False), ("", True)])
def test_a_matcher_is_compared_with_the_trigger(project: Path, matcher: str, runs: bool) -> None:
    """Where there is no tool, a matcher names the source, whole."""
    config = config_of(project, "SessionStart", "touch ran", MemorySink(), matcher)
    asyncio.run(fire_session_start_hook(config, SessionStartSource.STARTUP))
    assert (project / "ran").exists() is runs
