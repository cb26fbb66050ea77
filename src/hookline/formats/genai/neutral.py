"""google-genai under the names that all formats share."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from hookline.contract.llm import GenerateContentParameters, ToolMode
from hookline.formats.genai import response
from hookline.formats.genai.parts import field, with_fields
from hookline.formats.genai.tool_config import overlay_tool_config
from hookline.formats.hook_format import listed


def from_hook_llm_response(hook_response: Mapping[str, Any], base: Any = None) -> Any:
    """The response with the hooks' texts in place of its own; the base itself when nothing changes.

    Without a base it is a new response of text alone.
    """
    modified = response.from_hook_llm_response(hook_response)
    return modified if base is None else response.replace_response_text(base, modified)


def offer(
    native: GenerateContentParameters, permits: Callable[[str], bool], mode: ToolMode | None = None
) -> GenerateContentParameters:
    """The request with those of its functions that a `Selection` permits, and with its mode."""
    tools = listed(field(native.config, "tools"))
    kept = [_permitted(tool, permits) for tool in tools]
    changes: dict[str, Any] = {}
    if any(new is not old for new, old in zip(kept, tools, strict=True)):
        changes["tools"] = [tool for tool in kept if tool is not None] or None
    given = field(native.config, "tool_config")
    wanted = given if mode is None else overlay_tool_config(given, {"mode": mode})
    if wanted is not given:
        changes["tool_config"] = wanted
    return replace(native, config=with_fields(native.config or {}, **changes)) if changes else native


def _permitted(tool: Any, permits: Callable[[str], bool]) -> Any | None:
    """The tool with its permitted functions, or None if none is left; other kinds of tools stay as they are."""
    declared = field(tool, "function_declarations")
    if declared is None:
        # A Python function is a tool by itself.
        return None if callable(tool) and not permits(getattr(tool, "__name__", "")) else tool
    kept = [one for one in declared if permits(field(one, "name") or "")]
    if len(kept) == len(declared):
        return tool
    return with_fields(tool, function_declarations=kept) if kept else None
