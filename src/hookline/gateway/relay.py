"""Passes messages between a client and a server, and lets the guard see those that are about tools.

Each request that hooks see has a task of its own, so a slow hook holds up nothing else. Everything is done on the
thread of the event loop.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from msgspec import UNSET

from hookline.client.triggers.boundary import report
from hookline.gateway.asking import Asker
from hookline.gateway.guard import GUARDED, Guard, Question
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
from hookline.protocol.text.strings import warn_user

Send = Callable[[bytes], None]
"""Takes one message, without a line feed."""

_CANCELLED = "notifications/cancelled"
# Cancelling a hook sends SIGTERM to its group; cancelling it again kills the group at once.
_TERM_S = 0.5
_MOST_COMPLAINTS = 20


@dataclass(slots=True, eq=False)
class _Request:
    """A request of the client that has no answer yet."""

    id: Id
    task: asyncio.Task[None] | None = None
    """Set while hooks judge it, or the server's answer to it."""
    question: Question | None = None
    """What the server was sent, if hooks have to do with it."""
    is_sent: bool = False
    is_answered: bool = False
    """Whether the server has answered."""


class Relay:
    """One connection."""

    def __init__(self, guard: Guard, asker: Asker, to_client: Send, to_server: Send) -> None:
        self._guard = guard
        self._asker = asker
        self._to_client = to_client
        self._to_server = to_server
        self._requests: dict[Id, _Request] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._ended: str | None = None
        self._complaints = 0
        self.idle = asyncio.Event()
        """Set while every request is answered."""
        self.idle.set()

    def from_client(self, line: bytes) -> None:
        """Takes a line of the client."""
        try:
            messages = read_messages(line)
        except ValueError as error:
            self._reply(error_answer(None, PARSE_ERROR, f"the message can't be read: {error}"))
            return
        for message in messages:
            if message.method is UNSET:
                if not self._asker.takes(message):
                    self._send(message)
            elif message.id is UNSET:
                self._notify(message)
            else:
                self._request(message)

    def from_server(self, line: bytes) -> None:
        """Takes a line of the server."""
        try:
            messages = read_messages(line)
        except ValueError as error:
            self._complain(f"wrote a line to stdout that is no message ({error}): {_shortened(line)}")
            return
        for message in messages:
            if message.method is UNSET:
                self._answered(message)
            elif message.has_answer:
                self._complain("sent a message that is a request and an answer; it is dropped")
            else:
                self._pass_on(message)

    def long_line_from_client(self, beginning: bytes, end: bytes, limit: int) -> None:
        """Takes the ends of a line that is too long."""
        text = f"the message is longer than {limit} bytes"
        self._reply(error_answer(id_of_long_line(beginning, end), INVALID_REQUEST, text))

    def long_line_from_server(self, beginning: bytes, end: bytes, limit: int) -> None:
        """Takes the ends of a line that is too long, and fails the request that it may be the answer to."""
        text = f"the server sent a message that is longer than {limit} bytes"
        request = self._requests.get(found) if (found := id_of_long_line(beginning, end)) is not None else None
        self._complain(f"sent a message that is longer than {limit} bytes; it is dropped")
        self._fail([request] if request is not None else list(self._requests.values()), text, INTERNAL_ERROR)

    def server_ended(self, text: str) -> None:
        """Answers all requests that the server can't answer any more, now and later."""
        self._ended = text
        self._fail(list(self._requests.values()), text, SERVER_ENDED)

    async def close(self) -> None:
        """Ends the hooks that still run; their requests are not answered."""
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
            # Without the id: the request that came first is still to be answered.
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
                    self._asker.learn(message)
                self._ask(request, message)

    def _judge(self, request: _Request, message: Message) -> None:
        """Sends the request to the server, at once or when its hooks have answered."""

        async def judge() -> Message | None:
            judged = await self._guard.question(message)
            if isinstance(judged, Message):
                return judged
            self._ask(request, judged.message, judged)
            return None

        try:
            question = self._guard.question_at_once(message)
        except ValueError as error:
            self._reply(error_answer(request.id, INVALID_PARAMS, f"the call can't be read: {error}"))
            self._forget(request.id)
            return
        except Exception:  # noqa: BLE001 - the same in a task is reported
            question = None
        if question is not None:
            self._ask(request, question.message, question)
        else:
            self._spawn(request, judge)

    def _ask(self, request: _Request, message: Message, question: Question | None = None) -> None:
        request.task, request.question, request.is_sent = None, question, True
        self._send(message)

    def _notify(self, message: Message) -> None:
        if message.method == _CANCELLED:
            self._cancel(message)
        elif message.method in GUARDED:
            # Nobody would see a refusal.
            warn_user(f"the client sent {message.method} without an id; it is dropped")
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
            return  # the server does not know of it, or is done with it
        self._send(message)

    def _answered(self, message: Message) -> None:
        if message.id is None and message.error is not UNSET:
            self._reply(message)
            return
        request = self._requests.get(message.id) if isinstance(message.id, str | int | float) else None
        if request is None or not request.is_sent or request.is_answered:
            self._complain("sent an answer that nobody waits for; it is dropped")
        elif (question := request.question) is None or self._passes(question):
            self._reply(message)
            self._forget(request.id)
        else:
            request.is_answered = True
            self._spawn(request, lambda: self._guard.answer(question, message))

    def _passes(self, question: Question) -> bool:
        try:
            return self._guard.passes_answer(question)
        except Exception:  # noqa: BLE001 - the same in a task is reported
            return False

    def _spawn(self, request: _Request, work: Callable[[], Awaitable[Message | None]]) -> None:
        request.task = task = asyncio.get_running_loop().create_task(self._run(request, work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, request: _Request, work: Callable[[], Awaitable[Message | None]]) -> None:
        """Runs hooks and sends the answer that they lead to, unless nobody waits for it any more."""
        try:
            answer = await work()
        except ValueError as error:
            answer = error_answer(request.id, INTERNAL_ERROR, f"the server's answer can't be read: {error}")
        except Exception as error:  # noqa: BLE001 - the door: what hooks could not judge does not pass
            report(error, "a call was refused")
            answer = error_answer(request.id, INTERNAL_ERROR, f"hookline failed ({type(error).__name__})")
        if answer is not None and self._requests.get(request.id) is request:
            self._reply(answer)
            self._forget(request.id)

    def _pass_on(self, message: Message) -> None:
        try:
            self._reply(self._guard.notification(message) if message.id is UNSET else message)
        except ValueError as error:
            self._complain(f"sent a notification that can't be read ({error}); it is dropped")

    def _fail(self, requests: list[_Request], text: str, code: int) -> None:
        for request in requests:
            if request.is_answered:
                continue  # its last hooks are running
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

    def _complain(self, what: str) -> None:
        self._complaints += 1
        if self._complaints <= _MOST_COMPLAINTS:
            warn_user(f"the MCP server {what}")
        if self._complaints == _MOST_COMPLAINTS:
            warn_user("more of this kind is not reported")


def _shortened(line: bytes) -> str:
    text = line[:200].decode("utf-8", "replace")
    return text if len(line) <= 200 else f"{text}…"  # noqa: PLR2004 - the same number
