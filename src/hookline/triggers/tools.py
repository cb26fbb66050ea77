"""Hooks around tools: the two triggers, and the one door through which tools are run."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from hookline.triggers._fire import fire
from hookline.triggers.results import ToolResult

if TYPE_CHECKING:
    from hookline.config import Config
    from hookline.contract.outputs import DefaultHookOutput
    from hookline.contract.results import AggregatedHookResult

__all__ = ["ToolResult", "execute_tool_with_hooks", "fire_after_tool_hook", "fire_before_tool_hook"]

ExecuteFn = Callable[[dict[str, Any]], Awaitable[ToolResult]]
Validate = Callable[[Mapping[str, Any]], str | None]


async def fire_before_tool_hook(
    config: "Config",
    tool_name: str,
    tool_input: Mapping[str, Any],
    *,
    mcp_context: Mapping[str, Any] | None = None,
) -> "DefaultHookOutput | None":
    """What the BeforeTool hooks answered together, or None when nothing is to be done about it."""
    result = await _before(config, tool_name, tool_input, mcp_context)
    return None if result is None else result.final_output


async def fire_after_tool_hook(
    config: "Config",
    tool_name: str,
    tool_input: Mapping[str, Any],
    tool_response: Mapping[str, Any],
    *,
    mcp_context: Mapping[str, Any] | None = None,
) -> "DefaultHookOutput | None":
    """What the AfterTool hooks answered together, or None when nothing is to be done about it."""
    result = await _after(config, tool_name, tool_input, tool_response, mcp_context)
    return None if result is None else result.final_output


async def execute_tool_with_hooks(
    config: "Config",
    tool_name: str,
    tool_input: Mapping[str, Any],
    execute_fn: ExecuteFn,
    *,
    validate: Validate | None = None,
    mcp_context: Mapping[str, Any] | None = None,
) -> ToolResult:
    """Runs a tool between its hooks and returns the result with everything that they answered applied.

    `execute_fn` gets the arguments to run with, and is not called when a hook blocks or stops. `validate` says what is
    wrong with arguments that a hook rewrote, or None. Whatever `execute_fn` raises is the caller's.
    """
    if not config.get_enable_hooks():
        return await execute_fn(dict(tool_input))
    from hookline.triggers import _apply_tool  # noqa: PLC0415 - nothing of it is loaded while hooks are disabled

    tool_input = _apply_tool.own_copy(tool_input)
    before = await _before(config, tool_name, tool_input, mcp_context)
    refusal = _apply_tool.refusal(before)
    if refusal is not None:
        return refusal
    arguments = _apply_tool.rewritten(before, tool_input)
    is_rewritten = before is not None and before.effect is not None
    fault = validate(arguments) if validate is not None and is_rewritten else None
    if fault is not None:
        return _apply_tool.invalid_rewrite(before, fault, config.get_hook_system())
    result = await execute_fn(arguments)
    after = await _after(config, tool_name, arguments, result.to_tool_response(), mcp_context)
    return _apply_tool.applied(result, before, after)


async def _before(
    config: "Config", tool_name: str, tool_input: Mapping[str, Any], mcp_context: Mapping[str, Any] | None
) -> "AggregatedHookResult | None":
    return await fire(
        config, lambda handler: handler.fire_before_tool_event(tool_name, tool_input, mcp_context=mcp_context)
    )


async def _after(
    config: "Config",
    tool_name: str,
    tool_input: Mapping[str, Any],
    tool_response: Mapping[str, Any],
    mcp_context: Mapping[str, Any] | None,
) -> "AggregatedHookResult | None":
    return await fire(
        config,
        lambda handler: handler.fire_after_tool_event(tool_name, tool_input, tool_response, mcp_context=mcp_context),
    )
