"""The command `hookline bridge`, as another agent runs it."""

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests import warm

QUESTION = {
    "hook_event_name": "PreToolUse",
    "session_id": "s",
    "tool_name": "Bash",
    "tool_input": {"command": "rm -rf x"},
}


def settings(folder: Path, command: str, event: str = "BeforeTool", **options: Any) -> Path:
    file = folder / "settings.json"
    hook = {"type": "command", "command": command}
    file.write_text(json.dumps({"enableHooks": True, "hooks": {event: [{"hooks": [hook]}]}, "hooksConfig": options}))
    return file


def bridge(folder: Path, question: Any, *words: str, agent: str = "claude") -> subprocess.CompletedProcess[str]:
    text = question if isinstance(question, str) else json.dumps({"cwd": str(folder), **question})
    return warm.run(["hook", agent, *words], stdin=text)


def test_a_guard_of_ours_denies_a_tool_of_claude_code(tmp_path: Path) -> None:
    """The hook gets hookline's names, and Claude Code gets the deny in its own format."""
    command = f"cat > {tmp_path}/told; echo 'not that' >&2; exit 2"
    got = bridge(tmp_path, QUESTION, "--settings", str(settings(tmp_path, command)))
    assert got.returncode == 0
    assert json.loads(got.stdout)["hookSpecificOutput"]["permissionDecisionReason"] == "not that"
    error_text = json.loads((tmp_path / "told").read_text())
    assert (error_text["tool_name"], error_text["session_id"], error_text["cwd"]) == (
        "run_shell_command",
        "s",
        str(tmp_path),
    )


@pytest.mark.parametrize(
    ("case", "question"),
    [
        ("no JSON", "nonsense"),
        ("no object", "[]"),
        ("no event", {"tool_name": "Bash"}),
        ("settings that can't be read", QUESTION),
    ],
)
def test_a_broken_bridge_blocks_and_says_why(tmp_path: Path, case: str, question: Any) -> None:
    """All agents go on when their hook command merely fails, so it has to say no itself."""
    file = settings(tmp_path, "true")
    if "settings" in case:
        file.write_text("{ broken")
    got = bridge(tmp_path, question, "--settings", str(file))
    assert got.returncode == 2
    assert got.stdout == ""
    assert got.stderr.startswith("hookline: ")
    assert bridge(tmp_path, question, "--settings", str(file), "--fail-open").returncode == 0


def test_hooks_that_take_too_long_are_a_no(tmp_path: Path) -> None:
    """The bridge answers before the agent's own timeout would let the tool run."""
    file = settings(tmp_path, "sleep 20")
    got = bridge(tmp_path, QUESTION, "--settings", str(file), "--deadline", "0.5")
    assert got.returncode == 2
    assert "within 0.5 s" in got.stderr


def test_without_hooks_the_bridge_is_silent(tmp_path: Path) -> None:
    """No objection means no output at all."""
    file = tmp_path / "settings.json"
    file.write_text("{}")
    got = bridge(tmp_path, QUESTION, "--settings", str(file))
    assert (got.returncode, got.stdout, got.stderr) == (0, "", "")


@pytest.mark.parametrize("lifecycle", ["watch", "apply"])
@pytest.mark.parametrize(
    ("event", "question", "answer", "expected"),
    [
        pytest.param(
            "BeforeAgent",
            {"hook_event_name": "UserPromptSubmit", "prompt": "p"},
            {"decision": "block", "reason": "no"},
            {"decision": "block", "reason": "no"},
            id="prompt",
        ),
        pytest.param(
            "BeforeAgent",
            {"hook_event_name": "UserPromptSubmit", "prompt": "p"},
            {"hookSpecificOutput": {"additionalContext": "c"}},
            {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "c"}},
            id="context",
        ),
        pytest.param(
            "AfterAgent",
            {"hook_event_name": "Stop", "stop_hook_active": False},
            {"decision": "block", "reason": "more"},
            {"decision": "block", "reason": "more"},
            id="go-on",
        ),
        pytest.param(
            "AfterAgent",
            {"hook_event_name": "Stop", "stop_hook_active": False},
            {"continue": False, "stopReason": "enough"},
            {"continue": False, "stopReason": "enough"},
            id="stop",
        ),
        pytest.param(
            "PreCompress",
            {"hook_event_name": "PreCompact", "trigger": "auto"},
            {"decision": "block", "reason": "no"},
            {"decision": "block", "reason": "no"},
            id="compression",
        ),
    ],
)
def test_hooks_around_prompts_count_whatever_the_settings_say(
    event: str, question: dict[str, Any], answer: object, expected: object, lifecycle: str, tmp_path: Path
) -> None:
    """The agent applies them, so `hooksConfig.lifecycle`, which is about our own agent, does not matter here."""
    command = f"echo {shlex.quote(json.dumps(answer))}"
    got = bridge(tmp_path, question, "--settings", str(settings(tmp_path, command, event, lifecycle=lifecycle)))
    assert got.returncode == 0, got.stderr
    assert json.loads(got.stdout) == expected


def test_a_project_is_found_from_the_directory_that_the_agent_works_in(
    project: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its guards run in the project, and relative paths still begin where the agent is."""
    below = project / "src"
    below.mkdir()
    monkeypatch.chdir(below)
    error_text = own_home / "told"
    command = f"cat > {error_text}; pwd >> {error_text}; exit 2"
    hooks = {"PreToolUse": [{"hooks": [{"type": "command", "command": command, "dialect": "claude"}]}]}
    file = project / ".llxprt" / "settings.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"enableHooks": True, "hooks": hooks}))
    assert warm.run(["trust", "--all", "--yes"]).returncode == 0
    got = bridge(below, {**QUESTION, "cwd": str(below)})
    assert "deny" in got.stdout
    text = error_text.read_text()
    assert f'"cwd":"{below}"' in text
    assert text.rstrip().endswith(str(project))
