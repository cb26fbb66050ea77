"""Hooks in the mode shadow: they run and are logged, and change nothing."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from hookline import Config, Hooks, ToolResult
from hookline.apps.cli.main import main
from hookline.fleet.policy.layer import share
from hookline.protocol.constants import ConfigSource
from hookline.settings.decode.settings import decode_settings
from hookline.settings.read.files import Layer

ANSWERS: dict[str, dict[str, Any]] = {
    "deny": {"decision": "deny", "reason": "not like this"},
    "ask": {"decision": "ask", "reason": "really?"},
    "stop": {"continue": False, "stopReason": "enough"},
    "rewrite": {"hookSpecificOutput": {"tool_input": {"command": "other"}}},
    "context": {"hookSpecificOutput": {"additionalContext": "psst"}},
    "note": {"systemMessage": "psst"},
    "message": {"userMessage": "psst"},
    "suppress": {"suppressOutput": True},
}


def settings(answer: dict[str, Any], **options: Any) -> dict[str, Any]:
    hook = {"type": "command", "name": "tried", "command": f"cat >/dev/null; echo '{json.dumps(answer)}'", **options}
    return {"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": [hook]}]}}


async def fired(project: Path, given: dict[str, Any]) -> Any:
    async with Hooks(project, settings=given) as hooks, hooks.session("s") as session:
        call = await session.before_tool("run_shell_command", {"command": "ls"})
        result = await session.after_tool(call, ToolResult(llm_content="ok"))
    return call, result


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_trial_changes_nothing(answer: str, tmp_path: Path) -> None:
    call, result = asyncio.run(fired(tmp_path, settings(ANSWERS[answer], mode="shadow")))
    assert (call.blocked, call.stop, bool(call.ask), call.changed, call.note, call.context) == (
        *(False, False, False, False),
        *(None, None),
    )
    assert result.llm_content == "ok"


def test_a_failing_trial_does_not_block(tmp_path: Path) -> None:
    given = settings({}, mode="shadow", onError="block", command="exit 7")
    call, _ = asyncio.run(fired(tmp_path, given))
    assert not call.blocked


def test_what_the_failure_of_a_trial_would_mean_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The administrator who enforces it later has to know that it would have blocked."""
    file = tmp_path / "settings.json"
    file.write_text(json.dumps(settings({}, mode="shadow", onError="block", command="exit 7")))
    event = '{"tool_name": "run_shell_command", "tool_input": {"command": "ls"}}'
    words = ["--settings", str(file), "--project", str(tmp_path)]
    assert main(["fire", "BeforeTool", "--input", event, *words]) == 0
    assert "tried would block this (mode shadow)" in capsys.readouterr().out


def test_an_enforced_hook_beside_a_trial_counts(tmp_path: Path) -> None:
    given = settings(ANSWERS["rewrite"], mode="shadow")
    deny = f"cat >/dev/null; echo '{json.dumps(ANSWERS['deny'])}'"
    given["hooks"]["BeforeTool"].append({"hooks": [{"type": "command", "name": "real", "command": deny}]})
    call, _ = asyncio.run(fired(tmp_path, given))
    assert call.blocked
    assert call.decided_by == ("real",)


def layer(hook: dict[str, Any], **config: Any) -> Layer:
    values = {"enableHooks": True, "hooksConfig": config, "hooks": {"BeforeTool": [{"hooks": [hook]}]}}
    return Layer(source=ConfigSource.USER, origin="user.json", values=values)


def test_a_wrong_mode_is_said_and_the_hook_is_enforced() -> None:
    found = decode_settings([layer({"type": "command", "command": "x", "mode": "shadwo"})])
    assert found.hooks[0].is_enforced
    assert any("mode" in str(problem) for problem in found.problems)


@pytest.mark.parametrize(
    ("rollout", "teams", "runs"),
    [
        ({"percent": 0}, [], False),
        ({"percent": 100}, [], True),
        ({"teams": ["web"]}, [], False),
        ({"teams": ["web"]}, ["data", "web"], True),
        ({"teams": ["web"], "percent": 0}, ["web"], False),
    ],
)
def test_a_rollout_reaches_some_machines(rollout: dict[str, Any], teams: list[str], runs: bool) -> None:
    hook = {"type": "command", "command": "x", "rollout": rollout}
    assert decode_settings([layer(hook, teams=teams)]).hooks[0].enabled is runs


def test_a_share_is_stable_and_spread() -> None:
    shares = [share(f"hook {number}") for number in range(2000)]
    assert shares == [share(f"hook {number}") for number in range(2000)]
    assert 0.4 < sum(each < 50 for each in shares) / len(shares) < 0.6


def test_what_a_trial_would_have_decided_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "settings.json"
    file.write_text(json.dumps(settings(ANSWERS["deny"], mode="shadow")))
    event = '{"tool_name": "run_shell_command", "tool_input": {"command": "ls"}}'
    words = ["--settings", str(file), "--project", str(tmp_path)]
    assert main(["fire", "BeforeTool", "--input", event, *words]) == 0
    shown = capsys.readouterr().out
    assert "tried would block this (mode shadow): not like this" in shown
    assert "Would block." in shown
    assert main(["log", "--stats", "--shadow", "--json", *words]) == 0
    (trial,) = json.loads(capsys.readouterr().out)["trials"]
    assert (trial["wouldBlock"], trial["wentOn"], trial["runs"]) == (1, 1, 1)
    assert main(["log", "--stats", "--json", *words]) == 0
    assert json.loads(capsys.readouterr().out)["hooks"][0]["blocks"] == 0


def test_the_mode_warn_is_an_error_and_the_hook_is_enforced(tmp_path: Path) -> None:
    """A guard must not be weaker than before because its mode is gone."""
    given = settings(ANSWERS["deny"], mode="warn")
    (problem,) = Config(tmp_path, settings=given).get_settings().problems
    assert problem.is_error
    assert 'use "shadow"' in str(problem)
    call, _ = asyncio.run(fired(tmp_path, given))
    assert call.blocked
