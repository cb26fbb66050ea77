"""Asks the person at the client about a call, by elicitation; where that can't be done, the call is refused."""

import asyncio
import os
from collections.abc import Callable
from typing import Any

from msgspec import UNSET

from hookline.client import ToolCall
from hookline.gateway.messages import Message, encode_message, read_object, to_raw
from hookline.protocol.text.strings import visible

# Long enough for a person, and bounded: a client that never answers must not keep the call for ever.
ASK_S = 120.0
# Arguments of this length in all are shown whole; of longer ones, the beginning and the end of each.
_SHOWN_ARGUMENTS = 2000
_SHOWN_START, _SHOWN_END = 300, 200
_NOBODY = "a hook wants a person to be asked about this call, and nobody can be asked here"
_SCHEMA = {
    "type": "object",
    "properties": {"allow": {"type": "boolean", "title": "Allow this call?", "default": False}},
    "required": ["allow"],
}


class Asker:
    """The questions of one connection to its client."""

    def __init__(self, to_client: Callable[[bytes], None], timeout_s: float = ASK_S) -> None:
        self._to_client = to_client
        self._timeout_s = timeout_s
        self._can_ask = False
        # Nobody can guess it, so no request of the server has the id of one of ours.
        self._prefix = f"hookline-{os.urandom(8).hex()}-"
        self._count = 0
        self._waiting: dict[str, asyncio.Future[Message]] = {}

    def learn(self, message: Message) -> None:
        """Reads from the client's `initialize` whether it can ask a person."""
        try:
            capabilities = read_object(message.params).get("capabilities")
        except ValueError:
            return
        offered = capabilities.get("elicitation") if isinstance(capabilities, dict) else None
        # Without any mode it is the form, as in the first version of this capability.
        self._can_ask = isinstance(offered, dict) and (not offered or "form" in offered)

    def takes(self, message: Message) -> bool:
        """Whether a message of the client is the answer to one of our questions; then it goes no further."""
        if not isinstance(message.id, str) or not message.id.startswith(self._prefix):
            return False
        if (waiting := self._waiting.pop(message.id, None)) is not None and not waiting.done():
            waiting.set_result(message)
        return True

    async def why_refused(self, call: ToolCall, tool: str) -> str | None:
        """Asks about a call; None if the person allows it, else why it does not run."""
        if not self._can_ask:
            return _NOBODY
        self._count += 1
        question = f"{self._prefix}{self._count}"
        answer = self._waiting[question] = asyncio.get_running_loop().create_future()
        params = {"message": _text(call, tool), "requestedSchema": _SCHEMA}
        self._send(Message(id=question, method="elicitation/create", params=to_raw(params)))
        try:
            return _judge(await asyncio.wait_for(answer, self._timeout_s))
        except TimeoutError:
            self._withdraw(question, "nobody answered in time")
            return (
                f"a hook wants a person to be asked about this call, and nobody answered within {self._timeout_s:g} s"
            )
        except asyncio.CancelledError:
            self._withdraw(question, "the call was cancelled")
            raise
        finally:
            self._waiting.pop(question, None)

    def _withdraw(self, question: str, reason: str) -> None:
        params = to_raw({"requestId": question, "reason": reason})
        self._send(Message(method="notifications/cancelled", params=params))

    def _send(self, message: Message) -> None:
        self._to_client(encode_message(message))


def _text(call: ToolCall, tool: str) -> str:
    shown = _json(call.arguments)
    if len(shown) > _SHOWN_ARGUMENTS:
        # Each of them: one that is long must not hide the next.
        shown = "".join(f"\n{_cut(_json(name))}: {_cut(_json(value))}" for name, value in call.arguments.items())
    by = f" ({', '.join(call.decided_by)})" if call.decided_by else ""
    return visible(f"A hook{by} wants you to be asked before {tool} runs: {call.reason}\nArguments: {shown}")


def _json(value: Any) -> str:
    return bytes(to_raw(value)).decode("utf-8", "replace")


def _cut(text: str) -> str:
    hidden = len(text) - _SHOWN_START - _SHOWN_END
    if hidden <= 0:
        return text
    return f"{text[:_SHOWN_START]} … ({hidden} characters are not shown here) … {text[-_SHOWN_END:]}"


def _judge(answer: Message) -> str | None:
    """Only a clear yes is one: an accepted form whose field says so."""
    if answer.result is UNSET:
        return "a hook wants a person to be asked about this call, and the client could not ask"
    try:
        result: dict[str, Any] = read_object(answer.result)
    except ValueError:
        result = {}
    content = result.get("content")
    if result.get("action") == "accept" and isinstance(content, dict) and content.get("allow") is True:
        return None
    return "the person was asked about this call, and did not allow it"
