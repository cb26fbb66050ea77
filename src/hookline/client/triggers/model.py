"""Hooks around model calls. Callers pass and get SDK types; hooks read and change a translated form of them.

The formats are loaded by the functions that need them, so that nothing of them is loaded while hooks are disabled.
"""

# ruff: noqa: PLC0415 - the imports inside functions, for this reason

from functools import partial
from typing import TYPE_CHECKING, Any

from hookline.client.triggers.boundary import Attempt, fire_and_apply
from hookline.client.triggers.results import AfterModelHookResult, BeforeModelHookResult, BeforeToolSelectionHookResult
from hookline.protocol.events import HookEventName
from hookline.protocol.llm import GenerateContentParameters

if TYPE_CHECKING:
    from hookline.client.config import Config
    from hookline.formats.genai.sdk import GenerateContentResponse
    from hookline.protocol.verdict import Verdict

__all__ = [
    "AfterModelHookResult",
    "BeforeModelHookResult",
    "BeforeToolSelectionHookResult",
    "fire_after_model_hook",
    "fire_before_model_hook",
    "fire_before_tool_selection_hook",
]


async def fire_before_model_hook(config: "Config", llm_request: GenerateContentParameters) -> BeforeModelHookResult:
    """Fires BeforeModel on the assembled request; without an answer the call is made as it is."""
    apply = partial(_before_model, request=llm_request)
    fields = {"llm_request": llm_request}
    return await fire_and_apply(config, HookEventName.BEFORE_MODEL, fields, apply, BeforeModelHookResult())


async def fire_after_model_hook(
    config: "Config", llm_request: GenerateContentParameters, llm_response: "GenerateContentResponse"
) -> AfterModelHookResult:
    """Fires AfterModel on the complete response; without an answer the response stays as it is."""
    apply = partial(_after_model, response=llm_response)
    fields = {"llm_request": llm_request, "llm_response": llm_response}
    otherwise = AfterModelHookResult(response=llm_response)
    return await fire_and_apply(config, HookEventName.AFTER_MODEL, fields, apply, otherwise)


async def fire_before_tool_selection_hook(
    config: "Config", llm_request: GenerateContentParameters
) -> BeforeToolSelectionHookResult:
    """Fires BeforeToolSelection; without an answer the request's own tool configuration stays."""
    apply = partial(_tool_selection, request=llm_request)
    fields, otherwise = {"llm_request": llm_request}, BeforeToolSelectionHookResult()
    return await fire_and_apply(config, HookEventName.BEFORE_TOOL_SELECTION, fields, apply, otherwise)


def _before_model(verdict: "Verdict", attempt: Attempt, request: GenerateContentParameters) -> BeforeModelHookResult:
    """Whether the call is made, with which request, or what is used in its place."""
    if verdict.blocked:
        response = attempt(lambda: _synthetic_response(verdict), None, "a hook's response is not used")
        shared = _shared(verdict, verdict.note)
        return BeforeModelHookResult(blocked=True, reason=verdict.reason, synthetic_response=response, **shared)
    modified = request
    if verdict.request is not None:
        modified = attempt(lambda: _modified_request(verdict, request), request, "a hook's changes are not used")
    if note := verdict.note:
        modified = attempt(lambda: _noted(modified, note), modified, "a note is not sent")
    return BeforeModelHookResult(modified_request=None if modified is request else modified, **_shared(verdict, None))


def _after_model(verdict: "Verdict", attempt: Attempt, response: "GenerateContentResponse") -> AfterModelHookResult:
    """The response to go on with: a hook's text in place of the model's, or a stop in place of everything."""
    modified = attempt(lambda: _modified_response(verdict, response), response, "a hook's response is not used")
    return AfterModelHookResult(response=modified, **_shared(verdict, verdict.note))


def _tool_selection(
    verdict: "Verdict", attempt: Attempt, request: GenerateContentParameters
) -> BeforeToolSelectionHookResult:
    """The tool configuration to use, if hooks changed it."""
    from hookline.formats.genai.contents import field

    config = field(request, "config")
    given, tools = field(config, "tool_config"), field(config, "tools")
    unused = "a hook's restriction of tools is not used"
    changed = attempt(lambda: _selected(verdict, given), given, unused)
    return BeforeToolSelectionHookResult(
        tool_config=None if changed is given else changed,
        tools=tools if changed is given else attempt(lambda: _left(tools, changed), tools, unused),
        **_shared(verdict, verdict.note),
    )


def _synthetic_response(verdict: "Verdict") -> "GenerateContentResponse | None":
    """The response to use in place of the model's, if a hook gave one that has a candidate."""
    from hookline.formats.outputs import BeforeModelHookOutput
    from hookline.protocol.answers import HookAnswer

    return BeforeModelHookOutput.of(verdict.answer or HookAnswer()).get_synthetic_response()


def _modified_request(verdict: "Verdict", request: GenerateContentParameters) -> GenerateContentParameters:
    """The request with the difference that the verdict's makes to the one that hooks were shown."""
    from hookline.formats.genai.request import write_request
    from hookline.formats.hook_format import message_text
    from hookline.protocol.answers import or_none

    changes = (verdict.answer and or_none(verdict.answer.llm_request)) or {}
    replaces = "systemInstruction" in changes and message_text(changes["systemInstruction"]) is not None
    return write_request(request, verdict.shown_request or {}, verdict.request or {}, replaces_instruction=replaces)


def _noted(request: GenerateContentParameters, note: str) -> GenerateContentParameters:
    from hookline.formats.genai.request import append_system_note

    return append_system_note(request, note)


def _modified_response(verdict: "Verdict", response: "GenerateContentResponse") -> "GenerateContentResponse":
    from hookline.formats.genai.response import from_hook_llm_response, replace_response_text, stop_response

    if verdict.response is not None:
        modified = from_hook_llm_response(verdict.response)
        # A hook never saw the model's function calls, so it can't mean to drop them.
        return modified if verdict.stop else replace_response_text(response, modified)
    return stop_response(verdict.reason or "") if verdict.stop else response


def _selected(verdict: "Verdict", given: Any) -> Any:
    from hookline.formats.genai.tool_config import overlay_tool_config, to_hook_tool_config

    if verdict.tools is None:
        return given
    selected = verdict.tools.to_dict()
    if verdict.tools.mode is None and "mode" in to_hook_tool_config(given):
        # No hook gave a mode, so the request's own stays.
        del selected["mode"]
    return overlay_tool_config(given, selected)


def _left(tools: Any, config: Any) -> Any:
    from hookline.formats.genai.tool_config import to_hook_tool_config
    from hookline.formats.genai.tools import without_forbidden

    return without_forbidden(tools, to_hook_tool_config(config))


def _shared(verdict: "Verdict", note: str | None) -> dict[str, Any]:
    return {
        "system_message": note,
        "should_stop": verdict.stop,
        "stop_reason": verdict.stop_reason,
        "suppress_output": verdict.suppress,
        "decided_by": verdict.deciders,
        "restricted_by": _restricted_by(verdict),
    }


def _restricted_by(verdict: "Verdict") -> tuple[str, ...]:
    """The hooks whose choice of tools stands."""
    if not any("toolConfig" in path for path in verdict.holders):
        return ()
    chosen = (hooks for path, hooks in verdict.decided_by.items() if "toolConfig" in path.split("."))
    return tuple(dict.fromkeys(hook for hooks in chosen for hook in hooks))
