"""Hooks for agents of the Claude Agent SDK: `ClaudeAgentOptions(hooks=hookline_hooks(hooks))`.

- Hooks get Claude's tools under hookline's names, as with `hookline hook claude`: `Bash` is `run_shell_command`,
  `Write` is `write_file`; a tool of an MCP server is `mcp__SERVER__tool`.
- The model is asked by Claude Code, a separate program, so there are no hooks around model calls.
- A hook's `ask` is put to Claude's own permission prompt, `can_use_tool` of your program for one, unless `Hooks` has
  an `on_ask`.
- If the hooks can't be asked, the tool does not run.
- The reason of a stop is in the last tool result, because the SDK's messages show it nowhere else; where a tool's
  output has no place for it, it is on stderr.
- A tool's output that a hook hides and that can't be replaced in its own shape, such as the error of a tool that
  failed, stops the agent, because the model would read it.
- To have other hooks as well, add them to the lists of the dictionary that `hookline_hooks` returns.
"""

from collections.abc import Mapping
from typing import Any

from hookline.adapters.table import loading, report_once
from hookline.client import Hooks, Session, ToolCall, flow
from hookline.client.triggers.results import to_tool_result
from hookline.dialects import claude_results as results
from hookline.dialects.claude import CLAUDE

with loading("claude_agent") as _SELF:
    from claude_agent_sdk import HookMatcher

__all__ = ["hookline_hooks"]

# Each hook has its own limit. After this one Claude Code would go on without an answer.
_TIMEOUT_S = 3600.0


def hookline_hooks(hooks: Hooks) -> dict[Any, list[Any]]:
    """The callbacks for `ClaudeAgentOptions.hooks`; one agent's sessions are sessions with the ids of Claude Code."""
    _SELF.report(hooks)
    events = {"PreToolUse": _before_tool, "PostToolUse": _after_tool, "PostToolUseFailure": _after_tool}

    def matcher(event: str) -> Any:
        async def callback(hook_input: Any, tool_use_id: str | None, _context: Any) -> Any:
            _SELF.report(hooks)
            return await events[event](_session(hooks, hook_input), hook_input, tool_use_id)

        return HookMatcher(hooks=[callback], timeout=_TIMEOUT_S, on_failure="block")

    return {event: [matcher(event)] for event in events}


def _session(hooks: Hooks, hook_input: Mapping[str, Any]) -> Session:
    return hooks.session(
        hook_input["session_id"],
        agent=hook_input.get("agent_type"),
        cwd=hook_input["cwd"],
        transcript_path=hook_input["transcript_path"],
    )


async def _before_tool(session: Session, hook_input: Mapping[str, Any], tool_use_id: str | None) -> dict[str, Any]:
    tool, given = CLAUDE.tool_of_theirs(hook_input["tool_name"]), hook_input["tool_input"]
    # Claude's own permission prompt asks, unless the program has decided who does.
    steps = session.judging(
        tool.ours, tool.own_arguments(given), tool_use_id, None, leaves_questions=not session.can_ask
    )
    call = await flow.run(steps)
    specific: dict[str, Any] = {}
    if call.blocked:
        # Also for a stop: alone it would let the tool run first.
        specific |= {"permissionDecision": "deny", "permissionDecisionReason": call.refusal.llm_content}
    elif call.ask and not session.can_ask:
        specific |= {"permissionDecision": "ask", "permissionDecisionReason": call.reason}
    if call.changed and not call.blocked:
        specific["updatedInput"] = tool.rewritten(given, call.arguments, hook_input["cwd"])
    added = [call.context, f"[System] {call.note}" if call.note and not call.blocked else None]
    return _answer(hook_input, specific, added, call.stop_reason or "" if call.stop else None)


async def _after_tool(session: Session, hook_input: Mapping[str, Any], tool_use_id: str | None) -> dict[str, Any]:
    tool, given = CLAUDE.tool_of_theirs(hook_input["tool_name"]), hook_input["tool_input"]
    # The additions of BeforeTool hooks were sent before the tool ran.
    call = ToolCall(name=tool.ours, arguments=tool.own_arguments(given), call_id=tool_use_id)
    response = hook_input.get("tool_response", hook_input.get("error"))
    output = to_tool_result(results.text_of(response))
    result = await session.after_tool(call, output)
    content, shown = str(result.llm_content), response
    stop = result.stop_reason or "" if result.should_stop else None
    if is_hidden := not content.startswith(output.llm_content):
        shown = results.in_its_shape(response, content) if "tool_response" in hook_input else None
        stop = results.HIDDEN if shown is None else stop
    if stop is not None and "tool_response" in hook_input:
        shown = results.with_last_word(shown, stop) or _unsaid(stop, shown)
    specific = {} if shown is response or shown is None else {"updatedToolOutput": shown}
    return _answer(hook_input, specific, [] if is_hidden else [content.removeprefix(output.llm_content).strip()], stop)


def _unsaid(reason: str, shown: Any) -> Any:
    report_once(f"an AfterTool hook has stopped Claude Code, which does not show why: {reason}")
    return shown


def _answer(
    hook_input: Mapping[str, Any], specific: dict[str, Any], added: list[str | None], stop: str | None
) -> dict[str, Any]:
    answer: dict[str, Any] = {} if stop is None else {"continue_": False, "stopReason": stop}
    if text := "\n\n".join(filter(None, added)):
        specific["additionalContext"] = text
    if specific:
        answer["hookSpecificOutput"] = {"hookEventName": hook_input["hook_event_name"], **specific}
    return answer
