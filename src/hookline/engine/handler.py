"""Fires events: plan, build the input, run, merge, log; a fault of ours never gets out."""

import os
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from hookline.contract.events import (
    HookEventName,
    PreCompressTrigger,
    SessionEndReason,
    SessionStartSource,
)
from hookline.contract.inputs import SessionFacts
from hookline.contract.llm import GenerateContentParameters
from hookline.contract.messages import Message, MessageBus, MessageBusType, Unsubscribe
from hookline.contract.observer import HookObserver
from hookline.contract.results import (
    AggregatedHookResult,
    HookError,
    make_empty_success_result,
)
from hookline.contract.wire import utc_timestamp
from hookline.engine._mediation import answer
from hookline.engine.aggregator import HookAggregator
from hookline.engine.event_log import EventLog
from hookline.engine.event_table import EVENT_TABLE
from hookline.engine.planner import HookPlanner
from hookline.engine.runner import HookRunner
from hookline.formats.genai.request import is_sdk_request
from hookline.formats.genai.response import is_sdk_response
from hookline.formats.genai.translator import HookTranslatorGenAIv1
from hookline.log import HookLogger


class HookEventHandler:
    """One method per event; each returns the merged answer of the event's hooks, and never raises."""

    def __init__(
        self,
        *,
        facts: SessionFacts,
        planner: HookPlanner,
        runner: HookRunner,
        aggregator: HookAggregator,
        translator: HookTranslatorGenAIv1,
        log: HookLogger,
        bus: MessageBus | None = None,
        observer: HookObserver | None = None,
        refresh: Callable[[], None] | None = None,
    ) -> None:
        self._facts = facts
        self._planner = planner
        self._runner = runner
        self._aggregator = aggregator
        self._translator = translator
        self._event_log = EventLog(log, facts.get_session_id)
        self._observer = observer
        self._refresh = refresh
        self._unsubscribe: Unsubscribe | None = None
        if bus is not None:

            async def mediate(message: Message) -> None:
                await bus.publish(await answer(message, self._fire))

            self._unsubscribe = bus.subscribe(MessageBusType.HOOK_EXECUTION_REQUEST, mediate)

    async def fire_before_tool_event(
        self, tool_name: str, tool_input: Mapping[str, Any], *, mcp_context: Mapping[str, Any] | None = None
    ) -> AggregatedHookResult:
        """Fires BeforeTool."""
        fields = {"tool_name": tool_name, "tool_input": tool_input}
        return await self._fire(HookEventName.BEFORE_TOOL, _with_mcp_context(fields, mcp_context))

    async def fire_after_tool_event(
        self,
        tool_name: str,
        tool_input: Mapping[str, Any],
        tool_response: Mapping[str, Any],
        *,
        mcp_context: Mapping[str, Any] | None = None,
    ) -> AggregatedHookResult:
        """Fires AfterTool."""
        fields = {"tool_name": tool_name, "tool_input": tool_input, "tool_response": tool_response}
        return await self._fire(HookEventName.AFTER_TOOL, _with_mcp_context(fields, mcp_context))

    async def fire_before_model_event(
        self, llm_request: GenerateContentParameters | Mapping[str, Any]
    ) -> AggregatedHookResult:
        """Fires BeforeModel."""
        return await self._fire(HookEventName.BEFORE_MODEL, {"llm_request": llm_request})

    async def fire_after_model_event(
        self, llm_request: GenerateContentParameters | Mapping[str, Any], llm_response: Any
    ) -> AggregatedHookResult:
        """Fires AfterModel; the response is the SDK's, or already in hook form."""
        return await self._fire(HookEventName.AFTER_MODEL, {"llm_request": llm_request, "llm_response": llm_response})

    async def fire_before_tool_selection_event(
        self, llm_request: GenerateContentParameters | Mapping[str, Any]
    ) -> AggregatedHookResult:
        """Fires BeforeToolSelection."""
        return await self._fire(HookEventName.BEFORE_TOOL_SELECTION, {"llm_request": llm_request})

    async def fire_before_agent_event(self, prompt: str) -> AggregatedHookResult:
        """Fires BeforeAgent."""
        return await self._fire(HookEventName.BEFORE_AGENT, {"prompt": prompt})

    async def fire_after_agent_event(
        self, prompt: str, prompt_response: str, *, stop_hook_active: bool = False
    ) -> AggregatedHookResult:
        """Fires AfterAgent."""
        fields = {"prompt": prompt, "prompt_response": prompt_response, "stop_hook_active": stop_hook_active}
        return await self._fire(HookEventName.AFTER_AGENT, fields)

    async def fire_session_start_event(self, source: SessionStartSource) -> AggregatedHookResult:
        """Fires SessionStart."""
        return await self._fire(HookEventName.SESSION_START, {"source": source})

    async def fire_session_end_event(self, reason: SessionEndReason) -> AggregatedHookResult:
        """Fires SessionEnd."""
        return await self._fire(HookEventName.SESSION_END, {"reason": reason})

    async def fire_pre_compress_event(self, trigger: PreCompressTrigger) -> AggregatedHookResult:
        """Fires PreCompress."""
        return await self._fire(HookEventName.PRE_COMPRESS, {"trigger": trigger})

    async def fire_notification_event(
        self, notification_type: str, message: str, details: Mapping[str, Any]
    ) -> AggregatedHookResult:
        """Fires Notification."""
        fields = {"notification_type": notification_type, "message": message, "details": details}
        return await self._fire(HookEventName.NOTIFICATION, fields)

    async def fire_event(self, name: str, fields: Mapping[str, Any]) -> AggregatedHookResult:
        """Fires the event of this name with its own fields as they are; an unknown name gives a failed result."""
        try:
            event = HookEventName(name)
        except ValueError as error:
            return build_failure_envelope(error, "event name", {"known": [event.value for event in HookEventName]})
        return await self._fire(event, fields)

    def dispose(self) -> None:
        """Stops serving the bus; without a bus it does nothing."""
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None

    async def _fire(self, name: HookEventName, fields: Mapping[str, Any]) -> AggregatedHookResult:
        started = time.perf_counter()
        stage = "planning"
        try:
            if self._refresh is not None:
                self._refresh()
            subject = _subject(name, fields)
            plan = self._planner.create_execution_plan(name, subject)
            if plan is None:
                return make_empty_success_result()
            stage = "translation"
            event_input = self._build_input(name, fields)
            stage = "execution"
            if self._observer is not None:
                self._show(name, lambda observer: observer.hooks_started(plan, subject))
            run = self._runner.execute_hooks_sequential if plan.sequential else self._runner.execute_hooks_parallel
            results = await run(plan.hooks, event_input)
            stage = "aggregation"
            result = self._aggregator.aggregate_results(results, name, event_input, plan=plan, started=started)
        except Exception as error:  # noqa: BLE001 - the door: a fault of ours is told and never stops the agent
            self._tell_fault(name, stage, error, "so its hooks had no effect")
            failed = build_failure_envelope(error, stage, {"event": name.value})
            self._show(name, lambda observer: observer.hooks_finished(failed, None))
            return failed
        except BaseException as error:  # cancelled or interrupted: whoever asked wants no answer any more
            if stage == "execution":
                ended = build_failure_envelope(error, stage, {"event": name.value})
                self._show(name, lambda observer: observer.hooks_finished(ended, subject))
                self._event_log.cancelled(plan, subject)
            raise
        try:
            self._event_log.fired(result, os.urandom(5).hex(), subject)
        except Exception as error:  # noqa: BLE001 - what the hooks decided stands, even if it cannot be written down
            self._tell_fault(name, "logging", error, "so the log lacks what its hooks did")
        if self._observer is not None:
            self._show(name, lambda observer: observer.hooks_finished(result, subject))
        return result

    def _show(self, name: HookEventName, tell: Callable[[HookObserver], None]) -> None:
        if self._observer is None:
            return
        try:
            tell(self._observer)
        except Exception as error:  # noqa: BLE001 - whoever watches the guards must not keep them from their work
            self._tell_fault(name, "showing", error, "so an observer has not seen all of it")

    def _tell_fault(self, name: HookEventName, stage: str, error: Exception, consequence: str) -> None:
        self._event_log.failed(
            f"{name}: hookline failed while {stage} ({error!r}), {consequence}; please report this",
            event=name.value,
            stage=stage,
            traceback="".join(traceback.format_exception(error)),
        )

    def _build_input(self, name: HookEventName, fields: Mapping[str, Any]) -> dict[str, Any]:
        facts = {
            "session_id": self._facts.get_session_id(),
            "cwd": self._facts.get_working_dir(),
            "timestamp": utc_timestamp(),
            "hook_event_name": str(name),
            "transcript_path": self._facts.get_transcript_path(),
        }
        # Whoever asks for an event on the bus has no say over the facts.
        event_input = {**facts, **fields, **facts}
        if "llm_request" in fields and not _is_in_hook_form(request := fields["llm_request"], is_sdk_request):
            event_input["llm_request"] = self._translator.to_hook_llm_request(request)
        if "llm_response" in fields and not _is_in_hook_form(response := fields["llm_response"], is_sdk_response):
            event_input["llm_response"] = self._translator.to_hook_llm_response(response)
        return event_input


def build_failure_envelope(
    error: BaseException, stage: str, meta: Mapping[str, Any] | None = None
) -> AggregatedHookResult:
    """The result of an event that the engine itself could not see through: no answer, and the fault told."""
    message = f"{stage} failed: {error!r}"
    return AggregatedHookResult(
        success=False,
        errors=(HookError(message, stage=stage, details={"error": type(error).__name__, **(meta or {})}),),
    )


def _is_in_hook_form(value: Any, is_sdk: Callable[[Mapping[str, Any]], bool]) -> bool:
    return isinstance(value, Mapping) and not is_sdk(value)


def _subject(name: HookEventName, fields: Mapping[str, Any]) -> str | None:
    field = EVENT_TABLE[name].subject
    subject = fields.get(field) if field else None
    return str(subject) if isinstance(subject, str) else None


def _with_mcp_context(fields: dict[str, Any], mcp_context: Mapping[str, Any] | None) -> dict[str, Any]:
    return fields if mcp_context is None else {**fields, "mcp_context": mcp_context}
