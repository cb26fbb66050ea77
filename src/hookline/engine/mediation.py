"""A request on the bus → validate → fire → a response under the same correlation id."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from hookline.contract.events import HookEventName
from hookline.contract.inputs import input_problems
from hookline.contract.messages import HookExecutionFailure, HookExecutionResponse, Message
from hookline.contract.results import AggregatedHookResult
from hookline.contract.verdict import Verdict
from hookline.engine.event_table import EVENT_TABLE

Fire = Callable[[HookEventName, Mapping[str, Any]], Awaitable[Verdict]]
Translate = Callable[[Mapping[str, Any]], Mapping[str, Any]]


async def respond(message: Message, fire: Fire, translate: Translate) -> HookExecutionResponse:
    """The response to one request; a request with a fault gets a response that says so, and nothing is run."""
    given = message.get("correlationId")
    correlation_id = _new_id() if given is None or given == "" else given
    try:
        return await _serve(message, correlation_id, fire, translate)
    except Exception as error:  # noqa: BLE001 - the door: every request gets a response
        text = f"the request could not be served: {error!r}"
        return _failed(correlation_id, "internal_error", text, {"error": type(error).__name__})


async def _serve(message: Message, correlation_id: Any, fire: Fire, translate: Translate) -> HookExecutionResponse:
    try:
        event = HookEventName(str(message.get("eventName")))
    except ValueError:
        known = [event.value for event in HookEventName]
        text = f"{message.get('eventName')!r} is not an event; use one of {', '.join(known)}"
        return _failed(correlation_id, "unsupported_event", text, {"supported": known})
    fields = message.get("input")
    if isinstance(fields, Mapping):
        try:
            fields = translate(fields)
        except Exception as error:  # noqa: BLE001 - foreign data: whatever it is, the sender is answered
            text = f"{event}: translation failed: {error!r}"
            return _failed(correlation_id, "translation_failed", text, {"event": event.value, "problems": [str(error)]})
    row = EVENT_TABLE[event]
    if not isinstance(fields, Mapping) or not row.accepts(fields):
        problems = input_problems(row.input, fields)
        text = f"{event}: {'; '.join(problems)}"
        return _failed(correlation_id, "invalid_input", text, {"event": event.value, "problems": list(problems)})
    return _response(correlation_id, await fire(event, fields))


def _response(correlation_id: Any, verdict: Verdict) -> HookExecutionResponse:
    if (fault := verdict.fault) is not None and not verdict.blocked:
        return _failed(correlation_id, f"{fault.stage}_failed", fault.message, fault.details)
    return {
        "type": "hook-execution-response",
        "correlationId": correlation_id,
        "success": verdict.success,
        "output": AggregatedHookResult.of(verdict, EVENT_TABLE[verdict.event].output).to_dict(),
    }


def _failed(correlation_id: Any, code: str, message: str, details: Any) -> HookExecutionResponse:
    error: HookExecutionFailure = {"code": code, "message": message, "details": details}
    return {"type": "hook-execution-response", "correlationId": correlation_id, "success": False, "error": error}


def _new_id() -> str:
    import uuid  # noqa: PLC0415 - slow to load, and requests should have an id

    return str(uuid.uuid4())
