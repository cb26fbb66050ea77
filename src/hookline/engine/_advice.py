"""What a hook's author should know about an answer that one event cannot use as it was meant."""

from collections.abc import Callable, Iterator

from hookline.contract.events import HookDecision
from hookline.contract.outputs import COMMON_FIELDS, DefaultHookOutput
from hookline.engine._merge import TOOL_MODES

Advice = Callable[[DefaultHookOutput], str | None]


def no_advice(_output: DefaultHookOutput) -> str | None:
    """For events that use every answer as it is written."""
    return None


def of_unread(output: DefaultHookOutput, read: frozenset[str]) -> Iterator[str]:
    """Fields in the event's own part of the answer that this event does not read; common ones are told as misplaced."""
    for name in output.hook_specific_output:
        if name not in read and name not in COMMON_FIELDS and name != "hookEventName":
            yield f"hookSpecificOutput.{name} changes nothing; this event reads {', '.join(sorted(read))}"


def on_asking(output: DefaultHookOutput) -> str | None:
    """The decision that is reserved for later."""
    if HookDecision.ASK in (output.decision, output.hook_specific_output.get("permissionDecision")):
        return "'ask' asks nobody and counts as allow; to refuse answer deny"
    return None


def on_synthetic_response(output: DefaultHookOutput) -> str | None:
    """A response stands in for the model only beside a block."""
    if "llm_response" not in output.hook_specific_output or output.is_blocking_decision():
        return None
    return "llm_response counts only beside a decision of block or deny; without one the model is asked as ever"


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
    if unknown := [name for name in config if name not in ("mode", "allowedFunctionNames")]:
        return f"toolConfig.{unknown[0]} changes nothing; mode and allowedFunctionNames are read"
    mode, names = config.get("mode"), config.get("allowedFunctionNames")
    if mode is not None and mode not in TOOL_MODES:
        return f"toolConfig.mode {mode!r} is not one of {', '.join(TOOL_MODES)}"
    if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        return "toolConfig.allowedFunctionNames is not an array of names"
    return None
