"""Hooks around model calls. Callers deal in SDK types; what hooks see of them is translated on the way."""

from typing import TYPE_CHECKING

from hookline.contract.llm import GenerateContentParameters
from hookline.triggers._fire import fire, report
from hookline.triggers.results import AfterModelHookResult, BeforeModelHookResult, BeforeToolSelectionHookResult

if TYPE_CHECKING:
    from hookline.config import Config
    from hookline.formats.genai.sdk import GenerateContentResponse

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
    result = await fire(config, lambda handler: handler.fire_before_model_event(llm_request))
    if result is None or result.final_output is None:
        return BeforeModelHookResult()
    try:
        from hookline.triggers import _apply_model  # noqa: PLC0415 - the translator is not loaded while hooks are disabled

        return _apply_model.before_model(result, llm_request)
    except Exception as error:  # noqa: BLE001 - the door: a fault of ours never stops the agent
        report(error)
        return BeforeModelHookResult()


async def fire_after_model_hook(
    config: "Config", llm_request: GenerateContentParameters, llm_response: "GenerateContentResponse"
) -> AfterModelHookResult:
    """Fires AfterModel on the complete response; without an answer the response stays as it is."""
    result = await fire(config, lambda handler: handler.fire_after_model_event(llm_request, llm_response))
    if result is None or result.final_output is None:
        return AfterModelHookResult(response=llm_response)
    try:
        from hookline.triggers import _apply_model  # noqa: PLC0415 - the translator is not loaded while hooks are disabled

        return _apply_model.after_model(result, llm_response)
    except Exception as error:  # noqa: BLE001 - the door: a fault of ours never stops the agent
        report(error)
        return AfterModelHookResult(response=llm_response)


async def fire_before_tool_selection_hook(
    config: "Config", llm_request: GenerateContentParameters
) -> BeforeToolSelectionHookResult:
    """Fires BeforeToolSelection; without an answer the request's own tool configuration stays."""
    result = await fire(config, lambda handler: handler.fire_before_tool_selection_event(llm_request))
    if result is None or result.final_output is None:
        return BeforeToolSelectionHookResult()
    try:
        from hookline.triggers import _apply_model  # noqa: PLC0415 - the translator is not loaded while hooks are disabled

        return _apply_model.tool_selection(result, llm_request)
    except Exception as error:  # noqa: BLE001 - the door: a fault of ours never stops the agent
        report(error)
        return BeforeToolSelectionHookResult()
