"""The merged answers of the tool events → the tool's result."""

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hookline.contract.results import AggregatedHookResult, ProcessedHookResult
from hookline.engine.interpret import process_common_hook_output_fields
from hookline.log import HookLogger
from hookline.triggers.results import ToolResult

if TYPE_CHECKING:
    from hookline.system import HookSystem


def refusal(before: AggregatedHookResult | None) -> ToolResult | None:
    """The result in place of the tool's when a hook blocks it or stops the agent, else None."""
    if before is None or before.final_output is None:
        return None
    common = process_common_hook_output_fields(before)
    if not before.final_output.is_blocking_decision() and not common.should_stop:
        return None
    reason = before.final_output.get_effective_reason()
    content = _append(reason, _system_note(common.system_message))
    return _with_stop(ToolResult(llm_content=content, return_display=reason), common)


def own_copy(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as they are now: what hooks judge must not change until the tool runs."""
    try:
        return {key: _copied(value) for key, value in arguments.items()}
    except RecursionError:
        return dict(arguments)


def _copied(value: Any) -> Any:
    if type(value) is list or type(value) is tuple:
        return type(value)(map(_copied, value))
    if not isinstance(value, dict):
        return value
    # Of its own kind: a tool may count on its order, or on its defaults.
    copied = {} if type(value) is dict else copy(value)
    for key, item in value.items():
        copied[key] = _copied(item)
    return copied


def rewritten(before: AggregatedHookResult | None, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments to run with: the hooks' changes laid over the original ones."""
    effect = None if before is None else before.effect
    return dict(arguments if effect is None else effect["tool_input"])


def invalid_rewrite(before: AggregatedHookResult | None, fault: str, system: "HookSystem | None") -> ToolResult:
    """The result when a hook made the arguments invalid; the log says which one."""
    culprits = ", ".join(
        result.hook.label
        for result in (before.results if before is not None else ())
        if result.output is not None and "tool_input" in result.output.hook_specific_output
    )
    said = f"The tool was not run: a hook ({culprits}) rewrote its arguments, and they are not valid: {fault}"
    log = HookLogger() if system is None else system.get_log()
    log.warn(f"BeforeTool: {said}", kind="advice", event="BeforeTool", hook=culprits)
    return ToolResult(llm_content=said, return_display=said, error=said)


def applied(result: ToolResult, before: AggregatedHookResult | None, after: AggregatedHookResult | None) -> ToolResult:
    """The tool's result with both events' notes, context, suppression and stop applied."""
    content = result.llm_content
    if before is not None:
        content = _append(content, _system_note(process_common_hook_output_fields(before).system_message))
    if after is None or after.final_output is None:
        return result if content is result.llm_content else replace(result, llm_content=content)
    output, common = after.final_output, process_common_hook_output_fields(after)
    context = output.get_additional_context()
    content = _append(content, f"\n\n{context}" if context else "")
    if output.is_blocking_decision():
        # The tool has run and cannot be blocked any more, but the model should know what the hook objects to.
        content = _append(content, _system_note(output.get_effective_reason()))
    content = _append(content, _system_note(common.system_message))
    suppress = result.suppress_display or common.suppress_output
    return _with_stop(replace(result, llm_content=content, suppress_display=suppress), common)


def _with_stop(result: ToolResult, common: ProcessedHookResult) -> ToolResult:
    return replace(result, should_stop=True, stop_reason=common.stop_reason) if common.should_stop else result


def _system_note(text: str | None) -> str:
    return f"\n\n[System] {text}" if text else ""


def _append(content: Any, text: str) -> Any:
    if not text:
        return content
    if content is None or isinstance(content, str):
        return (content or "") + text
    parts = list(content) if isinstance(content, list | tuple) else [content]
    return [*parts, {"text": text}]
