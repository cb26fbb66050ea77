"""Hooks as people write them for Claude Code, run unchanged, with the effect that Claude Code would give."""

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookline.dialects.conditions import meets

if TYPE_CHECKING:
    from tests.dialects.conftest import Call


def says(answer: Any, code: int = 0) -> str:
    """A command that prints this and exits."""
    return f"printf %s {shlex.quote(answer if isinstance(answer, str) else json.dumps(answer))}; exit {code}"


def specific(event: str, **fields: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


DANGEROUS = r"""#!/usr/bin/env python3
import json, re, sys

data = json.load(sys.stdin)
if data.get("tool_name") != "Bash":
    sys.exit(0)
if re.search(r"\brm\s+-[a-z]*r[a-z]*f", data.get("tool_input", {}).get("command", "")):
    print("BLOCKED: dangerous rm command", file=sys.stderr)
    sys.exit(2)
sys.exit(0)
"""
PROTECTED = r"""#!/bin/bash
# Keeps the agent away from secrets.
INPUT=$(cat)
FILE_PATH=$(printf '%s' "$INPUT" | sed -n 's/.*"file_path":"\([^"]*\)".*/\1/p')
case "$FILE_PATH" in
  */.env|*/secrets/*)
    echo "Access to $FILE_PATH is not allowed" >&2
    exit 2 ;;
esac
exit 0
"""
DENY_JSON = r"""#!/usr/bin/env python3
import json, sys

event = json.load(sys.stdin)
if event["tool_name"] in ("Write", "Edit", "MultiEdit") and event["tool_input"]["file_path"].endswith(".lock"):
    print(json.dumps({"hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": "lock files are generated",
    }}))
"""
FORMATTER = r"""#!/usr/bin/env python3
import json, sys

event = json.load(sys.stdin)
path = event["tool_response"]["filePath"] or event["tool_input"]["file_path"]
with open(path, "a") as file:
    file.write("# formatted\n")
"""


@pytest.mark.parametrize(
    ("script", "matcher", "tool", "arguments", "reason"),
    [
        pytest.param(DANGEROUS, "Bash", "run_shell_command", {"command": "rm -rf /"}, "dangerous rm", id="bash"),
        pytest.param(DANGEROUS, "Bash", "run_shell_command", {"command": "ls"}, None, id="bash-harmless"),
        pytest.param(DANGEROUS, "Read|Write", "run_shell_command", {"command": "rm -rf /"}, None, id="other-matcher"),
        pytest.param(DANGEROUS, "Bas", "run_shell_command", {"command": "rm -rf /"}, None, id="no-part-of-a-name"),
        pytest.param(DANGEROUS, "Ba.*", "run_shell_command", {"command": "rm -rf /"}, "dangerous rm", id="regex"),
        pytest.param(DANGEROUS, "B(ash", "run_shell_command", {"command": "rm -rf /"}, "dangerous rm", id="bad-regex"),
        pytest.param(DANGEROUS, None, "run_shell_command", {"command": "rm -fr x"}, None, id="pattern-of-the-script"),
        pytest.param(PROTECTED, "Read", "read_file", {"file_path": ".env"}, "/.env is not allowed", id="read"),
        pytest.param(
            PROTECTED, "Write", "write_file", {"file_path": "secrets/a", "content": ""}, "secrets/a", id="write"
        ),
        pytest.param(PROTECTED, "Edit|MultiEdit", "replace", {"file_path": "a.py"}, None, id="another-file"),
        pytest.param(
            DENY_JSON, "Write|Edit|MultiEdit", "replace", {"file_path": "uv.lock"}, "are generated", id="json"
        ),
        pytest.param(DENY_JSON, "Write", "write_file", {"file_path": "a.txt", "content": ""}, None, id="json-silent"),
    ],
)
def test_guards(
    call: "Call", script: str, matcher: str | None, tool: str, arguments: dict[str, Any], reason: str | None
) -> None:
    """A guard compares Claude Code's names and absolute paths, and blocks what it means to block."""
    called = call("claude", "PreToolUse", script, tool, arguments, matcher=matcher)
    assert called.did_run is (reason is None)
    if reason is not None:
        assert reason in called.text


DENY = specific("PreToolUse", permissionDecision="deny", permissionDecisionReason="no")


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        pytest.param("echo nope >&2; exit 2", "nope", id="exit-2"),
        pytest.param("exit 2", "Blocked by hook", id="exit-2-silent"),
        pytest.param(says(DENY), "no", id="deny"),
        pytest.param(says(DENY, 1), "no", id="exit-1-with-a-deny"),
        pytest.param(says(DENY, 2), "no", id="exit-2-with-json-on-stdout"),
        pytest.param(says({"decision": "block", "reason": "old"}), "old", id="older-form"),
        pytest.param(f"({says({'decision': 'block'})}) >&2; exit 2", '{"decision": "block"}', id="json-on-stderr"),
        pytest.param(
            says(specific("PostToolUse", permissionDecision="deny")), "Blocked by hook", id="wrong-event-name"
        ),
        pytest.param(says({"decision": "deny", "reason": "kept"}), "kept", id="a-word-that-claude-drops"),
        pytest.param(says({"continue": False, "stopReason": "enough"}), "enough", id="stop"),
        pytest.param("exit 1", None, id="exit-1"),
        pytest.param("echo just text", None, id="plain-text"),
        pytest.param(says({"decision": "approve"}), None, id="approve"),
        pytest.param(says({"continue": True, "suppressOutput": True}), None, id="nothing-meant"),
        pytest.param(says(specific("PreToolUse", permissionDecision="allow")), None, id="allow"),
        pytest.param(says("text " + json.dumps(DENY)), None, id="text-before-json"),
        pytest.param("nonexistent-command-of-nobody", None, id="missing"),
        pytest.param("sleep 5", None, id="timeout"),
    ],
)
def test_answers(call: "Call", command: str, reason: str | None) -> None:
    """Exit codes and JSON mean what they mean to Claude Code; a deny that it would drop blocks, and is logged."""
    called = call("claude", "PreToolUse", command, timeout=0.5 if command.startswith("sleep") else 30)
    assert called.did_run is (reason is None)
    if reason is not None:
        assert reason in called.text


@pytest.mark.parametrize(
    "command", ["exit 1", "sleep 5", "nonexistent-command-of-nobody", says("{broken"), says({"decision": "deny?"})]
)
def test_a_failure_blocks_where_the_hook_says_so(call: "Call", command: str) -> None:
    """`onFailure: block` is Claude Code's way to fail closed."""
    timeout = 0.5 if command.startswith("sleep") else 30
    called = call("claude", "PreToolUse", command, onFailure="block", timeout=timeout)
    assert not called.did_run
    assert "onError is block" in called.text


@pytest.mark.parametrize(("kind", "word"), [("prompt", "asks a model"), ("agent", "starts an agent")])
@pytest.mark.parametrize(("on_failure", "runs"), [("continue", True), ("block", False)])
def test_a_type_that_can_not_run_fails(call: "Call", kind: str, word: str, on_failure: str, runs: bool) -> None:
    """It is not skipped in silence."""
    called = call("claude", "PreToolUse", "x", type=kind, prompt="is this fine? $ARGUMENTS", onFailure=on_failure)
    assert called.did_run is runs
    assert any(word in message for message in called.messages)


def test_a_rewrite_is_whole(call: "Call") -> None:
    """A key that is left out is gone, and no decision is needed."""
    updated = says(specific("PreToolUse", updatedInput={"command": "ls"}))
    called = call("claude", "PreToolUse", updated, arguments={"command": "rm x", "description": "removes"})
    assert called.arguments == {"command": "ls"}


def test_a_rewrite_keeps_our_words(call: "Call") -> None:
    """Arguments that the hook did not change stay as the model gave them, and numbers are converted back."""
    updated = specific("PreToolUse", updatedInput={"file_path": "/etc/hosts", "offset": 11, "limit": 5})
    arguments = {"file_path": "/etc/passwd", "offset": 10, "limit": 5}
    called = call("claude", "PreToolUse", says(updated), "read_file", arguments)
    assert called.arguments == {"file_path": "/etc/hosts", "offset": 10, "limit": 5}


def test_a_rewrite_that_can_not_be_said_in_our_words_is_refused(call: "Call") -> None:
    """The rewritten call can't run, and the original one must not."""
    updated = {"file_path": "/a", "old_string": "x", "new_string": "y", "replace_all": True}
    arguments = {"file_path": "a", "old_string": "x", "new_string": "y"}
    called = call("claude", "PreToolUse", says(specific("PreToolUse", updatedInput=updated)), "replace", arguments)
    assert not called.did_run
    assert "replace_all" in called.text


def test_ask_asks(call: "Call") -> None:
    """The person gets the hook's reason."""
    answer = specific("PreToolUse", permissionDecision="ask", permissionDecisionReason="really?")
    called = call("claude", "PreToolUse", says(answer))
    assert called.asked == ("really?",)
    assert not called.did_run


@pytest.mark.parametrize(
    ("event", "error", "command", "text"),
    [
        ("PreToolUse", None, says(specific("PreToolUse", additionalContext="mind the gap")), "fine\n\nmind the gap"),
        ("PostToolUse", None, says(specific("PostToolUse", additionalContext="lint: ok")), "fine\n\nlint: ok"),
        ("PostToolUse", None, "echo lint failed >&2; exit 2", "fine\n\n[System] lint failed"),
        ("PostToolUse", None, says({"decision": "block", "reason": "fix it"}), "fine\n\n[System] fix it"),
        ("PostToolUse", None, "echo nobody reads this", "fine"),
        ("PostToolUse", None, says({"systemMessage": "for the person"}), "fine"),
        ("PostToolUse", None, says(specific("PostToolUse", updatedToolOutput={"stdout": "[redacted]"})), "[redacted]"),
        ("PostToolUse", "Exit code: 1", "echo never >&2; exit 2", "fine"),
        ("PostToolUseFailure", "Exit code: 1", "echo try make >&2; exit 2", "fine\n\n[System] try make"),
        ("PostToolUseFailure", None, "echo never >&2; exit 2", "fine"),
        ("AfterTool", "Exit code: 1", "grep -q PostToolUseFailure && echo both >&2; exit 2", "fine\n\n[System] both"),
    ],
)
def test_what_the_model_reads(call: "Call", event: str, error: str | None, command: str, text: str) -> None:
    """Context and reasons go to the model, plain text and messages for the user do not."""
    assert call("claude", event, command, error=error).text == text


def test_a_formatter_finds_the_file(call: "Call", project: Path) -> None:
    """`tool_response.filePath` is absolute."""
    (project / "a.py").write_text("x = 1\n")
    call("claude", "PostToolUse", FORMATTER, "write_file", {"file_path": "a.py", "content": "x"}, matcher="Edit|Write")
    assert (project / "a.py").read_text() == "x = 1\n# formatted\n"


def test_the_output_of_bash_is_its_stdout(call: "Call", project: Path) -> None:
    """Without what our own tool adds for the model."""
    call("claude", "PostToolUse", "cat > told.json", output="a\nb\nExit code: 0")
    told = json.loads((project / "told.json").read_text())
    assert (told["hook_event_name"], told["tool_name"]) == ("PostToolUse", "Bash")
    assert (told["tool_response"]["stdout"], told["tool_response"]["interrupted"]) == ("a\nb", False)


def test_the_environment_is_claude_codes(call: "Call", project: Path) -> None:
    """The project's directory, and that it is Claude Code."""
    call("claude", "PreToolUse", "env > env.txt")
    env = dict(line.partition("=")[::2] for line in (project / "env.txt").read_text().splitlines())
    assert (env["CLAUDE_PROJECT_DIR"], env["CLAUDECODE"]) == (str(project), "1")
    assert env["CLAUDE_CODE_SESSION_ID"]


@pytest.mark.parametrize(
    ("rule", "tool", "arguments", "runs"),
    [
        ("Bash(git *)", "run_shell_command", {"command": "git push"}, True),
        ("Bash(git *)", "run_shell_command", {"command": "git"}, True),
        ("Bash(git *)", "run_shell_command", {"command": "gitk"}, False),
        ("Bash(git:*)", "run_shell_command", {"command": "cd x && git push"}, True),
        ("Bash(git *)", "run_shell_command", {"command": "echo 'git push'"}, False),
        ("Bash(git *)", "run_shell_command", {"command": "echo $(git push)"}, True),
        ("Bash(git *)", "run_shell_command", {"command": "A=b git push"}, True),
        *(
            ("Bash(rm *)", "run_shell_command", {"command": command}, True)
            for command in (
                "sudo -u me rm x",
                "/bin/rm x",
                "timeout 5 env A=b rm x",
                "bash -c 'cd y && rm x'",
                'eval "rm x"',
                "r''m x",
                ">/dev/null 2>&1 rm x",
                "find . -exec rm x {} +",
            )
        ),
        ("Bash(rm *)", "run_shell_command", {"command": "bash -c 'echo rm'"}, False),
        ("Bash(*a*a*a*a*a*a*a*b)", "run_shell_command", {"command": "a" * 5000}, False),
        ("Edit(*.{ts,tsx})", "replace", {"file_path": "a.py"}, True),
        ("Edit(**/*a*a*a*a*a*a*/**/*b)", "replace", {"file_path": "a/" * 1000}, False),
        ("Bash(npm run build)", "run_shell_command", {"command": "npm run build"}, True),
        ("Bash(npm run build)", "run_shell_command", {"command": "npm run test"}, False),
        ("Bash(git *)", "run_shell_command", {"command": "echo 'open"}, True),
        ("Bash", "run_shell_command", {"command": "ls"}, True),
        ("Bash", "read_file", {"file_path": "a"}, False),
        ("*", "run_shell_command", {"command": "ls"}, False),
        ("Edit(src/**)", "replace", {"file_path": "src/a/b.py"}, True),
        ("Edit(src/**)", "write_file", {"file_path": "src/b.py", "content": ""}, True),
        ("Edit(src/**)", "replace", {"file_path": "docs/b.py"}, False),
        ("Edit(*.ts)", "replace", {"file_path": "deep/down/b.ts"}, True),
        ("Edit(*.ts)", "replace", {"file_path": "deep/down/b.py"}, False),
        ("Read(//etc/**)", "read_file", {"file_path": "/etc/passwd"}, True),
        ("Read(secrets)", "read_file", {"file_path": "secrets/a/key"}, True),
        ("mcp__db", "mcp__db__query", {"sql": "x"}, True),
        ("mcp__db__*", "mcp__db__query", {"sql": "x"}, True),
        ("mcp__db", "mcp__other__query", {"sql": "x"}, False),
        ("what is this?", "read_file", {"file_path": "a"}, True),
    ],
)
def test_if(call: "Call", rule: str, tool: str, arguments: dict[str, Any], runs: bool) -> None:
    """A rule limits the calls that a hook runs for; on doubt it runs, and else the log says why not."""
    called = call("claude", "PreToolUse", "exit 2", tool, arguments, **{"if": rule})
    assert called.did_run is not runs
    assert any("condition: its rule" in message for message in called.messages) is not runs


@pytest.mark.parametrize(
    ("url", "runs"),
    [
        ("https://evil.example/x", True),
        ("https://a.evil.example/x", True),
        ("https://EVIL.example.:443/x", True),
        ("https://me@evil.example/x", True),
        ("https://notevil.example/x", False),
        ("https://good.example/evil.example", False),
        ("evil.example/x", True),
        ("https://[evil.example/x", True),
        ("https://evil.example\\@good.example/x", True),
        ("https://%65vil.example/x", True),
        ("https://evil。example/x", True),
        (7, True),
    ],
)
def test_a_rule_about_a_domain(url: object, runs: bool) -> None:
    """On doubt about the host that a client would ask, the guard runs."""
    for rule in ("WebFetch(domain:evil.example)", "WebFetch(domain: *.Evil.example)"):
        assert meets(rule, {"WebFetch"}, {"url": url}, "/", "/") is runs


def test_async_runs_beside_and_decides_nothing(call: "Call", project: Path) -> None:
    """The call does not wait; the log has the run when it is over."""
    called = call("claude", "PreToolUse", "echo $$ > pid; exit 2", **{"async": True})
    assert called.did_run
    assert (project / "pid").exists()
    assert any("exited with code 2" in message for message in called.messages)


def test_args_are_passed_without_a_shell(call: "Call", project: Path) -> None:
    """The command is a program, and placeholders are filled in each word."""
    args = ["-c", 'printf "%s|" "$@" > words; exit 2', "sh", "a b", "$(x)", "${CLAUDE_PROJECT_DIR}/y"]
    called = call("claude", "PreToolUse", "sh", args=args)
    assert not called.did_run
    assert (project / "words").read_text() == f"a b|$(x)|{project}/y|"


def test_another_shell_reads_the_command(call: "Call", project: Path) -> None:
    """`shell` names it."""
    keys = {"shell": "sh"}
    call("claude", "PreToolUse", "echo $0 > shell", **keys)
    assert (project / "shell").read_text() == "sh\n"


def test_two_rewrites_of_one_layer_are_merged_by_key(call: "Call") -> None:
    """Arguments that the second hook did not change keep the first one's change."""
    one = says(specific("PreToolUse", updatedInput={"command": "ls", "description": "d"}))
    two = says(specific("PreToolUse", updatedInput={"command": "make test", "description": "e"}))
    called = call("claude", "PreToolUse", [one, two], arguments={"command": "make test", "description": "d"})
    assert called.arguments == {"command": "ls", "description": "e"}


def test_the_log_has_what_the_hook_was_really_told(call: "Call") -> None:
    """A skipped event is also reported."""
    called = call("claude", "PostToolUse", "true", error="Exit code: 1")
    assert any("Claude Code has another event than PostToolUse for this" in message for message in called.messages)
