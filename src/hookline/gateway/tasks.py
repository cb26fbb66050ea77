"""Calls that a server runs as tasks: their results come later, and hooks see them then."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from hookline.gateway.messages import Message, read_object, to_raw
from hookline.gateway.results import has_output

METHODS = frozenset({"tasks/result", "tasks/get"})


def task_of_request(message: Message) -> str:
    """The id of the task that a request is about, or an empty text."""
    found = read_object(message.params).get("taskId")
    return found if isinstance(found, str) else ""


def task_of_result(result: Mapping[str, Any]) -> str | None:
    """The id of the task that the server runs a call as, if the answer to the call is not its result."""
    task = result.get("task") if "task" in result else result if result.get("resultType") == "task" else None
    found = task.get("taskId") if isinstance(task, Mapping) and not has_output(result) else None
    return found if isinstance(found, str) else None


async def inner_result(answer: Message, judge: Callable[[Message], Awaitable[Message]]) -> Message:
    """A task's state, with the result that is inside it as hooks want it."""
    task = {} if answer.result is UNSET else read_object(answer.result)
    if not isinstance(task.get("result"), dict):
        return answer
    judged = await judge(Message(id=answer.id, result=to_raw(task["result"])))
    return Message(id=answer.id, result=to_raw({**task, "result": read_object(judged.result)}))


def without_result(message: Message) -> Message:
    """A notification about a task, without a result that no hook has seen; the client can ask for it."""
    if not str(message.method).startswith("notifications/tasks"):
        return message
    params = read_object(message.params)
    return message if params.pop("result", None) is None else msgspec.structs.replace(message, params=to_raw(params))
