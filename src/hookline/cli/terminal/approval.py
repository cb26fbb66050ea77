"""Approval of tool calls: how an answer is read, and who answers outside the interactive mode."""

import asyncio
import sys

from hookline.agent.scheduler import Approval
from hookline.agent.tool import ToolCall

_ANSWERS = {
    "y": Approval.ALLOW_ONCE,
    "yes": Approval.ALLOW_ONCE,
    "a": Approval.ALLOW_ALWAYS,
    "always": Approval.ALLOW_ALWAYS,
}


def read_answer(text: str) -> Approval:
    """The user's answer; anything but a clear yes refuses."""
    return _ANSWERS.get(text.strip().lower(), Approval.REFUSE)


async def refuse(call: ToolCall, question: str) -> Approval:  # noqa: ARG001 - the answer does not depend on them
    """Refuses: there is no user to ask."""
    return Approval.REFUSE


async def ask(call: ToolCall, question: str) -> Approval:
    """Asks the user at the terminal; anything but a clear yes refuses."""
    sys.stderr.write(f"{call.name} wants to {question}. Allow it? [y]es, [a]lways, [N]o: ")
    sys.stderr.flush()
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[str] = loop.create_future()
    # Not in a thread: reading in a thread can't be interrupted.
    loop.add_reader(sys.stdin, lambda: None if answer.done() else answer.set_result(sys.stdin.readline()))
    try:
        return read_answer(await answer)
    finally:
        loop.remove_reader(sys.stdin)
