"""Hooks around model calls. Callers deal in SDK types; what hooks see of them is translated on the way."""

from typing import TYPE_CHECKING

from hookline.contract.events import HookEventName
from hookline.contract.llm import GenerateContentParameters
from hookline.triggers._door import fire_and_apply
from hookline.triggers.results import AfterModelHookResult, BeforeModelHookResult, BeforeToolSelectionHookResult

if TYPE_CHECKING:
    from hookline.config import Config
    from hookline.contract.verdict import Verdict
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

    def apply(verdict: "Verdict") -> BeforeModelHookResult:
        from hookline.triggers import _apply_model  # noqa: PLC0415 - the formats are not loaded while hooks are disabled

        return _apply_model.before_model(verdict, llm_request)

    fields = {"llm_request": llm_request}
    return await fire_and_apply(config, HookEventName.BEFORE_MODEL, fields, apply, BeforeModelHookResult())


async def fire_after_model_hook(
    config: "Config", llm_request: GenerateContentParameters, llm_response: "GenerateContentResponse"
) -> AfterModelHookResult:
    """Fires AfterModel on the complete response; without an answer the response stays as it is."""

    def apply(verdict: "Verdict") -> AfterModelHookResult:
        from hookline.triggers import _apply_model  # noqa: PLC0415 - the formats are not loaded while hooks are disabled

        return _apply_model.after_model(verdict, llm_response)

    fields = {"llm_request": llm_request, "llm_response": llm_response}
    otherwise = AfterModelHookResult(response=llm_response)
    return await fire_and_apply(config, HookEventName.AFTER_MODEL, fields, apply, otherwise)


async def fire_before_tool_selection_hook(
    config: "Config", llm_request: GenerateContentParameters
) -> BeforeToolSelectionHookResult:
    """Fires BeforeToolSelection; without an answer the request's own tool configuration stays."""

    def apply(verdict: "Verdict") -> BeforeToolSelectionHookResult:
        from hookline.triggers import _apply_model  # noqa: PLC0415 - the formats are not loaded while hooks are disabled

        return _apply_model.tool_selection(verdict, llm_request)

    fields = {"llm_request": llm_request}
    return await fire_and_apply(
        config, HookEventName.BEFORE_TOOL_SELECTION, fields, apply, BeforeToolSelectionHookResult()
    )
