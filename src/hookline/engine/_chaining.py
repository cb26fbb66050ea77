"""One hook's answer → what the next hook of a sequence is told."""

from collections.abc import Callable, Mapping
from typing import Any

from hookline.contract.outputs import DefaultHookOutput
from hookline.formats.hook_format import overlay_llm_request

# What this hook was told, what it answered, and what the first hook was told → what the next one is told.
Chain = Callable[[Mapping[str, Any], DefaultHookOutput, Mapping[str, Any]], Mapping[str, Any]]


def chain_tool_input(
    event_input: Mapping[str, Any], output: DefaultHookOutput, first: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The next hook sees the arguments with this hook's changes laid over them; null takes back all changes."""
    changes = output.hook_specific_output.get("tool_input")
    if not isinstance(changes, dict):
        return _taken_back("tool_input", event_input, output, first)
    return {**event_input, "tool_input": {**_object(event_input.get("tool_input")), **changes}}


def chain_llm_request(
    event_input: Mapping[str, Any], output: DefaultHookOutput, first: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The next hook sees the request with this hook's changes laid over it; null takes back all changes."""
    changes = output.hook_specific_output.get("llm_request")
    if not isinstance(changes, dict):
        return _taken_back("llm_request", event_input, output, first)
    return {**event_input, "llm_request": overlay_llm_request(_object(event_input.get("llm_request")), changes)}


def chain_prompt(
    event_input: Mapping[str, Any], output: DefaultHookOutput, _first: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The next hook sees the prompt with this hook's context at its end."""
    context = output.get_additional_context()
    if not context:
        return event_input
    return {**event_input, "prompt": f"{event_input.get('prompt', '')}\n\n{context}"}


def _taken_back(
    name: str, event_input: Mapping[str, Any], output: DefaultHookOutput, first: Mapping[str, Any]
) -> Mapping[str, Any]:
    specific = output.hook_specific_output
    is_null = name in specific and specific[name] is None
    return {**event_input, name: first.get(name)} if is_null else event_input


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
