"""The Claude Agent SDK with hooks: its callbacks, and the real Claude Code that it brings, against a stand-in model."""

import asyncio
import json
import shlex
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("claude_agent_sdk", reason="the SDK is not installed here: `make adapters` runs these tests")

from claude_agent_sdk import ClaudeAgentOptions, HookMatcher, ResultMessage, create_sdk_mcp_server, query, tool
from claude_agent_sdk.types import PostToolUseFailureHookInput, PostToolUseHookInput, PreToolUseHookInput
from tests.live.models import Anthropic, Call, Model

from hookline import Hooks
from hookline.adapters.claude_agent import hookline_hooks
from hookline.adapters.table import adapter, events_of

ROOT = Path(__file__).parents[2]
NO = "echo no >&2; exit 2"


def says(answer: Mapping[str, Any]) -> str:
    """A hook that answers this."""
    return f"printf %s {shlex.quote(json.dumps(answer))}"


STOP = says({"continue": False, "stopReason": "The budget is spent."})
CONTEXT = says({"hookSpecificOutput": {"additionalContext": "Use tabs."}, "systemMessage": "Be brief."})


def hooks_of(project: Path, **commands: str) -> Hooks:
    """Hooks from settings in code."""
    events = {event: [{"hooks": [{"type": "command", "command": command}]}] for event, command in commands.items()}
    return Hooks(project, settings={"enableHooks": True, "hooks": events})


def ask(hooks: Hooks, told: Any) -> Any:
    """What the adapter answers to a question of Claude Code."""
    (matcher,) = hookline_hooks(hooks)[told["hook_event_name"]]
    assert isinstance(matcher, HookMatcher)
    (callback,) = matcher.hooks
    return asyncio.run(_awaited(callback(told, "toolu_1", {"signal": None})))


async def _awaited(answer: Any) -> Any:
    return await answer


def before(project: Path, tool_name: str = "Bash", **tool_input: Any) -> PreToolUseHookInput:
    """A question before a tool runs."""
    return {
        "hook_event_name": "PreToolUse",
        "session_id": "s-1",
        "transcript_path": "",
        "cwd": str(project),
        "tool_name": tool_name,
        "tool_input": tool_input or {"command": "ls", "description": "d"},
        "tool_use_id": "toolu_1",
    }


def after(project: Path, response: Any) -> PostToolUseHookInput:
    """A question after a tool has run."""
    return {**before(project), "hook_event_name": "PostToolUse", "tool_response": response}


def specific(**fields: Any) -> dict[str, Any]:
    """What Claude Code reads of an answer."""
    event = "PostToolUse" if fields.pop("after", False) else "PreToolUse"
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


REWRITE = says({"hookSpecificOutput": {"tool_input": {"command": "ls -a"}}})
ASK = says({"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "Sure?"}})


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        pytest.param("true", {}, id="nothing"),
        pytest.param(NO, specific(permissionDecision="deny", permissionDecisionReason="no"), id="deny"),
        pytest.param(REWRITE, specific(updatedInput={"command": "ls -a", "description": "d"}), id="rewrite"),
        pytest.param(ASK, specific(permissionDecision="ask", permissionDecisionReason="Sure?"), id="ask"),
        pytest.param(CONTEXT, specific(additionalContext="Use tabs.\n\n[System] Be brief."), id="context"),
        pytest.param(
            STOP,
            {
                "continue_": False,
                "stopReason": "The budget is spent.",
                **specific(permissionDecision="deny", permissionDecisionReason="The budget is spent."),
            },
            id="stop",
        ),
    ],
)
def test_before_tool(tmp_path: Path, command: str, answer: dict[str, Any]) -> None:
    """What BeforeTool hooks decide, in the words of the SDK."""
    assert ask(hooks_of(tmp_path, BeforeTool=command), before(tmp_path)) == answer


OUTPUT = {"stdout": "a.txt", "stderr": "", "interrupted": False}


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        pytest.param("true", {}, id="nothing"),
        pytest.param(CONTEXT, specific(after=True, additionalContext="Use tabs.\n\n[System] Be brief."), id="context"),
        pytest.param(STOP, {"continue_": False, "stopReason": "The budget is spent."}, id="stop"),
    ],
)
@pytest.mark.parametrize(
    "response", [OUTPUT, "a.txt", [{"type": "text", "text": "a.txt"}]], ids=["bash", "text", "mcp"]
)
def test_after_tool(tmp_path: Path, command: str, answer: dict[str, Any], response: Any) -> None:
    """What AfterTool hooks decide, in the words of the SDK."""
    assert ask(hooks_of(tmp_path, AfterTool=command), after(tmp_path, response)) == answer


@pytest.mark.parametrize(
    ("tool_name", "response", "given", "replaced"),
    [
        pytest.param("Bash", OUTPUT, {"stdout": "[hidden]"}, {**OUTPUT, "stdout": "[hidden]"}, id="bash"),
        pytest.param("mcp__files__look", "a.txt", "[hidden]", "[hidden]", id="mcp"),
    ],
)
def test_replaced_output(tmp_path: Path, tool_name: str, response: Any, given: Any, replaced: Any) -> None:
    """A hook of Claude Code's own dialect hides an output; the new one has the shape that Claude Code accepts."""
    command = says({"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": given}})
    groups = [{"hooks": [{"type": "command", "command": command}]}]
    hooks = Hooks(tmp_path, settings={"enableHooks": True, "dialect": "claude", "hooks": {"PostToolUse": groups}})
    told: Any = {**after(tmp_path, response), "tool_name": tool_name}
    assert ask(hooks, told) == specific(after=True, updatedToolOutput=replaced)


def test_failed_tool_has_an_after_tool_event(tmp_path: Path) -> None:
    """AfterTool hooks read the error."""
    told: PostToolUseFailureHookInput = {
        **before(tmp_path),
        "hook_event_name": "PostToolUseFailure",
        "error": "No such file.",
    }
    ask(hooks_of(tmp_path, AfterTool="cat > told"), told)
    assert "No such file." in (tmp_path / "told").read_text()


def test_tools_have_their_names_of_hookline(tmp_path: Path) -> None:
    """Hooks are told `write_file` with its arguments, and a rewrite is Claude's again."""
    told = f"cat > told; {says({'hookSpecificOutput': {'tool_input': {'content': 'safe'}}})}"
    question = before(tmp_path, "Write", file_path=str(tmp_path / "a.txt"), content="x")
    answer = ask(hooks_of(tmp_path, BeforeTool=told), question)
    given = json.loads((tmp_path / "told").read_text())
    assert (given["tool_name"], given["session_id"]) == ("write_file", "s-1")
    assert answer == specific(updatedInput={"file_path": str(tmp_path / "a.txt"), "content": "safe"})


def test_hooks_that_can_not_be_asked_fail_the_callback(tmp_path: Path) -> None:
    """Closed hooks raise, and Claude Code is told to take a failure for a no."""
    hooks = hooks_of(tmp_path, BeforeTool="true")
    assert {one.on_failure for matchers in hookline_hooks(hooks).values() for one in matchers} == {"block"}
    hooks.close()
    with pytest.raises(Exception, match="closed"):
        ask(hooks, before(tmp_path))


def test_declared_inabilities_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Hooks around model calls never run here, and that is said."""
    events = sorted({event for key in adapter("claude_agent").cannot for event in events_of(key)})
    assert events == ["AfterModel", "BeforeModel", "BeforeToolSelection"]
    hookline_hooks(hooks_of(tmp_path, **dict.fromkeys(events, "true")))
    err = capsys.readouterr().err
    assert all(event in err for event in events)


# --- the real Claude Code


@dataclass
class Seen:
    """What a run of Claude Code came to."""

    ran: list[dict[str, Any]] = field(default_factory=list)
    requests: list[Any] = field(default_factory=list)
    result: Any = None

    @property
    def results(self) -> str:
        """What the model was told after its call."""
        return json.dumps(self.requests[1:])


def run(tmp_path: Path, **commands: str) -> Seen:
    """Claude Code, with a tool of this program and a model that calls it once."""
    seen = Seen()
    home, project = tmp_path / "claude-home", tmp_path / "claude-project"
    home.mkdir()
    project.mkdir()

    @tool("write_file", "Writes a file.", {"path": str})
    async def write_file(arguments: dict[str, Any]) -> dict[str, Any]:
        seen.ran.append(arguments)
        return {"content": [{"type": "text", "text": f"Wrote {arguments['path']}."}]}

    async def converse(url: str) -> None:
        options = ClaudeAgentOptions(
            hooks=hookline_hooks(hooks),
            mcp_servers={"files": create_sdk_mcp_server("files", tools=[write_file])},
            allowed_tools=["mcp__files__write_file"],
            setting_sources=[],
            cwd=project,
            env={
                "HOME": str(home),
                "ANTHROPIC_BASE_URL": url,
                "ANTHROPIC_API_KEY": "x",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "DISABLE_TELEMETRY": "1",
                "DISABLE_AUTOUPDATER": "1",
            },
        )
        async for message in query(prompt="Please work.", options=options):
            if isinstance(message, ResultMessage):
                seen.result = message

    turns: list[list[Call | str]] = [[Call("mcp__files__write_file", {"path": "a.txt"})], ["All done."]]
    with closing(Model(Anthropic(), turns)) as model, hooks_of(project, **commands) as hooks:
        asyncio.run(converse(model.url))
        seen.requests = list(model.requests)
    return seen


def test_real_claude_code_without_effect(tmp_path: Path) -> None:
    """The tool runs, and the model reads its result."""
    seen = run(tmp_path, BeforeTool="true", AfterTool="true")
    assert (seen.ran, seen.result.result) == ([{"path": "a.txt"}], "All done.")
    assert "Wrote a.txt." in seen.results


def test_real_claude_code_deny(tmp_path: Path) -> None:
    """The tool does not run, and the model reads the reason."""
    seen = run(tmp_path, BeforeTool="echo 'Nothing is written here.' >&2; exit 2")
    assert (seen.ran, seen.result.result) == ([], "All done.")
    assert "Nothing is written here." in seen.results


def test_real_claude_code_rewrite(tmp_path: Path) -> None:
    """The tool runs with the hook's argument."""
    seen = run(tmp_path, BeforeTool=says({"hookSpecificOutput": {"tool_input": {"path": "b.txt"}}}))
    assert seen.ran == [{"path": "b.txt"}]


@pytest.mark.parametrize("event", ["BeforeTool", "AfterTool"])
def test_real_claude_code_context(tmp_path: Path, event: str) -> None:
    """The model reads the context."""
    seen = run(tmp_path, **{event: CONTEXT})
    assert len(seen.ran) == 1
    assert "Use tabs." in seen.results


@pytest.mark.parametrize(("event", "ran"), [("BeforeTool", 0), ("AfterTool", 1)])
def test_real_claude_code_stop(tmp_path: Path, event: str, ran: int) -> None:
    """The model is not asked again."""
    seen = run(tmp_path, **{event: STOP})
    assert (len(seen.ran), len(seen.requests)) == (ran, 1)


def test_real_claude_code_takes_broken_hooks_for_a_no(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault in the callback: the tool does not run."""

    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("broken")

    monkeypatch.setattr(Hooks, "session", broken)
    assert run(tmp_path, BeforeTool="true").ran == []


def test_the_example_prints_what_is_shown() -> None:
    """The example runs as a reader would run it."""
    example = ROOT / "examples" / "adapters" / "claude_agent_agent.py"
    done = subprocess.run([sys.executable, example], capture_output=True, text=True, check=False, timeout=20)
    assert (done.returncode, done.stdout) == (0, example.with_suffix(".txt").read_text()), done.stderr
