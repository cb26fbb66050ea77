"""The merged answer of a model event → what its caller goes on with."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from hookline.contract.llm import GenerateContentParameters
from hookline.contract.results import AggregatedHookResult, ProcessedHookResult
from hookline.engine.interpret import process_common_hook_output_fields
from hookline.formats.outputs import (
    AfterModelHookOutput,
    BeforeModelHookOutput,
    BeforeToolSelectionHookOutput,
    ToolConfigTarget,
)
from hookline.formats.request import append_system_note
from hookline.formats.response import replace_response_text
from hookline.formats.tool_config import read_tool_config, to_hook_tool_config
from hookline.triggers._fire import report
from hookline.triggers.results import AfterModelHookResult, BeforeModelHookResult, BeforeToolSelectionHookResult

if TYPE_CHECKING:
    from hookline.formats.sdk import GenerateContentResponse

Made = TypeVar("Made")


def before_model(result: AggregatedHookResult, request: GenerateContentParameters) -> BeforeModelHookResult:
    """Whether the call is made, with which request, or what is used in its place."""
    common = process_common_hook_output_fields(result)
    output = result.final_output
    if not isinstance(output, BeforeModelHookOutput):
        return BeforeModelHookResult()
    if output.is_blocking_decision() or common.should_stop:
        return BeforeModelHookResult(
            blocked=True,
            reason=output.get_effective_reason(),
            synthetic_response=_try(output.get_synthetic_response, None, "a hook's response is not used"),
            system_message=common.system_message,
            **_shared(common),
        )
    modified = _try(lambda: _modified_request(output, common, request), request, "a hook's changes are not used")
    return BeforeModelHookResult(modified_request=None if modified is request else modified, **_shared(common))


def after_model(result: AggregatedHookResult, response: "GenerateContentResponse") -> AfterModelHookResult:
    """The response to go on with: a hook's text in place of the model's, or a stop in place of everything."""
    common = process_common_hook_output_fields(result)
    output = result.final_output
    modified = response
    if isinstance(output, AfterModelHookOutput):
        consequence = "a hook's response is not used"
        modified = _try(lambda: _modified_response(output, common, response), response, consequence)
    return AfterModelHookResult(
        response=modified,
        system_message=common.system_message,
        **_shared(common),
    )


def tool_selection(result: AggregatedHookResult, request: GenerateContentParameters) -> BeforeToolSelectionHookResult:
    """The tool configuration to use, if hooks changed it."""
    common = process_common_hook_output_fields(result)
    output = result.final_output
    config = _option(request, "config", "config")
    target = ToolConfigTarget(
        tool_config=_option(config, "tool_config", "toolConfig"), tools=_option(config, "tools", "tools")
    )
    changed = target
    if isinstance(output, BeforeToolSelectionHookOutput):
        consequence = "a hook's restriction of tools is not used"
        given = _without_assumed_mode(result, output) if "mode" in to_hook_tool_config(target.tool_config) else output
        changed = _try(lambda: given.apply_tool_config_modifications(target), target, consequence)
    return BeforeToolSelectionHookResult(
        tool_config=None if changed is target else changed.tool_config,
        tools=target.tools,
        system_message=common.system_message,
        **_shared(common),
    )


def _without_assumed_mode(
    result: AggregatedHookResult, output: BeforeToolSelectionHookOutput
) -> BeforeToolSelectionHookOutput:
    """The answer without the mode that stands in it where no hook gave one: that must not undo the request's own."""
    answers = [one.output.hook_specific_output.get("toolConfig") for one in result.results if one.output is not None]
    config = output.hook_specific_output.get("toolConfig")
    if not isinstance(config, dict) or any("mode" in read_tool_config(answer) for answer in answers):
        return output
    names_only = {key: value for key, value in config.items() if key != "mode"}
    return BeforeToolSelectionHookOutput({"hookSpecificOutput": {"toolConfig": names_only}})


def _modified_request(
    output: BeforeModelHookOutput, common: ProcessedHookResult, request: GenerateContentParameters
) -> GenerateContentParameters:
    modified = output.apply_llm_request_modifications(request)
    return append_system_note(modified, common.system_message) if common.system_message else modified


def _modified_response(
    output: AfterModelHookOutput, common: ProcessedHookResult, response: "GenerateContentResponse"
) -> "GenerateContentResponse":
    modified = output.get_modified_response()
    if modified is None:
        return response
    # A hook never saw the model's function calls, so it cannot mean to drop them.
    return modified if common.should_stop else replace_response_text(response, modified)


def _try(make: Callable[[], Made], otherwise: Made, consequence: str) -> Made:
    """What is made in the SDK's types; that it can't be made costs that alone, and never a block or a stop."""
    try:
        return make()
    except Exception as error:  # noqa: BLE001 - the SDK may be missing, or refuse what a hook wrote
        report(error, consequence)
        return otherwise


def _shared(common: ProcessedHookResult) -> dict[str, Any]:
    return {
        "should_stop": common.should_stop,
        "stop_reason": common.stop_reason,
        "suppress_output": common.suppress_output,
    }


def _option(config: Any, name: str, wire_name: str) -> Any:
    if isinstance(config, dict):
        return config.get(name, config.get(wire_name))
    return getattr(config, name, None)
