"""The verdict on a model event → what its caller goes on with, in the SDK's types."""

from typing import TYPE_CHECKING, Any

from hookline.contract.answers import said
from hookline.contract.llm import GenerateContentParameters
from hookline.contract.verdict import Verdict
from hookline.formats.genai.request import append_system_note, from_hook_llm_request
from hookline.formats.genai.response import from_hook_llm_response, replace_response_text, stop_response
from hookline.formats.genai.tool_config import overlay_tool_config, to_hook_tool_config
from hookline.triggers._door import attempt
from hookline.triggers.results import AfterModelHookResult, BeforeModelHookResult, BeforeToolSelectionHookResult

if TYPE_CHECKING:
    from hookline.formats.genai.sdk import GenerateContentResponse


def before_model(verdict: Verdict, request: GenerateContentParameters) -> BeforeModelHookResult:
    """Whether the call is made, with which request, or what is used in its place."""
    if verdict.blocked:
        response = attempt(lambda: _synthetic_response(verdict), None, "a hook's response is not used")
        return BeforeModelHookResult(
            blocked=True,
            reason=verdict.reason,
            synthetic_response=response,
            system_message=verdict.note,
            **_shared(verdict),
        )
    modified = attempt(lambda: _modified_request(verdict, request), request, "a hook's changes are not used")
    if verdict.note:
        modified = attempt(lambda: append_system_note(modified, verdict.note or ""), modified, "a note is not sent")
    return BeforeModelHookResult(modified_request=None if modified is request else modified, **_shared(verdict))


def after_model(verdict: Verdict, response: "GenerateContentResponse") -> AfterModelHookResult:
    """The response to go on with: a hook's text in place of the model's, or a stop in place of everything."""
    modified = attempt(lambda: _modified_response(verdict, response), response, "a hook's response is not used")
    return AfterModelHookResult(response=modified, system_message=verdict.note, **_shared(verdict))


def tool_selection(verdict: Verdict, request: GenerateContentParameters) -> BeforeToolSelectionHookResult:
    """The tool configuration to use, if hooks changed it."""
    config = _option(request, "config", "config")
    given = _option(config, "tool_config", "toolConfig")
    changed = attempt(lambda: _selected(verdict, given), given, "a hook's restriction of tools is not used")
    return BeforeToolSelectionHookResult(
        tool_config=None if changed is given else changed,
        tools=_option(config, "tools", "tools"),
        system_message=verdict.note,
        **_shared(verdict),
    )


def _synthetic_response(verdict: Verdict) -> "GenerateContentResponse | None":
    if verdict.response is None:
        return None
    response = from_hook_llm_response(verdict.response)
    return response if response.candidates else None


def _modified_request(verdict: Verdict, request: GenerateContentParameters) -> GenerateContentParameters:
    changes = None if verdict.answer is None else said(verdict.answer.llm_request)
    return request if changes is None else from_hook_llm_request(changes, request)


def _modified_response(verdict: Verdict, response: "GenerateContentResponse") -> "GenerateContentResponse":
    if verdict.response is not None:
        modified = from_hook_llm_response(verdict.response)
        # A hook never saw the model's function calls, so it can't mean to drop them.
        return modified if verdict.stop else replace_response_text(response, modified)
    return stop_response(verdict.reason or "") if verdict.stop else response


def _selected(verdict: Verdict, given: Any) -> Any:
    if verdict.tools is None:
        return given
    selected = verdict.tools.to_dict()
    if verdict.tools.mode is None and "mode" in to_hook_tool_config(given):
        # No hook gave a mode, so the request's own stays.
        del selected["mode"]
    return overlay_tool_config(given, selected)


def _shared(verdict: Verdict) -> dict[str, Any]:
    return {
        "should_stop": verdict.stop,
        "stop_reason": verdict.stop_reason,
        "suppress_output": verdict.suppress,
        "decided_by": verdict.deciders,
    }


def _option(config: Any, name: str, wire_name: str) -> Any:
    if isinstance(config, dict):
        return config.get(name, config.get(wire_name))
    return getattr(config, name, None)
