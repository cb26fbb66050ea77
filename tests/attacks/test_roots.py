"""An agent that works below its project: no directory that it makes or removes lifts the project's guards."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hookline.apps.cli.main import main

HOOKLINE = str(Path(sys.executable).with_name("hookline"))
GUARD = {"type": "command", "name": "guard", "command": "echo outer >&2; exit 2", "required": True}
Bridge = Callable[..., str]
# How an agent names its project: a variable, or a field of its question.
ROOTS: dict[str, tuple[str, str, dict[str, str]]] = {
    "CLAUDE_PROJECT_DIR": ("claude", "PreToolUse", {}),
    "GEMINI_PROJECT_DIR": ("gemini", "BeforeTool", {}),
    "CURSOR_PROJECT_DIR": ("cursor", "preToolUse", {}),
    "workspace_roots": ("cursor", "preToolUse", {}),
    "COPILOT_PROJECT_DIR": ("copilot", "preToolUse", {"toolName": "bash", "toolArgs": '{"command": "ls"}'}),
}


def write_project(folder: Path, *hooks: dict[str, Any], **more: Any) -> None:
    settings = {"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": list(hooks)}]}, **more}
    (folder / ".llxprt").mkdir(parents=True, exist_ok=True)
    (folder / ".llxprt" / "settings.json").write_text(json.dumps(settings))


@pytest.fixture
def trusted(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a required guard that the user has trusted."""
    write_project(project, GUARD)
    monkeypatch.setenv("HOOKLINE_SERVE", "no")
    assert main(["trust", "--all", "--yes", "--project", str(project)]) == 0
    return project


@pytest.fixture
def bridge() -> Bridge:
    """Asks the bridge about a call, and returns what it answers."""

    def ask(agent: str, event: str, cwd: Path, starts_in: Path | None = None, **payload: Any) -> str:
        given = {"hook_event_name": event, "tool_name": "Bash", "tool_input": {"command": "ls"}, "cwd": str(cwd)}
        words = [HOOKLINE, "hook", agent, event]
        done = subprocess.run(
            words,
            cwd=starts_in or cwd,
            input=json.dumps({**given, **payload}),
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        return done.stdout + done.stderr

    return ask


@pytest.mark.attack("30.F6", "a directory with a .git or .llxprt in it, in which a bridged agent works")
@pytest.mark.req("DELTA-PROC-004")
@pytest.mark.parametrize("planted", ["git", "settings", "disabled", "both", "deep"])
def test_a_nested_root_lifts_no_guard(planted: str, trusted: Path, bridge: Bridge) -> None:
    """The guards of the outer project that the user has trusted stay in force, whatever is planted below it."""
    sub = trusted / "sub" / "deeper" if planted == "deep" else trusted / "sub"
    sub.mkdir(parents=True)
    if planted in ("git", "both", "deep"):
        (sub / ".git").mkdir()
    if planted in ("settings", "both", "deep"):
        write_project(sub)
        write_project(trusted / "sub")
    if planted == "disabled":
        off = {"type": "command", "name": "guard", "command": "true"}
        write_project(sub, off, enableHooks=False, hooksConfig={"disabled": ["guard"]})
    assert "outer" in bridge("claude", "PreToolUse", sub)


@pytest.mark.attack("30.F6", "a link from outside to a directory of the project, in which a bridged agent works")
@pytest.mark.req("DELTA-PROC-004")
def test_a_link_to_a_directory_lifts_no_guard(trusted: Path, bridge: Bridge, tmp_path: Path) -> None:
    """The guards of the project that really has the directory judge."""
    (trusted / "sub" / ".git").mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(trusted / "sub")
    assert "outer" in bridge("codex", "PreToolUse", link)


@pytest.mark.attack("30.F6", "a nested project, trusted, that allows what the outer one denies, and one that denies")
@pytest.mark.req("DELTA-PROC-004")
def test_a_nested_root_adds_guards(project: Path, bridge: Bridge, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its trusted hooks run as well, in its own directory; what the outer project decides stays."""
    monkeypatch.setenv("HOOKLINE_SERVE", "no")
    write_project(project, {"type": "command", "name": "outer", "command": "touch outer-ran"})
    sub = project / "sub"
    (sub / ".git").mkdir(parents=True)
    (sub / "guard.sh").write_text("echo inner in $LLXPRT_PROJECT_DIR >&2\nexit 2\n")
    write_project(sub, {"type": "command", "name": "inner", "command": "sh guard.sh"})
    for folder in (project, sub):
        assert main(["trust", "--all", "--yes", "--project", str(folder)]) == 0
    assert f"inner in {sub}" in bridge("claude", "PreToolUse", sub)
    assert (project / "outer-ran").exists()
    assert not (sub / "outer-ran").exists()
    assert "inner" not in bridge("claude", "PreToolUse", project)


@pytest.mark.attack("30.F6", "a directory outside of the project that the agent names")
@pytest.mark.req("DELTA-PROC-004")
@pytest.mark.parametrize("how", ROOTS)
def test_the_root_that_the_agent_names_wins(
    how: str, trusted: Path, bridge: Bridge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its guards judge, wherever the agent works."""
    agent, event, more = ROOTS[how]
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    payload: dict[str, Any] = {"workspace_roots": [str(trusted)]} if how == "workspace_roots" else {}
    if not payload:
        monkeypatch.setenv(how, str(trusted))
    assert "outer" in bridge(agent, event, elsewhere, **payload, **more)


@pytest.mark.attack("30.F11", "a working directory that is gone")
@pytest.mark.req("DELTA-PROC-005")
def test_a_guard_judges_a_call_from_a_directory_that_is_gone(
    own_home: Path, tmp_path: Path, bridge: Bridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It starts in the nearest directory above that is there."""
    monkeypatch.setenv("HOOKLINE_SERVE", "no")
    write_project(own_home, {"type": "command", "command": "echo no >&2; exit 2"})
    assert "deny" in bridge("claude", "PreToolUse", tmp_path / "gone" / "deeper", starts_in=tmp_path)
    gone = tmp_path / "starts"
    gone.mkdir()
    script = f'cd {gone} && rmdir {gone} && exec "$@"'
    given = json.dumps({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}})
    words = ["sh", "-c", script, "sh", HOOKLINE, "hook", "claude", "PreToolUse"]
    done = subprocess.run(words, input=given, capture_output=True, text=True, check=False, timeout=60)
    assert "deny" in done.stdout or done.returncode == 2, done
