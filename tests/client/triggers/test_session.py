import asyncio
import json
import shlex
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from hookline.client.config import Config
from hookline.client.triggers.results import (
    AfterAgentHookResult,
    BeforeAgentHookResult,
    LifecycleHookResult,
    PreCompressHookResult,
    SessionStartHookResult,
)
from hookline.client.triggers.session import (
    apply_after_agent_hook,
    apply_before_agent_hook,
    apply_pre_compress_hook,
    apply_session_start_hook,
    fire_after_agent_hook,
    fire_before_agent_hook,
    fire_notification_hook,
    fire_pre_compress_hook,
    fire_session_end_hook,
    fire_session_start_hook,
    is_applied,
)
from hookline.log.write.logger import MemorySink
from hookline.protocol.events import HookEventName, PreCompressTrigger, SessionEndReason, SessionStartSource
from hookline.protocol.records import LogLevel

Apply = Callable[[Config], Coroutine[Any, Any, LifecycleHookResult]]
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
    """The hook gets the event, the log has its answer, and the caller gets nothing to apply."""
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
    """A hook that fails is reported in the log, and not to the caller."""
    del fields
    memory = MemorySink()
    asyncio.run(trigger(config_of(project, event, "exit 1", memory)))
    (warning,) = [record for record in memory.records if record.level is LogLevel.WARN]
    assert (warning.to_dict()["kind"], warning.to_dict()["event"], warning.to_dict()["exitCode"]) == ("hook", event, 1)


@pytest.mark.req("HOOK-111")
@pytest.mark.usefixtures("unreadable")
@pytest.mark.parametrize(("event", "trigger", "fields"), TRIGGERS)
def test_a_fault_of_ours_is_told_and_goes_no_further(
    project: Path, event: str, trigger: Trigger, fields: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """When the hooks cannot even be read, stderr reports that, and the caller continues."""
    del event, fields
    asyncio.run(trigger(Config(project, settings={"enableHooks": True})))
    said = capsys.readouterr().err
    assert said.startswith("hookline: hooks had no effect, because of a fault in hookline: OSError('unreadable')")


@pytest.mark.parametrize(("matcher", "runs"), [("startup", True), (" startup ", True), ("start", False), ("", True)])
def test_a_matcher_is_compared_with_the_trigger(project: Path, matcher: str, runs: bool) -> None:
    """For an event without a tool, a matcher names the whole source."""
    config = config_of(project, "SessionStart", "touch ran", MemorySink(), matcher)
    asyncio.run(fire_session_start_hook(config, SessionStartSource.STARTUP))
    assert (project / "ran").exists() is runs


def before_agent(config: Config) -> Coroutine[Any, Any, LifecycleHookResult]:
    return apply_before_agent_hook(config, "go")


def after_agent(config: Config) -> Coroutine[Any, Any, LifecycleHookResult]:
    return apply_after_agent_hook(config, "go", "gone", stop_hook_active=True)


def session_start(config: Config) -> Coroutine[Any, Any, LifecycleHookResult]:
    return apply_session_start_hook(config, SessionStartSource.RESUME)


def pre_compress(config: Config) -> Coroutine[Any, Any, LifecycleHookResult]:
    return apply_pre_compress_hook(config, PreCompressTrigger.AUTO)


APPLIED: list[Any] = [
    pytest.param("BeforeAgent", before_agent, {"prompt": "go"}, BeforeAgentHookResult, id="BeforeAgent"),
    pytest.param(
        "AfterAgent",
        after_agent,
        {"prompt": "go", "prompt_response": "gone", "stop_hook_active": True},
        AfterAgentHookResult,
        id="AfterAgent",
    ),
    pytest.param("SessionStart", session_start, {"source": "resume"}, SessionStartHookResult, id="SessionStart"),
    pytest.param("PreCompress", pre_compress, {"trigger": "auto"}, PreCompressHookResult, id="PreCompress"),
]
BLOCK = {"decision": "block", "reason": "no"}
STOP = {"continue": False, "stopReason": "enough"}
TEXTS = {"systemMessage": "m", "hookSpecificOutput": {"additionalContext": "c"}}


def applying(project: Path, event: str, answer: object, lifecycle: str = "apply", **options: Any) -> Config:
    command = f"cat > told; printf %s {shlex.quote(json.dumps(answer))}"
    settings = {
        "enableHooks": True,
        "hooks": {event: [{"hooks": [{"type": "command", "command": command, "name": "guard"}]}]},
        "hooksConfig": {"log": {"enabled": False}, "lifecycle": lifecycle},
    }
    return Config(project, settings=settings, **options)


@pytest.mark.parametrize(("event", "apply", "fields", "kind"), APPLIED)
def test_an_embedding_program_gets_what_hooks_decided(
    project: Path, event: str, apply: Apply, fields: dict[str, Any], kind: type[LifecycleHookResult]
) -> None:
    """Each event has a typed result, with the stop, its reason, the texts and the hooks that decided."""
    result = asyncio.run(apply(applying(project, event, {**STOP, **TEXTS})))
    assert type(result) is kind
    assert (result.should_stop, result.stop_reason, result.decided_by) == (True, "enough", ("guard",))
    assert (result.context, result.system_message) == ("c", "m")
    assert {"hook_event_name": event, **fields}.items() <= json.loads((project / "told").read_text()).items()


@pytest.mark.parametrize(
    ("event", "apply", "answer", "result"),
    [
        pytest.param(
            "BeforeAgent",
            before_agent,
            {**BLOCK, "hookSpecificOutput": {"prompt": "stay"}},
            BeforeAgentHookResult(blocked=True, reason="no", decided_by=("guard",)),
            id="a-blocked-prompt",
        ),
        pytest.param(
            "BeforeAgent",
            before_agent,
            STOP,
            BeforeAgentHookResult(
                blocked=True, reason="enough", should_stop=True, stop_reason="enough", decided_by=("guard",)
            ),
            id="a-stop-blocks-the-prompt",
        ),
        pytest.param(
            "BeforeAgent",
            before_agent,
            {"reason": "fine", "hookSpecificOutput": {"prompt": "stay"}},
            BeforeAgentHookResult(prompt="stay"),
            id="another-prompt",
        ),
        pytest.param(
            "AfterAgent",
            after_agent,
            BLOCK,
            AfterAgentHookResult(should_go_on=True, reason="no", decided_by=("guard",)),
            id="going-on",
        ),
        pytest.param(
            "AfterAgent",
            after_agent,
            {**BLOCK, **STOP},
            AfterAgentHookResult(reason="enough", should_stop=True, stop_reason="enough", decided_by=("guard",)),
            id="a-stop-wins-over-going-on",
        ),
        pytest.param("SessionStart", session_start, BLOCK, SessionStartHookResult(), id="no-block-at-the-start"),
        pytest.param(
            "PreCompress",
            pre_compress,
            BLOCK,
            PreCompressHookResult(blocked=True, reason="no", decided_by=("guard",)),
            id="no-compression",
        ),
    ],
)
def test_what_a_block_comes_to(
    project: Path, event: str, apply: Apply, answer: object, result: LifecycleHookResult
) -> None:
    """The whole result, for each event."""
    assert asyncio.run(apply(applying(project, event, answer))) == result


@pytest.mark.req("HOOK-203")
@pytest.mark.parametrize(("event", "apply", "fields", "kind"), APPLIED)
def test_by_default_nothing_is_applied_and_that_is_told_once(
    project: Path,
    event: str,
    apply: Apply,
    fields: dict[str, Any],
    kind: type[LifecycleHookResult],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """While the settings only watch, the result is empty, and stderr names hook and remedy, once."""
    del fields
    config = applying(project, event, {**BLOCK, **STOP, **TEXTS}, "watch")

    async def twice() -> list[LifecycleHookResult]:
        return [await apply(config), await apply(config)]

    assert asyncio.run(twice()) == [kind(), kind()]
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"hookline: The {event} hook guard answered with a block and a stop and context")
    assert '"lifecycle": "apply"' in line


@pytest.mark.parametrize("lifecycle", ["watch", "apply"])
@pytest.mark.parametrize(("event", "apply", "fields", "kind"), APPLIED)
def test_whether_a_program_has_to_wait(
    project: Path, event: str, apply: Apply, fields: dict[str, Any], kind: type[LifecycleHookResult], lifecycle: str
) -> None:
    """Known before the event is fired: whether a hook would run whose answer is applied."""
    del apply, kind
    subject = fields.get("source") or fields.get("trigger")
    config = applying(project, event, {}, lifecycle)
    assert asyncio.run(is_applied(config, HookEventName(event), subject)) is (lifecycle == "apply")
    other = HookEventName.AFTER_AGENT if event != "AfterAgent" else HookEventName.BEFORE_AGENT
    assert not asyncio.run(is_applied(config, other))
    assert not asyncio.run(is_applied(Config(project, settings={}), HookEventName(event), subject))


@pytest.mark.parametrize("event", [HookEventName.SESSION_END, HookEventName.NOTIFICATION])
def test_nobody_waits_for_hooks_that_only_watch(project: Path, event: HookEventName) -> None:
    """Nothing that they answer is ever applied."""
    assert not asyncio.run(is_applied(applying(project, event, BLOCK), event))


def test_a_setting_that_changes_is_known_at_once(own_home: Path, project: Path) -> None:
    """A guard that was just configured is waited for at the next prompt."""
    settings = own_home / ".llxprt" / "settings.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    values: dict[str, Any] = {"enableHooks": True, "hooksConfig": {"lifecycle": "apply"}}
    settings.write_text(json.dumps(values))
    config = Config(project)
    assert not asyncio.run(is_applied(config, HookEventName.BEFORE_AGENT))
    values["hooks"] = {"BeforeAgent": [{"hooks": [{"type": "command", "command": "exit 2"}]}]}
    settings.write_text(json.dumps(values))
    deadline = time.monotonic() + 45
    while not asyncio.run(is_applied(config, HookEventName.BEFORE_AGENT)):
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.req("HOOK-111")
@pytest.mark.usefixtures("unreadable")
@pytest.mark.parametrize("on_fault", ["allow", "block"])
@pytest.mark.parametrize(("event", "apply"), [pytest.param(*row.values[:2], id=str(row.id)) for row in APPLIED])
def test_a_fault_of_ours_is_told_and_blocks_only_if_the_program_says_so(
    project: Path,
    event: str,
    apply: Apply,
    on_fault: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """When the hooks cannot even be read nothing is raised; with onFault block what can be blocked is."""
    config = Config(project, settings={"enableHooks": True}, on_fault=on_fault)
    assert asyncio.run(is_applied(config, HookEventName(event)))
    result = asyncio.run(apply(config))
    blocks = on_fault == "block" and event in ("BeforeAgent", "PreCompress")
    assert getattr(result, "blocked", False) is blocks
    assert (result == type(result)()) is not blocks
    assert "because of a fault in hookline: OSError('unreadable')" in capsys.readouterr().err
