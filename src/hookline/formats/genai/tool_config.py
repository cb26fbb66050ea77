from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hookline.contract.llm import HookToolConfig, ToolMode
from hookline.formats.genai import sdk
from hookline.formats.genai.parts import field, with_fields, word
from hookline.formats.hook_format import listed, overlay_hook_tool_config, read_tool_config

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
    return _build(read_tool_config(hook_config))


def overlay_tool_config(tool_config: Any, hook_config: Any) -> Any:
    """The SDK's tool configuration with a hook's own laid over it; the same object when nothing changes."""
    current = to_hook_tool_config(tool_config)
    return apply_tool_config(tool_config, current, overlay_hook_tool_config(current, hook_config))


def apply_tool_config(tool_config: Any, current: HookToolConfig, wanted: HookToolConfig) -> Any:
    """The SDK's tool configuration, told as `current`, changed to `wanted`; the same object when they are equal."""
    return tool_config if wanted == current else _change(tool_config, current, wanted)


def _change(tool_config: Any, current: HookToolConfig, wanted: HookToolConfig) -> Any:
    calling = field(tool_config, "function_calling_config")
    if calling is None:
        calling = field(_build(wanted), "function_calling_config")
    else:
        changes: dict[str, Any] = {"allowed_function_names": wanted.get("allowedFunctionNames")}
        # Only a mode that the hook changed: the SDK has modes that hooks see as another one.
        if wanted.get("mode") != current.get("mode"):
            mode = wanted.get("mode")
            is_object = mode is not None and not isinstance(calling, Mapping)
            changes["mode"] = sdk.types().FunctionCallingConfigMode(mode) if is_object else mode
        calling = with_fields(calling, **changes)
    if tool_config is None:
        return sdk.types().ToolConfig(function_calling_config=calling)
    return with_fields(tool_config, function_calling_config=calling)


def _build(wanted: HookToolConfig) -> "ToolConfig":
    types = sdk.types()
    calling = types.FunctionCallingConfig(
        mode=wanted.get("mode"), allowed_function_names=wanted.get("allowedFunctionNames")
    )
    config: ToolConfig = types.ToolConfig(function_calling_config=calling)
    return config
