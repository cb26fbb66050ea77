"""Results of Claude Code's tools: their text, and another text in the same shape."""

from collections.abc import Mapping
from typing import Any

HIDDEN = "A hook of hookline hides this result, which can't be replaced"
"""Why the agent stops where Claude Code would let the model read what a hook hides."""


def text_of(response: Any) -> Any:
    """Return the text of a tool's response that the model reads, if known; else the response itself."""
    if isinstance(response, Mapping) and isinstance(response.get("stdout"), str):
        errors = response.get("stderr")
        return "\n".join(filter(None, (response["stdout"], errors if isinstance(errors, str) else "")))
    return response


def in_its_shape(response: Any, text: str) -> Any | None:
    """A text in place of a response, in the shape of the tool's own, without which Claude Code keeps the old one.

    None for a shape that is not known.
    """
    if isinstance(response, str):
        return text
    if isinstance(response, list):  # of an MCP server
        return [{"type": "text", "text": text}]
    if not isinstance(response, Mapping):
        return None
    if isinstance(response.get("stdout"), str):
        return {**response, "stdout": text, "stderr": ""}
    if isinstance(file := response.get("file"), Mapping) and isinstance(file.get("content"), str):
        lines = len(text.splitlines())
        return {**response, "file": {**file, "content": text, "numLines": lines, "totalLines": lines}}
    return None


def with_last_word(response: Any, text: str) -> Any | None:
    """The response with a text after its own; None where that has no place."""
    if isinstance(response, str):
        return f"{response}\n\n{text}"
    if isinstance(response, list):
        return [*response, {"type": "text", "text": text}]
    if isinstance(response, Mapping) and isinstance(response.get("stdout"), str):
        return {**response, "stdout": f"{response['stdout']}\n\n{text}"}
    return None
