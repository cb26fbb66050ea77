"""The verdicts on the tool events → the tool's result."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hookline.client.triggers.results import ToolResult

if TYPE_CHECKING:
    from hookline.protocol.verdict import Verdict


def applied(result: ToolResult, before: "Verdict | None", after: "Verdict | None") -> ToolResult:
    """The tool's result with both events' notes, context, suppression and stop applied."""
    content = result.llm_content
    if after is not None and after.tool_output is not None:
        content = after.tool_output
    if before is not None:
        content = _append(content, _context(before.context) + _system_note(before.note))
    if after is None or after.answer is None:
        return result if content is result.llm_content else replace(result, llm_content=content)
    content = _append(content, _context(after.context))
    if after.denied:
        # The tool has run and can't be blocked any more, but the model should know what the hook objects to.
        content = _append(content, _system_note(after.reason))
    content = _append(content, _system_note(after.note))
    suppress = result.suppress_display or after.suppress
    result = replace(result, llm_content=content, suppress_display=suppress)
    if not after.stop:
        return result
    return replace(result, should_stop=True, stop_reason=after.stop_reason, decided_by=after.deciders)


def _context(text: str | None) -> str:
    return f"\n\n{text}" if text else ""


def _system_note(text: str | None) -> str:
    return f"\n\n[System] {text}" if text else ""


def _append(content: Any, text: str) -> Any:
    if not text:
        return content
    if content is None or isinstance(content, str):
        return (content or "") + text
    parts = list(content) if isinstance(content, list | tuple) else [content]
    return [*parts, {"text": text}]
