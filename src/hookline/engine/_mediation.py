"""A request on the bus → validate → fire → a response under the same correlation id."""

import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from hookline.contract.events import HookEventName
from hookline.contract.inputs import input_problems
from hookline.contract.messages import HookExecutionFailure, HookExecutionResponse, Message
from hookline.contract.results import AggregatedHookResult

Fire = Callable[[HookEventName, Mapping[str, Any]], Awaitable[AggregatedHookResult]]


async def answer(message: Message, fire: Fire) -> HookExecutionResponse:
    """The response to one request; whatever is wrong with the request is told in it, and then nothing is run."""
    given = message.get("correlationId")
    correlation_id = given if isinstance(given, str) and given else str(uuid.uuid4())
    try:
        return await _serve(message, correlation_id, fire)
    except Exception as error:  # noqa: BLE001 - the door: a request does not stay without an answer
        said = f"the request could not be served: {error!r}"
        details = {"error": type(error).__name__}
        return _failed(correlation_id, {"code": "internal_error", "message": said, "details": details})


async def _serve(message: Message, correlation_id: str, fire: Fire) -> HookExecutionResponse:
    try:
        event = HookEventName(str(message.get("eventName")))
    except ValueError:
        known = [event.value for event in HookEventName]
        said = f"{message.get('eventName')!r} is not an event; use one of {', '.join(known)}"
        return _failed(correlation_id, {"code": "unsupported_event", "message": said, "details": {"supported": known}})
    fields = message.get("input")
    problems = input_problems(event, fields)
    if problems or not isinstance(fields, Mapping):
        said = f"{event}: {'; '.join(problems)}"
        details = {"event": event.value, "problems": list(problems)}
        return _failed(correlation_id, {"code": "invalid_input", "message": said, "details": details})
    return _respond(correlation_id, await fire(event, fields))


def _respond(correlation_id: str, result: AggregatedHookResult) -> HookExecutionResponse:
    fault = next((error for error in result.errors if error.stage is not None), None)
    if fault is not None:
        code = f"{fault.stage}_failed"
        return _failed(correlation_id, {"code": code, "message": fault.message, "details": fault.details})
    return {
        "type": "hook-execution-response",
        "correlationId": correlation_id,
        "success": result.success,
        "output": result.to_dict(),
    }


def _failed(correlation_id: str, error: HookExecutionFailure) -> HookExecutionResponse:
    return {"type": "hook-execution-response", "correlationId": correlation_id, "success": False, "error": error}
