"""What a hook's author should know about an answer that one event cannot use as it was meant."""

from collections.abc import Callable

from hookline.contract.outputs import DefaultHookOutput
from hookline.engine._merge import TOOL_MODES

Advice = Callable[[DefaultHookOutput], str | None]


def no_advice(_output: DefaultHookOutput) -> str | None:
    """For events that use every answer as it is written."""
    return None


def on_response_text(output: DefaultHookOutput) -> str | None:
    """A response is replaced by its candidates; a changed `text` beside them, or alone, changes nothing."""
    response = output.hook_specific_output.get("llm_response")
    if not isinstance(response, dict) or not isinstance(response.get("text"), str):
        return None
    parts = str(response.get("candidates"))
    if response["text"] and response["text"] not in parts and repr(response["text"])[1:-1] not in parts:
        return "llm_response.text changes nothing by itself; change candidates[0].content.parts, which is what counts"
    return None


def on_tool_config(output: DefaultHookOutput) -> str | None:
    """A tool configuration that is not written as it should be may restrict less than its author thinks."""
    config = output.hook_specific_output.get("toolConfig")
    if not isinstance(config, dict):
        return None
    mode, names = config.get("mode"), config.get("allowedFunctionNames")
    if mode is not None and mode not in TOOL_MODES:
        return f"toolConfig.mode {mode!r} is not one of {', '.join(TOOL_MODES)}"
    if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        return "toolConfig.allowedFunctionNames is not an array of names"
    return None
