"""One question of another agent → our hooks → its answer. A bridge that breaks says no itself."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hookline.bridge.host import NO_PART, NO_PROMPT, AgentRequest, AgentResponse, HostAgent, MergedOutcome, Payload
from hookline.bridge.state_files import KeptSelections, StoppedSessions
from hookline.dialects.table import Arguments
from hookline.engine.selection import KeptSelection, ToolLimits
from hookline.errors import HooklineError
from hookline.protocol.answers import kind_of
from hookline.protocol.arguments import ToolArguments
from hookline.protocol.events import HookEventName
from hookline.protocol.records import BridgeRecord, LogLevel
from hookline.protocol.text.json_text import parse_json
from hookline.protocol.verdict import Verdict
from hookline.runners.function.watchdog import event_deadline

if TYPE_CHECKING:
    from hookline.bridge.engine_cache import EngineLease

EXIT_BLOCK = 2

# The events of every agent at which a broken bridge refuses; elsewhere there is nothing to keep from happening.
_CAN_REFUSE = frozenset({HookEventName.BEFORE_TOOL, HookEventName.BEFORE_AGENT, HookEventName.BEFORE_MODEL})
_NEW_SESSION = frozenset({"startup", "clear"})


def read_payload(host: HostAgent, stdin: bytes) -> Payload:
    """Parse the agent's input; raises HooklineError if it is not a JSON object."""
    try:
        payload = parse_json(stdin.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise HooklineError(f"what {host.agent} wrote on stdin is not JSON: {error}") from error
    if not isinstance(payload, dict):
        raise HooklineError(f"what {host.agent} wrote on stdin is {kind_of(payload)}, not an object")
    return payload


async def judge(host: HostAgent, request: AgentRequest, lease: "EngineLease", deadline_s: float) -> AgentResponse:
    """Asks our hooks, and puts what they decide into the agent's words; it refuses what it can't judge in time."""
    event_deadline.set(time.monotonic() + deadline_s)
    try:
        async with asyncio.timeout(deadline_s):
            response = (
                await _ask(host, request, lease) if deadline_s > 0 else refusal(host, request, "there is no time left")
            )
    except TimeoutError:
        response = refusal(host, request, f"the hooks did not answer within {deadline_s:g} s")
    except Exception as error:  # noqa: BLE001 - the door: every agent continues when its hook command fails
        response = refusal(host, request, f"the hooks could not be asked ({type(error).__name__}: {error})")
    for loss in response.unsupported:
        _log(host, request, lease, f"not passed on: {loss}")
    if response.is_broken:
        _log(host, request, lease, response.stderr, blocked=request.event in _CAN_REFUSE)
    return response


def refusal(host: HostAgent | None, request: AgentRequest | None, reason: str) -> AgentResponse:
    """The answer of a bridge that is broken; nearly every agent takes exit code 2 with a text for a no."""
    message = f"hookline: {reason}"
    if request is not None and request.event not in _CAN_REFUSE:
        return AgentResponse(stderr=message, is_broken=True)
    if host is None or request is None or host.exit_2_blocks:
        return AgentResponse(stderr=message, exit_code=EXIT_BLOCK, is_broken=True)
    return replace(
        host.render_response(request, MergedOutcome(blocked=True, reason=message)), stderr=message, is_broken=True
    )


def deny_unreadable(host: HostAgent, request: AgentRequest, lease: "EngineLease") -> AgentResponse:
    """Deny a call that can't be judged, in the agent's words. No hook is asked, and `--fail-open` has no effect."""
    _log(host, request, lease, f"denied without asking the hooks: {request.fault}", blocked=True)
    if request.native_event not in host.events:
        # An answer in JSON names the event, and this one is unknown to the agent.
        return replace(refusal(host, request, request.fault), is_broken=False)
    return host.render_response(request, MergedOutcome(blocked=True, reason=f"hookline: {request.fault}"))


async def _ask(host: HostAgent, request: AgentRequest, lease: "EngineLease") -> AgentResponse:
    system = lease.system
    if system is None or request.event is None:
        return AgentResponse()
    await system.initialize()
    # Without an id every session would be the same.
    stops = StoppedSessions() if request.session_id else None
    stopped = None if stops is None else stops.why(host.name, request.session_id)
    if stops is not None and stopped is not None:
        if request.event in _CAN_REFUSE:
            reason = f"a hook stopped this session: {stopped}\nStart a new session to go on."
            _log(host, request, lease, f"refused without asking the hooks: {reason}", blocked=True)
            return host.render_response(request, MergedOutcome(blocked=True, reason=reason))
        if _begins_or_ends(request):
            stops.forget(host.name, request.session_id)
    limits = _limits(host, request)
    before = None if limits is None else limits.kept
    session = lease.session(request.native_event)
    fire = system.get_event_handler().fire
    # Only the first question can be about the call itself; changes of a part of it can't be sent back.
    rules = (_rules_of(request), *[None] * len(request.questions))
    questions = zip(request.questions, rules, strict=False)
    verdicts = [await fire(request.event, fields, session, arguments, limits) for fields, arguments in questions]
    if fault := next((verdict.fault for verdict in verdicts if verdict.fault is not None), None):
        raise HooklineError(fault.message)
    outcome = combine(request, verdicts)
    if stopped is not None and request.event is HookEventName.AFTER_AGENT:
        # The session was stopped before, and no hook can resume it.
        outcome = replace(outcome, blocked=False, stop=True, stop_reason=stopped)
    response = host.render_response(request, outcome)
    if limits is not None and limits.kept != before:
        response = _keep(host, request, limits.kept, response)
    if stops is not None and response.pending_stop:
        stops.stop(host.name, request.session_id, response.pending_stop)
    return response


def _rules_of(request: AgentRequest) -> ToolArguments | None:
    """The rules for the arguments of a call: every change is judged in the form in which the agent will run it."""
    tool = request.tool
    if tool is None or not request.has_whole or request.event is not HookEventName.BEFORE_TOOL:
        return None

    def as_sent(arguments: dict[str, Any], _changes: Mapping[str, Any]) -> dict[str, Any]:
        return tool.own_arguments(tool.rewritten(request.arguments, arguments, request.cwd))

    return ToolArguments(as_sent)


def combine(request: AgentRequest, verdicts: Sequence[Verdict]) -> MergedOutcome:
    """One outcome of the verdicts on all events that stand for a question."""
    notes = [text for verdict in verdicts for text in (verdict.context, verdict.note) if text]
    objecting = [verdict for verdict in verdicts if verdict.denied or verdict.ask or verdict.stop]
    reasons = [verdict.reason for verdict in objecting if verdict.reason]
    stops = [verdict.stop_reason or "A hook of hookline stopped the agent" for verdict in verdicts if verdict.stop]
    changed = [verdict.arguments for verdict in verdicts]
    arguments = _rewritten(request, changed[0]) if changed and request.has_whole else None
    blocked = any(verdict.denied for verdict in verdicts)
    unsupported: tuple[str, ...] = ()
    if not blocked and (unsendable := _unsendable(request, verdicts)):
        # Otherwise the agent would go on with what a guard meant to take out.
        blocked, unsupported = True, (unsendable,)
        reasons.append(f"A hook of hookline wants {unsendable}")
    return MergedOutcome(
        blocked=blocked,
        stop=bool(stops),
        ask=not blocked and any(verdict.ask for verdict in verdicts),
        reason="\n".join(dict.fromkeys(reasons)) or ("Blocked by a hook of hookline" if blocked else ""),
        stop_reason="\n".join(dict.fromkeys(stops)),
        context="\n\n".join(dict.fromkeys(notes)),
        suppress=any(verdict.suppress for verdict in verdicts),
        message="\n".join(dict.fromkeys(verdict.user_message for verdict in verdicts if verdict.user_message)),
        result=next((verdict.tool_output for verdict in verdicts if verdict.tool_output is not None), None),
        arguments=arguments,
        model=next((verdict.effect for verdict in verdicts if verdict.effect and request.tool is None), {}),
        unsupported=unsupported,
    )


def _unsendable(request: AgentRequest, verdicts: Sequence[Verdict]) -> str | None:
    """Return the change that hooks decided and no agent supports."""
    if any(verdict.prompt is not None for verdict in verdicts):
        return NO_PROMPT
    parts = verdicts[1:] if request.has_whole else verdicts
    return NO_PART if any(verdict.arguments is not None for verdict in parts) else None


def _rewritten(request: AgentRequest, changed: Arguments | None) -> Arguments | None:
    """The changed arguments in the agent's words, whole."""
    if changed is None or request.tool is None:
        return None
    return request.tool.rewritten(request.arguments, changed, request.cwd)


def _limits(host: HostAgent, request: AgentRequest) -> ToolLimits | None:
    """The session's choice of tools, for agents whose hooks make one."""
    if not request.session_id or HookEventName.BEFORE_TOOL_SELECTION not in host.events.values():
        return None
    selections = KeptSelections()
    if _begins_or_ends(request):
        selections.forget(host.name, request.session_id)
    try:
        kept = selections.get(host.name, request.session_id)
    except HooklineError:
        if request.event is HookEventName.BEFORE_TOOL:
            raise
        kept = KeptSelection()  # the next choice replaces it
    # A hook may use any of the tool's names.
    names = () if request.tool is None else (request.tool.theirs, *request.tool.aliases)
    return ToolLimits(kept, names, selects_last=True)


def _keep(host: HostAgent, request: AgentRequest, selection: KeptSelection, response: AgentResponse) -> AgentResponse:
    """The answer, after the session's choice of tools was kept for its next calls."""
    try:
        KeptSelections().keep(host.name, request.session_id, selection)
    except OSError as error:
        unsupported = f"the choice of tools could not be kept ({error}), so the call of another tool is not refused"
        return replace(response, unsupported=(*response.unsupported, unsupported))
    return response


def _begins_or_ends(request: AgentRequest) -> bool:
    if request.event is HookEventName.SESSION_START:
        return request.questions[0].get("source") in _NEW_SESSION
    return request.event is HookEventName.SESSION_END


def _log(
    host: HostAgent, request: AgentRequest, lease: "EngineLease", message: str, *, blocked: bool | None = None
) -> None:
    lease.log(
        BridgeRecord(
            level=LogLevel.WARN,
            message=f"{request.native_event} of {host.agent}: {message}",
            session=request.session_id or None,
            agent=host.name,
            agent_event=request.native_event,
            event=request.event and request.event.value,
            blocked=blocked,
        )
    )
