import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hookline import HookEventHandler, HookSystem
from hookline.client.bus import InProcessBus
from hookline.client.config import Config
from hookline.client.triggers.tools import fire_before_tool_hook
from hookline.engine.registry import HookRegistry
from hookline.engine.system import HookSystemStatus
from hookline.errors import HookRegistryNotInitializedError, HookSystemNotInitializedError, NotInitializedError
from hookline.log.write.logger import MemorySink
from hookline.protocol.events import HookEventName
from hookline.protocol.hook_entry import HookEntry
from hookline.protocol.messages import MessageBusType
from hookline.protocol.records import LogLevel
from hookline.protocol.results import AggregatedHookResult
from hookline.settings.trust.store import TrustStore

HookScript = Callable[..., Path]


def hooks(*commands: str, **group: Any) -> dict[str, Any]:
    entries = [{"type": "command", "command": command} for command in commands]
    return {"BeforeTool": [{"hooks": entries, **group}]}


def settings(*commands: str, **others: Any) -> dict[str, Any]:
    return {"enableHooks": True, "hooks": hooks(*commands), "hooksConfig": {"log": {"enabled": False}}, **others}


def system_of(config: Config) -> HookSystem:
    """The system of a config that has hooks enabled, initialized."""
    system = config.get_hook_system()
    assert system is not None
    asyncio.run(system.initialize())
    return system


def hooks_of(system: HookSystem) -> tuple[HookEntry, ...]:
    return system.get_registry().get_hooks_for_event(HookEventName.BEFORE_TOOL)


def fire(system: HookSystem, tool: str = "ls") -> AggregatedHookResult:
    return asyncio.run(system.get_event_handler().fire_before_tool_event(tool, {}))


@pytest.mark.req("HOOK-005", "HOOK-148")
@pytest.mark.parametrize(
    "use",
    [
        pytest.param(HookSystem.get_registry, id="registry"),
        pytest.param(HookSystem.get_event_handler, id="event handler"),
        pytest.param(HookSystem.get_all_hooks, id="hooks"),
        pytest.param(HookSystem.get_log, id="log"),
    ],
)
def test_a_system_is_initialized_before_it_is_used(project: Path, use: Callable[[HookSystem], Any]) -> None:
    """Before `initialize()` the parts are refused with an error that says what to do."""
    system = Config(project, settings=settings("true")).get_hook_system()
    assert system is not None
    with pytest.raises(HookSystemNotInitializedError, match=r"call `await system.initialize\(\)` first"):
        use(system)
    asyncio.run(system.initialize())
    use(system)


@pytest.mark.req("HOOK-148")
def test_the_two_errors_of_uninitialized_parts() -> None:
    """The registry on its own refuses likewise, and both errors have one family."""
    assert issubclass(HookSystemNotInitializedError, NotInitializedError)
    assert issubclass(HookRegistryNotInitializedError, NotInitializedError)


@pytest.mark.req("HOOK-003", "HOOK-004", "HOOK-006", "HOOK-142")
def test_parts_are_built_once(project: Path) -> None:
    """A second `initialize()` returns at once, and registry and handler stay the same objects."""
    memory = MemorySink()
    config = Config(project, settings=settings("true", extensions="none"), log_sinks=[memory])
    system = system_of(config)
    parts, hooks = (system.get_registry(), system.get_event_handler()), hooks_of(system)
    asyncio.run(system.initialize())
    assert (system.get_registry(), system.get_event_handler()) == parts
    assert isinstance(parts[0], HookRegistry)
    assert isinstance(parts[1], HookEventHandler)
    assert hooks_of(system) is hooks
    assert len(memory.records) == 1


@pytest.mark.req("HOOK-003", "HOOK-007", "HOOK-008")
def test_the_first_trigger_initializes_and_later_ones_do_not(project: Path) -> None:
    """Triggers work with the parts of the config's system, which the first of them initializes."""
    config = Config(project, settings=settings("echo hi"))
    system = config.get_hook_system()
    assert system is not None
    assert not system.get_status().initialized
    asyncio.run(fire_before_tool_hook(config, "ls", {}))
    registry, hooks = system.get_registry(), hooks_of(system)
    asyncio.run(fire_before_tool_hook(config, "ls", {}))
    assert system.get_registry() is registry
    assert hooks_of(system) is hooks


@pytest.mark.req("HOOK-006")
def test_what_a_system_shows_of_itself() -> None:
    """Planner, runner and aggregator are not reachable from outside."""
    shown = {name for name in dir(HookSystem) if not name.startswith("_")}
    assert shown == {
        "add_hook",
        "awaits",
        "blocks_on_fault",
        "dispose",
        "end_background",
        "explain",
        "get_all_hooks",
        "get_event_handler",
        "get_log",
        "get_registry",
        "get_settings",
        "get_status",
        "has_approval_hooks",
        "initialize",
        "log_in_session",
        "report_unapplied",
        "set_hook_enabled",
        "start",
    }


@pytest.mark.req("HOOK-009")
def test_the_status(project: Path) -> None:
    """The status tells whether the system is ready, and how many hooks it knows, disabled ones included."""
    given = settings("a", "b", hooksConfig={"disabled": ["a"], "log": {"enabled": False}})
    system = Config(project, settings=given).get_hook_system()
    assert system is not None
    assert system.get_status() == HookSystemStatus(initialized=False, total_hooks=0)
    asyncio.run(system.initialize())
    assert system.get_status() == HookSystemStatus(initialized=True, total_hooks=2)


@pytest.mark.req("DELTA-HSYS-002")
def test_hooks_are_listed_and_switched(project: Path) -> None:
    """All hooks are listed, and one can be switched off and on by its name while the program runs."""
    system = system_of(Config(project, settings=settings("echo a", "echo b")))
    assert [(hook.label, hook.enabled) for hook in system.get_all_hooks()] == [("echo a", True), ("echo b", True)]
    fired = [fire(system)]
    assert system.set_hook_enabled("echo a", enabled=False)
    fired.append(fire(system))
    assert [hook.enabled for hook in system.get_all_hooks()] == [False, True]
    assert system.set_hook_enabled("echo a", enabled=True)
    fired.append(fire(system))
    assert [[result.stdout for result in result.results] for result in fired] == [
        ["a\n", "b\n"],
        ["b\n"],
        ["a\n", "b\n"],
    ]
    assert not system.set_hook_enabled("echo c", enabled=False)


@pytest.mark.req("DELTA-HSYS-002")
def test_a_switched_hook_stays_so_when_settings_are_read_again(project: Path, tmp_path: Path) -> None:
    """Settings that change while the program runs count from the next event on, and undo no switch."""
    # Longer than files are left unlooked at.
    slow = ("sleep 0.01; echo a", "sleep 0.01; echo b")
    file = tmp_path / "settings.json"
    file.write_text(json.dumps(settings(*slow)))
    memory = MemorySink()
    system = system_of(Config(project, settings_files=[file], log_sinks=[memory]))
    system.set_hook_enabled(slow[0], enabled=False)
    assert [result.stdout for result in fire(system).results] == ["b\n"]
    file.write_text(json.dumps(settings(*slow, "echo new")))
    assert [result.stdout for result in fire(system).results] == ["b\n", "new\n"]
    assert [record.message for record in memory.records if record.to_dict()["kind"] == "settings"] == [
        "the settings changed and were read again: 3 hooks"
    ]


@pytest.mark.parametrize(
    ("lists", "passed_on"),
    [
        pytest.param({}, "a:b:yes", id="all"),
        pytest.param({"deny": ["*_TOKEN"]}, "a::yes", id="deny"),
        pytest.param({"allow": ["MY_*"]}, "a:b:yes", id="allow"),
        pytest.param({"allow": ["MY_*"], "deny": ["MY_NAME"]}, ":b:yes", id="both"),
        pytest.param({"allow": ["OTHER"]}, "::yes", id="allow others"),
    ],
)
def test_what_hooks_inherit_is_an_option(project: Path, lists: dict[str, Any], passed_on: str) -> None:
    """Names that are denied, or not allowed where there is such a list, are not passed on; PATH always is."""
    command = 'echo "$MY_NAME:$MY_TOKEN:${PATH:+yes}" >&2'
    given = settings(command, hooksConfig={"environment": lists, "log": {"enabled": False}})
    environ = {"MY_NAME": "a", "MY_TOKEN": "b", "PATH": "/usr/bin:/bin"}
    assert fire(system_of(Config(project, settings=given, environ=environ))).results[0].stderr == f"{passed_on}\n"


def test_a_plan_can_be_asked_for(project: Path) -> None:
    """The hooks that would run, and the reasons of the others, are returned without running any."""
    given = {"enableHooks": True, "hooks": hooks("touch ran", "touch other", matcher="write")}
    system = system_of(Config(project, settings=given))
    plan = system.explain(HookEventName.BEFORE_TOOL, "write_file")
    assert [hook.command for hook in plan.hooks] == ["touch ran", "touch other"]
    assert [skip.reason for skip in system.explain(HookEventName.BEFORE_TOOL, "ls").skipped] == [
        "matcher: 'write' does not match 'ls'"
    ] * 2
    assert list(project.iterdir()) == []


@pytest.mark.req("DELTA-HSYS-001")
def test_the_log_goes_to_a_file_of_the_user(project: Path, tmp_path: Path) -> None:
    """Unless told otherwise, records go as JSON Lines to the state directory and are there after `dispose()`."""
    system = system_of(Config(project, session_id="s1", settings={"enableHooks": True, "hooks": hooks("true")}))
    fire(system)
    system.dispose()
    lines = (tmp_path / "state" / "hooks.jsonl").read_text().splitlines()
    assert [(record["kind"], record["session"]) for record in map(json.loads, lines)] == [
        ("start", "s1"),
        ("hook", "s1"),
        ("event", "s1"),
    ]


def test_secrets_are_kept_out_of_the_log_file(project: Path, tmp_path: Path) -> None:
    """Names given in `hooksConfig.redact` have their values replaced, from the environment that hooks inherit."""
    log = tmp_path / "own.jsonl"
    given = settings('echo "$MY_TOKEN" >&2', hooksConfig={"redact": ["*TOKEN*"], "log": {"path": str(log)}})
    system = system_of(Config(project, settings=given, environ={"MY_TOKEN": "very-secret"}))
    assert fire(system).results[0].stderr == "very-secret\n"
    system.dispose()
    assert "very-secret" not in log.read_text()
    assert "[redacted]" in log.read_text()


@pytest.mark.req("DELTA-HEVT-004")
def test_disposing_leaves_no_subscription(project: Path) -> None:
    """Each system serves the bus once, from the beginning to `dispose()`, which may be called twice."""
    bus = InProcessBus()
    first, second = (Config(project, settings=settings(), message_bus=bus).get_hook_system() for _ in range(2))
    assert first is not None
    assert second is not None
    counts = [len(bus._subscribers.get(str(MessageBusType.HOOK_EXECUTION_REQUEST), ()))]
    for step in (first.initialize, first.initialize, second.initialize):
        asyncio.run(step())
        counts.append(len(bus._subscribers.get(str(MessageBusType.HOOK_EXECUTION_REQUEST), ())))
    for dispose in (first.dispose, first.dispose, second.dispose):
        dispose()
        counts.append(len(bus._subscribers.get(str(MessageBusType.HOOK_EXECUTION_REQUEST), ())))
    assert counts == [2, 2, 2, 2, 1, 1, 0]


def test_disposing_of_an_unused_system(project: Path) -> None:
    """A system that never was initialized has nothing to take down."""
    system = Config(project, settings=settings()).get_hook_system()
    assert system is not None
    system.dispose()


@pytest.mark.req("DELTA-HEVT-004")
def test_a_failed_initialization_leaves_no_subscription(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often it fails, the subscriptions do not add up, and `dispose()` ends the one that waits."""

    def fail(_layers: object) -> None:
        raise OSError("unreadable")

    monkeypatch.setattr("hookline.engine.system.HookRegistry.initialize", fail)
    bus = InProcessBus()
    system = Config(project, settings={"enableHooks": True}, message_bus=bus).get_hook_system()
    assert system is not None
    for _ in range(2):
        with pytest.raises(OSError, match="unreadable"):
            asyncio.run(system.initialize())
    assert not system.get_status().initialized
    assert len(bus._subscribers.get(str(MessageBusType.HOOK_EXECUTION_REQUEST), ())) == 1
    system.dispose()
    assert len(bus._subscribers.get(str(MessageBusType.HOOK_EXECUTION_REQUEST), ())) == 0


@pytest.mark.req("DELTA-HSYS-001", "DELTA-HEVT-001")
def test_a_request_before_the_first_event_is_served(project: Path) -> None:
    """A system that was not used yet is initialized by the first request, and answers it once."""
    bus = InProcessBus()
    responses: list[Any] = []

    async def note(message: Any) -> None:
        responses.append((message["correlationId"], message["output"]["finalOutput"]["systemMessage"]))

    bus.subscribe(MessageBusType.HOOK_EXECUTION_RESPONSE, note)
    config = Config(project, settings=settings("echo ran"), message_bus=bus)
    system = config.get_hook_system()
    assert system is not None
    request = {
        "type": "hook-execution-request",
        "eventName": "BeforeTool",
        "input": {"tool_name": "ls", "tool_input": {}},
    }
    for number in (1, 2):
        asyncio.run(bus.publish({**request, "correlationId": number}))
    assert responses == [(1, "ran"), (2, "ran")]
    system.dispose()


@pytest.fixture
def guest(project: Path, hook_script: HookScript) -> Path:
    """A script that the project's own settings name as a hook."""
    script = hook_script("echo ran")
    file = project / ".llxprt" / "settings.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"enableHooks": True, "hooks": hooks(str(script))}))
    return script


def trust(system: HookSystem, project: Path, tmp_path: Path) -> None:
    TrustStore(tmp_path / "state" / "trust.json").trust(system.get_all_hooks(), str(project))


@pytest.mark.req("HOOK-084")
def test_hooks_of_a_project_wait_for_trust(
    project: Path, tmp_path: Path, guest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A project's hook does not run until the user has trusted it; stderr reports it once, the log with the remedy."""
    memory = MemorySink()
    system = system_of(Config(project, log_sinks=[memory]))
    results = [fire(system, "ls"), fire(system, "ls"), fire(system, "write_file")]
    assert results == [AggregatedHookResult(success=True)] * 3
    reason = "untrusted: hooks of a project need trust; look at it and run: hookline trust"
    assert capsys.readouterr().err == f"hookline: BeforeTool hook {guest} is not run: {reason}\n"
    assert {(record.level, record.message) for record in memory.records if record.to_dict()["kind"] == "skip"} == {
        (LogLevel.WARN, f"BeforeTool: {guest} is not run: {reason}")
    }
    trust(system, project, tmp_path)
    assert [result.stdout for result in fire(system).results] == ["ran\n"]


@pytest.mark.req("HOOK-084")
def test_a_script_that_changed_is_not_run(
    project: Path, tmp_path: Path, guest: Path, hook_script: HookScript, capsys: pytest.CaptureFixture[str]
) -> None:
    """Between two events a trusted script changes: it is not run at the second, until it is trusted again."""
    system = system_of(Config(project))
    trust(system, project, tmp_path)
    assert [result.stdout for result in fire(system).results] == ["ran\n"]
    hook_script("echo changed")
    assert fire(system) == AggregatedHookResult(success=True)
    reason = "untrusted: it changed since it was trusted; look at it and run: hookline trust"
    assert capsys.readouterr().err == f"hookline: BeforeTool hook {guest} is not run: {reason}\n"
    trust(system, project, tmp_path)
    assert [result.stdout for result in fire(system).results] == ["changed\n"]


@pytest.mark.req("HOOK-084")
def test_a_script_that_an_earlier_hook_of_the_chain_changes_is_not_run(project: Path, tmp_path: Path) -> None:
    """In a chain, the second of two trusted hooks fails if the first one changes its script; the chain continues."""
    scripts = {name: tmp_path / name for name in ("first", "second", "third")}
    scripts["first"].write_text(f"#!/bin/sh\necho 'echo changed' >> '{scripts['second']}'\n")
    scripts["second"].write_text("#!/bin/sh\n")
    scripts["third"].write_text("#!/bin/sh\necho third\n")
    for script in scripts.values():
        script.chmod(0o755)
    entries = [{"type": "command", "command": str(script)} for script in scripts.values()]
    file = project / ".llxprt" / "settings.json"
    file.parent.mkdir()
    groups = {"BeforeTool": [{"sequential": True, "hooks": entries}]}
    file.write_text(json.dumps({"enableHooks": True, "hooks": groups}))
    system = system_of(Config(project))
    trust(system, project, tmp_path)
    first, second, third = fire(system).results
    assert (first.success, second.stdout, third.stdout) == (True, "", "third\n")
    reason = "it changed since it was trusted; look at it and run: hookline trust"
    assert second.error == f"could not be started: {reason}"


@pytest.mark.req("HOOK-084")
@pytest.mark.parametrize("place", ["home/.llxprt/settings.json", "etc/settings.json"], ids=["user", "system"])
def test_hooks_of_the_user_and_the_system_need_no_trust(project: Path, tmp_path: Path, place: str) -> None:
    """The writer of these files need not be asked."""
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).write_text(json.dumps(settings("echo ran")))
    assert [result.stdout for result in fire(system_of(Config(project))).results] == ["ran\n"]


def test_a_trust_file_that_cannot_be_believed(
    project: Path, tmp_path: Path, guest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the trust file itself is broken, nothing of the project runs, and the reason is that."""
    store = tmp_path / "own-trust.json"
    store.write_text("{")
    store.chmod(0o600)
    assert fire(system_of(Config(project, trust_path=store))) == AggregatedHookResult(success=True)
    said = capsys.readouterr().err
    assert said.startswith(f"hookline: BeforeTool hook {guest} is not run: untrusted: {store} is not JSON (")
    assert said.endswith("), so nothing is trusted; fix it or move it away\n")


def test_the_number_of_simultaneous_hooks_is_an_option(project: Path) -> None:
    """With a limit of one, hooks of one event take turns."""
    command = "mkdir busy && sleep 0.05 && rmdir busy # {}"
    given = settings(*map(command.format, "abc"), hooksConfig={"maxConcurrent": 1, "log": {"enabled": False}})
    assert fire(system_of(Config(project, settings=given))).success


def test_the_output_limit_is_an_option(project: Path) -> None:
    """Output beyond the limit is dropped, and the log has the option that raises it."""
    given = settings("echo 12345678", hooksConfig={"outputLimit": 4, "log": {"enabled": False}})
    (result,) = fire(system_of(Config(project, settings=given))).results
    assert (result.stdout, result.truncated, result.answer) == ("1234", True, None)
    assert result.advice == (
        "stdout was cut after 4 bytes, so nothing was read from it; print less, or raise hooksConfig.outputLimit",
    )


def test_a_log_path_in_nobodys_home_costs_the_path_only(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Guards run even when the log cannot be where the settings say."""
    given = settings("exit 2", hooksConfig={"log": {"path": "~no-such-user/hooks.jsonl"}})
    result = fire(system_of(Config(project, settings=given)))
    assert result.final_output is not None
    assert result.final_output.is_blocking_decision()
    assert "~no-such-user/hooks.jsonl can't name a file" in capsys.readouterr().err


def test_the_lists_apply_to_variables_that_come_later(project: Path) -> None:
    """The environment is looked at for every event, and what is denied then is not passed on either."""
    given = settings("env", hooksConfig={"environment": {"deny": ["*_TOKEN"]}, "log": {"enabled": False}})
    environ = {"PATH": os.environ["PATH"]}
    system = system_of(Config(project, settings=given, environ=environ))

    def names() -> set[str]:
        return {line.partition("=")[0] for line in fire(system).results[0].stdout.splitlines()}

    assert {"PATH", "LLXPRT_PROJECT_DIR"} <= names()
    environ |= {"KEEP_ME": "1", "MY_TOKEN": "2"}
    assert names() & {"KEEP_ME", "MY_TOKEN"} == {"KEEP_ME"}


def test_changed_settings_count_from_the_next_event(tmp_path: Path, project: Path) -> None:
    """A settings file is read again when it changed, and the change is logged; a broken one lifts no guard."""
    file, memory = tmp_path / "settings.json", MemorySink()
    file.write_text(json.dumps(settings("exit 2")))
    system = system_of(Config(project, settings_files=[file], log_sinks=[memory]))
    assert fire(system).results[0].hook.command == "exit 2"
    file.write_text(json.dumps(settings("exit 0 # another")))
    assert fire(system).results[0].hook.command == "exit 0 # another"
    file.write_text("{ broken")
    assert fire(system).results[0].hook.command == "exit 0 # another"
    file.write_text(json.dumps({**settings("exit 2"), "enableHooks": False}))
    assert fire(system).verdict is None
    assert sum("read again" in record.message for record in memory.records) == 3
