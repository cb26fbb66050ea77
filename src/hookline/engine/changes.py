"""What hooks change of the thing that an event is about: one rule per event, for the next hook and for the caller."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hookline.contract.answers import Answer, said
from hookline.formats.hook_format import overlay_llm_request, settle_llm_response

Told = Mapping[str, Any]
# The input of the first hook, the merged answer and the answers it was made of → the fields that changed.
Change = Callable[[Told, Answer, Sequence[Answer]], dict[str, Any]]


def no_change(_told: Told, _merged: Answer, _answers: Sequence[Answer]) -> dict[str, Any]:
    """For events whose answers change nothing that the event is about."""
    return {}


def change_arguments(told: Told, merged: Answer, _answers: Sequence[Answer]) -> dict[str, Any]:
    """The arguments with the hooks' changes laid over them."""
    changes = said(merged.tool_input)
    before = _object(told.get("tool_input"))
    return _changed("tool_input", told, None if changes is None else {**before, **changes})


def change_request(told: Told, merged: Answer, _answers: Sequence[Answer]) -> dict[str, Any]:
    """The request with the hooks' changes laid over it."""
    changes = said(merged.llm_request)
    before = _object(told.get("llm_request"))
    return _changed("llm_request", told, None if changes is None else overlay_llm_request(before, dict(changes)))


def change_response(told: Told, merged: Answer, _answers: Sequence[Answer]) -> dict[str, Any]:
    """The response whose text takes the place of the model's."""
    return _changed("llm_response", told, settle_llm_response(merged.llm_response, _object(told.get("llm_response"))))


def change_prompt(told: Told, merged: Answer, _answers: Sequence[Answer]) -> dict[str, Any]:
    """The prompt that a hook gives in place of the user's."""
    prompt = said(merged.prompt)
    return {} if prompt is None or prompt == told.get("prompt") else {"prompt": prompt}


def add_context(told: Told, merged: Answer, answers: Sequence[Answer]) -> dict[str, Any]:
    """The prompt as the next hook of a sequence gets it: with each hook's context at its end."""
    prompt = said(merged.prompt) or str(told.get("prompt", ""))
    contexts = [context for answer in answers if (context := said(answer.context))]
    return {"prompt": "\n\n".join((prompt, *contexts))} if contexts or said(merged.prompt) else {}


def _changed(name: str, told: Told, after: Mapping[str, Any] | None) -> dict[str, Any]:
    if after is None:
        return {}
    try:
        is_same = bool(after == told.get(name))
    except Exception:  # noqa: BLE001 - foreign code: an argument that can't be compared counts as changed
        is_same = False
    return {} if is_same else {name: after}


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
