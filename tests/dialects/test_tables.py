"""The tables of other agents: what their hooks are hook_input, and how their answers are read."""

import json
from typing import Any

import pytest

from hookline.dialects.claude import CLAUDE
from hookline.dialects.codex import CODEX
from hookline.dialects.gemini import GEMINI
from hookline.dialects.table import Dialect, DialectEvent, Printed, Reading, UntranslatableError
from hookline.protocol.events import HookEventName

FACTS = {"session_id": "s1", "cwd": "/w", "timestamp": "2026-01-01T00:00:00.000Z", "transcript_path": "/t.jsonl"}
DIALECTS = (CLAUDE, CODEX, GEMINI)


def event(dialect: Dialect, theirs: str, **fields: Any) -> DialectEvent:
    ours = dialect.events[theirs]
    return DialectEvent(ours=ours, theirs=theirs, fields={**FACTS, "hook_event_name": ours.value, **fields})


def shell(dialect: Dialect, theirs: str, command: str = "make test", **fields: Any) -> DialectEvent:
    return event(dialect, theirs, tool_name="run_shell_command", tool_input={"command": command}, **fields)


def read(dialect: Dialect, about: DialectEvent, code: int, stdout: Any = "", stderr: str = "") -> Reading:
    text = stdout if isinstance(stdout, str) else json.dumps(stdout)
    return dialect.read(about, Printed(exit_code=code, stdout=text, stderr=stderr))


def test_claude_code_hooks_are_told_the_names_that_they_compare_with() -> None:
    """The whole input of PreToolUse, in Claude Code's words."""
    hook_input = CLAUDE.hook_input(shell(CLAUDE, "PreToolUse"))
    assert hook_input.pop("tool_use_id").startswith("toolu_")
    assert hook_input == {
        "session_id": "s1",
        "transcript_path": "/t.jsonl",
        "cwd": "/w",
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "make test"},
    }


@pytest.mark.parametrize(
    ("tool", "arguments", "theirs", "hook_input"),
    [
        ("write_file", {"file_path": "a.txt", "content": "x"}, "Write", {"file_path": "/w/a.txt", "content": "x"}),
        ("read_file", {"file_path": "/x/../b", "offset": 4}, "Read", {"file_path": "/b", "offset": 5}),
        (
            "replace",
            {"file_path": "a", "old_string": "1", "new_string": "2", "expected_replacements": 3},
            "Edit",
            {"file_path": "/w/a", "old_string": "1", "new_string": "2", "replace_all": True},
        ),
        (
            "search_file_content",
            {"pattern": "x", "include": "*.py", "case_sensitive": True},
            "Grep",
            {"pattern": "x", "glob": "*.py", "-i": False},
        ),
        ("mcp__db__query", {"sql": "select 1"}, "mcp__db__query", {"sql": "select 1"}),
    ],
)
def test_claude_code_hooks_are_told_tools_and_arguments_in_its_words(
    tool: str, arguments: dict[str, Any], theirs: str, hook_input: dict[str, Any]
) -> None:
    """Names, numbers and paths are Claude Code's; a tool that it does not have keeps its own."""
    given = CLAUDE.hook_input(event(CLAUDE, "PreToolUse", tool_name=tool, tool_input=arguments))
    assert (given["tool_name"], given["tool_input"]) == (theirs, hook_input)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("arguments", [["rm", "-rf"], "rm -rf"])
def test_arguments_that_are_not_an_object_are_not_shown_as_empty(dialect: Dialect, arguments: Any) -> None:
    """A guard sees what the tool was called with."""
    for ours in (HookEventName.BEFORE_TOOL, HookEventName.AFTER_TOOL):
        fields = {**FACTS, "tool_name": "run_shell_command", "tool_input": arguments, "tool_response": {}}
        assert dialect.hook_input(dialect.event(ours, None, fields))["tool_input"] == arguments


def test_a_call_has_the_same_id_before_and_after_it_ran() -> None:
    """Scripts join the two events by tool_use_id."""
    response = {"llmContent": "ok", "returnDisplay": "ok"}
    after = CLAUDE.hook_input(shell(CLAUDE, "PostToolUse", tool_response=response))
    assert CLAUDE.hook_input(shell(CLAUDE, "PreToolUse"))["tool_use_id"] == after["tool_use_id"]


def test_a_failed_tool_is_an_event_of_its_own_in_claude_code() -> None:
    """PostToolUse is for success only; PostToolUseFailure has the error and no response."""
    failed = {"llmContent": "no such file\nExit code: 1", "returnDisplay": "", "error": "Exit code: 1"}
    assert not CLAUDE.wants(shell(CLAUDE, "PostToolUse", tool_response=failed))
    about = shell(CLAUDE, "PostToolUseFailure", tool_response=failed)
    assert CLAUDE.wants(about)
    hook_input = CLAUDE.hook_input(about)
    assert hook_input["error"] == "no such file\nExit code: 1"
    assert "tool_response" not in hook_input


@pytest.mark.parametrize(
    ("code", "stdout", "stderr", "answer"),
    [
        pytest.param(0, "", "", None, id="nothing"),
        pytest.param(0, "all fine", "", None, id="text-nobody-reads"),
        pytest.param(2, "", "no rm", {"decision": "block", "reason": "no rm"}, id="exit-2"),
        pytest.param(2, "", "", {"decision": "block", "reason": "Blocked by hook"}, id="exit-2-silent"),
        pytest.param(
            1, {"decision": "block", "reason": "no"}, "", {"decision": "block", "reason": "no"}, id="exit-1-with-json"
        ),
        pytest.param(0, {"decision": "approve"}, "", None, id="approve"),
        pytest.param(
            0,
            {
                "hookSpecificOutput": {
                    "hookEventName": "PreToolUse",
                    "permissionDecision": "deny",
                    "permissionDecisionReason": "no",
                }
            },
            "",
            {"decision": "block", "reason": "no"},
            id="permission-deny",
        ),
        pytest.param(
            0,
            {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask"}},
            "",
            {"decision": "ask", "reason": ""},
            id="ask",
        ),
        pytest.param(0, {"systemMessage": "hi"}, "", {"userMessage": "hi"}, id="message-for-the-user"),
        pytest.param(0, {"continue": False, "stopReason": "s"}, "", {"continue": False, "stopReason": "s"}, id="stop"),
        pytest.param(
            0,
            {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"command": "true"}}},
            "",
            {"hookSpecificOutput": {"tool_input": {"command": "true"}, "replacesInput": True}},
            id="rewrite",
        ),
    ],
)
def test_answers_of_claude_code_hooks_before_a_tool(code: int, stdout: Any, stderr: str, answer: Any) -> None:
    """Each form of answer, as Claude Code reads it, in hookline's format."""
    got = read(CLAUDE, shell(CLAUDE, "PreToolUse"), code, stdout, stderr)
    assert (got.answer, got.complaints) == (answer, ())


@pytest.mark.parametrize(
    ("dialect", "code", "stdout"),
    [
        pytest.param(CLAUDE, 0, {"decision": "deny", "reason": "r"}, id="claude-unknown-decision"),
        pytest.param(
            CLAUDE, 0, {"hookSpecificOutput": {"permissionDecision": "deny"}}, id="claude-without-the-event's-name"
        ),
        pytest.param(
            CODEX,
            0,
            {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}},
            id="codex-without-a-reason",
        ),
        pytest.param(CODEX, 0, {"decision": "block", "reason": "r", "note": 1}, id="codex-unknown-field"),
        pytest.param(CODEX, 1, {"decision": "block", "reason": "r"}, id="codex-exit-1"),
        pytest.param(CODEX, 2, "", id="codex-silent-exit-2"),
        pytest.param(GEMINI, 2, "", id="gemini-silent-exit-2"),
    ],
)
def test_a_deny_that_its_own_agent_would_drop_blocks_here_and_is_told(dialect: Dialect, code: int, stdout: Any) -> None:
    """Where an agent ignores a denial, hookline blocks and reports it to the author."""
    name = "BeforeTool" if dialect is GEMINI else "PreToolUse"
    got = read(dialect, shell(dialect, name), code, stdout)
    assert got.answer is not None
    assert got.answer["decision"] in ("block", "deny")
    assert got.answer["reason"]
    assert len(got.complaints) == 1


@pytest.mark.parametrize(
    ("dialect", "theirs", "stdout", "context"),
    [
        (CLAUDE, "UserPromptSubmit", "today is Monday", "today is Monday"),
        (CLAUDE, "SessionStart", "branch: main", "branch: main"),
        (CODEX, "UserPromptSubmit", "today is Monday", "today is Monday"),
        (CLAUDE, "PreToolUse", "noise", None),
        (CODEX, "PostToolUse", "noise", None),
    ],
)
def test_plain_text_is_context_only_where_the_agent_reads_it(
    dialect: Dialect, theirs: str, stdout: str, context: str | None
) -> None:
    """On tool events printed text is ignored; at a prompt and at the start the model gets it."""
    about = shell(dialect, theirs, prompt="p", source="startup", tool_response={"llmContent": ""})
    got = read(dialect, about, 0, stdout)
    assert got.answer == (None if context is None else {"hookSpecificOutput": {"additionalContext": context}})


def test_context_after_the_end_of_a_turn_makes_claude_code_go_on() -> None:
    """Stop's additionalContext means: go on with this."""
    given = {"hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": "run the tests"}}
    got = read(CLAUDE, event(CLAUDE, "Stop", prompt_response="done"), 0, given)
    assert got.answer == {"decision": "block", "reason": "run the tests"}


@pytest.mark.parametrize(
    ("dialect", "code", "stdout", "stderr"),
    [(CODEX, 2, "", "secret!"), (GEMINI, 0, {"decision": "deny", "reason": "secret!"}, "")],
)
def test_a_deny_after_a_tool_takes_the_place_of_the_result(
    dialect: Dialect, code: int, stdout: Any, stderr: str
) -> None:
    """Codex and Gemini CLI give the model the reason instead of the output."""
    name = "AfterTool" if dialect is GEMINI else "PostToolUse"
    got = read(dialect, shell(dialect, name, tool_response={"llmContent": "KEY=1"}), code, stdout, stderr)
    assert got.answer is not None
    assert got.answer["hookSpecificOutput"]["tool_output"] == "secret!"


@pytest.mark.parametrize(
    ("code", "stdout", "stderr", "answer"),
    [
        pytest.param(3, "", "no", {"decision": "deny", "reason": "no"}, id="any-code-with-text"),
        pytest.param(127, "", "not found", {"decision": "deny", "reason": "not found"}, id="missing-command"),
        pytest.param(1, {"decision": "deny", "reason": "x"}, "", {"decision": "deny", "reason": "x"}, id="json-exit-1"),
        pytest.param(1, "", "careful", {"userMessage": "Warning: careful"}, id="warning"),
        pytest.param(0, "hello", "", {"userMessage": "hello"}, id="text"),
        pytest.param(2, {"decision": "allow"}, "", {}, id="allow-beside-exit-2"),
        pytest.param(2, "from stdout", "from stderr", {"decision": "deny", "reason": "from stdout"}, id="stdout-first"),
    ],
)
def test_answers_of_gemini_cli_hooks_before_a_tool(code: int, stdout: Any, stderr: str, answer: Any) -> None:
    """JSON counts with any exit code; text is read by the code."""
    assert read(GEMINI, shell(GEMINI, "BeforeTool"), code, stdout, stderr).answer == answer


def test_a_whole_rewrite_drops_what_it_leaves_out_and_keeps_what_it_could_not_see() -> None:
    """Claude Code's updatedInput is the whole input; our `directory` is not part of it, so it stays."""
    about = event(
        CLAUDE,
        "PreToolUse",
        tool_name="write_file",
        tool_input={"file_path": "a.txt", "content": "x"},
    )
    specific = {"hookEventName": "PreToolUse", "updatedInput": {"file_path": "/w/a.txt", "content": "y"}}
    got = read(CLAUDE, about, 0, {"hookSpecificOutput": specific})
    assert got.answer is not None
    # The path that the hook left alone stays as the model wrote it.
    assert got.answer["hookSpecificOutput"]["tool_input"] == {"file_path": "a.txt", "content": "y"}


def test_a_rewrite_without_a_counterpart_is_refused() -> None:
    """A rewrite without a counterpart must not be guessed."""
    about = event(CLAUDE, "PreToolUse", tool_name="replace", tool_input={"file_path": "a", "old_string": "1"})
    specific = {"hookEventName": "PreToolUse", "updatedInput": {"file_path": "/w/a", "replace_all": True}}
    with pytest.raises(UntranslatableError, match="replace_all"):
        read(CLAUDE, about, 0, {"hookSpecificOutput": specific})


@pytest.mark.parametrize(
    ("dialect", "matcher", "names"),
    [
        (CLAUDE, "Bash", {"Bash"}),
        (CLAUDE, "Bash, Write", {"Bash", "Write"}),
        (CLAUDE, "Bash|Write ", {"Bash", "Write"}),
        (CLAUDE, "Ba.*", None),
        (CODEX, "Bash|Write", {"Bash", "Write"}),
        (CODEX, "Bash, Write", None),
        (GEMINI, "write_file", None),
    ],
)
def test_plain_names_are_a_list_where_the_agent_says_so(dialect: Dialect, matcher: str, names: Any) -> None:
    """Claude Code and Codex compare plain names exactly; Gemini CLI always searches by an expression."""
    assert dialect.exact_names(matcher) == (names if names is None else frozenset(names))


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("ours", list(HookEventName))
def test_every_event_can_be_told(dialect: Dialect, ours: HookEventName) -> None:
    """No event of an agent fails for want of a field, whatever the input lacks."""
    for theirs in [name for name, event in dialect.events.items() if event is ours]:
        assert dialect.hook_input(event(dialect, theirs))["hook_event_name"] in (theirs, ours.value)
        for code in (0, 1, 2, 3, 127):
            for text in ("", "text", "{", "[]", '{"decision": 1, "hookSpecificOutput": 2}', '{"continue": false}'):
                dialect.read(event(dialect, theirs), Printed(exit_code=code, stdout=text, stderr=""))
