"""Makes one model call between its hooks: BeforeToolSelection, BeforeModel, the stream, AfterModel."""

from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from msgspec import structs

from hookline.apps.agent.conversation.contents import spoken_text
from hookline.apps.agent.events import Listener, ModelText
from hookline.apps.agent.models.client import Model
from hookline.apps.agent.models.collect import collect
from hookline.client.triggers.model import (
    fire_after_model_hook,
    fire_before_model_hook,
    fire_before_tool_selection_hook,
)
from hookline.client.triggers.results import AfterModelHookResult, BeforeModelHookResult, BeforeToolSelectionHookResult
from hookline.extensions import lazy_module
from hookline.formats.genai import sdk
from hookline.protocol.events import HookEventName
from hookline.protocol.llm import GenerateContentParameters

if TYPE_CHECKING:
    from hookline.client.config import Config
    from hookline.formats.genai import request as genai_request
    from hookline.formats.genai import response as genai_response
    from hookline.formats.genai.sdk import GenerateContentResponse
else:
    genai_request = lazy_module("hookline.formats.genai.request")
    genai_response = lazy_module("hookline.formats.genai.response")

_NOTHING_LEFT = "a BeforeModel hook dropped every message, so there was nothing to send to the model"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCallResult:
    """The result of one model call after all hooks."""

    response: "GenerateContentResponse | None" = None
    """The response; None if a BeforeToolSelection hook stopped the agent."""
    shown: str = ""
    """The text for the user."""
    was_streamed: bool = False
    """True if the text was shown while it arrived."""
    allowed: frozenset[str] | None = None
    """The tools that the model may call; None for all tools."""
    restricted_by: tuple[str, ...] = ()
    """The hooks that restricted the tools."""
    note: str | None = None
    """A hook's message that goes to the model with the next message."""
    blocked: bool = False
    """True if a hook prevented the model call."""
    reason: str | None = None
    """The reason for a block."""
    should_stop: bool = False
    stop_reason: str | None = None
    decided_by: tuple[str, ...] = ()
    """The hooks that blocked the call or stopped the agent."""


async def call_model(
    config: "Config", model: Model, request: GenerateContentParameters, *, listener: Listener = lambda _: None
) -> ModelCallResult:
    """Make one call, unless a hook blocks it.

    `listener` receives the text as it arrives, unless AfterModel hooks must see it first. Raises ModelError if the
    model fails; AfterModel hooks don't run then, because there is no complete response.
    """
    chosen_by: tuple[str, ...] = ()
    if request.config is not None and request.config.tools:
        selection = await fire_before_tool_selection_hook(config, request)
        if selection.should_stop:
            return _answer(selection, blocked=True, reason=selection.stop_reason)
        request, chosen_by = _select(request, selection), selection.restricted_by
    before = await fire_before_model_hook(config, request)
    if before.blocked:
        return _blocked(before)
    request = before.modified_request or request
    if not request.contents:
        return replace(_blocked(before), blocked=True, reason=_NOTHING_LEFT)
    streams = not _is_held(config)
    chunks: list[GenerateContentResponse] = []
    async with aclosing(model.stream(_sendable(request))) as stream:
        async for chunk in stream:
            chunks.append(chunk)
            if streams and (text := spoken_text(chunk)):
                listener(ModelText(text=text, is_final=False))
    response = collect(chunks)
    after = await fire_after_model_hook(config, request, response)
    # Streamed text can no longer be hidden.
    shown = spoken_text(response) if streams else "" if after.suppress_output else spoken_text(after.response)
    return _answer(
        after,
        response=after.response,
        shown=shown,
        was_streamed=streams,
        allowed=_allowed_tools(request),
        restricted_by=before.restricted_by or chosen_by,
    )


def _answer(
    hooks: BeforeToolSelectionHookResult | BeforeModelHookResult | AfterModelHookResult, **fields: Any
) -> ModelCallResult:
    return ModelCallResult(
        note=hooks.system_message,
        should_stop=hooks.should_stop,
        stop_reason=hooks.stop_reason,
        decided_by=hooks.decided_by,
        **fields,
    )


def _select(request: GenerateContentParameters, selection: BeforeToolSelectionHookResult) -> GenerateContentParameters:
    if selection.tool_config is not None:
        update = {"tool_config": selection.tool_config, "tools": selection.tools}
        request = structs.replace(request, config=request.config.model_copy(update=update))
    if selection.system_message:
        request = genai_request.with_note(request, selection.system_message)
    return request


def _blocked(before: BeforeModelHookResult) -> ModelCallResult:
    response = before.synthetic_response or genai_response.empty_response()
    shown = "" if before.suppress_output else spoken_text(response)
    return _answer(before, response=response, shown=shown, blocked=True, reason=before.reason)


def _is_held(config: "Config") -> bool:
    """Return True if the answer must not be shown before AfterModel hooks have run."""
    system = config.get_hook_system()
    if system is None or not system.get_status().initialized or system.get_settings().options.stream_during_after_model:
        return False
    return bool(system.explain(HookEventName.AFTER_MODEL).hooks)


def _allowed_tools(request: GenerateContentParameters) -> frozenset[str] | None:
    """Return the names of the tools that may be called, or None for all tools."""
    calling = _calling(request)
    if calling is None:
        return None
    if _mode(calling) == "NONE":
        return frozenset()
    return None if calling.allowed_function_names is None else frozenset(calling.allowed_function_names)


def _sendable(request: GenerateContentParameters) -> GenerateContentParameters:
    """Return a request that the API accepts: a list of names requires ANY or VALIDATED, and only declared tools."""
    calling = _calling(request)
    if calling is None or calling.allowed_function_names is None:
        return request
    declared = {one.name for tool in request.config.tools or () for one in tool.function_declarations or ()}
    names = [name for name in calling.allowed_function_names if name in declared] or None
    mode = _mode(calling)
    sent = "NONE" if mode == "NONE" or names is None else "ANY" if mode == "ANY" else "VALIDATED"
    changes = {
        "mode": sdk.types().FunctionCallingConfigMode[sent],
        "allowed_function_names": None if sent == "NONE" else names,
    }
    tool_config = request.config.tool_config.model_copy(
        update={"function_calling_config": calling.model_copy(update=changes)}
    )
    return structs.replace(request, config=request.config.model_copy(update={"tool_config": tool_config}))


def _calling(request: GenerateContentParameters) -> Any:
    tool_config = None if request.config is None else request.config.tool_config
    return None if tool_config is None else tool_config.function_calling_config


def _mode(calling: Any) -> str | None:
    return None if calling.mode is None else str(calling.mode.value)
