"""The result of `tools/call` ↔ the `ToolResult` that hooks see."""

from collections.abc import Mapping
from typing import Any

from hookline.client.triggers.results import ToolResult
from hookline.protocol.text.json_text import parse_json, stringify_json

_NOT_OUTPUT = frozenset({"_meta", "isError", "resultType"})
_RESERVED_META = "io.modelcontextprotocol/"


def read_result(result: Mapping[str, Any]) -> ToolResult:
    """What the tool returned, with all texts as one; media are parts of their own."""
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
    """The same for a call that the server refused."""
    text = str(error.get("message") or "The server gave no reason.")
    return ToolResult(llm_content=text, return_display=text, error=text)


def wants_input(result: Mapping[str, Any]) -> bool:
    """Whether the server asks for something before it goes on, so that there is no result yet."""
    return result.get("resultType") == "input_required" and not has_output(result)


def has_output(result: Mapping[str, Any]) -> bool:
    """Whether a client would find the tool's output in it, whatever else it says."""
    return "content" in result or "structuredContent" in result


def refuse(text: str) -> dict[str, Any]:
    """A result in place of the tool's, which tells the model why."""
    return {"content": [_text_block(text)], "isError": True, "resultType": "complete"}


def with_text(result: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The result with one more text."""
    return {**result, "content": [*_blocks(result), _text_block(text)]}


def with_hooks(result: Mapping[str, Any], given: ToolResult, wanted: ToolResult) -> dict[str, Any]:
    """The tool's result as hooks want it: `given` is what they saw, `wanted` what they made of it."""
    added = _added(given.llm_content, wanted.llm_content)
    changed = _replaced(result, given, wanted.llm_content) if added is None else dict(result)
    if added:
        changed = with_text(changed, added)
    return _for_the_model_only(changed) if wanted.suppress_display else changed


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
    """What a result without any content holds instead."""
    if (structured := result.get("structuredContent")) is not None:
        return _json(structured)
    rest = {name: value for name, value in result.items() if name not in _NOT_OUTPUT and value}
    return _json(rest) if rest else ""


def _added(old: Any, new: Any) -> str | None:
    """What hooks added to the content, which may be nothing; None when they replaced it."""
    if isinstance(old, str):
        return new[len(old) :].strip("\n") if isinstance(new, str) and new.startswith(old) else None
    if not isinstance(new, list) or new[: len(old)] != old:
        return None
    return "".join(part["text"] for part in new[len(old) :]).strip("\n")


def _replaced(result: Mapping[str, Any], given: ToolResult, content: Any) -> dict[str, Any]:
    """The result with this content and nothing of the old one: structured content says the same again."""
    kept = {name: value for name, value in result.items() if name in _NOT_OUTPUT}
    if isinstance(meta := kept.pop("_meta", None), dict):
        kept["_meta"] = {name: value for name, value in meta.items() if name.startswith(_RESERVED_META)}
    text = content if isinstance(content, str) else "".join(part["text"] for part in content)
    structured = _structured(result.get("structuredContent"), given.return_display, text)
    return {**kept, "content": [_text_block(text)], **({} if structured is None else {"structuredContent": structured})}


def _structured(old: Any, old_text: str, text: str) -> dict[str, Any] | None:
    """The new text in the form of the old structured content, if it has one."""
    if old is None:
        return None
    if old == {"result": old_text}:  # what servers make of a tool that returns a text
        return {"result": text}
    try:
        value = parse_json(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _for_the_model_only(result: dict[str, Any]) -> dict[str, Any]:
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
