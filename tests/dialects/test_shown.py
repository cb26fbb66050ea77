"""Everything about a dialect is shown where people look."""

import json
from pathlib import Path
from typing import Any

import pytest

from hookline.apps.cli.main import main


@pytest.fixture
def settings(tmp_path: Path) -> str:
    """A file of Claude Code's hooks: a guard, one that can't be run, and one that never runs."""
    guard = {"type": "command", "command": "true", "name": "guard", "if": "Bash(git *)"}
    hooks = {
        "PreToolUse": [{"matcher": "Bash", "hooks": [guard, {"type": "prompt", "prompt": "fine?", "name": "judge"}]}],
        "SubagentStop": [{"hooks": [{"type": "command", "command": "x", "name": "helper"}]}],
    }
    path = tmp_path / "hooks.json"
    path.write_text(json.dumps({"enableHooks": True, "dialect": "claude", "hooks": hooks}))
    return str(path)


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    main(list(words))
    return " ".join(capsys.readouterr().out.split())


def test_list(settings: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Shows the dialect of each hook, which one fails, and which one never runs."""
    text = shown(capsys, "list", "--settings", settings)
    assert "in the format of Claude Code as PreToolUse, for calls that match Bash(git *)" in text
    assert 'fails at each event: type "prompt" asks a model' in text
    assert "1 hook never runs: helper Claude Code's SubagentStop has no counterpart here" in text


def test_explain(settings: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The plan for one of our tools has a hook that matches another agent's name of it."""
    text = shown(capsys, "fire", "--plan", "BeforeTool", "--tool", "run_shell_command", "--settings", settings)
    assert "in the format of Claude Code as PreToolUse" in text


def test_doctor_and_check(settings: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Both name the hook that never runs and the one that fails."""
    for command in ("doctor", "check"):
        text = shown(capsys, command, "--settings", settings)
        assert "SubagentStop has no counterpart here" in text
        assert 'type "prompt" asks a model' in text


def test_fire(settings: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The plan names the dialect, and the log what the hook was really told."""
    given = {"tool_name": "run_shell_command", "tool_input": {"command": "git push"}}
    main(["fire", "BeforeTool", "--settings", settings, "--input", json.dumps(given), "--json"])
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert [hook.get("dialect") for hook in report["plan"]["hooks"]] == ["claude", "claude"]
    run = next(record for record in report["log"] if record["kind"] == "hook" and record["hook"] == "guard")
    assert (run["dialect"], run["theirEvent"]) == ("claude", "PreToolUse")
    assert json.loads(run["stdin"])["tool_name"] == "Bash"
