"""Which of a request's tools stay where hooks restrict them."""

from collections.abc import Callable, Mapping
from typing import Any

from hookline.formats.genai.contents import field, snake, with_fields
from hookline.formats.hook_format import listed
from hookline.protocol.llm import HookToolConfig

Permits = Callable[[str], bool]


def permitted_tools(tools: Any, permits: Permits) -> Any:
    """Return the tools that may be offered; the same object if all may be, None if none is left."""
    return _changed(tools, lambda tool: _permitted(tool, permits, permits))


def without_forbidden(tools: Any, wanted: HookToolConfig) -> Any:
    """The tools without those that the API runs itself and a hook's choice does not name.

    The API's own tool configuration is for functions alone, so these stay declared, and the others must go.
    """
    names = wanted.get("allowedFunctionNames")
    is_closed = wanted.get("mode") == "NONE"
    if names is None and not is_closed:
        return tools

    def permits(name: str) -> bool:
        return not is_closed and (names is None or name in names)

    return _changed(tools, lambda tool: tool if _is_code(tool) else _permitted(tool, lambda _: True, permits))


def declared_names(tools: Any) -> list[str]:
    """The names of the functions that may be called."""
    names: list[str] = []
    for tool in listed(tools):
        if _is_code(tool):
            names.append(getattr(tool, "__name__", type(tool).__name__))
        else:
            names += [name for one in listed(field(tool, "function_declarations")) if (name := field(one, "name"))]
    return names


def _changed(tools: Any, change: Callable[[Any], Any | None]) -> Any:
    given = listed(tools)
    kept = [change(tool) for tool in given]
    if all(new is old for new, old in zip(kept, given, strict=True)):
        return tools
    return [tool for tool in kept if tool is not None] or None


def _is_code(tool: Any) -> bool:
    """True for a Python function, and for a session of an MCP server."""
    return callable(tool) or not (isinstance(tool, Mapping) or hasattr(tool, "function_declarations"))


def _permitted(tool: Any, permits_function: Permits, permits_own: Permits) -> Any | None:
    """The tool with what is permitted of it, or None if nothing is left."""
    if _is_code(tool):
        # A Python function is a tool by itself; the SDK calls it, and sessions of MCP servers, without asking us.
        return tool if permits_function(getattr(tool, "__name__", type(tool).__name__)) else None
    declared = listed(field(tool, "function_declarations"))
    kept = [one for one in declared if permits_function(field(one, "name") or "")]
    own = [name for name in _own_tools(tool) if permits_own(name)]
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
