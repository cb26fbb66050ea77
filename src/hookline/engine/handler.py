"""Fires events: plan, build the input, run, decide, log. A fault in hookline never reaches the caller."""

import os
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.engine.decide import decide
from hookline.engine.event_log import EventLog
from hookline.engine.event_table import EVENT_TABLE
from hookline.engine.plan import HookPlanner
from hookline.engine.run import HookRunner, skips
from hookline.engine.selection import ToolLimits, limits_in_force
from hookline.engine.whole import why_not_whole
from hookline.extensions import lazy_module
from hookline.protocol.arguments import ToolArguments
from hookline.protocol.constants import Decider, OnError
from hookline.protocol.events import (
    LIFECYCLE_EVENTS,
    HookEventName,
    PreCompressTrigger,
    SessionEndReason,
    SessionFacts,
    SessionStartSource,
)
from hookline.protocol.llm import Translator
from hookline.protocol.results import (
    AggregatedHookResult,
    as_block,
    blocked,
    build_failure_envelope,
    failure_verdict,
    make_empty_success_result,
)
from hookline.protocol.text.json_text import utc_timestamp
from hookline.protocol.verdict import HookExecutionPlan, Verdict
from hookline.runners.context import BoundObserver, current_session

if TYPE_CHECKING:
    from hookline.engine import mediation
    from hookline.protocol import messages
    from hookline.protocol.llm import GenerateContentParameters  # a dataclass, which is slow to load
    from hookline.protocol.messages import AddressedResponse, Message, MessageBus, Subscription
else:  # few programs have a bus
    mediation = lazy_module("hookline.engine.mediation")
    messages = lazy_module("hookline.protocol.messages")

_ABOUT_TOOLS = frozenset({HookEventName.BEFORE_TOOL_SELECTION, HookEventName.BEFORE_MODEL, HookEventName.BEFORE_TOOL})


class EngineRules(msgspec.Struct, frozen=True, kw_only=True):
    """The rules for every event, whatever its hooks answer."""

    on_fault: OnError = OnError.ALLOW
    refusal: tuple[str, Decider] | None = None
    """Why every event that can block is blocked: an unreadable settings file, or the policy."""
    agents_off: str | None = None
    """Why no tool and no model may be called: the kill switch of the company's policy."""
    applies_lifecycle: bool = False
    """True if answers to lifecycle events are applied."""


class HookEventHandler:
    """One method per event; each returns the merged answer of the event's hooks, and never raises."""

    def __init__(
        self,
        *,
        facts: SessionFacts,
        planner: HookPlanner,
        runner: HookRunner,
        translator: Translator | None = None,
        event_log: EventLog,
        bus: "MessageBus | None" = None,
        observer: BoundObserver | None = None,
        rules: EngineRules | None = None,
        has_changed: Callable[[], bool] = lambda: False,
        refresh: Callable[[], None] = lambda: None,
    ) -> None:
        self._facts = facts
        self._planner = planner
        self.runner = runner
        self._translator = translator
        self._event_log = event_log
        self._observer = observer
        self.shows_failures = observer is None or not observer.shows_failures
        """True if failed hooks are reported on stderr; False if the caller shows them."""
        self._rules = rules or EngineRules()
        self._has_changed = has_changed
        self._refresh = refresh
        self._limits = ToolLimits()
        self._bus = bus
        self._subscription: Subscription | None = None
        if bus is not None:
            self._subscription = bus.subscribe(messages.MessageBusType.HOOK_EXECUTION_REQUEST, self.serve)

    def use(self, runner: HookRunner, rules: EngineRules) -> None:
        """Replace the runner and the rules, for the next event."""
        self.runner, self._rules = runner, rules

    async def fire_before_tool_event(
        self, tool_name: str, tool_input: Mapping[str, Any], *, mcp_context: Mapping[str, Any] | None = None
    ) -> AggregatedHookResult:
        """Fires BeforeTool."""
        fields = {"tool_name": tool_name, "tool_input": tool_input}
        return await self._result(HookEventName.BEFORE_TOOL, fields, mcp_context)

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
        return await self._result(HookEventName.AFTER_TOOL, fields, mcp_context)

    async def fire_before_model_event(
        self, llm_request: "GenerateContentParameters | Mapping[str, Any]"
    ) -> AggregatedHookResult:
        """Fires BeforeModel."""
        return await self._result(HookEventName.BEFORE_MODEL, {"llm_request": llm_request})

    async def fire_after_model_event(
        self, llm_request: "GenerateContentParameters | Mapping[str, Any]", llm_response: Any
    ) -> AggregatedHookResult:
        """Fires AfterModel; the response is the SDK's, or already in hook form."""
        return await self._result(HookEventName.AFTER_MODEL, {"llm_request": llm_request, "llm_response": llm_response})

    async def fire_before_tool_selection_event(
        self, llm_request: "GenerateContentParameters | Mapping[str, Any]"
    ) -> AggregatedHookResult:
        """Fires BeforeToolSelection."""
        return await self._result(HookEventName.BEFORE_TOOL_SELECTION, {"llm_request": llm_request})

    async def fire_before_agent_event(self, prompt: str) -> AggregatedHookResult:
        """Fires BeforeAgent."""
        return await self._result(HookEventName.BEFORE_AGENT, {"prompt": prompt})

    async def fire_after_agent_event(
        self, prompt: str, prompt_response: str, *, stop_hook_active: bool = False
    ) -> AggregatedHookResult:
        """Fires AfterAgent."""
        fields = {"prompt": prompt, "prompt_response": prompt_response, "stop_hook_active": stop_hook_active}
        return await self._result(HookEventName.AFTER_AGENT, fields)

    async def fire_session_start_event(self, source: SessionStartSource) -> AggregatedHookResult:
        """Fires SessionStart."""
        return await self._result(HookEventName.SESSION_START, {"source": source})

    async def fire_session_end_event(self, reason: SessionEndReason) -> AggregatedHookResult:
        """Fires SessionEnd."""
        return await self._result(HookEventName.SESSION_END, {"reason": reason})

    async def fire_pre_compress_event(self, trigger: PreCompressTrigger) -> AggregatedHookResult:
        """Fires PreCompress."""
        return await self._result(HookEventName.PRE_COMPRESS, {"trigger": trigger})

    async def fire_notification_event(
        self, notification_type: str, message: str, details: Mapping[str, Any]
    ) -> AggregatedHookResult:
        """Fires Notification."""
        fields = {"notification_type": notification_type, "message": message, "details": details}
        return await self._result(HookEventName.NOTIFICATION, fields)

    async def fire_event(self, name: str, fields: Mapping[str, Any]) -> AggregatedHookResult:
        """Fires the event of this name with its own fields as they are; an unknown name gives a failed result."""
        try:
            event = HookEventName(name)
        except ValueError as error:
            return build_failure_envelope(error, "event name", {"known": [event.value for event in HookEventName]})
        return await self._result(event, fields)

    async def fire(
        self,
        event: HookEventName,
        fields: Mapping[str, Any],
        session: SessionFacts | None = None,
        arguments: ToolArguments | None = None,
        limits: ToolLimits | None = None,
        *,
        at_permission_request: bool = False,
    ) -> Verdict:
        """Fire an event with these fields, and return the verdict.

        Args:
            event: the event.
            fields: the event's fields, such as `tool_name`.
            session: the session that the event belongs to, in a program that has several.
            arguments: the rules for a tool's arguments: rewrites get their normal form at once, and must be valid.
            limits: the choice of tools in `session`; the handler keeps that of its own session itself.
            at_permission_request: run only hooks for the moment at which the user is asked to allow a tool.
        """
        if event not in _ABOUT_TOOLS:
            limits = None
        elif session is None:
            limits = self._limits
        progress = _Progress(event=event, limits=limits, arguments=arguments, at_permission=at_permission_request)
        session_token = current_session.set(session)
        floor = () if limits is None or event is not HookEventName.BEFORE_MODEL else limits.before_model
        limits_token = limits_in_force.set(floor)
        try:
            return await self._fire_and_log(progress, fields)
        finally:
            limits_in_force.reset(limits_token)
            current_session.reset(session_token)

    def passes(
        self,
        event: HookEventName,
        subject: str | None,
        session: SessionFacts | None = None,
        limits: ToolLimits | None = None,
    ) -> bool:
        """Return True if no hook has to run for an event about a subject, and count the event. This never waits."""
        if self._has_changed():
            self._refresh()
        if self._why_refused(event) is not None:
            return False
        planned = self._planner.planned(event, subject)
        if planned.plan.hooks or planned.untrusted:  # an event without a trusted hook has a record with its arguments
            return False
        limits = self._limits if session is None else limits
        if limits is not None and event in _ABOUT_TOOLS:
            if event is HookEventName.BEFORE_TOOL and limits.why_refused(subject or "") is not None:
                return False
            limits.follow(Verdict(event=event, subject=subject))
        token = current_session.set(session)
        try:
            self._event_log.nothing_ran(event, subject, planned.why_nothing_runs)
        finally:
            current_session.reset(token)
        return True

    async def _fire_and_log(self, progress: "_Progress", fields: Mapping[str, Any]) -> Verdict:
        event = progress.event
        try:
            verdict = await self._decide(progress, fields)
            if progress.limits is not None and event is not HookEventName.BEFORE_TOOL:
                progress.limits.follow(verdict)
        except Exception as error:  # noqa: BLE001 - the door: a fault in hookline is logged and never stops the agent
            verdict = self._failure(progress, error)
            consequence = "so the event is blocked" if verdict.blocked else "so its hooks had no effect"
            self._event_log.failed(event, progress.stage, error, consequence, progress.fire_id)
            self._event_log.decided(verdict, progress.fire_id or new_fire_id(), fields.get("tool_input"))
            self._observe(event, lambda observer: observer.hooks_finished(verdict))
            return verdict
        except BaseException as error:  # cancelled or interrupted: the caller no longer waits
            if progress.stage == "execution" and progress.plan is not None:
                ended = failure_verdict(event, progress.plan.subject, error, progress.stage)
                self._observe(event, lambda observer: observer.hooks_finished(ended))
                self._event_log.cancelled(progress.plan, progress.fire_id)
            raise
        if verdict.plan is not None:
            try:
                if self.shows_failures:
                    verdict = self._event_log.failures.report(verdict, progress.session)
                arguments = fields.get("tool_input")
                self._event_log.fired(verdict, progress.fire_id, progress.session, progress.model, arguments)
            except Exception as error:  # noqa: BLE001 - the decision stands, even if it can't be written down
                self._event_log.failed(event, "logging", error, "so the log lacks what its hooks did", progress.fire_id)
            self._observe(event, lambda observer: observer.hooks_finished(verdict))
        return verdict

    async def _decide(self, progress: "_Progress", fields: Mapping[str, Any]) -> Verdict:
        """Plan the hooks of an event, run them, and decide; an event that is decided without hooks is logged here."""
        event, started = progress.event, time.perf_counter()
        if self._has_changed():
            self._refresh()
        field = EVENT_TABLE[event].subject
        given = fields.get(field) if field is not None else None
        # The text itself: `str()` of a member of an enumeration may be another text.
        subject = str.__str__(given) if isinstance(given, str) else None
        if (refused := self._refused(event, subject, progress.limits)) is not None:
            return self._without_running(refused, fields)
        planned = self._planner.planned(event, subject, at_permission_request=progress.at_permission)
        plan = planned.plan
        if not plan.hooks:
            verdict = Verdict(event=event, subject=subject)
            if planned.untrusted:
                return self._without_running(verdict, fields, planned.untrusted)
            self._event_log.nothing_ran(event, subject, planned.why_nothing_runs)
            return verdict
        if event is HookEventName.BEFORE_TOOL and (why := why_not_whole(fields.get("tool_input"))) is not None:
            return self._without_running(blocked(Verdict(event=event, subject=subject), why, Decider.FAULT), {})
        progress.stage, progress.plan, progress.fire_id = "translation", plan, new_fire_id()
        hook_input = self._build_input(event, fields)
        progress.stage, progress.session = "execution", hook_input["session_id"]
        if isinstance(request := hook_input.get("llm_request"), Mapping):
            progress.model = request.get("model")
        self._event_log.started(plan, hook_input, progress.fire_id)
        if self._observer is not None:
            self._observe(event, lambda observer: observer.hooks_started(plan))
        runs = await self.runner.run(plan, hook_input, progress.arguments)
        progress.stage = "aggregation"
        verdict = decide(
            event,
            hook_input,
            runs,
            plan=plan,
            skipped=() if len(runs) == len(plan.hooks) else skips(plan.hooks, runs, hook_input),
            started=started,
            arguments=progress.arguments,
        )
        if verdict.ask:
            verdict = msgspec.structs.replace(verdict, fire=progress.fire_id)
        if self._rules.on_fault is OnError.BLOCK and not verdict.blocked and self._can_block(event, plan):
            short = next((run for run in runs if run.is_shortage), None)
            return verdict if short is None else as_block(verdict, f"{short.hook.label}: {short.error}")
        return verdict

    def _refused(self, event: HookEventName, subject: str | None, limits: ToolLimits | None) -> Verdict | None:
        """Return a block that stands whatever hooks answer, or None."""
        if limits is not None and subject is not None and event is HookEventName.BEFORE_TOOL:
            why = limits.why_refused(subject)
            if why is not None:  # a hook restricted the tools before
                return blocked(Verdict(event=event, subject=subject, by=limits.by), why, Decider.HOOK)
        refused = self._why_refused(event)
        return None if refused is None else blocked(Verdict(event=event, subject=subject, success=False), *refused)

    def _without_running(self, verdict: Verdict, fields: Mapping[str, Any], untrusted: tuple[str, ...] = ()) -> Verdict:
        """Log a verdict that was reached without running a hook."""
        self._event_log.decided(verdict, new_fire_id(), fields.get("tool_input"), untrusted)
        return verdict

    def _failure(self, progress: "_Progress", error: Exception) -> Verdict:
        event, subject = progress.event, None if progress.plan is None else progress.plan.subject
        verdict = failure_verdict(event, subject, error, progress.stage)
        if self._rules.on_fault is OnError.ALLOW or not self._can_block(event, progress.plan):
            return verdict
        return as_block(verdict, f"hookline failed while {progress.stage} ({type(error).__name__})")

    def _why_refused(self, event: HookEventName) -> tuple[str, Decider] | None:
        """Return the reason for which an event is blocked whatever its hooks answer, and the decider; or None."""
        rules = self._rules
        if rules.agents_off is not None and event in (HookEventName.BEFORE_TOOL, HookEventName.BEFORE_MODEL):
            return rules.agents_off, Decider.SWITCH
        return rules.refusal if rules.refusal is not None and self._can_block(event) else None

    def _can_block(self, event: HookEventName, plan: HookExecutionPlan | None = None) -> bool:
        if event not in LIFECYCLE_EVENTS:
            return EVENT_TABLE[event].can_block
        applies = self._rules.applies_lifecycle if plan is None else any(hook.is_enforced for hook in plan.hooks)
        return EVENT_TABLE[event].can_block and applies

    async def serve(self, message: "Message") -> None:
        """Answers a request on the bus."""
        if self._bus is not None:
            # A bus of another package may lack `is_authenticated`; its askers are not believed.
            is_authenticated = getattr(self._bus, "is_authenticated", False) is True
            await self._bus.publish(await self.respond(message, is_authenticated=is_authenticated))

    async def respond(self, message: "Message", *, is_authenticated: bool = False) -> "AddressedResponse":
        """The response to a request; `is_authenticated` says whether its `asker` can be believed."""
        return await mediation.respond(
            message, self._fire_for_bus, self._in_hook_form, is_authenticated=is_authenticated
        )

    async def _fire_for_bus(
        self, event: HookEventName, fields: Mapping[str, Any], session: SessionFacts | None = None
    ) -> Verdict:
        """Fire an event of another program, whose requests don't change which tools this one's model may call."""
        token = current_session.set(session)
        try:
            return await self._fire_and_log(_Progress(event=event), fields)
        finally:
            current_session.reset(token)

    async def ready(self) -> None:
        """Returns when requests on the bus reach us; without a bus at once."""
        if self._subscription is not None:
            await self._subscription.ready()

    def dispose(self) -> None:
        """Stops serving the bus; without a bus it does nothing."""
        if self._subscription is not None:
            self._subscription()

    async def _result(
        self, event: HookEventName, fields: Mapping[str, Any], mcp_context: Mapping[str, Any] | None = None
    ) -> AggregatedHookResult:
        if mcp_context is not None:
            fields = {**fields, "mcp_context": mcp_context}
        verdict = await self.fire(event, fields)
        if verdict.plan is None and verdict.success:
            return make_empty_success_result()
        return AggregatedHookResult.of(verdict, EVENT_TABLE[event].output)

    def _observe(self, event: HookEventName, call: Callable[[BoundObserver], None]) -> None:
        if self._observer is None:
            return
        try:
            call(self._observer)
        except Exception as error:  # noqa: BLE001 - an observer must not keep the guards from their work
            self._event_log.failed(event, "observing", error, "so an observer has not seen all of it")

    def _build_input(self, event: HookEventName, fields: Mapping[str, Any]) -> dict[str, Any]:
        session = current_session.get()
        if session is None:  # the events of other sessions come in hook form
            fields = self._in_hook_form(fields)
        session_id, cwd, transcript_path, *_ = session or self._facts
        facts = {
            "session_id": session_id,
            "cwd": cwd,
            "timestamp": utc_timestamp(),
            "hook_event_name": event.value,
            "transcript_path": transcript_path,
        }
        # First in the order that scripts see, and last to count: a request on the bus can't change the facts.
        return {**facts, **fields, **facts}

    def _in_hook_form(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """The fields with the model's request and response in the form that hooks read."""
        if "llm_request" not in fields and "llm_response" not in fields:
            return fields
        from hookline.formats.genai import request, response  # noqa: PLC0415 - most events are about tools

        to_hook_form = self._translator or request.default_hook_translator
        translated: dict[str, Any] = {}
        if "llm_request" in fields and request.needs_translation(fields["llm_request"], request.is_sdk_request):
            translated["llm_request"] = to_hook_form.to_hook_llm_request(fields["llm_request"])
        if "llm_response" in fields and request.needs_translation(fields["llm_response"], response.is_sdk_response):
            translated["llm_response"] = to_hook_form.to_hook_llm_response(fields["llm_response"])
        return {**fields, **translated}


class _Progress(msgspec.Struct):
    """One event on its way, and how far it has come: the report of a fault names the stage."""

    event: HookEventName
    limits: ToolLimits | None = None
    stage: str = "planning"
    plan: HookExecutionPlan | None = None
    session: str = ""
    model: str | None = None
    fire_id: str = ""
    """Set when its hooks are about to start."""
    arguments: ToolArguments | None = None
    """The rules for the arguments of the tool that it is about."""
    at_permission: bool = False


def new_fire_id() -> str:
    """Return a new identifier of an event in the log."""
    return os.urandom(5).hex()
