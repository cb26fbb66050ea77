"""The merged answer of a model event → what its caller goes on with."""

from typing import TYPE_CHECKING, Any

from hookline.contract.llm import GenerateContentParameters
from hookline.contract.results import AggregatedHookResult, ProcessedHookResult
from hookline.engine.interpret import process_common_hook_output_fields
from hookline.translate.outputs import (
    AfterModelHookOutput,
    BeforeModelHookOutput,
    BeforeToolSelectionHookOutput,
    ToolConfigTarget,
)
from hookline.translate.request import append_system_note
from hookline.translate.response import replace_response_text
from hookline.triggers.results import AfterModelHookResult, BeforeModelHookResult, BeforeToolSelectionHookResult

if TYPE_CHECKING:
    from hookline.translate.sdk import GenerateContentResponse


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
            synthetic_response=output.get_synthetic_response(),
            **_shared(common),
        )
    modified = output.apply_llm_request_modifications(request)
    if common.system_message:
        modified = append_system_note(modified, common.system_message)
    return BeforeModelHookResult(modified_request=None if modified is request else modified, **_shared(common))


def after_model(result: AggregatedHookResult, response: "GenerateContentResponse") -> AfterModelHookResult:
    """The response to go on with: a hook's text in place of the model's, or a stop in place of everything."""
    common = process_common_hook_output_fields(result)
    output = result.final_output
    modified = output.get_modified_response() if isinstance(output, AfterModelHookOutput) else None
    if modified is not None and not common.should_stop:
        # A hook never saw the model's function calls, so it cannot mean to drop them.
        modified = replace_response_text(response, modified)
    return AfterModelHookResult(
        response=response if modified is None else modified,
        system_message=common.system_message,
        **_shared(common),
    )


def tool_selection(result: AggregatedHookResult, request: GenerateContentParameters) -> BeforeToolSelectionHookResult:
    """The tool configuration to use, if hooks changed it."""
    common = process_common_hook_output_fields(result)
    output = result.final_output
    target = ToolConfigTarget(
        tool_config=_option(request.config, "tool_config", "toolConfig"),
        tools=_option(request.config, "tools", "tools"),
    )
    changed = target
    if isinstance(output, BeforeToolSelectionHookOutput):
        changed = output.apply_tool_config_modifications(target)
    return BeforeToolSelectionHookResult(
        tool_config=None if changed is target else changed.tool_config,
        tools=target.tools,
        system_message=common.system_message,
        **_shared(common),
    )


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
