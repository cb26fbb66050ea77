"""google-genai under the names that all formats share."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from hookline.formats.genai import response
from hookline.formats.genai.contents import field, with_fields
from hookline.formats.genai.tool_config import overlay_tool_config
from hookline.formats.genai.tools import declared_names, permitted_tools
from hookline.protocol.llm import GenerateContentParameters, ToolMode


def from_hook_llm_response(hook_response: Mapping[str, Any], base: Any = None) -> Any:
    """Return the response with the hooks' texts in place of the originals; the base itself when nothing changes.

    Without a base it is a new response of text alone.
    """
    modified = response.from_hook_llm_response(hook_response)
    return modified if base is None else response.replace_response_text(base, modified)


def tool_names(native: GenerateContentParameters) -> list[str]:
    """The names of the functions that are offered, but not those of the tools that the API runs itself."""
    return declared_names(field(native.config, "tools"))


def offer(
    native: GenerateContentParameters, permits: Callable[[str], bool], mode: ToolMode | None = None
) -> GenerateContentParameters:
    """The request with those of its functions that a `Selection` permits, and with its mode.

    Tools that the API runs itself are permitted by their names in the SDK, such as `google_search`.
    """
    tools = field(native.config, "tools")
    kept = permitted_tools(tools, permits)
    changes: dict[str, Any] = {} if kept is tools else {"tools": kept}
    given = field(native.config, "tool_config")
    wanted = given if mode is None else overlay_tool_config(given, {"mode": mode})
    if wanted is not given:
        changes["tool_config"] = wanted
    return replace(native, config=with_fields(native.config or {}, **changes)) if changes else native
