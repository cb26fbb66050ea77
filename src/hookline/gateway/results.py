"""Converts results of `tools/call` to the `ToolResult` that hooks see, and back."""

from collections.abc import Mapping
from typing import Any

from hookline.client.triggers.results import ToolResult
from hookline.protocol.text.json_text import parse_json, stringify_json

_NOT_OUTPUT = frozenset({"_meta", "isError", "resultType"})
_RESERVED_META = "io.modelcontextprotocol/"


def read_result(result: Mapping[str, Any]) -> ToolResult:
    """Return the tool's output: its texts joined, and each image or sound as a part."""
    parts = [_part(block) for block in _blocks(result)]
    text = "\n".join(part for part in parts if isinstance(part, str))
    media = [part for part in parts if not isinstance(part, str)]
    if not text and not media:
        text = _other_output(result)
    content = [*([{"text": text}] if text else []), *media] if media else text
    structured = result.get("structuredContent")
    return ToolResult(
        llm_content=content,
        return_display=text,
        metadata=None if structured is None else {"structuredContent": structured},
        error=(text or "The tool failed and gave no reason.") if result.get("isError") else None,
    )


def read_error(error: Mapping[str, Any]) -> ToolResult:
    """Return the error of a call that the server refused as a result."""
    text = str(error.get("message") or "The server gave no reason.")
    return ToolResult(llm_content=text, return_display=text, error=text)


def needs_input(result: Mapping[str, Any]) -> bool:
    """Return True if the server asks the client for input, so that there is no result yet."""
    return result.get("resultType") == "input_required" and not _has_output(result)


def task_of(result: Mapping[str, Any]) -> str | None:
    """Return the task id if the server runs the call as a task, so that its result follows later."""
    task = result.get("task") if "task" in result else result if result.get("resultType") == "task" else None
    found = task.get("taskId") if isinstance(task, Mapping) and not _has_output(result) else None
    return found if isinstance(found, str) else None


def _has_output(result: Mapping[str, Any]) -> bool:
    # A client reads these members as output, whatever else the result contains.
    return "content" in result or "structuredContent" in result


def refuse(text: str) -> dict[str, Any]:
    """Return a result that replaces the tool's, with the reason for the model."""
    return {"content": [_text_block(text)], "isError": True, "resultType": "complete"}


def add_text(result: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Return the result with one more text."""
    return {**result, "content": [*_blocks(result), _text_block(text)]}


def apply_changes(result: Mapping[str, Any], before: ToolResult, after: ToolResult) -> dict[str, Any]:
    """Return the MCP result with the changes that hooks made to its `ToolResult`."""
    added = _added(before.llm_content, after.llm_content)
    changed = _replaced(result, before, after.llm_content) if added is None else dict(result)
    if added:
        changed = add_text(changed, added)
    return _hidden_from_user(changed) if after.suppress_display else changed


def _blocks(result: Mapping[str, Any]) -> list[Any]:
    blocks = result.get("content")
    return blocks if isinstance(blocks, list) else []


def _part(block: Any) -> str | dict[str, Any]:
    if not isinstance(block, dict):
        return _json(block)
    resource = block.get("resource")
    match block.get("type"):
        case "text" if isinstance(block.get("text"), str):
            return str(block["text"])
        case "image" | "audio":
            return {"inlineData": {"mimeType": block.get("mimeType"), "data": block.get("data")}}
        case "resource_link":
            return f"{block.get('name')}: {block.get('uri')}"
        case "resource" if isinstance(resource, dict):
            text = resource.get("text")
            return text if isinstance(text, str) else f"[binary resource {resource.get('uri')}]"
    return _json(block)


def _other_output(result: Mapping[str, Any]) -> str:
    """Return the output of a result without content."""
    if (structured := result.get("structuredContent")) is not None:
        return _json(structured)
    rest = {name: value for name, value in result.items() if name not in _NOT_OUTPUT and value}
    return _json(rest) if rest else ""


def _added(old: Any, new: Any) -> str | None:
    """Return the text that hooks appended (it may be empty), or None if they replaced the content."""
    if isinstance(old, str):
        return new[len(old) :].strip("\n") if isinstance(new, str) and new.startswith(old) else None
    if not isinstance(new, list) or new[: len(old)] != old:
        return None
    return "".join(part["text"] for part in new[len(old) :]).strip("\n")


def _replaced(result: Mapping[str, Any], before: ToolResult, content: Any) -> dict[str, Any]:
    """Return the result with new content. The old structured content would repeat the old text."""
    kept = {name: value for name, value in result.items() if name in _NOT_OUTPUT}
    if isinstance(meta := kept.pop("_meta", None), dict):
        kept["_meta"] = {name: value for name, value in meta.items() if name.startswith(_RESERVED_META)}
    text = content if isinstance(content, str) else "".join(part["text"] for part in content)
    structured = _structured(result.get("structuredContent"), before.return_display, text)
    return {**kept, "content": [_text_block(text)], **({} if structured is None else {"structuredContent": structured})}


def _structured(old: Any, old_text: str, text: str) -> dict[str, Any] | None:
    """Return the new text in the shape of the old structured content, if possible."""
    if old is None:
        return None
    if old == {"result": old_text}:  # how servers wrap a tool that returns a text
        return {"result": text}
    try:
        value = parse_json(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _hidden_from_user(result: dict[str, Any]) -> dict[str, Any]:
    blocks = [
        {**block, "annotations": {**(block.get("annotations") or {}), "audience": ["assistant"]}}
        if isinstance(block, dict)
        else block
        for block in _blocks(result)
    ]
    return {**result, "content": blocks}


def _text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _json(value: Any) -> str:
    return stringify_json(value).decode("utf-8", "replace")
