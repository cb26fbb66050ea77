"""The changes that hooks make: one rule per event, for the next hook and for the caller."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from hookline.engine.selection import keep_within_limits
from hookline.formats.hook_format import overlay_llm_request, settle_llm_response
from hookline.protocol.answers import HookAnswer, or_none
from hookline.protocol.arguments import ToolArguments, is_same

EventInput = Mapping[str, Any]
# The input of the first hook, the merged answer and the answers it was made of → the fields that changed.
Change = Callable[[EventInput, HookAnswer, Sequence[HookAnswer]], dict[str, Any]]


def no_change(_told: EventInput, _merged: HookAnswer, _answers: Sequence[HookAnswer]) -> dict[str, Any]:
    """For events whose answers change nothing that the event is about."""
    return {}


def change_arguments(hook_input: EventInput, merged: HookAnswer, _answers: Sequence[HookAnswer]) -> dict[str, Any]:
    """The arguments with the hooks' changes laid over them."""
    changes = or_none(merged.tool_input)
    before = _object(hook_input.get("tool_input"))
    if merged.removed:
        before = {name: value for name, value in before.items() if name not in merged.removed}
    return _changed("tool_input", hook_input, None if changes is None else {**before, **changes})


def as_changes(answer: HookAnswer, hook_input: EventInput) -> HookAnswer:
    """Return an answer that gives all arguments as its changes of the hook's input.

    So it is merged key by key like any other, and what the hook left alone does not undo another hook's change.
    """
    given = or_none(answer.tool_input)
    if given is None or answer.replaces_input is not True:
        return answer
    before = _object(hook_input.get("tool_input"))
    changes = _differing(given, before)
    removed = tuple(name for name in before if name not in given)
    return msgspec.structs.replace(answer, tool_input=changes, removed=removed)


def in_normal_form(answer: HookAnswer, hook_input: EventInput, arguments: ToolArguments) -> HookAnswer:
    """An answer whose changes of the arguments have the names and values of the arguments' normal form.

    So a later hook, of a more trusted layer too, changes the same argument under whatever name it uses for it.
    """
    given = or_none(answer.tool_input)
    if given is None:
        return answer
    before = _object(hook_input.get("tool_input"))
    kept = {name: value for name, value in before.items() if name not in answer.removed}
    rewritten = {**kept, **given}
    normal = arguments.normal(rewritten, _differing(given, before))
    if is_same(normal, rewritten):
        return answer
    changes = {name: value for name, value in normal.items() if name in given} | _differing(normal, before)
    removed = tuple(name for name in before if name not in normal)
    return msgspec.structs.replace(answer, tool_input=changes, removed=removed)


def normal_change(
    changed: dict[str, Any], hook_input: EventInput, merged: HookAnswer, arguments: ToolArguments | None
) -> dict[str, Any]:
    """Return the changes with the arguments in their normal form; without them if they are the same as before."""
    if arguments is None or "tool_input" not in changed:
        return changed
    before = _object(hook_input.get("tool_input"))
    normal = arguments.normal(changed["tool_input"], _differing(or_none(merged.tool_input) or {}, before))
    return {**changed, "tool_input": normal} if not is_same(normal, hook_input.get("tool_input")) else {}


def change_output(hook_input: EventInput, merged: HookAnswer, _answers: Sequence[HookAnswer]) -> dict[str, Any]:
    """The tool's result with another text for the model."""
    output = or_none(merged.tool_output)
    response = {**_object(hook_input.get("tool_response")), "llmContent": output}
    return _changed("tool_response", hook_input, None if output is None else response)


def change_request(hook_input: EventInput, merged: HookAnswer, answers: Sequence[HookAnswer]) -> dict[str, Any]:
    """The request with the hooks' changes laid over it; they can't add a tool that was taken from the model."""
    changes = or_none(merged.llm_request)
    if changes is None:
        return {}
    before = _object(hook_input.get("llm_request"))
    wanted = keep_within_limits(overlay_llm_request(before, dict(changes)), before, answers)
    return _changed("llm_request", hook_input, wanted)


def change_response(hook_input: EventInput, merged: HookAnswer, _answers: Sequence[HookAnswer]) -> dict[str, Any]:
    """The response whose text takes the place of the model's."""
    return _changed(
        "llm_response", hook_input, settle_llm_response(merged.llm_response, _object(hook_input.get("llm_response")))
    )


def change_prompt(hook_input: EventInput, merged: HookAnswer, _answers: Sequence[HookAnswer]) -> dict[str, Any]:
    """The prompt that a hook gives in place of the user's."""
    return _changed("prompt", hook_input, or_none(merged.prompt))


def add_context(hook_input: EventInput, merged: HookAnswer, answers: Sequence[HookAnswer]) -> dict[str, Any]:
    """The prompt as the next hook of a sequence gets it: with each hook's context at its end."""
    given = or_none(merged.prompt)
    contexts = [context for answer in answers if (context := or_none(answer.context))]
    prompt = "\n\n".join((given or str(hook_input.get("prompt", "")), *contexts))
    return {"prompt": prompt} if contexts or given else {}


def _differing(given: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name not in before or not is_same(before[name], value)}


def _changed(name: str, hook_input: EventInput, after: Any) -> dict[str, Any]:
    return {} if after is None or is_same(after, hook_input.get(name)) else {name: after}


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
