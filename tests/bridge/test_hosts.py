"""The request of each agent, and the answer in the agent's format."""

from typing import Any

import pytest

from hookline.bridge.agents import HOSTS
from hookline.bridge.host import NO_PROMPT, AgentResponse, HostAgent, MergedOutcome, UnreadableQuestionError
from hookline.bridge.judge import combine
from hookline.protocol.answers import ToolSelection
from hookline.protocol.events import HookEventName
from hookline.protocol.verdict import Verdict

SHELL: dict[str, dict[str, Any]] = {
    "claude": {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}},
    "codex": {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}},
    "gemini": {"hook_event_name": "BeforeTool", "tool_name": "run_shell_command", "tool_input": {"command": "ls"}},
    "cursor": {"hook_event_name": "preToolUse", "tool_name": "Shell", "tool_input": {"command": "ls"}},
    "copilot": {"toolName": "bash", "toolArgs": {"command": "ls"}},
}
DENY = MergedOutcome(blocked=True, reason="no")


def render_response(
    name: str, outcome: MergedOutcome, question: dict[str, Any] | None = None, event: str | None = None
) -> AgentResponse:
    host = HOSTS[name]
    return host.render_response(host.parse_request(SHELL[name] if question is None else question, event), outcome)


@pytest.mark.parametrize("name", HOSTS)
def test_a_shell_command_of_any_agent_is_the_same_event_of_ours(name: str) -> None:
    """One guard for run_shell_command serves them all."""
    request = HOSTS[name].parse_request(SHELL[name], None)
    assert request.event is HookEventName.BEFORE_TOOL
    assert request.questions == ({"tool_name": "run_shell_command", "tool_input": {"command": "ls"}},)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "claude",
            AgentResponse(
                stdout={
                    "hookSpecificOutput": {
                        "hookEventName": "PreToolUse",
                        "permissionDecision": "deny",
                        "permissionDecisionReason": "no",
                    }
                }
            ),
        ),
        ("codex", AgentResponse(stderr="no", exit_code=2)),
        ("gemini", AgentResponse(stdout={"decision": "deny", "reason": "no"})),
        ("cursor", AgentResponse(stdout={"permission": "deny", "user_message": "no", "agent_message": "no"})),
        ("copilot", AgentResponse(stdout={"permissionDecision": "deny", "permissionDecisionReason": "no"})),
    ],
)
def test_a_deny_is_said_in_the_form_that_the_agent_can_not_overlook(name: str, expected: AgentResponse) -> None:
    """Codex gets a deny by exit code and stderr alone: any JSON beside it could void it."""
    assert render_response(name, DENY) == expected


@pytest.mark.parametrize("name", HOSTS)
def test_no_objection_grants_nothing(name: str) -> None:
    """An allow would skip the user's prompt; only Cursor needs one, because it takes silence for a refusal."""
    assert render_response(name, MergedOutcome()).stdout == ({"permission": "allow"} if name == "cursor" else None)


@pytest.mark.parametrize("name", HOSTS)
def test_a_stop_never_lets_the_tool_run(name: str) -> None:
    """Claude Code would run the tool before it stops, so a stop is a deny as well."""
    response = render_response(name, MergedOutcome(stop=True, stop_reason="enough"))
    assert (
        response.exit_code == 2
        or "deny" in str(response.stdout)
        or response.stdout == {"continue": False, "stopReason": "enough"}
    )
    assert "enough" in f"{response.stdout}{response.stderr}"


@pytest.mark.parametrize(
    ("name", "asks"), [("claude", True), ("copilot", True), ("codex", False), ("gemini", False), ("cursor", False)]
)
def test_ask_is_passed_on_where_the_agent_asks_and_denies_elsewhere(name: str, asks: bool) -> None:
    """Where an agent would hang or let the call pass, ask is a deny, which is reported."""
    response = render_response(name, MergedOutcome(ask=True, reason="sure?"))
    assert ("'ask'" in str(response.stdout)) is asks
    assert bool(response.unsupported) is not asks
    assert "sure?" in f"{response.stdout}{response.stderr}"


@pytest.mark.parametrize(
    ("name", "question", "changed", "sent"),
    [
        (
            "claude",
            {
                "hook_event_name": "PreToolUse",
                "cwd": "/w",
                "tool_name": "Write",
                "tool_input": {"file_path": "/w/a", "content": "x", "mode": 1},
            },
            {"file_path": "/w/a", "content": "y", "mode": 1},
            {"file_path": "/w/a", "content": "y", "mode": 1},
        ),
        (
            "copilot",
            {"toolName": "create", "toolArgs": {"path": "a", "file_text": "x"}},
            {"file_path": "a", "content": "y"},
            {"path": "a", "file_text": "y"},
        ),
        (
            "gemini",
            {
                "hook_event_name": "BeforeTool",
                "tool_name": "read_file",
                "tool_input": {"file_path": "a", "start_line": 3, "end_line": 4},
            },
            {"file_path": "b", "offset": 2, "limit": 2},
            {"file_path": "b", "start_line": 3, "end_line": 4},
        ),
    ],
)
def test_a_rewrite_is_sent_whole_and_under_the_agents_names(
    name: str, question: dict[str, Any], changed: dict[str, Any], sent: dict[str, Any]
) -> None:
    """Agents replace the whole input, so it must have the arguments that hookline's tool lacks."""
    request = HOSTS[name].parse_request(question, None)
    verdict = Verdict(event=HookEventName.BEFORE_TOOL, arguments=changed)
    outcome = combine(request, [verdict])
    assert outcome.arguments == sent
    assert str(sent) in str(HOSTS[name].render_response(request, outcome).stdout)


PATCH = """\
*** Begin Patch
*** Add File: new.txt
+one
+two
*** Update File: src/a.py
*** Move to: src/b.py
@@
-old
+new
*** Delete File: .env
*** End Patch"""


@pytest.mark.parametrize("where", ["apply_patch", "Bash"])
def test_a_patch_of_codex_is_asked_about_file_by_file(where: str) -> None:
    """Path guards see paths, also when the patch is inside a shell command, which is asked about as well."""
    command = PATCH if where == "apply_patch" else f"apply_patch <<'EOF'\n{PATCH}\nEOF"
    question = {"hook_event_name": "PreToolUse", "tool_name": where, "tool_input": {"command": command}}
    request = HOSTS["codex"].parse_request(question, None)
    paths = [fields["tool_input"].get("file_path") for fields in request.questions]
    assert paths == [*([None] if where == "Bash" else []), "new.txt", "src/b.py", "src/a.py", ".env"]
    added = next(fields for fields in request.questions if fields["tool_input"].get("file_path") == "new.txt")
    assert added == {"tool_name": "write_file", "tool_input": {"file_path": "new.txt", "content": "one\ntwo\n"}}


def test_a_rewrite_of_one_file_of_a_patch_is_a_deny() -> None:
    """It can't be sent back, and without it Codex would write what a guard meant to take out."""
    question = {"hook_event_name": "PreToolUse", "tool_name": "apply_patch", "tool_input": {"command": PATCH}}
    request = HOSTS["codex"].parse_request(question, None)
    changed = Verdict(event=HookEventName.BEFORE_TOOL, arguments={"file_path": "new.txt", "content": "safe"})
    outcome = combine(request, [changed, *[Verdict(event=HookEventName.BEFORE_TOOL)] * 3])
    assert outcome.blocked
    assert outcome.arguments is None
    assert HOSTS["codex"].render_response(request, outcome).exit_code == 2
    assert "one file of a patch" in outcome.unsupported[0]


def test_a_rewrite_of_a_command_with_a_patch_in_it_is_sent() -> None:
    """The command itself was rewritten, so the agent can be told."""
    question = {
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": f"apply_patch <<'E'\n{PATCH}\nE"},
    }
    request = HOSTS["codex"].parse_request(question, None)
    changed = Verdict(event=HookEventName.BEFORE_TOOL, arguments={"command": "true"})
    outcome = combine(request, [changed, *[Verdict(event=HookEventName.BEFORE_TOOL)] * 4])
    assert (outcome.blocked, outcome.arguments) == (False, {"command": "true"})


@pytest.mark.parametrize("name", HOSTS)
def test_another_prompt_blocks_the_one_that_was_typed(name: str) -> None:
    """No agent lets a hook rewrite a prompt, and one that redacts must not be passed over."""
    host = HOSTS[name]
    native_event = next(
        native_event for native_event, ours in host.events.items() if ours is HookEventName.BEFORE_AGENT
    )
    request = host.parse_request({"hook_event_name": native_event, "prompt": "my password is x"}, native_event)
    outcome = combine(request, [Verdict(event=HookEventName.BEFORE_AGENT, prompt="my password is ***")])
    response = host.render_response(request, outcome)
    assert outcome.blocked
    assert (
        response.exit_code == 2
        or "block" in str(response.stdout)
        or "deny" in str(response.stdout)
        or "False" in str(response.stdout)
    )
    assert response.unsupported


AFTER: dict[str, tuple[str, dict[str, Any]]] = {
    "claude": (
        "PostToolUse",
        {"tool_name": "Bash", "tool_response": {"stdout": "secret", "stderr": "", "isImage": False}},
    ),
    "codex": ("PostToolUse", {"tool_name": "Bash", "tool_response": "secret"}),
    "gemini": ("AfterTool", {"tool_name": "run_shell_command", "tool_response": {"llmContent": "secret"}}),
    "copilot": ("postToolUse", {"toolName": "bash", "toolResult": {"textResultForLlm": "secret"}}),
}


@pytest.mark.parametrize("name", AFTER)
def test_another_result_takes_the_place_of_the_tools_own(name: str) -> None:
    """Each agent has its own form for it, as was seen in them; an empty one must not let the old one through."""
    event, question = AFTER[name]
    for result in ("***", ""):
        response = render_response(
            name, MergedOutcome(result=result, message="m"), {"hook_event_name": event, **question}, event
        )
        expected = {
            "claude": f"'updatedToolOutput': {{'stdout': '{result}', 'stderr': ''",
            "codex": result or "(no output)",
            "gemini": f"'decision': 'deny', 'reason': '{result or '(no output)'}'",
            "copilot": f"'textResultForLlm': '{result}'",
        }[name]
        assert expected in f"{response.stdout} {response.stderr}"
        assert ("'systemMessage': 'm'" in str(response.stdout)) is (name in ("claude", "gemini"))
        assert any("a message for the user" in loss for loss in response.unsupported) is (name in ("codex", "copilot"))


def test_a_result_that_claude_code_can_not_replace_stops_it() -> None:
    """The model would read it otherwise."""
    question = {"hook_event_name": "PostToolUse", "tool_name": "Grep", "tool_response": {"filenames": ["a"]}}
    response = render_response("claude", MergedOutcome(result="***"), question)
    assert response.stdout is not None
    assert response.stdout["continue"] is False
    assert response.unsupported


def test_another_result_hides_no_stop_and_no_deny() -> None:
    """Codex gets the reason beside it, and the session is refused from then on."""
    event, question = AFTER["codex"]
    response = render_response(
        "codex", MergedOutcome(result="***", stop=True, stop_reason="enough"), {"hook_event_name": event, **question}
    )
    assert (response.exit_code, response.stderr, response.pending_stop) == (2, "***\n\nenough", "enough")


def test_a_tool_of_an_mcp_server_is_rewritten_in_gemini_cli() -> None:
    """Hookline has another name for it, and it is still the same call."""
    question = {
        "hook_event_name": "BeforeTool",
        "tool_name": "mcp_s_t",
        "tool_input": {"a": 1},
        "mcp_context": {"server_name": "s", "tool_name": "t"},
    }
    request = HOSTS["gemini"].parse_request(question, None)
    assert request.questions[0]["tool_name"] == "mcp__s__t"
    outcome = combine(request, [Verdict(event=HookEventName.BEFORE_TOOL, arguments={"a": 2})])
    assert outcome.arguments == {"a": 2}


@pytest.mark.parametrize(
    ("event", "asked", "verdict", "sent"),
    [
        pytest.param(
            "BeforeModel",
            {"llm_request": {"model": "m", "messages": [{"role": "user", "content": "x"}], "config": {}}},
            {"request": {"model": "m", "messages": [{"role": "user", "content": "***"}], "config": {}}},
            {"llm_request": {"messages": [{"role": "user", "content": "***"}]}},
            id="request",
        ),
        pytest.param("AfterModel", {}, {"response": {"text": "***"}}, {"llm_response": {"text": "***"}}, id="response"),
        pytest.param(
            "BeforeToolSelection",
            {},
            {"tools": ToolSelection(mode="ANY", names=("search_file_content", "other"))},
            {"toolConfig": {"mode": "ANY", "allowedFunctionNames": ["grep_search", "other"]}},
            id="tools",
        ),
    ],
)
def test_what_hooks_make_of_a_model_call_is_passed_on_to_gemini_cli(
    event: str, asked: dict[str, Any], verdict: dict[str, Any], sent: dict[str, Any]
) -> None:
    """In its names of the tools, and of a request only what was changed."""
    request = HOSTS["gemini"].parse_request({"hook_event_name": event, **asked}, None)
    outcome = combine(request, [Verdict(event=HookEventName(event), **verdict)])
    assert HOSTS["gemini"].render_response(request, outcome).stdout == {
        "hookSpecificOutput": {"hookEventName": event, **sent}
    }


@pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS)
@pytest.mark.parametrize("payload", [{}, {"hook_event_name": ""}, {"hook_event_name": 3, "toolName": 4}])
def test_a_question_that_can_not_be_read_is_never_taken_for_a_harmless_one(
    host: HostAgent, payload: dict[str, Any]
) -> None:
    """Nobody knows what the agent is about to do."""
    try:
        request = host.parse_request(payload, None)
    except UnreadableQuestionError:
        return
    assert request.fault
    assert not request.questions


@pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS)
def test_every_event_of_an_agent_can_be_heard_and_answered(host: HostAgent) -> None:
    """Missing fields cost nothing but themselves; a deny has a reason in every answer that blocks."""
    for native_event in host.events:
        given = {"tool_name": "x", "toolName": "x", "tool_input": {}, "toolArgs": {}, "command": "x", "file_path": "x"}
        request = host.parse_request({**given, "hook_event_name": native_event}, native_event)
        assert request.questions
        for outcome in (
            MergedOutcome(),
            DENY,
            MergedOutcome(stop=True, stop_reason="s"),
            MergedOutcome(context="c", suppress=True),
        ):
            host.render_response(request, outcome)


@pytest.mark.parametrize("name", HOSTS)
def test_a_compression_is_blocked_where_the_agent_can_keep_its_history(name: str) -> None:
    """Claude Code can; for the others the block is named as lost, and nothing else is made of it."""
    native_event = next(
        native_event for native_event, ours in HOSTS[name].events.items() if ours is HookEventName.PRE_COMPRESS
    )
    response = render_response(name, DENY, {"hook_event_name": native_event, "trigger": "auto"}, native_event)
    if name == "claude":
        assert (response.stdout, response.unsupported) == ({"decision": "block", "reason": "no"}, ())
    else:
        assert (response.stdout, response.exit_code, response.pending_stop) == (None, 0, "")
        assert response.unsupported == (f"a block: {HOSTS[name].agent} compresses the history whatever a hook says",)


def test_codex_is_stopped_before_it_compresses() -> None:
    """There `continue: false` is all that it understands."""
    question = {"hook_event_name": "PreCompact", "trigger": "auto"}
    assert render_response("codex", MergedOutcome(stop=True, stop_reason="s"), question).stdout == {
        "continue": False,
        "stopReason": "s",
    }


def test_another_prompt_is_lost_in_other_agents() -> None:
    """None of them takes a prompt from a hook; the context beside it is passed on."""
    request = HOSTS["claude"].parse_request({"hook_event_name": "UserPromptSubmit", "prompt": "p"}, None)
    outcome = combine(request, [Verdict(event=HookEventName.BEFORE_AGENT, prompt="q", context="c")])
    assert (outcome.unsupported, outcome.context) == ((NO_PROMPT,), "c")
