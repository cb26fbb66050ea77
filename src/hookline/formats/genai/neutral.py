"""google-genai under the names that all formats share."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from hookline.contract.llm import GenerateContentParameters, ToolMode
from hookline.formats.genai import response
from hookline.formats.genai.parts import field, snake, with_fields
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
    """The request with those of its functions that a `Selection` permits, and with its mode.

    Tools that the API runs itself are permitted by their names in the SDK, such as `google_search`.
    """
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
    """The tool with what is permitted of it, or None if nothing is left."""
    if callable(tool) or not (isinstance(tool, Mapping) or hasattr(tool, "function_declarations")):
        # A Python function is a tool by itself; the SDK calls it, and sessions of MCP servers, without asking us.
        return tool if permits(getattr(tool, "__name__", type(tool).__name__)) else None
    declared = listed(field(tool, "function_declarations"))
    kept = [one for one in declared if permits(field(one, "name") or "")]
    own = [name for name in _own_tools(tool) if permits(name)]
    if not kept and not own:
        return None
    changes: dict[str, Any] = {name: None for name in _own_tools(tool) if name not in own}
    if len(kept) < len(declared):
        changes["function_declarations"] = kept or None
    return with_fields(tool, **changes) if changes else tool


def _own_tools(tool: Any) -> list[str]:
    """The tools of the API that are switched on."""
    names = map(snake, tool) if isinstance(tool, Mapping) else type(tool).model_fields
    return [name for name in names if name != "function_declarations" and field(tool, name) is not None]
