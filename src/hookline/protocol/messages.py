"""The messages of the mediated path, and what a bus must be able to do."""

from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from typing import Any, Literal, NotRequired, Protocol, TypedDict

from hookline.protocol.events import HookEventName


class MessageBusType(StrEnum):
    """The kinds of message that hookline sends and understands."""

    HOOK_EXECUTION_REQUEST = "hook-execution-request"
    HOOK_EXECUTION_RESPONSE = "hook-execution-response"


class AskerFacts(TypedDict, total=False):
    """The agent that fires the event. Only used on a bus that authenticates the sender."""

    sessionId: str
    cwd: str
    project: str
    agent: str
    user: str
    machine: str
    """A bus between machines takes this and the team from the sender's address, not from the message."""
    team: str


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


class AddressedResponse(HookExecutionResponse):
    """The answer to one asker."""

    verdict: NotRequired[dict[str, Any]]
    """In place of `output`: the whole Verdict, without the hooks behind it."""
    by: NotRequired[list[str]]
    """Beside `verdict`: the hooks that decided."""
    to: NotRequired[str]


Message = Mapping[str, Any]
Subscriber = Callable[[Message], Awaitable[None]]
Unsubscribe = Callable[[], None]


class Subscription(Protocol):
    """A subscription; calling it ends it."""

    def __call__(self) -> None:
        """Ends the subscription; further calls do nothing."""

    async def ready(self) -> None:
        """Returns when messages that are sent from now on reach the subscriber."""


class MessageBus(Protocol):
    """A bus for messages, such as `hookline.client.bus.InProcessBus`."""

    @property
    def is_authenticated(self) -> bool:
        """Whether the transport knows who sends, so that the `asker` of a request can be believed."""

    async def publish(self, message: Message) -> None:
        """Delivers a flat message to every subscriber of its `type`; one that fails does not affect the others.

        A message with `to` is the answer to a `request`, and goes to that asker alone.
        """

    def subscribe(self, message_type: str, subscriber: Subscriber) -> Subscription:
        """Delivers messages of this type to the subscriber until the returned subscription is called."""

    async def request(self, message: Message, timeout: float) -> Message:  # noqa: ASYNC109 - the timeout also cancels the work
        """Delivers a message to one subscriber of its `type`, and returns what that publishes `to` its `replyTo`.

        Raises NoAnswerError without an answer within `timeout` seconds, and as soon as it is clear that there will be
        none. Then the work is abandoned: a subscriber that has not begun with it does not, and one at work is
        cancelled. Under one `correlationId` a bus asks once; it makes one if there is none.
        """
