"""Which tools the model may call: how to read it from a request, and how to send it."""

from dataclasses import replace
from typing import Any

from hookline.contract.llm import GenerateContentParameters
from hookline.formats.genai import sdk


def allowed_tools(request: GenerateContentParameters) -> frozenset[str] | None:
    """The names of the tools that may be called; None when any may be called."""
    calling = _calling(request)
    if calling is None:
        return None
    if _mode(calling) == "NONE":
        return frozenset()
    return None if calling.allowed_function_names is None else frozenset(calling.allowed_function_names)


def sendable(request: GenerateContentParameters) -> GenerateContentParameters:
    """The request as the API accepts it: a list of names needs ANY or VALIDATED, and may name only declared tools."""
    calling = _calling(request)
    if calling is None or calling.allowed_function_names is None:
        return request
    declared = {one.name for tool in request.config.tools or () for one in tool.function_declarations or ()}
    names = [name for name in calling.allowed_function_names if name in declared] or None
    mode = _mode(calling)
    sent = "NONE" if mode == "NONE" or names is None else "ANY" if mode == "ANY" else "VALIDATED"
    changes = {
        "mode": sdk.types().FunctionCallingConfigMode[sent],
        "allowed_function_names": None if sent == "NONE" else names,
    }
    tool_config = request.config.tool_config.model_copy(
        update={"function_calling_config": calling.model_copy(update=changes)}
    )
    return replace(request, config=request.config.model_copy(update={"tool_config": tool_config}))


def _calling(request: GenerateContentParameters) -> Any:
    tool_config = None if request.config is None else request.config.tool_config
    return None if tool_config is None else tool_config.function_calling_config


def _mode(calling: Any) -> str | None:
    return None if calling.mode is None else str(calling.mode.value)
