from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hookline.contract.llm import HookToolConfig, ToolMode
from hookline.contract.wire import trim
from hookline.formats import sdk
from hookline.formats._reading import field, listed, whole_text, with_fields, word

if TYPE_CHECKING:
    from hookline.formats.sdk import ToolConfig

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
    """A hook's tool configuration in the SDK's types, word for word."""
    return _build(read_tool_config(hook_config))


def read_tool_config(value: Any) -> HookToolConfig:
    """The usable part of what a hook said about tools: a known mode, and those names that are strings."""
    said: HookToolConfig = {}
    if not isinstance(value, Mapping):
        return said
    mode = value.get("mode")
    if isinstance(mode, str) and (known := trim(mode).upper()) in ("AUTO", "ANY", "NONE"):
        said["mode"] = _MODES[known]
    names = value.get("allowedFunctionNames")
    if isinstance(names, list):
        said["allowedFunctionNames"] = [whole_text(name) for name in names if isinstance(name, str)]
    return said


def overlay_tool_config(tool_config: Any, hook_config: Any) -> Any:
    """The SDK's tool configuration with what a hook said laid over it; the same object when nothing changes."""
    said = read_tool_config(hook_config)
    current = to_hook_tool_config(tool_config)
    wanted: HookToolConfig = {**current, **said}
    # An empty list is no list on its way to the model, so only the mode can say that nothing is allowed.
    if said.get("allowedFunctionNames") == []:
        wanted["mode"] = "NONE"
    elif said.get("mode") == "NONE":
        wanted.pop("allowedFunctionNames", None)
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
            changes["mode"] = mode if isinstance(calling, Mapping) else sdk.types().FunctionCallingConfigMode(mode)
        calling = with_fields(calling, **changes)
    if tool_config is None:
        return sdk.types().ToolConfig(function_calling_config=calling)
    return with_fields(tool_config, function_calling_config=calling)


def _build(said: HookToolConfig) -> "ToolConfig":
    types = sdk.types()
    calling = types.FunctionCallingConfig(
        mode=said.get("mode"), allowed_function_names=said.get("allowedFunctionNames")
    )
    config: ToolConfig = types.ToolConfig(function_calling_config=calling)
    return config
