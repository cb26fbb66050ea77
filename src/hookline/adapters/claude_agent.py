"""Hooks for agents of the Claude Agent SDK: `ClaudeAgentOptions(hooks=hookline_hooks(hooks))`.

- Hooks get Claude's tools under hookline's names, as with `hookline bridge claude`: `Bash` is `run_shell_command`,
  `Write` is `write_file`; a tool of an MCP server is `mcp__SERVER__tool`.
- The model is asked by Claude Code, a program of its own, so there are no hooks around model calls.
- A hook's `ask` is put to Claude's own permission prompt, `can_use_tool` of your program for one, unless `Hooks` has
  an `on_ask`.
- If the hooks can't be asked, the tool does not run.
- The reason of a stop is in the last tool result, because the SDK's messages show it nowhere else; where a tool's
  output has no place for it, it is on stderr.
- To have other hooks as well, add them to the lists of the dictionary that `hookline_hooks` returns.
"""

from collections.abc import Mapping
from typing import Any

from hookline.adapters.table import loaded, missing, report_once
from hookline.dialects.claude import CLAUDE
from hookline.dialects.table import Tool
from hookline.hooks import Hooks, Session, ToolCall
from hookline.triggers.results import to_tool_result

try:
    from claude_agent_sdk import HookMatcher
except ModuleNotFoundError as error:
    raise missing("claude_agent") from error

__all__ = ["hookline_hooks"]

_SELF = loaded("claude_agent")
# Each hook has its own limit. After this one Claude Code would go on without an answer.
_TIMEOUT_S = 3600.0


def hookline_hooks(hooks: Hooks) -> dict[Any, list[Any]]:
    """The callbacks for `ClaudeAgentOptions.hooks`; one agent's sessions are sessions with the ids of Claude Code."""
    _SELF.report(hooks)
    events = {"PreToolUse": _before_tool, "PostToolUse": _after_tool, "PostToolUseFailure": _after_tool}

    def matcher(event: str) -> Any:
        async def callback(told: Any, tool_use_id: str | None, _context: Any) -> Any:
            _SELF.report(hooks)
            return await events[event](_session(hooks, told), told, tool_use_id)

        return HookMatcher(hooks=[callback], timeout=_TIMEOUT_S, on_failure="block")

    return {event: [matcher(event)] for event in events}


def _session(hooks: Hooks, told: Mapping[str, Any]) -> Session:
    return hooks.session(
        told["session_id"], agent=told.get("agent_type"), cwd=told["cwd"], transcript_path=told["transcript_path"]
    )


async def _before_tool(session: Session, told: Mapping[str, Any], tool_use_id: str | None) -> dict[str, Any]:
    tool, given = CLAUDE.tool_of_theirs(told["tool_name"]), told["tool_input"]
    call = await session.before_tool(tool.ours, tool.in_our_words(given), call_id=tool_use_id)
    specific: dict[str, Any] = {}
    if call.blocked:
        # Also for a stop: alone it would let the tool run first.
        specific |= {"permissionDecision": "deny", "permissionDecisionReason": call.refusal.llm_content}
    elif call.ask:
        specific |= {"permissionDecision": "ask", "permissionDecisionReason": call.reason}
    if call.changed and not call.blocked:
        specific["updatedInput"] = _in_their_words(tool, call.arguments, given, told["cwd"])
    added = [*filter(None, [call.context]), *([f"[System] {call.note}"] if call.note and not call.blocked else [])]
    return _answer(told, specific, added, stop=call.stop, reason=call.stop_reason)


async def _after_tool(session: Session, told: Mapping[str, Any], tool_use_id: str | None) -> dict[str, Any]:
    tool, given = CLAUDE.tool_of_theirs(told["tool_name"]), told["tool_input"]
    # What BeforeTool hooks added was sent before the tool ran.
    call = ToolCall(name=tool.ours, arguments=tool.in_our_words(given), call_id=tool_use_id)
    response = told.get("tool_response", told.get("error"))
    output = to_tool_result(_text(response))
    result = await session.after_tool(call, output)
    content, specific = result.llm_content, dict[str, Any]()
    added = []
    if isinstance(content, str) and content.startswith(output.llm_content):
        added = [content.removeprefix(output.llm_content).strip()]
    elif "tool_response" in told:
        specific["updatedToolOutput"] = _replaced(response, content)
    else:
        report_once("Claude Code does not let a hook replace the error of a tool that failed")
    if result.should_stop:
        specific |= _last_word(specific.get("updatedToolOutput", told.get("tool_response")), result.stop_reason or "")
    return _answer(told, specific, added, stop=result.should_stop, reason=result.stop_reason)


def _last_word(response: Any, reason: str) -> dict[str, Any]:
    """The tool's output with the reason of a stop: Claude Code shows a `stopReason` nowhere in the SDK's messages."""
    if isinstance(response, str):
        return {"updatedToolOutput": f"{response}\n\n{reason}"}
    if isinstance(response, list):
        return {"updatedToolOutput": [*response, {"type": "text", "text": reason}]}
    if isinstance(response, Mapping) and isinstance(response.get("stdout"), str):
        return {"updatedToolOutput": {**response, "stdout": f"{response['stdout']}\n\n{reason}"}}
    report_once(f"an AfterTool hook has stopped Claude Code, which does not show why: {reason}")
    return {}


def _answer(
    told: Mapping[str, Any], specific: dict[str, Any], added: list[str], *, stop: bool, reason: str | None
) -> dict[str, Any]:
    answer: dict[str, Any] = {"continue_": False, "stopReason": reason or ""} if stop else {}
    if text := "\n\n".join(filter(None, added)):
        specific["additionalContext"] = text
    if specific:
        answer["hookSpecificOutput"] = {"hookEventName": told["hook_event_name"], **specific}
    return answer


def _in_their_words(tool: Tool, wanted: dict[str, Any], given: Mapping[str, Any], cwd: str) -> dict[str, Any]:
    """The rewritten arguments; those that no hook changed stay as Claude gave them."""
    before, after = tool.tell(tool.in_our_words(given), cwd), tool.tell(wanted, cwd)
    kept = {name: value for name, value in given.items() if name in after or name not in before}
    return kept | {name: value for name, value in after.items() if before.get(name) != value}


def _text(response: Any) -> Any:
    """What the model reads of a tool's response, as far as it is known."""
    if isinstance(response, Mapping) and isinstance(response.get("stdout"), str):
        return "\n".join(filter(None, (response["stdout"], str(response.get("stderr") or ""))))
    return response


def _replaced(response: Any, content: Any) -> Any:
    """Another output in the shape of the tool's own, without which Claude Code keeps the old one."""
    if isinstance(response, Mapping) and "stdout" in response:
        return {**response, "stdout": str(content), "stderr": ""}
    return content
