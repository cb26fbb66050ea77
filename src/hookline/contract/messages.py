"""The messages of the mediated path, and what a bus must be able to do."""

from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from typing import Any, Literal, NotRequired, Protocol, TypedDict

from hookline.contract.events import HookEventName


class MessageBusType(StrEnum):
    """The kinds of message that hookline sends and understands."""

    HOOK_EXECUTION_REQUEST = "hook-execution-request"
    HOOK_EXECUTION_RESPONSE = "hook-execution-response"


class HookExecutionRequest(TypedDict):
    """Asks for one event to be fired; `input` holds the event's own fields."""

    type: Literal["hook-execution-request"]
    eventName: HookEventName
    input: Mapping[str, Any]
    correlationId: NotRequired[str | int]


class HookExecutionFailure(TypedDict):
    """Why a request could not be served."""

    code: str
    message: str
    details: NotRequired[Any]


class HookExecutionResponse(TypedDict):
    """Answers one request, under its correlation id."""

    type: Literal["hook-execution-response"]
    correlationId: str | int
    success: bool
    output: NotRequired[dict[str, Any]]
    error: NotRequired[HookExecutionFailure]


Message = Mapping[str, Any]
Subscriber = Callable[[Message], Awaitable[None]]
Unsubscribe = Callable[[], None]


class MessageBus(Protocol):
    """What hookline needs of a bus; `hookline.bus.InProcessBus` is one, and another transport can take its place."""

    async def publish(self, message: Message) -> None:
        """Delivers a flat message to every subscriber of its `type`; one that fails does not affect the others."""

    def subscribe(self, message_type: str, subscriber: Subscriber) -> Unsubscribe:
        """Delivers messages of this type to the subscriber until the returned function is called."""
