"""Hooks around model calls. Callers pass and get SDK types; hooks read and change a translated form of them."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from hookline.client.triggers.boundary import fault_verdict, fire, report, system_of
from hookline.client.triggers.results import AfterModelHookResult, BeforeModelHookResult, BeforeToolSelectionHookResult
from hookline.errors import MissingExtraError
from hookline.extensions import lazy_module
from hookline.protocol.events import HookEventName
from hookline.protocol.llm import GenerateContentParameters
from hookline.stderr import warn_user

if TYPE_CHECKING:
    from hookline.client import results
    from hookline.client.config import Config
    from hookline.engine.system import HookSystem
    from hookline.formats import hook_format
    from hookline.formats.genai import contents, tool_config, tools
    from hookline.formats.genai import request as genai_request
    from hookline.formats.genai import response as genai_response
    from hookline.formats.genai.sdk import GenerateContentResponse
    from hookline.protocol import records
    from hookline.protocol.verdict import Verdict
else:  # nothing of the formats is loaded while hooks are disabled
    results = lazy_module("hookline.client.results")
    hook_format = lazy_module("hookline.formats.hook_format")
    contents = lazy_module("hookline.formats.genai.contents")
    tool_config = lazy_module("hookline.formats.genai.tool_config")
    tools = lazy_module("hookline.formats.genai.tools")
    genai_request = lazy_module("hookline.formats.genai.request")
    genai_response = lazy_module("hookline.formats.genai.response")
    records = lazy_module("hookline.protocol.records")

__all__ = [
    "AfterModelHookResult",
    "BeforeModelHookResult",
    "BeforeToolSelectionHookResult",
    "fire_after_model_hook",
    "fire_before_model_hook",
    "fire_before_tool_selection_hook",
]

Result = TypeVar("Result", BeforeModelHookResult, AfterModelHookResult, BeforeToolSelectionHookResult)


async def fire_before_model_hook(config: "Config", llm_request: GenerateContentParameters) -> BeforeModelHookResult:
    """Fires BeforeModel on the assembled request; without an answer the call is made as it is."""
    fields = {"llm_request": llm_request}
    unchanged = BeforeModelHookResult()
    return await _fire(
        config, HookEventName.BEFORE_MODEL, fields, unchanged, lambda verdict: _before_model(verdict, llm_request)
    )


async def fire_after_model_hook(
    config: "Config", llm_request: GenerateContentParameters, llm_response: "GenerateContentResponse"
) -> AfterModelHookResult:
    """Fires AfterModel on the complete response; without an answer the response stays as it is."""
    fields = {"llm_request": llm_request, "llm_response": llm_response}
    unchanged = AfterModelHookResult(response=llm_response)
    return await _fire(
        config, HookEventName.AFTER_MODEL, fields, unchanged, lambda verdict: _after_model(verdict, llm_response)
    )


async def fire_before_tool_selection_hook(
    config: "Config", llm_request: GenerateContentParameters
) -> BeforeToolSelectionHookResult:
    """Fires BeforeToolSelection; without an answer the request's own tool configuration stays."""
    fields = {"llm_request": llm_request}
    event, unchanged = HookEventName.BEFORE_TOOL_SELECTION, BeforeToolSelectionHookResult()
    return await _fire(config, event, fields, unchanged, lambda verdict: _tool_selection(verdict, llm_request))


async def _fire(
    config: "Config",
    event: HookEventName,
    fields: Mapping[str, Any],
    unchanged: Result,
    changes: "Callable[[Verdict], dict[str, Any]]",
) -> Result:
    """Return the verdict as a result; `changes` makes those of its fields that are written in the SDK's types."""
    system = system_of(config)
    verdict = await fire(system, event, fields)
    if system is None or verdict is None or verdict.answer is None:
        return unchanged
    changed: dict[str, Any] = {}
    try:
        changed = {**changes(verdict), "restricted_by": _restricted_by(verdict)}
    except Exception as error:  # noqa: BLE001 - the door: the SDK may be missing, or refuse what a hook wrote
        _report(system, event, error)
        if not verdict.blocked and system.blocks_on_fault:
            verdict = fault_verdict(event, error) or verdict
    if event is HookEventName.BEFORE_MODEL:
        changed |= {"blocked": verdict.blocked, "reason": verdict.reason if verdict.blocked else None}
    # The note of a request that is sent is part of it.
    is_sent = event is HookEventName.BEFORE_MODEL and not verdict.blocked
    return replace(
        unchanged,
        system_message=None if is_sent else verdict.note,
        should_stop=verdict.stop,
        stop_reason=verdict.stop_reason,
        suppress_output=verdict.suppress,
        decided_by=verdict.deciders,
        **changed,
    )


def _report(system: "HookSystem", event: HookEventName, error: Exception) -> None:
    """Reports what hooks decided and can't be applied; their block or stop is kept."""
    consequence = "a hook's changes are not used"
    if not isinstance(error, MissingExtraError):
        report(error, consequence)
        return
    # Not a fault in hookline: installing a package fixes it.
    message = f"{consequence}: {error}"
    record = records.AdviceRecord(level=records.LogLevel.WARN, message=f"{event}: {message}", event=event.value)
    system.get_log().write(record)
    warn_user(message)


def _before_model(verdict: "Verdict", request: GenerateContentParameters) -> dict[str, Any]:
    """The request to send, or the response in place of the model's."""
    if verdict.blocked:
        given = None if verdict.response is None else genai_response.from_hook_llm_response(verdict.response)
        return {"synthetic_response": given if given is not None and given.candidates else None}
    modified = request
    if verdict.request is not None:
        replaces = _replaces_instruction(verdict)
        shown = verdict.shown_request or {}
        modified = genai_request.write_request(request, shown, verdict.request, replaces_instruction=replaces)
    if verdict.note:
        modified = genai_request.with_note(modified, verdict.note)
    return {"modified_request": None if modified is request else modified}


def _replaces_instruction(verdict: "Verdict") -> bool:
    """True if a hook gave another system instruction, which hooks are not shown."""
    changes = None if verdict.answer is None else verdict.answer.llm_request
    if not isinstance(changes, Mapping) or "systemInstruction" not in changes:
        return False
    return hook_format.message_text(changes["systemInstruction"]) is not None


def _after_model(verdict: "Verdict", response: "GenerateContentResponse") -> dict[str, Any]:
    """The response to go on with: a hook's text in place of the model's, or a stop in place of everything."""
    if verdict.response is not None:
        # A hook never saw the model's function calls, so it can't mean to drop them.
        kept = None if verdict.stop else response
        return {"response": genai_response.from_hook_llm_response(verdict.response, kept)}
    return {"response": genai_response.stop_response(verdict.reason or "")} if verdict.stop else {}


def _tool_selection(verdict: "Verdict", request: GenerateContentParameters) -> dict[str, Any]:
    """The tool configuration to use, if hooks changed it, and the tools that are left."""
    config = contents.field(request, "config")
    given, offered = contents.field(config, "tool_config"), contents.field(config, "tools")
    if verdict.tools is None:
        return {"tools": offered}
    current = tool_config.to_hook_tool_config(given)
    wanted = results.chosen_tools(verdict.tools, {"mode": "AUTO", **current})
    if wanted == current:
        return {"tools": offered}
    changed = tool_config.apply_tool_config(given, current, wanted)
    return {"tool_config": changed, "tools": tools.without_forbidden(offered, wanted)}


def _restricted_by(verdict: "Verdict") -> tuple[str, ...]:
    """The hooks whose choice of tools stands."""
    if not any("toolConfig" in path for path in verdict.holders):
        return ()
    chosen = (hooks for path, hooks in verdict.decided_by.items() if "toolConfig" in path.split("."))
    return tuple(dict.fromkeys(hook for hooks in chosen for hook in hooks))
