"""A stop that an agent can't be told at a tool event, what gets lost, and what the log has of a bridged event."""

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from tests import warm

from hookline.bridge.state_files import StoppedSessions

STOP = """printf '{"continue": false, "stopReason": "enough"}'"""
# Agent: a tool event, a prompt event, the end of a turn, the end of the session.
QUESTIONS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "codex": [
        ("PreToolUse", {"tool_name": "Bash", "tool_input": {"command": "ls"}}),
        ("UserPromptSubmit", {"prompt": "more"}),
        ("Stop", {}),
        ("SessionEnd", {}),
    ],
    "cursor": [
        ("preToolUse", {"tool_name": "Shell", "tool_input": {"command": "ls"}}),
        ("beforeSubmitPrompt", {"prompt": "more"}),
        ("stop", {"loop_count": 1}),
        ("sessionEnd", {}),
    ],
    "copilot": [
        ("preToolUse", {"toolName": "bash", "toolArgs": {"command": "ls"}}),
        ("userPromptSubmitted", {"prompt": "more"}),
        ("agentStop", {}),
        ("sessionEnd", {}),
    ],
}


def write_settings(home: Path, hooks: dict[str, str], **options: Any) -> None:
    file = home / ".llxprt" / "settings.json"
    file.parent.mkdir(exist_ok=True)
    groups = {event: [{"hooks": [{"type": "command", "command": command}]}] for event, command in hooks.items()}
    file.write_text(json.dumps({"enableHooks": True, "hooks": groups, "hooksConfig": options}))


def ask(
    project: Path, agent: str, event: str, fields: dict[str, Any], session: str = "s1"
) -> subprocess.CompletedProcess[str]:
    names = {"codex": "session_id", "cursor": "conversation_id", "copilot": "sessionId"}
    question = {names.get(agent, "session_id"): session, "cwd": str(project), "hook_event_name": event, **fields}
    return warm.run(["hook", agent, event], stdin=json.dumps(question), cwd=project)


def is_refused(got: subprocess.CompletedProcess[str]) -> bool:
    answer = json.loads(got.stdout or "{}")
    says_no = (answer.get("permission"), answer.get("permissionDecision"), answer.get("decision"))
    return got.returncode == 2 or "deny" in says_no or "block" in says_no or answer.get("continue") is False


def records(project: Path) -> list[dict[str, Any]]:
    got = warm.run(["log", "--json", "--skipped", "-n", "0"], cwd=project)
    got.check_returncode()
    return [json.loads(line) for line in got.stdout.splitlines()]


@pytest.mark.parametrize("agent", QUESTIONS)
def test_a_stopped_session_comes_to_its_end(agent: str, own_home: Path, project: Path) -> None:
    """After the stop, tools and prompts of that session are refused, although no hook objects any more."""
    tool, prompt, turn_end, session_end = QUESTIONS[agent]
    write_settings(own_home, {"BeforeTool": STOP})
    first = ask(project, agent, *tool)
    assert is_refused(first)
    assert "every later prompt and tool of this session is denied" in first.stderr
    # A hook that would make the agent go on is not passed on either.
    write_settings(own_home, {"BeforeTool": "true", "AfterAgent": "echo 'one more thing' >&2; exit 2"})
    for question in (tool, prompt):
        got = ask(project, agent, *question)
        assert is_refused(got)
        assert "enough" in got.stdout + got.stderr
        assert not is_refused(ask(project, agent, *question, session="another"))
    got = ask(project, agent, *turn_end)
    assert "one more thing" not in got.stdout + got.stderr
    assert got.returncode == 0
    # The session's end clears it.
    ask(project, agent, *session_end)
    assert not is_refused(ask(project, agent, *tool))
    refused = [record for record in records(project) if record.get("kind") == "bridge" and record.get("blocked")]
    assert [record["agentEvent"] for record in refused] == [tool[0], prompt[0]]


def test_stopped_sessions_are_kept_for_a_day_and_not_without_end(tmp_path: Path) -> None:
    """An old one counts no longer, and is removed with the next that is written."""
    stops = StoppedSessions(tmp_path / "stopped")
    stops.stop("codex", "old", "x")
    file = next((tmp_path / "stopped").iterdir())
    os.utime(file, (time.time() - 90_000,) * 2)
    assert stops.why("codex", "old") is None
    stops.stop("codex", "new", "y")
    assert [stops.why("codex", "new"), len(list((tmp_path / "stopped").iterdir()))] == ["y", 1]
    for number in range(1100):
        (tmp_path / "stopped" / f"{number}").touch()
    stops.stop("codex", "newest", "z")
    assert len(list((tmp_path / "stopped").iterdir())) == 1000
    assert stops.why("codex", "newest") == "z"


def test_every_record_says_which_agent_asked_and_in_which_words(own_home: Path, project: Path) -> None:
    """Runs, events, skipped hooks and events without a hook."""
    write_settings(own_home, {"AfterTool": "true", "BeforeTool": "true"}, disabled=["true"])
    failure = {"tool_name": "Bash", "tool_input": {}, "error": "broke"}
    assert ask(project, "claude", "PostToolUseFailure", failure, "s7").returncode == 0
    write_settings(own_home, {"AfterTool": "exit 2"})
    ask(project, "claude", "PostToolUseFailure", failure, "s7")
    found = records(project)
    assert {"hook", "event", "skip"} <= {record["kind"] for record in found}
    facts = {(record["agent"], record["agentEvent"], record["session"]) for record in found}
    assert facts == {("claude", "PostToolUseFailure", "s7")}


def test_log_and_stats_choose_by_agent(own_home: Path, project: Path) -> None:
    """One log for all agents of a user."""
    write_settings(own_home, {"BeforeTool": "true"})
    shell = {"tool_name": "Bash", "tool_input": {"command": "ls"}}
    ask(project, "claude", "PreToolUse", shell)
    ask(project, "codex", "PreToolUse", shell)

    def run(*words: str) -> str:
        return warm.run([*words, "--json"], cwd=project).stdout

    assert {json.loads(line)["agent"] for line in run("log", "--agent", "codex").splitlines()} == {"codex"}
    runs = [
        json.loads(run("log", "--stats", *words))["hooks"]
        for words in ((), ("--agent", "claude"), ("--agent", "gemini"))
    ]
    assert [[hook["runs"] for hook in hooks] for hooks in runs] == [[2], [1], []]


def test_what_gets_lost_is_told_on_stderr_and_in_the_log(own_home: Path, project: Path) -> None:
    """A note before a prompt has no place in Cursor."""
    write_settings(own_home, {"BeforeAgent": """printf '{"systemMessage": "mind the gap"}'"""})
    got = ask(project, "cursor", "beforeSubmitPrompt", {"prompt": "x"})
    assert json.loads(got.stdout) == {"continue": True}
    assert "not supported by this agent: a note for the model" in got.stderr
    unsupported = [record["message"] for record in records(project) if record["kind"] == "bridge"]
    assert len(unsupported) == 1
    assert "not passed on: a note for the model" in unsupported[0]


@pytest.mark.parametrize("agent", [*QUESTIONS, "claude", "gemini"])
def test_a_prompt_is_refused_when_the_bridge_is_broken(agent: str, own_home: Path, project: Path) -> None:
    """Copilot CLI only warns about exit code 2 there, so it gets JSON; after a tool no answer is needed."""
    (own_home / ".llxprt").mkdir()
    (own_home / ".llxprt" / "settings.json").write_text("{ broken")
    event = {"claude": "UserPromptSubmit", "gemini": "BeforeAgent"}.get(agent) or QUESTIONS[agent][1][0]
    got = ask(project, agent, event, {"prompt": "x"})
    assert is_refused(got)
    assert (got.returncode == 0) is (agent == "copilot")
    assert "settings.json" in got.stdout + got.stderr
    after = {"claude": "Stop", "gemini": "AfterAgent"}.get(agent) or QUESTIONS[agent][2][0]
    got = ask(project, agent, after, {})
    assert (got.returncode, got.stdout) == (0, "")
    assert got.stderr.startswith("hookline: ")


@pytest.mark.parametrize(
    "words", [("--nonsense",), ("PreToolUse", "Twice"), ("--deadline", "soon"), ("--deadline", "nan")]
)
def test_words_that_can_not_be_understood_are_a_no(words: tuple[str, ...]) -> None:
    """An agent continues when its hook command merely fails."""
    command = ["hook", "claude", *words]
    got = warm.run(command, stdin="{}")
    assert got.returncode == 2
    assert got.stderr.startswith("hookline: ")
    got = warm.run([*command, "--fail-open"], stdin="{}")
    assert got.returncode == 0


@pytest.mark.parametrize("agent", [*QUESTIONS, "claude", "gemini"])
def test_a_stop_at_a_prompt_stops(agent: str, own_home: Path, project: Path) -> None:
    """Our own agent only watches there; these agents can be told, so nothing of it gets lost."""
    write_settings(own_home, {"BeforeAgent": STOP})
    event = {"claude": "UserPromptSubmit", "gemini": "BeforeAgent"}.get(agent) or QUESTIONS[agent][1][0]
    got = ask(project, agent, event, {"prompt": "x"})
    assert is_refused(got)
    assert "enough" in got.stdout + got.stderr
    assert "lost" not in got.stderr


@pytest.mark.parametrize("agent", ["cursor", "copilot", "claude", "gemini"])
def test_a_stop_at_the_start_refuses_the_first_prompt(agent: str, own_home: Path, project: Path) -> None:
    """These can't be stopped at the start of a session, as was seen in three of them."""
    write_settings(own_home, {"SessionStart": STOP})
    got = ask(project, agent, "sessionStart" if agent in QUESTIONS else "SessionStart", {})
    assert "every later prompt" in got.stderr
    prompt = {"claude": "UserPromptSubmit", "gemini": "BeforeAgent"}.get(agent) or QUESTIONS[agent][1][0]
    assert is_refused(ask(project, agent, prompt, {"prompt": "more"}))


def test_a_question_that_can_not_be_read_is_refused_in_the_words_of_its_event(project: Path) -> None:
    """Copilot CLI only warns about exit code 2 at a prompt; elsewhere it could make an agent go on after its turn."""

    def broken(agent: str, event: str) -> tuple[int, str]:
        got = warm.run(["hook", agent, event], stdin="{", cwd=project)
        assert "is not JSON" in got.stderr
        return got.returncode, got.stdout

    code, answer = broken("copilot", "userPromptSubmitted")
    assert (code, json.loads(answer)["decision"]) == (0, "block")
    assert broken("claude", "PreToolUse") == (2, "")
    assert broken("claude", "Stop") == (0, "")
