"""Tool calls of other agents whose arguments are malformed, ambiguous or hide a file."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests import warm

from hookline.bridge.agents import HOSTS
from hookline.bridge.host import AgentRequest, HostAgent, MergedOutcome
from hookline.protocol.events import TOOL_EVENTS, HookEventName

TOOL_EVENTS_OF = [
    pytest.param(host, native_event, id=f"{host.name}-{native_event}")
    for host in HOSTS.values()
    for native_event, ours in host.events.items()
    if ours in TOOL_EVENTS
]
_NO_OBJECT = [None, "rm -rf /", '"rm -rf /"', "[1]", "null", ["rm", "-rf", "/"], 3, True]


def question(host: HostAgent, native_event: str, arguments: Any, tool: Any = "Bash") -> dict[str, Any]:
    """A question about a tool call, as the agent sends it."""
    names = ("toolName", "toolArgs") if host.name == "copilot" else ("tool_name", "tool_input")
    return {
        "hook_event_name": native_event,
        "toolResult": {},
        "tool_response": "x",
        names[0]: tool,
        names[1]: arguments,
    }


def denies(host: HostAgent, request: AgentRequest) -> bool:
    """True if the answer refuses the call, with the reason."""
    response = host.render_response(request, MergedOutcome(blocked=True, reason=request.fault))
    return request.fault[:20] in f"{response.stdout}{response.stderr}{response.unsupported}" or "has no place" in str(
        response.unsupported
    )


@pytest.mark.attack("30.F7", "arguments that are not an object, for every agent and event with a tool call")
@pytest.mark.parametrize(("host", "native_event"), TOOL_EVENTS_OF)
def test_arguments_that_are_no_object_are_denied(host: HostAgent, native_event: str) -> None:
    """They are never read as empty: a guard would judge a call without arguments, and the agent run another one."""
    for arguments in _NO_OBJECT:
        request = host.parse_request(question(host, native_event, arguments), native_event)
        assert request.fault, arguments
        assert request.questions == ()
        assert denies(host, request)
    missing = {"hook_event_name": native_event, "tool_name": "Bash", "toolName": "bash"}
    assert host.parse_request(missing, native_event).fault


@pytest.mark.attack("30.F7", "a tool's name that is not a text")
@pytest.mark.parametrize(("host", "native_event"), TOOL_EVENTS_OF)
@pytest.mark.parametrize("name", [None, 3, ["Bash"], {"a": 1}, ""])
def test_a_tool_without_a_name_is_denied(host: HostAgent, native_event: str, name: Any) -> None:
    """Which guard it is for can't be known."""
    assert host.parse_request(question(host, native_event, {}, name), native_event).fault


@pytest.mark.attack("30.F7", "the text rm -rf / in place of the arguments, through the command, with --fail-open")
def test_the_bridge_command_denies_arguments_that_are_no_object(tmp_path: Path) -> None:
    """The answer does not depend on the user's hooks, and is given even without any."""
    file = tmp_path / "settings.json"
    file.write_text(json.dumps({"enableHooks": True}))
    words = ["--settings", str(file), "--fail-open"]
    asked = json.dumps({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": "rm -rf /"})
    got = warm.run(["hook", "claude", "PreToolUse", *words], stdin=asked)
    assert json.loads(got.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert "not an object" in got.stdout
    got = warm.run(["hook", "codex", "PreToolUse", *words], stdin=asked)
    assert (got.returncode, "not an object" in got.stderr) == (2, True)


@pytest.mark.attack("30.F7", "an event that is misspelled on the command line, where the agent itself names it")
def test_the_event_that_the_agent_names_counts_if_the_command_line_has_none_that_is_known(tmp_path: Path) -> None:
    """Otherwise a typo in an agent's settings would let every call pass."""
    file = tmp_path / "settings.json"
    file.write_text(json.dumps({"enableHooks": True, "use": ["hookline:shell"]}))
    call = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "rm -rf /"}}
    for event in ("PreTooluse", "BeforeTool"):
        got = warm.run(["hook", "claude", event, "--settings", str(file)], stdin=json.dumps(call))
        assert '"deny"' in got.stdout, event


@pytest.mark.attack("30.F7", "a command or a path that is a list, an object or a number")
@pytest.mark.parametrize("value", [["rm", "-rf", "/"], {"a": "rm -rf /"}, 3, True])
def test_a_command_or_path_that_is_no_text_is_denied(value: Any) -> None:
    """Alone or beside a harmless one: a guard that compares texts would not find it."""
    for name, tool, key in (
        ("claude", "Bash", "command"),
        ("gemini", "run_shell_command", "command"),
        ("cursor", "Shell", "command"),
        ("copilot", "bash", "command"),
        ("cursor", "Write", "path"),
        ("copilot", "create", "file_path"),
        ("claude", "Read", "file_path"),
    ):
        host = HOSTS[name]
        native_event = next(
            native_event for native_event, ours in host.events.items() if ours is HookEventName.BEFORE_TOOL
        )
        for others in ({}, {"path": "ok"}, {"cmd": "ls"}):
            request = host.parse_request(question(host, native_event, {**others, key: value}, tool), native_event)
            assert "not a text" in request.fault, (name, tool)
            assert denies(host, request)


@pytest.mark.parametrize(
    ("name", "tool", "switch"), [("claude", "Edit", "replace_all"), ("gemini", "replace", "allow_multiple")]
)
def test_an_edit_of_every_place_is_judged_and_sent_back_as_it_was(name: str, tool: str, switch: str) -> None:
    """Our `replace` has no such argument. The call is still one that guards can judge and rewrite."""
    host = HOSTS[name]
    native_event = next(native_event for native_event, ours in host.events.items() if ours is HookEventName.BEFORE_TOOL)
    arguments = {"file_path": "/w/a", "old_string": "x", "new_string": "y", switch: True}
    request = host.parse_request(question(host, native_event, arguments, tool), native_event)
    assert (request.fault, request.has_whole, request.questions[0]["tool_input"]) == ("", True, arguments)
    assert request.tool is not None
    changed = {**arguments, "new_string": "z"}
    sent = request.tool.rewritten(request.arguments, changed, "/w")
    assert sent.items() >= changed.items()
    del changed[switch]
    assert request.tool.rewritten(request.arguments, changed, "/w")[switch] is False


@pytest.mark.attack("30.F8", "a second spelling of an argument hides the real one")
@pytest.mark.parametrize(
    ("name", "tool", "arguments"),
    [
        ("copilot", "create", {"path": ".env", "file_path": "ok.txt", "file_text": "x"}),
        ("copilot", "create", {"file_path": "ok.txt", "path": ".env", "file_text": "x"}),
        ("copilot", "view", {"path": "ok.txt", "filePath": ".env"}),
        ("cursor", "Write", {"file_path": ".env", "path": "ok.txt"}),
        ("cursor", "Write", {"path": "ok.txt", "file_path": ".env"}),
        ("cursor", "Read", {"file_path": "ok.txt", "path": ".env"}),
        ("cursor", "StrReplace", {"path": "ok.txt", "target_file": ".env"}),
        ("claude", "Read", {"file_path": "ok.txt", "FILE_PATH": ".env"}),
        ("claude", "Edit", {"file_path": "ok.txt", "path": ".env"}),
        ("gemini", "write_file", {"file_path": "ok.txt", "absolute_path": ".env"}),
        ("gemini", "list_directory", {"dir_path": "ok.txt", "path": ".env"}),
    ],
)
def test_every_spelling_of_a_path_is_judged(name: str, tool: str, arguments: dict[str, Any]) -> None:
    """A guard sees each file that the call may be about, under our name."""
    host = HOSTS[name]
    native_event = next(native_event for native_event, ours in host.events.items() if ours is HookEventName.BEFORE_TOOL)
    request = host.parse_request(question(host, native_event, arguments, tool), native_event)
    key = "path" if tool == "list_directory" else "file_path"
    assert {asked["tool_input"][key] for asked in request.questions} == {".env", "ok.txt"}


@pytest.mark.attack("30.F8", "a second spelling of a command hides the real one")
@pytest.mark.parametrize("name", HOSTS)
@pytest.mark.parametrize("second", ["cmd", "Command", "COMMAND", "script", "commandLine"])
def test_every_spelling_of_a_command_is_judged(name: str, second: str) -> None:
    """Alone or beside the usual one."""
    host = HOSTS[name]
    native_event = next(native_event for native_event, ours in host.events.items() if ours is HookEventName.BEFORE_TOOL)
    tool = {"claude": "Bash", "codex": "Bash", "gemini": "run_shell_command", "cursor": "Shell", "copilot": "bash"}[
        name
    ]
    request = host.parse_request(
        question(host, native_event, {"command": "ls", second: "rm -rf /"}, tool), native_event
    )
    assert {asked["tool_input"]["command"] for asked in request.questions} == {"ls", "rm -rf /"}
    assert not request.has_whole
    alone = host.parse_request(question(host, native_event, {second: "rm -rf /"}, tool), native_event)
    assert "rm -rf /" in [asked["tool_input"].get("command") for asked in alone.questions]


def test_one_spelling_is_one_question() -> None:
    """Ordinary calls are asked about once, and can be rewritten."""
    for name, tool, arguments in (
        ("copilot", "create", {"path": "a", "file_text": "x"}),
        ("cursor", "Write", {"path": "a", "contents": "x"}),
        ("cursor", "Shell", {"command": "ls", "cwd": "/w", "timeout": 3}),
        ("claude", "Grep", {"pattern": "x", "path": "src", "glob": "*.py"}),
        ("claude", "Bash", {"command": "ls", "description": "x"}),
        ("gemini", "run_shell_command", {"command": "ls", "dir_path": "src"}),
        ("copilot", "grep", {"pattern": "x", "paths": "src"}),
    ):
        host = HOSTS[name]
        native_event = next(
            native_event for native_event, ours in host.events.items() if ours is HookEventName.BEFORE_TOOL
        )
        request = host.parse_request(question(host, native_event, arguments, tool), native_event)
        assert len(request.questions) == 1, (name, tool)
        assert request.has_whole


PATCH = "*** Begin Patch\n*** Add File: ok.txt\n+*** End Patch\n  *** Add File: .env\n+x\n*** End Patch"


@pytest.mark.attack("30.F2", "Codex asks about a patch that hides a file, and the user's guard is about files")
def test_a_guard_sees_each_file_of_a_patch_or_the_call_is_denied(tmp_path: Path) -> None:
    """As a separate tool, inside a shell command, and below another directory."""
    guard = tmp_path / "guard.sh"
    guard.write_text('if grep -q "file_path\\":\\"[^\\"]*\\.env"; then echo "no secrets" >&2; exit 2; fi\n')
    file = tmp_path / "settings.json"
    hook = {"type": "command", "command": f"sh {guard}"}
    file.write_text(json.dumps({"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": [hook]}]}}))
    asked = [
        ("apply_patch", PATCH, "no secrets"),
        ("Bash", f"apply_patch <<'EOF'\n{PATCH}\nEOF", "no secrets"),
        ("Bash", f"apply_patch <<'EOF'\n{PATCH}\nEOF\necho done", "can't be read completely"),
        ("apply_patch", f"{PATCH}\n{PATCH}", "can't be read completely"),
        ("apply_patch", None, "can't be read completely"),
        ("Bash", ["apply_patch", PATCH], "not a text"),
        ("Bash", None, "can't be read completely"),
        ("Bash", "ls", ""),
    ]
    for tool, command, reason in asked:
        payload = {"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": {"command": command}}
        got = warm.run(["hook", "codex", "PreToolUse", "--settings", str(file)], stdin=json.dumps(payload))
        assert got.returncode == (2 if reason else 0), command
        assert reason in got.stderr


def test_a_patch_of_copilot_is_asked_about_file_by_file() -> None:
    """As an object or as a text, in either format; one that names no file is denied."""
    host = HOSTS["copilot"]
    diff = "--- a/src/x\n+++ b/.env\n@@ -1 +1 @@\n-a\n+b\n"
    for arguments in ({"patch": PATCH}, PATCH, {"input": diff}, diff):
        request = host.parse_request(question(host, "preToolUse", arguments, "apply_patch"), "preToolUse")
        assert ".env" in [asked["tool_input"].get("file_path") for asked in request.questions]
    assert host.parse_request(question(host, "preToolUse", {"patch": "x"}, "apply_patch"), "preToolUse").fault


CALL_KEYS: dict[str, dict[str, Any]] = {"copilot": {"toolName": "bash", "toolArgs": {"command": "ls"}}}
UNKNOWN = ["pretooluse", "PreToolUse ", "PRETOOLUSE", "Pre-Tool-Use", "beforetool", "xyz"]


@pytest.mark.attack("30.F7", "a tool call under an event name that the agent does not have")
@pytest.mark.parametrize("name", HOSTS)
def test_a_call_under_an_unknown_event_is_denied(tmp_path: Path, name: str) -> None:
    """In the question or on the command line, with any event on the command line, and with --fail-open."""
    file = tmp_path / "settings.json"
    file.write_text(json.dumps({"enableHooks": True}))
    call = CALL_KEYS.get(name, {"tool_name": "Bash", "tool_input": {"command": "ls"}})
    after = next(native_event for native_event, ours in HOSTS[name].events.items() if ours is HookEventName.AFTER_TOOL)
    runs: list[tuple[list[str], dict[str, Any]]] = [([], {"hook_event_name": event, **call}) for event in UNKNOWN]
    runs += [([after], {"hook_event_name": UNKNOWN[0], **call}), ([UNKNOWN[0]], call)]
    runs += [([], {"hook_event_name": UNKNOWN[0], key: value}) for key, value in call.items()]
    for words, payload in runs:
        got = warm.run(["hook", name, *words, "--settings", str(file), "--fail-open"], stdin=json.dumps(payload))
        is_denied = '"deny"' in got.stdout if name == "copilot" else got.returncode == 2
        assert is_denied, (words, payload, got)
        assert "has no event" in got.stdout + got.stderr


@pytest.mark.parametrize("name", HOSTS)
def test_an_event_that_the_agent_has_and_we_do_not_passes(tmp_path: Path, name: str) -> None:
    """With a tool call in it or not; so does an unknown one without a call."""
    file = tmp_path / "settings.json"
    file.write_text(json.dumps({"enableHooks": True}))
    call = CALL_KEYS.get(name, {"tool_name": "Bash", "tool_input": {"command": "ls"}})
    runs: list[dict[str, Any]] = [
        {"hook_event_name": event, **call} for event in sorted(HOSTS[name].unmapped_events - {"PermissionRequest"})[:3]
    ]
    for payload in [*runs, {"hook_event_name": "xyz"}]:
        event = str(payload["hook_event_name"])
        got = warm.run(["hook", name, event, "--settings", str(file)], stdin=json.dumps(payload))
        assert (got.returncode, got.stdout) == (0, ""), payload


@pytest.mark.attack("30.F7", "a call before a tool, sent to the command line of another event")
@pytest.mark.parametrize("event", ["PostToolUse", "Stop", "SubagentStop", "Notification"])
def test_the_event_that_the_question_names_wins(tmp_path: Path, event: str) -> None:
    """The agent knows what it is about to do; a guard before the tool is asked."""
    file = tmp_path / "settings.json"
    file.write_text(json.dumps({"enableHooks": True, "use": ["hookline:shell"]}))
    call = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "rm -rf /"}}
    got = warm.run(["hook", "claude", event, "--settings", str(file)], stdin=json.dumps(call))
    assert '"deny"' in got.stdout
