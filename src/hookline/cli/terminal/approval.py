"""Who decides about a tool call that needs approval, where there is no interactive session."""

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


async def refuse(call: ToolCall, question: str) -> Approval:  # noqa: ARG001 - whatever is asked
    """Refuses, where nobody can be asked."""
    return Approval.REFUSE


async def ask(call: ToolCall, question: str) -> Approval:
    """Asks the person at the terminal; anything but a clear yes refuses."""
    sys.stderr.write(f"{call.name} wants to {question}. Allow it? [y]es, [a]lways, [N]o: ")
    sys.stderr.flush()
    loop = asyncio.get_running_loop()
    said: asyncio.Future[str] = loop.create_future()
    # Not in a thread, which nobody could interrupt.
    loop.add_reader(sys.stdin, lambda: None if said.done() else said.set_result(sys.stdin.readline()))
    try:
        return _ANSWERS.get((await said).strip().lower(), Approval.REFUSE)
    finally:
        loop.remove_reader(sys.stdin)
