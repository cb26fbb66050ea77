"""The Claude Agent SDK with hooks: its callbacks, and the real Claude Code that it brings, against a stand-in model."""

import asyncio
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("claude_agent_sdk", reason="the SDK is not installed here: `make adapters` runs these tests")

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    HookMatcher,
    TextBlock,
    UserMessage,
    create_sdk_mcp_server,
    query,
    tool,
)
from claude_agent_sdk.types import PostToolUseFailureHookInput, PostToolUseHookInput, PreToolUseHookInput
from tests.answers import says
from tests.live.models import Anthropic, Call, Model

from hookline import Hooks
from hookline.adapters.claude_agent import hookline_hooks
from hookline.adapters.table import adapter_named, events_of
from hookline.testing import effects
from hookline.testing.effects import Conversation, Request, RunOutcome, Turn

ROOT = Path(__file__).parents[2]
NO = "echo no >&2; exit 2"


STOP = says({"continue": False, "stopReason": "The budget is spent."})
CONTEXT = says({"hookSpecificOutput": {"additionalContext": "Use tabs."}, "systemMessage": "Be brief."})


def hooks_of(project: Path, **commands: str) -> Hooks:
    """Hooks from settings in code."""
    events = {event: [{"hooks": [{"type": "command", "command": command}]}] for event, command in commands.items()}
    return Hooks(project, settings={"enableHooks": True, "hooks": events})


def ask(hooks: Hooks, told: Any) -> Any:
    """The adapter's answer to a request of Claude Code."""
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
    """The part of an answer that Claude Code reads."""
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
    """The decisions of BeforeTool hooks, in the SDK's format."""
    assert ask(hooks_of(tmp_path, BeforeTool=command), before(tmp_path)) == answer


OUTPUT = {"stdout": "a.txt", "stderr": "", "interrupted": False}


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        pytest.param("true", {}, id="nothing"),
        pytest.param(CONTEXT, specific(after=True, additionalContext="Use tabs.\n\n[System] Be brief."), id="context"),
    ],
)
@pytest.mark.parametrize(
    "response", [OUTPUT, "a.txt", [{"type": "text", "text": "a.txt"}]], ids=["bash", "text", "mcp"]
)
def test_after_tool(tmp_path: Path, command: str, answer: dict[str, Any], response: Any) -> None:
    """The decisions of AfterTool hooks, in the SDK's format."""
    assert ask(hooks_of(tmp_path, AfterTool=command), after(tmp_path, response)) == answer


BUDGET = {"type": "text", "text": "The budget is spent."}


@pytest.mark.parametrize(
    ("response", "shown"),
    [
        pytest.param(OUTPUT, {**OUTPUT, "stdout": "a.txt\n\nThe budget is spent."}, id="bash"),
        pytest.param("a.txt", "a.txt\n\nThe budget is spent.", id="text"),
        pytest.param([{"type": "text", "text": "a.txt"}], [{"type": "text", "text": "a.txt"}, BUDGET], id="mcp"),
    ],
)
def test_after_tool_stop(tmp_path: Path, response: Any, shown: Any) -> None:
    """The agent stops, and its last tool result says why."""
    stop = {"continue_": False, "stopReason": "The budget is spent."}
    answer = ask(hooks_of(tmp_path, AfterTool=STOP), after(tmp_path, response))
    assert answer == {**stop, **specific(after=True, updatedToolOutput=shown)}


def test_after_tool_stop_without_a_place_for_the_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An output of an unknown shape stays, and stderr has the reason."""
    answer = ask(hooks_of(tmp_path, AfterTool=STOP), after(tmp_path, {"filePath": "a.txt"}))
    assert answer == {"continue_": False, "stopReason": "The budget is spent."}
    assert "does not show why: The budget is spent." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("tool_name", "response", "given", "replaced"),
    [
        pytest.param("Bash", OUTPUT, {"stdout": "[hidden]"}, {**OUTPUT, "stdout": "[hidden]"}, id="bash"),
        pytest.param("mcp__files__look", "a.txt", "[hidden]", "[hidden]", id="mcp"),
        pytest.param("mcp__files__look", [BUDGET], "[hidden]", [{"type": "text", "text": "[hidden]"}], id="mcp-blocks"),
        pytest.param(
            "Read",
            {"type": "text", "file": {"filePath": "a.txt", "content": "s3cret", "numLines": 9, "totalLines": 9}},
            "[hidden]",
            {"type": "text", "file": {"filePath": "a.txt", "content": "[hidden]", "numLines": 1, "totalLines": 1}},
            id="read",
        ),
    ],
)
def test_replaced_output(tmp_path: Path, tool_name: str, response: Any, given: Any, replaced: Any) -> None:
    """A hook of Claude Code's own dialect hides an output; the new one has the shape that Claude Code accepts."""
    told: Any = {**after(tmp_path, response), "tool_name": tool_name}
    assert ask(hiding(tmp_path, given), told) == specific(after=True, updatedToolOutput=replaced)


def hiding(project: Path, given: Any) -> Hooks:
    """A hook of Claude Code's own dialect that hides an output."""
    command = says({"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": given}})
    groups = [{"hooks": [{"type": "command", "command": command}]}]
    return Hooks(project, settings={"enableHooks": True, "dialect": "claude", "hooks": {"PostToolUse": groups}})


def test_what_is_hidden_and_can_not_be_replaced_stops_the_agent(tmp_path: Path) -> None:
    """The agent stops at an output of an unknown shape and at a tool's error, because the model would read them."""
    hooks = hiding(tmp_path, "[hidden]")
    stop = {"continue_": False, "stopReason": "A hook of hookline hides this result, which can't be replaced"}
    told: Any = {**after(tmp_path, {"matches": ["s3cret"]}), "tool_name": "mcp__files__look"}
    assert ask(hooks, told) == stop
    failing = hooks_of(tmp_path, AfterTool=says({"hookSpecificOutput": {"tool_output": "[hidden]"}}))
    error: Any = {**before(tmp_path), "hook_event_name": "PostToolUseFailure", "error": "s3cret"}
    assert ask(failing, error) == stop


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
    """Hooks get `write_file` with its arguments, and a rewrite is translated back for Claude."""
    told = f"cat > told; {says({'hookSpecificOutput': {'tool_input': {'content': 'safe'}}})}"
    question = before(tmp_path, "Write", file_path=str(tmp_path / "a.txt"), content="x")
    answer = ask(hooks_of(tmp_path, BeforeTool=told), question)
    given = json.loads((tmp_path / "told").read_text())
    assert (given["tool_name"], given["session_id"]) == ("write_file", "s-1")
    assert answer == specific(updatedInput={"file_path": str(tmp_path / "a.txt"), "content": "safe"})


def test_hooks_that_can_not_be_asked_fail_the_callback(tmp_path: Path) -> None:
    """Closed hooks raise, and Claude Code is configured to take a failure for a refusal."""
    hooks = hooks_of(tmp_path, BeforeTool="true")
    assert {one.on_failure for matchers in hookline_hooks(hooks).values() for one in matchers} == {"block"}
    hooks.close()
    with pytest.raises(Exception, match="closed"):
        ask(hooks, before(tmp_path))


def test_declared_inabilities_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Hooks around model calls never run here, which is reported."""
    events = sorted({event for key in adapter_named("claude_agent").cannot for event in events_of(key)})
    assert events == ["AfterModel", "BeforeModel", "BeforeToolSelection"]
    hookline_hooks(hooks_of(tmp_path, **dict.fromkeys(events, "true")))
    err = capsys.readouterr().err
    assert all(event in err for event in events)


# --- the real Claude Code


def variables(home: Path, url: str) -> dict[str, str]:
    """The environment of a Claude Code that knows nothing but a stand-in for its model."""
    return {
        "HOME": str(home),
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "x",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "ENABLE_TOOL_SEARCH": "false",  # it would offer the tools only when the model asks for them
    }


def known_as(name: str) -> str:
    """The name of a tool in Claude Code: it is one of an MCP server."""
    return f"mcp__files__{name}"


def in_sdk(function: Callable[..., str]) -> Any:
    """A tool of the table as one of the SDK."""
    fields = {name: str for name in function.__annotations__ if name != "return"}

    @tool(function.__name__, str(function.__doc__), fields)
    async def call(arguments: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": function(**arguments)}]}

    return call


def answered(turn: Turn) -> list[Call | str]:
    """A turn of the script, as the stand-in says it."""
    return [*([turn.text] if turn.text else []), *([Call(turn.call[0], dict(turn.call[1]))] if turn.call else [])]


def request_of(body: Any) -> Request:
    """The requests that the model got."""
    contents = [body.get("system", ""), *(one["content"] for one in body["messages"])]
    blocks = [block for content in contents for block in ([content] if isinstance(content, str) else content)]
    results = [block for block in blocks if not isinstance(block, str) and block["type"] == "tool_result"]
    return Request(
        texts=tuple(block if isinstance(block, str) else block.get("text", "") for block in blocks),
        # Claude Code sends a hook's context beside the result, in a separate block.
        results=tuple(json.dumps(one["content"]) for one in results)
        if not results
        else (json.dumps(body["messages"]),),
        tools=tuple(one["name"] for one in body["tools"] if one["name"].startswith("mcp__files__")),
    )


def _shown(block: Any) -> str:
    return block.text if isinstance(block, TextBlock) else str(getattr(block, "content", ""))


class ClaudeHost:
    """Claude Code, as the SDK brings it, with the tools of this program."""

    async def run(self, hooks: Hooks, conversation: Conversation, tools: Sequence[Callable[..., str]]) -> RunOutcome:
        """The conversation in a new process."""
        shown: list[str] = []
        with (
            tempfile.TemporaryDirectory() as home,
            closing(Model(Anthropic(), [answered(turn) for turn in conversation.turns])) as model,
        ):
            options = ClaudeAgentOptions(
                system_prompt=conversation.system,
                hooks=hookline_hooks(hooks),
                mcp_servers={"files": create_sdk_mcp_server("files", tools=[in_sdk(one) for one in tools])},
                allowed_tools=[known_as(one.__name__) for one in tools],
                setting_sources=[],
                cwd=home,
                env=variables(Path(home), model.url),
            )
            async for message in query(prompt=conversation.prompt, options=options):
                if isinstance(message, AssistantMessage | UserMessage):
                    shown += [_shown(block) for block in message.content]
            return RunOutcome(shown=tuple(shown), requests=tuple(map(request_of, model.requests)))


@pytest.mark.parametrize("effect", effects.ROWS, ids=str)
def test_every_effect_holds_or_is_declared(effect: effects.Effect) -> None:
    """The effects of tool hooks hold, and those of hooks around model calls are declared as impossible, and are."""
    cannot = adapter_named("claude_agent").cannot
    asyncio.run(effects.check(ClaudeHost(), effect, cannot=cannot, tool_name=known_as))


def test_real_claude_code_shows_the_model_what_a_hook_left(tmp_path: Path) -> None:
    """Its own tools take a result in their own shape only: with any other the model would read the old one."""
    (tmp_path / "a.txt").write_text("s3cret")
    turns = [Turn(call=("Read", {"file_path": str(tmp_path / "a.txt")})), Turn("All done.")]

    async def read() -> str:
        with (
            closing(Model(Anthropic(), [answered(turn) for turn in turns])) as model,
            hooks_of(tmp_path, AfterTool=says({"hookSpecificOutput": {"tool_output": "[hidden]"}})) as hooks,
        ):
            options = ClaudeAgentOptions(
                hooks=hookline_hooks(hooks),
                allowed_tools=["Read"],
                setting_sources=[],
                cwd=tmp_path,
                env=variables(tmp_path, model.url),
            )
            async for _ in query(prompt="Go.", options=options):
                pass
            return json.dumps(model.requests[-1]["messages"])

    told = asyncio.run(read())
    assert "[hidden]" in told
    assert "s3cret" not in told


def test_real_claude_code_takes_broken_hooks_for_a_no(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault in the callback: the tool does not run."""
    ran: list[str] = []

    def write_file(path: str) -> str:
        """Writes a file."""
        ran.append(path)
        return path

    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("broken")

    monkeypatch.setattr(Hooks, "session", broken)
    said = Conversation((Turn(call=(known_as("write_file"), {"path": "a.txt"})), Turn("All done.")))
    with Hooks(".", settings={}) as hooks:
        asyncio.run(ClaudeHost().run(hooks, said, [write_file]))
    assert ran == []


def test_the_example_prints_what_is_shown() -> None:
    """The example runs as a reader would run it."""
    example = ROOT / "examples" / "adapters" / "claude_agent_agent.py"
    done = subprocess.run([sys.executable, example], capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (0, example.with_suffix(".txt").read_text()), done.stderr
