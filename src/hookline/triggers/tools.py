"""Hooks around tools: the two triggers, and the one door through which tools are run."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from hookline.contract.events import HookEventName
from hookline.triggers._door import fire
from hookline.triggers.results import ToolResult, to_tool_result

if TYPE_CHECKING:
    from hookline.config import Config
    from hookline.contract.outputs import DefaultHookOutput
    from hookline.contract.verdict import Verdict

__all__ = ["ToolResult", "execute_tool_with_hooks", "fire_after_tool_hook", "fire_before_tool_hook"]

ToolOutput = ToolResult | str | Mapping[str, Any]
ExecuteFn = Callable[[dict[str, Any]], Awaitable[ToolOutput]]
Normalize = Callable[[Mapping[str, Any]], Mapping[str, Any]]
Validate = Callable[[Mapping[str, Any]], str | None]


async def fire_before_tool_hook(
    config: "Config",
    tool_name: str,
    tool_input: Mapping[str, Any],
    *,
    mcp_context: Mapping[str, Any] | None = None,
) -> "DefaultHookOutput | None":
    """What the BeforeTool hooks answered together, or None when nothing is to be done about it."""
    return _output(await _before(config, tool_name, tool_input, mcp_context))


async def fire_after_tool_hook(
    config: "Config",
    tool_name: str,
    tool_input: Mapping[str, Any],
    tool_response: Mapping[str, Any],
    *,
    mcp_context: Mapping[str, Any] | None = None,
) -> "DefaultHookOutput | None":
    """What the AfterTool hooks answered together, or None when nothing is to be done about it."""
    return _output(await _after(config, tool_name, tool_input, tool_response, mcp_context))


async def execute_tool_with_hooks(
    config: "Config",
    tool_name: str,
    tool_input: Mapping[str, Any],
    execute_fn: ExecuteFn,
    *,
    normalize: Normalize | None = None,
    validate: Validate | None = None,
    mcp_context: Mapping[str, Any] | None = None,
) -> ToolResult:
    """Runs a tool between its hooks and returns the result with everything that they answered applied.

    `execute_fn` gets the arguments to run with and returns a `ToolResult`, a text or a mapping; it is not called when
    a hook blocks or stops. Arguments that a hook rewrote pass `normalize`, which gives them their proper names, and
    `validate`, which returns what is wrong with them or None. Only what `execute_fn` raises reaches the caller.
    """
    if not config.get_enable_hooks():
        return to_tool_result(await execute_fn(dict(tool_input)))
    from hookline.triggers import _apply_tool  # noqa: PLC0415 - nothing of it is loaded while hooks are disabled

    told = _apply_tool.own_copy(tool_input)
    if told is None:
        return _apply_tool.no_arguments(tool_name, tool_input)
    before = await _before(config, tool_name, told, mcp_context)
    refusal = _apply_tool.refusal(before)
    if refusal is not None:
        return refusal
    arguments = told
    if before is not None and before.arguments is not None:
        arguments, fault = _apply_tool.rewritten(before.arguments, normalize, validate)
        if fault is not None:
            return _apply_tool.invalid_rewrite(before, fault, config)
    # The tool gets a copy: AfterTool hooks are told what it was called with, not what it made of that.
    result = to_tool_result(await execute_fn(_apply_tool.own_copy(arguments) or {}))
    after = await _after(config, tool_name, arguments, result.to_tool_response(), mcp_context)
    return _apply_tool.applied(result, before, after)


async def _before(
    config: "Config", tool_name: str, tool_input: Mapping[str, Any], mcp_context: Mapping[str, Any] | None
) -> "Verdict | None":
    fields = {"tool_name": tool_name, "tool_input": tool_input}
    return await fire(config, HookEventName.BEFORE_TOOL, _with_mcp_context(fields, mcp_context))


async def _after(
    config: "Config",
    tool_name: str,
    tool_input: Mapping[str, Any],
    tool_response: Mapping[str, Any],
    mcp_context: Mapping[str, Any] | None,
) -> "Verdict | None":
    fields = {"tool_name": tool_name, "tool_input": tool_input, "tool_response": tool_response}
    return await fire(config, HookEventName.AFTER_TOOL, _with_mcp_context(fields, mcp_context))


def _with_mcp_context(fields: dict[str, Any], mcp_context: Mapping[str, Any] | None) -> dict[str, Any]:
    return fields if mcp_context is None else {**fields, "mcp_context": mcp_context}


def _output(verdict: "Verdict | None") -> "DefaultHookOutput | None":
    if verdict is None or verdict.answer is None:
        return None
    from hookline.engine.event_table import EVENT_TABLE  # noqa: PLC0415 - not loaded while hooks are disabled

    return EVENT_TABLE[verdict.event].output.of(verdict.answer)
