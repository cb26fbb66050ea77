"""Hooks around tools: the two triggers, and the one door through which tools are run."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from hookline.contract.events import HookEventName
from hookline.contract.vocabulary import at_approval
from hookline.triggers.arguments import own_copy
from hookline.triggers.door import attempt, fire, system_of
from hookline.triggers.results import AskReason, Normalize, ToolResult, Validate, to_tool_result

if TYPE_CHECKING:
    from hookline.config import Config
    from hookline.contract.outputs import DefaultHookOutput
    from hookline.contract.verdict import Verdict

__all__ = [
    "ToolResult",
    "execute_tool_with_hooks",
    "fire_after_tool_hook",
    "fire_before_tool_hook",
    "fire_permission_hook",
]

ToolOutput = ToolResult | str | Mapping[str, Any]
ExecuteFn = Callable[[dict[str, Any]], Awaitable[ToolOutput]]
OnAsk = Callable[[AskReason, Mapping[str, Any]], Awaitable[bool]]


async def fire_before_tool_hook(
    config: "Config",
    tool_name: str,
    tool_input: Mapping[str, Any],
    *,
    mcp_context: Mapping[str, Any] | None = None,
) -> "DefaultHookOutput | None":
    """What the BeforeTool hooks answered together, or None when nothing is to be done about it."""
    fields = {"tool_name": tool_name, "tool_input": tool_input}
    return _output(await fire(system_of(config), HookEventName.BEFORE_TOOL, fields, mcp_context))


async def fire_after_tool_hook(
    config: "Config",
    tool_name: str,
    tool_input: Mapping[str, Any],
    tool_response: Mapping[str, Any],
    *,
    mcp_context: Mapping[str, Any] | None = None,
) -> "DefaultHookOutput | None":
    """What the AfterTool hooks answered together, or None when nothing is to be done about it."""
    fields = {"tool_name": tool_name, "tool_input": tool_input, "tool_response": tool_response}
    return _output(await fire(system_of(config), HookEventName.AFTER_TOOL, fields, mcp_context))


async def fire_permission_hook(
    config: "Config",
    tool_name: str,
    tool_input: Mapping[str, Any],
    *,
    mcp_context: Mapping[str, Any] | None = None,
) -> AskReason | None:
    """Why hooks refuse a tool before a person is asked to allow it, and which hooks; None when they don't.

    Those are hooks for PermissionRequest of other agents, and only their deny counts.
    """
    system = system_of(config)
    if system is None or not attempt(lambda: system.has_approval_hooks, otherwise=True):
        return None
    token = at_approval.set(True)
    try:
        fields = {"tool_name": tool_name, "tool_input": tool_input}
        verdict = await fire(system, HookEventName.BEFORE_TOOL, fields, mcp_context)
    finally:
        at_approval.reset(token)
    if verdict is None or not verdict.blocked:
        return None
    return AskReason(verdict.reason or "Blocked by hook", verdict.deciders)


async def execute_tool_with_hooks(
    config: "Config",
    tool_name: str,
    tool_input: Mapping[str, Any],
    execute_fn: ExecuteFn,
    *,
    normalize: Normalize | None = None,
    validate: Validate | None = None,
    on_ask: OnAsk | None = None,
    mcp_context: Mapping[str, Any] | None = None,
) -> ToolResult:
    """Runs a tool between its hooks and returns the result with everything that they answered applied.

    `execute_fn` gets the arguments to run with and returns a `ToolResult`, a text or a mapping; it is not called when
    a hook blocks or stops. Arguments that a hook rewrote pass `normalize`, which gives them their proper names, and
    `validate`, which returns what is wrong with them or None. When a hook wants a person to be asked, `on_ask` gets the
    reason (with the hooks' names in its `hooks`) and the arguments, and returns True or False, whether the call may go
    on (TypeError for anything else); without it the call goes on, and the log says so.
    Only what `execute_fn` and `on_ask` raise reaches the caller.
    """
    system = system_of(config)
    if system is None:
        return to_tool_result(await execute_fn(dict(tool_input)))
    from hookline.triggers import apply_tool  # noqa: PLC0415 - nothing of it is loaded while hooks are disabled

    told = own_copy(tool_input)
    if told is None:
        return apply_tool.no_arguments(tool_name, tool_input)
    fields: dict[str, Any] = {"tool_name": tool_name, "tool_input": told}
    before = await fire(system, HookEventName.BEFORE_TOOL, fields, mcp_context)
    if before is not None and before.blocked:
        return apply_tool.refusal(before)
    arguments = told
    if before is not None and before.arguments is not None:
        arguments, fault = apply_tool.rewritten(before.arguments, normalize, validate)
        if fault is not None:
            return apply_tool.invalid_rewrite(before, fault, system.get_log().write)
    if before is not None and before.ask:
        if on_ask is None:
            apply_tool.log_unasked(before, system.get_log().write)
        elif not _is_yes(await on_ask(AskReason(before.reason or "", before.deciders), arguments)):
            return apply_tool.refusal(before)
    # The tool gets a copy: AfterTool hooks read the arguments it was called with, even if it changes them.
    result = to_tool_result(await execute_fn(own_copy(arguments) or {}))
    fields = {"tool_name": tool_name, "tool_input": arguments, "tool_response": result.to_tool_response()}
    after = await fire(system, HookEventName.AFTER_TOOL, fields, mcp_context)
    return apply_tool.applied(result, before, after)


def _is_yes(answer: object) -> bool:
    """TypeError for an answer of `on_ask` that is neither yes nor no: "no" would be true."""
    if not isinstance(answer, bool):
        raise TypeError(f"the answer of on_ask is {answer!r}; expected True or False")
    return answer


def _output(verdict: "Verdict | None") -> "DefaultHookOutput | None":
    if verdict is None or verdict.answer is None:
        return None
    from hookline.engine.event_table import EVENT_TABLE  # noqa: PLC0415 - not loaded while hooks are disabled

    return EVENT_TABLE[verdict.event].output.of(verdict.answer)
