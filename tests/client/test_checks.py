import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from hookline import Hooks
from hookline.client import Selection

from .conftest import MakeHooks

WRONG: list[tuple[str, tuple[Any, ...], dict[str, Any], str]] = [
    ("notify", (1, "m", {}), {}, "notification_type is 1"),
    ("notify", ("", "m", {}), {}, "notification_type is ''"),
    ("notify", ("ToolPermission", 2, {}), {}, "message is 2"),
    ("notify", ("ToolPermission", "m", 3), {}, "details is 3"),
    ("before_agent", (None,), {}, "prompt is None"),
    ("after_agent", (None, "r"), {}, "prompt is None"),
    ("after_agent", ("p", b"r"), {}, "prompt_response is b'r'"),
    ("after_agent", ("p", "r"), {"stop_hook_active": "no"}, "stop_hook_active is 'no'"),
    ("session_start", (None,), {}, "source is None; expected one of startup"),
    ("session_end", (7,), {}, "reason is 7"),
    ("pre_compress", (True,), {}, "trigger is True"),
    ("before_tool", ("t", {}), {"call_id": 7}, "call_id is 7"),
    ("before_tool", ("t", {}), {"mcp_context": "git"}, "mcp_context is 'git'"),
    ("before_tool", (None, {}), {}, "the tool's name is None"),
    ("after_tool", ({"name": "t"}, "ok"), {}, "call is {'name': 't'}"),
    ("run_tool", ("t", {}, "ls"), {}, "fn is 'ls'"),
    ("run_tool", ("t", {}, str), {"validate": True}, "normalize or validate is True"),
    ("run_tool", ("t", {}, str), {"normalize": {}}, "normalize or validate is {}"),
    ("select_tools", ({"model": "m", "messages": []}, "ls"), {}, "the tools are 'ls'"),
]


@pytest.mark.parametrize("is_sync", [False, True], ids=["async", "sync"])
@pytest.mark.parametrize(("method", "given", "options", "message"), WRONG)
def test_arguments_of_a_wrong_type_are_an_error(
    make_hooks: MakeHooks, is_sync: bool, method: str, given: Any, options: Any, message: str
) -> None:
    """Also where no hook would run: the mistake must not wait for the first hook to be found."""
    session = make_hooks({}).session()
    call = getattr(session.sync if is_sync else session, method)
    with pytest.raises(TypeError, match=f"^{re.escape(message)}"):
        call(*given, **options) if is_sync else asyncio.run(call(*given, **options))


def test_the_same_while_hooks_are_disabled(tmp_path: Path) -> None:
    """A program is wrong or right whatever its settings say."""
    session = Hooks(tmp_path, settings={}).session()
    wrong: Any = None
    with pytest.raises(TypeError, match="prompt is None"):
        asyncio.run(session.before_agent(wrong))


@pytest.mark.parametrize(("method", "word"), [("session_start", "boot"), ("session_end", "x"), ("pre_compress", "")])
def test_unknown_words_are_an_error_that_lists_the_known(make_hooks: MakeHooks, method: str, word: str) -> None:
    """The vocabulary is short enough to be shown."""
    with pytest.raises(ValueError, match=f"is {word!r}; expected one of"):
        asyncio.run(getattr(make_hooks({}).session(), method)(word))


def test_what_a_program_hands_in_once(make_hooks: MakeHooks) -> None:
    """The same for the options of the hooks and of a session."""
    wrong: Any = "yes"
    wrong_settings: Any = 5
    with pytest.raises(TypeError, match="settings is 5; expected a mapping or None"):
        Hooks(".", settings=wrong_settings)
    with pytest.raises(ValueError, match="settings and settings_files are given"):
        Hooks(".", settings={}, settings_files=["settings.json"])
    with pytest.raises(TypeError, match="on_ask is 'yes'"):
        make_hooks({}, on_ask=wrong)
    hooks = make_hooks({})
    with pytest.raises(TypeError, match="agent is 7"):
        hooks.session(agent=7)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="selection is"):
        hooks.session().selection = ["read_file"]  # type: ignore[assignment]
    hooks.session().selection = Selection(allowed=("a",))
    with pytest.raises(TypeError, match="tool_name is 7"):
        hooks.session().passes("BeforeTool", 7)  # type: ignore[arg-type]


GROUP = [{"hooks": [{"type": "command", "command": "true"}]}]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        pytest.param({"hooks": {"BeforeTool": GROUP}}, "1 hook configured, all off", id="off"),
        pytest.param({"enableHooks": True, "hooks": {"BeforeTol": GROUP}}, "did you mean BeforeTool?", id="event"),
        pytest.param(
            {"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": [{"type": "command"}]}]}},
            "has no command",
            id="hook",
        ),
        pytest.param({"enableHooks": True, "hooks": {"BeforeTool": GROUP}}, "", id="fine"),
        pytest.param({}, "", id="nothing"),
    ],
)
def test_hooks_that_will_not_run_are_reported_at_once(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], settings: dict[str, Any], message: str
) -> None:
    """A program has no other place in which its author would see it; `quiet` is for one that has."""
    Hooks(tmp_path, settings=settings).close()
    lines = capfd.readouterr().err.splitlines()
    assert [message in line for line in lines] == ([True] if message else [])
    Hooks(tmp_path, settings=settings, quiet=True).close()
    assert capfd.readouterr().err == ""


def test_a_project_that_does_not_exist_is_reported(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Its guards would silently not run."""
    Hooks(tmp_path / "typo").close()
    assert "typo does not exist, so nothing is read from it" in capfd.readouterr().err
