"""Hooks as people write them for Gemini CLI, run unchanged, where its rules are not ours."""

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.dialects.conftest import Call


def says(answer: Any, code: int = 0) -> str:
    """A command that prints this and exits."""
    return f"printf %s {shlex.quote(answer if isinstance(answer, str) else json.dumps(answer))}; exit {code}"


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        pytest.param(says({"decision": "deny", "reason": "no"}), "no", id="deny"),
        pytest.param(says({"decision": "deny", "reason": "no"}, 1), "no", id="exit-1-with-a-deny"),
        pytest.param(f"({says({'decision': 'block', 'reason': 'no'})}) >&2", "no", id="json-on-stderr"),
        pytest.param("echo out; echo err >&2; exit 2", "out", id="stdout-is-the-reason"),
        pytest.param("echo odd >&2; exit 3", "odd", id="exit-3-with-text"),
        pytest.param("nonexistent-command-of-nobody", "not found", id="missing"),
        pytest.param("exit 2", "Blocked by hook", id="exit-2-silent"),
        pytest.param(says({"continue": False, "stopReason": "enough"}), "enough", id="stop"),
        pytest.param(says({"decision": "allow"}, 2), None, id="exit-2-with-allow"),
        pytest.param("echo careful >&2; exit 1", None, id="exit-1-with-text"),
        pytest.param("exit 3", None, id="exit-3-silent"),
        pytest.param("echo text", None, id="text"),
        pytest.param(
            says({"hookSpecificOutput": {"permissionDecision": "deny"}}), "Blocked", id="words-of-claude-code"
        ),
        pytest.param("sleep 5", None, id="timeout"),
    ],
)
def test_answers(call: "Call", command: str, reason: str | None) -> None:
    """JSON counts with any exit code, and text by the code; a silent exit 2 blocks here, and is logged."""
    called = call("gemini", "BeforeTool", command, timeout=700 if command.startswith("sleep") else 30_000)
    assert called.did_run is (reason is None)
    if reason is not None:
        assert reason in called.text
    if command == "exit 2":
        assert any("Gemini CLI ignores exit code 2" in message for message in called.messages)


def test_plain_text_is_for_the_person(call: "Call") -> None:
    """The model does not see it."""
    assert call("gemini", "BeforeTool", "echo hi").text == "fine"


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (says({"decision": "deny", "reason": "hidden"}), "hidden"),
        ("echo hidden; exit 2", "hidden"),
        (says({"hookSpecificOutput": {"additionalContext": "more"}}), "fine\n\nmore"),
        (says({"systemMessage": "for the person"}), "fine"),
        (
            says({"hookSpecificOutput": {"tailToolCallRequest": {"name": "x", "args": {}}}}),
            "A hook wanted another tool to be called in place of this result.",
        ),
    ],
)
def test_what_the_model_reads_after_a_tool(call: "Call", command: str, text: str) -> None:
    """A deny's reason takes the place of the result."""
    assert call("gemini", "AfterTool", command).text == text


def test_a_rewrite_is_whole(call: "Call") -> None:
    """Ours is merged; Gemini CLI's takes the place of all arguments."""
    answer = {"hookSpecificOutput": {"tool_input": {"command": "ls"}}}
    called = call("gemini", "BeforeTool", says(answer), arguments={"command": "rm x", "description": "d"})
    assert called.arguments == {"command": "ls"}


def test_its_names_of_tools_and_arguments(call: "Call", project: Path) -> None:
    """Where its names differ from hookline's, the hook gets and is matched by Gemini CLI's."""
    arguments = {"pattern": "x", "path": "src", "include": "*.py"}
    called = call(
        "gemini", "BeforeTool", "cat > told.json; exit 3", "search_file_content", arguments, matcher="^grep_search$"
    )
    told = json.loads((project / "told.json").read_text())
    assert (told["tool_name"], told["hook_event_name"]) == ("grep_search", "BeforeTool")
    assert told["tool_input"] == {"pattern": "x", "dir_path": "src", "include_pattern": "*.py"}
    assert called.did_run


def test_tools_of_an_mcp_server(call: "Call") -> None:
    """`mcp_SERVER_TOOL`, in matchers, too."""
    guard = "grep -q mcp_db_query && { echo no; exit 2; }"
    assert not call("gemini", "BeforeTool", guard, "mcp__db__query", {}, matcher="^mcp_db_").did_run


def test_a_deny_in_the_words_of_claude_code_blocks(call: "Call") -> None:
    """Gemini CLI ignores it, so that guard protects nothing there; here it blocks, and the log says why."""
    own = {"hookEventName": "BeforeTool", "permissionDecision": "deny", "permissionDecisionReason": "not that"}
    called = call("gemini", "BeforeTool", says({"hookSpecificOutput": own}))
    assert not called.did_run
    assert "not that" in called.text
    assert any("Gemini CLI ignores permissionDecision" in message for message in called.messages)
