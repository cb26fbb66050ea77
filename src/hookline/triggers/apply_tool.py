"""The verdicts on the tool events → the tool's result."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hookline.contract.records import AdviceRecord, LogLevel
from hookline.triggers.results import Normalize, ToolResult, Validate

if TYPE_CHECKING:
    from hookline.contract.verdict import Verdict

Write = Callable[[AdviceRecord], None]


def no_arguments(tool_name: str, arguments: object) -> ToolResult:
    """The result of a call whose arguments are not a mapping, so that no hook could check them."""
    text = f"{tool_name} was not run: its arguments are a {type(arguments).__name__} that can't be read as a mapping"
    return ToolResult(llm_content=text, return_display=text, error=text)


def refusal(before: "Verdict") -> ToolResult:
    """The result in place of the tool's when a hook blocks it, stops the agent, or asked and was answered no."""
    content = _append(before.reason or "", _system_note(before.note))
    return _with_stop(ToolResult(llm_content=content, return_display=before.reason, decided_by=before.deciders), before)


def log_unasked(before: "Verdict", write: Write) -> None:
    """Logs that a hook wanted a person to be asked, and that this program can't ask one."""
    message = f"BeforeTool: a hook asks ({before.reason}), but this program gives no on_ask, so the call goes on"
    write(AdviceRecord(level=LogLevel.WARN, message=message, event="BeforeTool", subject=before.subject))


def rewritten(
    arguments: dict[str, Any], normalize: Normalize | None, validate: Validate | None
) -> tuple[dict[str, Any], str | None]:
    """The arguments that a hook rewrote, under their proper names, and what is wrong with them."""
    try:
        normal = dict(normalize(arguments)) if normalize is not None else arguments
        return normal, validate(normal) if validate is not None else None
    except Exception as error:  # noqa: BLE001 - the caller's code: arguments that can't be checked are not used
        return arguments, f"they could not be checked ({type(error).__name__}: {error})"


def invalid_rewrite(before: "Verdict", fault: str, write: Write) -> ToolResult:
    """The result when a hook made the arguments invalid; the log says which one."""
    hooks = ", ".join(before.decided_by.get("hookSpecificOutput.tool_input", ()))
    text = f"The tool was not run: a hook ({hooks}) rewrote its arguments, and they are not valid: {fault}"
    message = f"BeforeTool: {text}"
    write(AdviceRecord(level=LogLevel.WARN, message=message, event="BeforeTool", hook=hooks))
    content = _append(text, _system_note(before.note))
    return ToolResult(llm_content=content, return_display=text, error=text)


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
    return _with_stop(replace(result, llm_content=content, suppress_display=suppress), after)


def _with_stop(result: ToolResult, verdict: "Verdict") -> ToolResult:
    if not verdict.stop:
        return result
    return replace(result, should_stop=True, stop_reason=verdict.stop_reason, decided_by=verdict.deciders)


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
