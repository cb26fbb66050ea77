"""What the caller goes on with: the merged answer laid over what the event was about, in hook form."""

from collections.abc import Callable, Mapping
from typing import Any

from hookline.contract.outputs import DefaultHookOutput
from hookline.engine._chaining import chain_llm_request, chain_tool_input
from hookline.formats.hook_format import hook_candidates

# The event's input as hooks were told it, and their merged answer → the changed field by its name, or None.
Effect = Callable[[Mapping[str, Any], DefaultHookOutput], dict[str, Any] | None]


def no_effect(_event_input: Mapping[str, Any], _output: DefaultHookOutput) -> None:
    """For events whose answers change nothing that the event was about."""


def tool_input_effect(event_input: Mapping[str, Any], output: DefaultHookOutput) -> dict[str, Any] | None:
    """The arguments that the tool runs with."""
    chained = chain_tool_input(event_input, output, event_input)
    return _changed("tool_input", event_input, chained) if chained is not event_input and _goes_on(output) else None


def llm_request_effect(event_input: Mapping[str, Any], output: DefaultHookOutput) -> dict[str, Any] | None:
    """The request that is sent, or the response that is used in place of sending it."""
    if not _goes_on(output):
        response = output.hook_specific_output.get("llm_response")
        return {"llm_response": response} if isinstance(response, dict) else None
    return _changed("llm_request", event_input, chain_llm_request(event_input, output, event_input))


def llm_response_effect(_event_input: Mapping[str, Any], output: DefaultHookOutput) -> dict[str, Any] | None:
    """The response that a hook put in place of the model's; a `text` without candidates is none."""
    response = output.hook_specific_output.get("llm_response")
    return {"llm_response": response} if isinstance(response, dict) and hook_candidates(response) else None


def tool_config_effect(_event_input: Mapping[str, Any], output: DefaultHookOutput) -> dict[str, Any] | None:
    """The tool configuration that the request gets."""
    config = output.hook_specific_output.get("toolConfig")
    return {"toolConfig": config} if isinstance(config, dict) else None


def _goes_on(output: DefaultHookOutput) -> bool:
    return not output.is_blocking_decision() and not output.should_stop_execution()


def _changed(name: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any] | None:
    return {name: after[name]} if after is not before and _differ(after.get(name), before.get(name)) else None


def _differ(one: Any, other: Any) -> bool:
    try:
        return bool(one != other)
    except Exception:  # noqa: BLE001 - foreign code: an argument that can't be compared must not cost a hook's answer
        return True
