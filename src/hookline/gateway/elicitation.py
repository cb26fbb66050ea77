"""Asks the user of the MCP client about a call by elicitation; the call is refused where that is not possible."""

import asyncio
import os
from collections.abc import Callable
from typing import Any

from msgspec import UNSET

from hookline.client import ToolCall
from hookline.gateway.messages import Message, encode_message, read_object, to_raw
from hookline.protocol.text.strings import visible

# A client that never answers must not hold the call forever.
ASK_S = 120.0
# Arguments up to this total length are shown in full; of longer ones, the beginning and the end of each.
_MAX_ARGUMENTS = 2000
_HEAD, _TAIL = 300, 200
_WANTED = "a hook wants the user to be asked about this call"
_SCHEMA = {
    "type": "object",
    "properties": {"allow": {"type": "boolean", "title": "Allow this call?", "default": False}},
    "required": ["allow"],
}


class Elicitation:
    """The questions that the gateway sends to one client."""

    def __init__(self, to_client: Callable[[bytes], None], timeout_s: float = ASK_S) -> None:
        self._to_client = to_client
        self._timeout_s = timeout_s
        self.is_supported = False
        """True after a client's `initialize` request that offers to ask its user."""
        # Random, so that a request of the server can't have the id of a question.
        self._prefix = f"hookline-{os.urandom(8).hex()}-"
        self._count = 0
        self._pending: dict[str, asyncio.Future[Message]] = {}

    def read_capabilities(self, initialize: Message) -> None:
        """Read from the client's `initialize` request whether it supports elicitation."""
        try:
            capabilities = read_object(initialize.params).get("capabilities")
        except ValueError:
            return
        offered = capabilities.get("elicitation") if isinstance(capabilities, dict) else None
        # An object without a mode means forms, as in the first version of this capability.
        self.is_supported = isinstance(offered, dict) and (not offered or "form" in offered)

    def accept(self, message: Message) -> bool:
        """Return True if a client's message answers a question of the gateway; the server must not receive it."""
        if not isinstance(message.id, str) or not message.id.startswith(self._prefix):
            return False
        if (pending := self._pending.pop(message.id, None)) is not None and not pending.done():
            pending.set_result(message)
        return True

    async def why_refused(self, call: ToolCall, tool: str) -> str | None:
        """Ask about a call. Return None if the user allows it, else the reason for the refusal."""
        self._count += 1
        question = f"{self._prefix}{self._count}"
        answer = self._pending[question] = asyncio.get_running_loop().create_future()
        params = {"message": _question_text(call, tool), "requestedSchema": _SCHEMA}
        self._send(Message(id=question, method="elicitation/create", params=to_raw(params)))
        try:
            return _why_not(await asyncio.wait_for(answer, self._timeout_s))
        except TimeoutError:
            self._withdraw(question, "timeout")
            return f"{_WANTED}, and there was no answer within {self._timeout_s:g} s"
        except asyncio.CancelledError:
            self._withdraw(question, "the call was cancelled")
            raise
        finally:
            self._pending.pop(question, None)

    def _withdraw(self, question: str, reason: str) -> None:
        params = to_raw({"requestId": question, "reason": reason})
        self._send(Message(method="notifications/cancelled", params=params))

    def _send(self, message: Message) -> None:
        self._to_client(encode_message(message))


def _question_text(call: ToolCall, tool: str) -> str:
    arguments = _json(call.arguments)
    if len(arguments) > _MAX_ARGUMENTS:
        # Shortened one by one: a long argument must not hide the next.
        arguments = "".join(f"\n{_cut(_json(name))}: {_cut(_json(value))}" for name, value in call.arguments.items())
    by = f" ({', '.join(call.decided_by)})" if call.decided_by else ""
    return visible(f"A hook{by} wants you to be asked before {tool} runs: {call.reason}\nArguments: {arguments}")


def _json(value: Any) -> str:
    return bytes(to_raw(value)).decode("utf-8", "replace")


def _cut(text: str) -> str:
    hidden = len(text) - _HEAD - _TAIL
    return text if hidden <= 0 else f"{text[:_HEAD]} … ({hidden} characters not shown) … {text[-_TAIL:]}"


def _why_not(answer: Message) -> str | None:
    """Return None for an accepted form with `allow: true`, else the reason for the refusal."""
    if answer.result is UNSET:
        return f"{_WANTED}, and the client failed to ask"
    try:
        result = read_object(answer.result)
    except ValueError:
        result = {}
    content = result.get("content")
    if result.get("action") == "accept" and isinstance(content, dict) and content.get("allow") is True:
        return None
    return "the user was asked about this call and did not allow it"
