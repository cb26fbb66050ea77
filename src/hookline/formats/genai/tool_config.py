"""Tool configurations: the SDK's, and what hooks see and change of them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hookline.formats.genai import sdk
from hookline.formats.genai.contents import field, with_fields, word
from hookline.formats.hook_format import listed, overlay_hook_tool_config, read_tool_config
from hookline.protocol.llm import HookToolConfig, ToolMode

if TYPE_CHECKING:
    from hookline.formats.genai.sdk import ToolConfig

# VALIDATED leaves the model the choice, as AUTO does; hooks know three modes.
_MODES: Mapping[str, ToolMode] = {"AUTO": "AUTO", "ANY": "ANY", "NONE": "NONE", "VALIDATED": "AUTO"}


def to_hook_tool_config(tool_config: Any) -> HookToolConfig:
    """The SDK's tool configuration as hooks see it."""
    calling = field(tool_config, "function_calling_config")
    seen: HookToolConfig = {}
    mode = word(field(calling, "mode"))
    if isinstance(mode, str) and mode.upper() in _MODES:
        seen["mode"] = _MODES[mode.upper()]
    names = field(calling, "allowed_function_names")
    if names is not None:
        seen["allowedFunctionNames"] = listed(names)
    return seen


def from_hook_tool_config(hook_config: Mapping[str, Any]) -> "ToolConfig":
    """A hook's tool configuration in the SDK's types."""
    calling = read_tool_config(hook_config)
    config: ToolConfig = sdk.types().ToolConfig.model_validate({"functionCallingConfig": calling})
    return config


def overlay_tool_config(tool_config: Any, hook_config: Any) -> Any:
    """The SDK's tool configuration with a hook's own laid over it; the same object when nothing changes."""
    current = to_hook_tool_config(tool_config)
    return apply_tool_config(tool_config, current, overlay_hook_tool_config(current, hook_config))


def apply_tool_config(tool_config: Any, current: HookToolConfig, wanted: HookToolConfig) -> Any:
    """The SDK's tool configuration changed from `current` to `wanted`; the same object when they are equal."""
    if wanted == current:
        return tool_config
    calling = field(tool_config, "function_calling_config")
    if calling is None:
        built = from_hook_tool_config(wanted)
        if tool_config is None:
            return built
        return with_fields(tool_config, function_calling_config=built.function_calling_config)
    mode = wanted.get("mode")
    changes: dict[str, Any] = {"allowed_function_names": wanted.get("allowedFunctionNames")}
    # Only a mode that the hook changed: the SDK has modes that hooks see as another one.
    if mode != current.get("mode"):
        is_object = mode is not None and not isinstance(calling, Mapping)
        changes["mode"] = sdk.types().FunctionCallingConfigMode(mode) if is_object else mode
    return with_fields(tool_config, function_calling_config=with_fields(calling, **changes))
