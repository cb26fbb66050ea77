"""A request on the bus → validate → fire → a response under the same correlation id."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from hookline.engine.event_table import EVENT_TABLE
from hookline.protocol.events import HookEventName, SessionFacts
from hookline.protocol.inputs import input_problems
from hookline.protocol.messages import AddressedResponse, AskerFacts, HookExecutionFailure, Message
from hookline.protocol.results import AggregatedHookResult
from hookline.protocol.verdict import Verdict

# Gets the event, its fields, and the session that it belongs to if that is not the system's own.
Fire = Callable[[HookEventName, Mapping[str, Any], SessionFacts | None], Awaitable[Verdict]]
Translate = Callable[[Mapping[str, Any]], Mapping[str, Any]]


async def respond(
    message: Message, fire: Fire, translate: Translate, *, is_authenticated: bool = False
) -> AddressedResponse:
    """Return the response to one request; the response to an invalid request is an error, and nothing is run.

    `is_authenticated` says whether the asker's facts can be believed.
    """
    given = message.get("correlationId")
    correlation_id = _new_id() if given is None or given == "" else given
    facts = _facts(message.get("asker")) if is_authenticated else None
    try:
        response = await _serve(message, correlation_id, fire, translate, facts)
    except Exception as error:  # noqa: BLE001 - the door: every request gets a response
        text = f"the request could not be served: {error!r}"
        response = failed(correlation_id, "internal_error", text, {"error": type(error).__name__})
    if "replyTo" in message:
        response["to"] = message["replyTo"]
    return response


async def _serve(
    message: Message, correlation_id: Any, fire: Fire, translate: Translate, facts: AskerFacts | None
) -> AddressedResponse:
    try:
        event = HookEventName(str(message.get("eventName")))
    except ValueError:
        names = [event.value for event in HookEventName]
        text = f"{message.get('eventName')!r} is not an event; use one of {', '.join(names)}"
        return failed(correlation_id, "unsupported_event", text, {"supported": names})
    fields = message.get("input")
    if isinstance(fields, Mapping):
        try:
            fields = translate(fields)
        except Exception as error:  # noqa: BLE001 - foreign data: whatever it is, the sender is answered
            text = f"{event}: translation failed: {error!r}"
            return failed(correlation_id, "translation_failed", text, {"event": event.value, "problems": [str(error)]})
    row = EVENT_TABLE[event]
    if not isinstance(fields, Mapping) or not row.accepts(fields):
        problems = input_problems(row.input, fields)
        text = f"{event}: {'; '.join(problems)}"
        return failed(correlation_id, "invalid_input", text, {"event": event.value, "problems": list(problems)})
    verdict = await fire(event, _with_asker(fields, facts), None if facts is None else _session_of(facts))
    return _response(correlation_id, verdict, is_addressed="replyTo" in message)


def _facts(given: Any) -> AskerFacts | None:
    """The facts that have a name and a text; None where the request has none at all."""
    if not isinstance(given, Mapping):
        return None
    facts: Any = {name: given[name] for name in AskerFacts.__annotations__ if isinstance(given.get(name), str)}
    return facts or None


def _session_of(facts: AskerFacts) -> SessionFacts:
    """The asker's session, without its transcript: a file of the same name on this machine would be another one."""
    session_id, cwd = facts.get("sessionId", ""), facts.get("cwd", "")
    return SessionFacts(session_id=session_id, cwd=cwd, agent=facts.get("agent"))


def _with_asker(fields: Mapping[str, Any], facts: AskerFacts | None) -> Mapping[str, Any]:
    """Return the fields with the facts about the asker; an `asker` in the input itself is dropped."""
    if facts is not None:
        return {**fields, "asker": dict(facts)}
    return {name: value for name, value in fields.items() if name != "asker"} if "asker" in fields else fields


def _response(correlation_id: Any, verdict: Verdict, *, is_addressed: bool) -> AddressedResponse:
    if (fault := verdict.fault) is not None and not verdict.blocked:
        return failed(correlation_id, f"{fault.stage}_failed", fault.message, fault.details)
    if is_addressed:
        return {
            "type": "hook-execution-response",
            "correlationId": correlation_id,
            "success": verdict.success,
            "verdict": verdict.outside().to_dict(),
            "by": list(verdict.deciders),
        }
    return {
        "type": "hook-execution-response",
        "correlationId": correlation_id,
        "success": verdict.success,
        "output": AggregatedHookResult.of(verdict, EVENT_TABLE[verdict.event].output).to_dict(),
    }


def failed(correlation_id: Any, code: str, message: str, details: Any) -> AddressedResponse:
    """The response to a request that could not be served."""
    error: HookExecutionFailure = {"code": code, "message": message, "details": details}
    return {"type": "hook-execution-response", "correlationId": correlation_id, "success": False, "error": error}


def _new_id() -> str:
    import uuid  # noqa: PLC0415 - slow to load, and requests should have an id

    return str(uuid.uuid4())
