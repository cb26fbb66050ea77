"""Hooks as people write them for Codex, run unchanged; where Codex would let a deny fall, it blocks here."""

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


def specific(event: str, **fields: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


def deny(**more: Any) -> dict[str, Any]:
    return specific("PreToolUse", permissionDecision="deny", **more)


@pytest.mark.parametrize(
    ("command", "reason", "is_trap"),
    [
        pytest.param("echo nope >&2; exit 2", "nope", False, id="exit-2"),
        pytest.param(says(deny(permissionDecisionReason="no")), "no", False, id="deny"),
        pytest.param(says({"decision": "block", "reason": "no"}), "no", False, id="block"),
        pytest.param("exit 2", "Blocked by hook", True, id="exit-2-silent"),
        pytest.param(says(deny()), "Blocked by hook", True, id="no-reason"),
        pytest.param(says(deny(permissionDecisionReason="no"), 1), "no", True, id="exit-1"),
        pytest.param(says({**deny(permissionDecisionReason="no"), "x": 1}), "no", True, id="unknown-key"),
        pytest.param(says(deny(permissionDecisionReason="no"), 2), "no", True, id="exit-2-with-json-on-stdout"),
        pytest.param("exit 1", None, False, id="exit-1-alone"),
        pytest.param("echo text", None, False, id="text"),
        pytest.param(says(specific("PreToolUse", permissionDecision="allow")), None, True, id="allow"),
        pytest.param(says(specific("PreToolUse", permissionDecision="ask")), None, True, id="ask"),
    ],
)
def test_answers(call: "Call", command: str, reason: str | None, is_trap: bool) -> None:
    """A deny that Codex would drop blocks, and the log says what is wrong with it."""
    called = call("codex", "PreToolUse", command)
    assert called.did_run is (reason is None)
    if reason is not None:
        assert reason in called.text
    assert any(": Codex " in message for message in called.messages) is is_trap


@pytest.mark.parametrize(
    ("matcher", "tool", "runs"),
    [
        ("Bash", "run_shell_command", True),
        ("Write|Edit", "write_file", True),
        ("apply_patch", "replace", True),
        ("Bash, Write", "run_shell_command", False),
        ("^Ba", "run_shell_command", True),
        ("shell", "mcp__x__y", False),
    ],
)
def test_matchers(call: "Call", matcher: str, tool: str, runs: bool) -> None:
    """Aliases of apply_patch match; with a comma it is a regular expression."""
    arguments = {"command": "x", "file_path": "a", "content": "", "old_string": "", "new_string": ""}
    assert call("codex", "PreToolUse", "exit 2", tool, arguments, matcher=matcher).did_run is not runs


def test_a_file_is_a_patch(call: "Call") -> None:
    """A guard finds the path in its text."""
    guard = "grep -q 'Add File: secret.txt' && { echo no >&2; exit 2; }; exit 0"
    arguments = {"file_path": "secret.txt", "content": "x"}
    assert not call("codex", "PreToolUse", guard, "write_file", arguments, matcher="apply_patch").did_run


def test_a_patch_has_paths_inside_the_project(call: "Call", project: Path) -> None:
    """Guards compare them from their start, as `src/`; a path elsewhere stays as it is."""
    for path, shown in ((project / "src" / "a.py", "src/a.py"), (project.parent / "b.py", project.parent / "b.py")):
        guard = f"grep -q '\\*\\*\\* Update File: {shown}' && {{ echo no >&2; exit 2; }}; exit 0"
        arguments = {"file_path": str(path), "old_string": "x", "new_string": "y"}
        assert not call("codex", "PreToolUse", guard, "replace", arguments, matcher="apply_patch").did_run


def test_a_rewrite_needs_allow(call: "Call") -> None:
    """Of the arguments only the command changes."""
    updated = specific("PreToolUse", permissionDecision="allow", updatedInput={"command": "ls"})
    called = call("codex", "PreToolUse", says(updated), arguments={"command": "rm x", "timeout": 5})
    assert called.arguments == {"command": "ls", "timeout": 5}
    bare = specific("PreToolUse", updatedInput={"command": "ls"})
    assert call("codex", "PreToolUse", says(bare)).arguments == {"command": "make test"}


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (says({"decision": "block", "reason": "hidden"}), "hidden"),
        ("echo hidden >&2; exit 2", "hidden"),
        (says({"continue": False, "stopReason": "hidden"}), "hidden"),
        (says(specific("PostToolUse", additionalContext="more")), "fine\n\nmore"),
        ("echo text", "fine"),
    ],
)
def test_what_the_model_reads_after_a_tool(call: "Call", command: str, text: str) -> None:
    """A block's reason replaces the output, and the turn continues."""
    called = call("codex", "PostToolUse", command, error="Exit code: 1")
    assert (called.text, called.result.should_stop) == (text, False)


def test_it_is_told_as_codex_tells_it(call: "Call", project: Path) -> None:
    """A failed command is PostToolUse with a text as response, without a newline at the end."""
    call("codex", "PostToolUse", "cat > told.json", error="Exit code: 1")
    told = json.loads((project / "told.json").read_text())
    assert (told["hook_event_name"], told["tool_name"], told["tool_response"]) == ("PostToolUse", "Bash", "fine")
    assert (project / "told.json").read_bytes().endswith(b"}")


def test_a_timeout_is_in_seconds(call: "Call") -> None:
    """A guard with "timeout": 5 is not ended after 5 milliseconds."""
    assert not call("codex", "PreToolUse", "sleep 0.2; echo no >&2; exit 2", timeout=5).did_run
