"""The user is shown a guard that failed, once per session, on every path."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

from hookline import Config, Hooks, ToolResult, execute_tool_with_hooks
from hookline.apps.cli.main import main
from hookline.bridge.call import Bridge, BridgeCall

GUARDS: list[Any] = [
    pytest.param("echo 'jq: not found' >&2; exit 127", "exited with code 127 (jq: not found)", id="crashes"),
    pytest.param("exec /no/such/program", "exited with code 127", id="can-not-start"),
    pytest.param("kill -9 $$", "was killed by SIGKILL", id="is-killed"),
    pytest.param("sleep 60", "timed out after 100ms", id="times-out"),
]
LONG_S, SHORT_S = 30_000, 100


def settings(command: str, **options: Any) -> dict[str, Any]:
    """One guard that fails."""
    timeout = SHORT_S if "sleep" in command else LONG_S
    guard = {"type": "command", "name": "guard", "command": command, "timeout": timeout, **options}
    return {"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": [guard]}]}}


async def _ran(arguments: Any) -> ToolResult:  # noqa: ARG001 - the tool's signature
    return ToolResult(llm_content="ran")


def by_triggers(project: Path, command: str) -> None:
    config = Config(project, settings=settings(command))
    for _ in range(2):
        asyncio.run(execute_tool_with_hooks(config, "t", {}, _ran))


def by_session(project: Path, command: str) -> None:
    async def run() -> None:
        with Hooks(project, settings=settings(command)) as hooks:
            session = hooks.session()
            for _ in range(2):
                await session.run_tool("t", {}, lambda _: "ran")

    asyncio.run(run())


def by_sync(project: Path, command: str) -> None:
    with Hooks(project, settings=settings(command)) as hooks:
        session = hooks.session()
        for _ in range(2):
            session.sync.run_tool("t", {}, lambda _: "ran")


def by_fire(project: Path, command: str) -> None:
    file = project / "settings.json"
    file.write_text(json.dumps(settings(command)))
    main(
        [
            "fire",
            "BeforeTool",
            "--settings",
            str(file),
            "--project",
            str(project),
            "--input",
            '{"tool_name": "t"}',
            "--json",
        ]
    )


PATHS = {"triggers": by_triggers, "session": by_session, "sync": by_sync, "fire": by_fire}


@pytest.mark.req("DELTA-GUARD-003")
@pytest.mark.attack("30.A8", "a guard that fails without the user knowing")
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("command", "how"), GUARDS)
def test_a_failed_guard_is_shown_once(
    project: Path, path: str, command: str, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line on stderr has the hook, how it failed, where it is, and what to do."""
    PATHS[path](project, command)
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "The BeforeTool hook guard " in line]
    assert how in line
    assert "hooks.BeforeTool[0].hooks[0]" in line
    assert "hookline log --failures" in line


@pytest.mark.req("DELTA-GUARD-003")
@pytest.mark.attack("30.A8", "a guard that fails without the user knowing")
@pytest.mark.parametrize("agent", ["claude", "gemini", "codex"])
def test_the_users_of_other_agents_see_it(project: Path, agent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the agent's message, once per session, also if each event has a separate process."""
    file = project / "settings.json"
    file.write_text(json.dumps(settings("exit 3")))
    event = "BeforeTool" if agent == "gemini" else "PreToolUse"
    tool = {"tool_name": "Bash" if agent != "gemini" else "run_shell_command", "tool_input": {"command": "ls"}}

    def ask(session: str) -> bytes:
        payload = {"session_id": session, "cwd": str(project), "hook_event_name": event, **tool}
        words = (agent, event, "--settings", str(file))
        call = BridgeCall(
            words=words, stdin=json.dumps(payload).encode(), cwd=str(project), environ={"PATH": "/usr/bin:/bin"}
        )
        bridge = Bridge()
        try:
            return asyncio.run(bridge.answer(call)).stdout
        finally:
            bridge.systems.close()

    monkeypatch.setenv("HOOKLINE_SERVE", "0")
    shown = [b"The BeforeTool hook guard exited with code 3" in ask(session) for session in ("a", "a", "b")]
    assert shown == [True, False, True]


@pytest.mark.req("DELTA-GUARD-004")
@pytest.mark.attack("30.A7", "a function that fails, or returns something else than an answer")
@pytest.mark.parametrize("on_error", ["allow", "block"])
@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(
    ("function", "how"),
    [
        pytest.param(lambda _: 1 / 0, "raised ZeroDivisionError: division by zero", id="raises"),
        pytest.param(lambda _: False, "returned False (bool); return an answer such as Deny", id="false"),
        pytest.param(lambda _: True, "returned True (bool); return an answer such as Deny", id="true"),
        pytest.param(lambda _: "deny", "returned str; return an answer such as Deny", id="text"),
        pytest.param(lambda _: 0, "returned int; return an answer such as Deny", id="number"),
        pytest.param(lambda _: object(), "returned object; return an answer such as Deny", id="object"),
    ],
)
def test_a_failed_function_is_shown_and_blocks_like_a_script(
    project: Path,
    function: Callable[[Any], Any],
    how: str,
    on_error: Literal["allow", "block"],
    is_async: bool,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Once per session, with the function's name and place; its event is blocked if its `on_error` is `block`."""

    async def check(event: Any) -> Any:
        return function(event)

    with Hooks(project, settings={"enableHooks": True}) as hooks:
        hooks.on("BeforeTool", on_error=on_error)(check if is_async else function)
        session = hooks.session().sync
        results = [session.run_tool("t", {}, lambda _: "ran").llm_content for _ in range(2)]
    assert [result == "ran" for result in results] == [on_error == "allow"] * 2
    (line,) = capsys.readouterr().err.splitlines()
    assert how in line
    assert f"{__name__}:" in line
    assert f"{Path(__file__).name}:" in line
