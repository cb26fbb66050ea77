"""Passes messages between a client and a server; requests about tools go through the guard.

Each request that waits for hooks has its own task, so a slow hook delays no other message.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from msgspec import UNSET

from hookline.client.triggers.boundary import report
from hookline.gateway.elicitation import Elicitation
from hookline.gateway.guard import GUARDED, GuardedRequest, ToolGuard
from hookline.gateway.messages import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    SERVER_ENDED,
    Id,
    Message,
    encode_message,
    error_answer,
    id_of_long_line,
    read_messages,
    read_object,
)
from hookline.stderr import warn_user

Send = Callable[[bytes], None]
"""Sends one message, without a line feed."""

_CANCELLED = "notifications/cancelled"
# Cancelling a hook sends SIGTERM to its group; cancelling it again kills the group.
_TERM_S = 0.5
_MAX_WARNINGS = 20
_SHOWN_BYTES = 200


@dataclass(slots=True, eq=False)
class _Request:
    """A pending request of the client."""

    id: Id
    task: asyncio.Task[None] | None = None
    """Set while hooks judge the request or the server's answer."""
    guarded: GuardedRequest | None = None
    """The request that was sent to the server, if it passes through the guard."""
    is_sent: bool = False
    is_answered: bool = False
    """True once the server has answered."""


class Relay:
    """One connection."""

    def __init__(self, guard: ToolGuard, elicitation: Elicitation, to_client: Send, to_server: Send) -> None:
        self._guard = guard
        self._elicitation = elicitation
        self._to_client = to_client
        self._to_server = to_server
        self._requests: dict[Id, _Request] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._ended: str | None = None
        self._warnings = 0
        self.idle = asyncio.Event()
        """Set while no request is pending."""
        self.idle.set()

    def from_client(self, line: bytes) -> None:
        """Handle a line of the client."""
        try:
            messages = read_messages(line)
        except ValueError as error:
            self._reply(error_answer(None, PARSE_ERROR, f"the message can't be read: {error}"))
            return
        for message in messages:
            if message.method is UNSET:
                if not self._elicitation.accept(message):
                    self._send(message)
            elif message.id is UNSET:
                self._notify(message)
            else:
                self._request(message)

    def from_server(self, line: bytes) -> None:
        """Handle a line of the server."""
        try:
            messages = read_messages(line)
        except ValueError as error:
            self._warn(f"wrote a line to stdout that is not a message ({error}): {_shortened(line)}")
            return
        for message in messages:
            if message.method is UNSET:
                self._answered(message)
            elif message.has_answer:
                self._warn("sent a message that is both a request and an answer; it was dropped")
            else:
                self._pass_on(message)

    def long_line_from_client(self, beginning: bytes, end: bytes, limit: int) -> None:
        """Reject a line that is too long, of which only both ends are known."""
        text = f"the message is longer than {limit} bytes"
        self._reply(error_answer(id_of_long_line(beginning, end), INVALID_REQUEST, text))

    def long_line_from_server(self, beginning: bytes, end: bytes, limit: int) -> None:
        """Fail the request that a line may answer that is too long; without an id that may be any of them."""
        text = f"the server sent a message that is longer than {limit} bytes"
        request = self._requests.get(found) if (found := id_of_long_line(beginning, end)) is not None else None
        self._warn(f"sent a message that is longer than {limit} bytes; it was dropped")
        self._fail([request] if request is not None else list(self._requests.values()), text, INTERNAL_ERROR)

    def server_ended(self, text: str) -> None:
        """Answer all pending and later requests with this error."""
        self._ended = text
        self._fail(list(self._requests.values()), text, SERVER_ENDED)

    async def close(self) -> None:
        """Cancel running hooks; their requests get no answer."""
        self._requests.clear()
        tasks = set(self._tasks)
        for _ in range(3):
            for task in tasks:
                task.cancel()
            if tasks:
                _, tasks = await asyncio.wait(tasks, timeout=_TERM_S)

    def _request(self, message: Message) -> None:
        if message.id is None or message.id is UNSET:
            self._reply(error_answer(None, INVALID_REQUEST, "a request needs an id that is not null"))
        elif message.id in self._requests:
            # Without the id, which belongs to the first request.
            text = f"the id {message.id!r} is in use by another request"
            self._reply(error_answer(None, INVALID_REQUEST, text))
        elif self._ended is not None:
            self._reply(error_answer(message.id, SERVER_ENDED, self._ended))
        else:
            request = self._requests[message.id] = _Request(message.id)
            self.idle.clear()
            if message.method in GUARDED:
                self._judge(request, message)
            else:
                if message.method == "initialize":
                    self._elicitation.read_capabilities(message)
                self._forward(request, message)

    def _judge(self, request: _Request, message: Message) -> None:
        """Send the request to the server, after its hooks if there are any."""

        async def judge() -> Message | None:
            judged = await self._guard.request(message)
            if isinstance(judged, Message):
                return judged
            self._forward(request, judged.message, judged)
            return None

        try:
            guarded = self._guard.request_without_hooks(message)
        except ValueError as error:
            self._reply(error_answer(request.id, INVALID_PARAMS, f"the call can't be read: {error}"))
            self._forget(request.id)
            return
        except Exception:  # noqa: BLE001 - `judge` runs into the same fault, and `_run` reports it
            guarded = None
        if guarded is not None:
            self._forward(request, guarded.message, guarded)
        else:
            self._spawn(request, judge)

    def _forward(self, request: _Request, message: Message, guarded: GuardedRequest | None = None) -> None:
        request.task, request.guarded, request.is_sent = None, guarded, True
        self._send(message)

    def _notify(self, message: Message) -> None:
        if message.method == _CANCELLED:
            self._cancel(message)
        elif message.method in GUARDED:
            # A notification can't be refused with an answer.
            warn_user(f"the client sent {message.method} without an id; it was dropped")
        else:
            self._send(message)

    def _cancel(self, message: Message) -> None:
        try:
            cancelled = read_object(message.params).get("requestId")
        except ValueError:
            cancelled = None
        request = self._forget(cancelled) if isinstance(cancelled, str | int | float) else None
        if request is not None and request.task is not None:
            request.task.cancel()
            return  # the server has not received the request, or has answered it
        self._send(message)

    def _answered(self, message: Message) -> None:
        if message.id is None and message.error is not UNSET:
            self._reply(message)
            return
        request = self._requests.get(message.id) if isinstance(message.id, str | int | float) else None
        if request is None or not request.is_sent or request.is_answered:
            self._warn("sent an answer without a pending request; it was dropped")
        elif (guarded := request.guarded) is None or self._passes(guarded):
            self._reply(message)
            self._forget(request.id)
        else:
            request.is_answered = True
            self._spawn(request, lambda: self._guard.answer(guarded, message))

    def _passes(self, guarded: GuardedRequest) -> bool:
        try:
            return self._guard.passes_answer(guarded)
        except Exception:  # noqa: BLE001 - `answer` runs into the same fault, and `_run` reports it
            return False

    def _spawn(self, request: _Request, work: Callable[[], Awaitable[Message | None]]) -> None:
        request.task = task = asyncio.get_running_loop().create_task(self._run(request, work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, request: _Request, work: Callable[[], Awaitable[Message | None]]) -> None:
        """Run hooks and send the resulting answer, unless the request was cancelled."""
        try:
            answer = await work()
        except ValueError as error:
            answer = error_answer(request.id, INTERNAL_ERROR, f"the server's answer can't be read: {error}")
        except Exception as error:  # noqa: BLE001 - a call that could not be judged must be refused
            report(error, "a call was refused")
            answer = error_answer(request.id, INTERNAL_ERROR, f"hookline failed ({type(error).__name__})")
        if answer is not None and self._requests.get(request.id) is request:
            self._reply(answer)
            self._forget(request.id)

    def _pass_on(self, message: Message) -> None:
        try:
            self._reply(self._guard.notification(message) if message.id is UNSET else message)
        except ValueError as error:
            self._warn(f"sent a notification that can't be read ({error}); it was dropped")

    def _fail(self, requests: list[_Request], text: str, code: int) -> None:
        for request in requests:
            if request.is_answered:
                continue  # AfterTool hooks are running
            if request.task is not None:
                request.task.cancel()
            self._reply(error_answer(request.id, code, text))
            self._forget(request.id)

    def _forget(self, request_id: Id) -> _Request | None:
        request = self._requests.pop(request_id, None)
        if not self._requests:
            self.idle.set()
        return request

    def _send(self, message: Message) -> None:
        if self._ended is None:
            self._to_server(encode_message(message))

    def _reply(self, message: Message) -> None:
        self._to_client(encode_message(message))

    def _warn(self, what: str) -> None:
        self._warnings += 1
        if self._warnings <= _MAX_WARNINGS:
            warn_user(f"the MCP server {what}")
        if self._warnings == _MAX_WARNINGS:
            warn_user("further warnings about this MCP server are suppressed")


def _shortened(line: bytes) -> str:
    return line[:_SHOWN_BYTES].decode("utf-8", "replace") + ("…" if len(line) > _SHOWN_BYTES else "")
