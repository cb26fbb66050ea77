"""Asks a person before a tool does what needs their word, and remembers what they said for good."""

import asyncio
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import TYPE_CHECKING

from hookline.agent.background import BackgroundHooks
from hookline.agent.tool import Tool, ToolCall, ToolContext
from hookline.agent.tools.paths import leaves_project
from hookline.errors import HooklineError
from hookline.triggers.session import fire_notification_hook

if TYPE_CHECKING:
    from hookline.config import Config


class Approval(StrEnum):
    """What a person says when asked."""

    ALLOW_ONCE = "allow_once"
    ALLOW_ALWAYS = "allow_always"
    """For this tool and the rest of the session; leaving the project is asked for on its own."""
    REFUSE = "refuse"


Approver = Callable[[ToolCall, str], Awaitable[Approval]]
# A tool's name, and whether the call leaves the project.
Scope = tuple[str, bool]


class RefusedError(HooklineError):
    """A call must not be run; the message is for the model."""


class Permissions:
    """What has been allowed in this session, and the way to ask for more, one question at a time."""

    def __init__(
        self, *, config: "Config", context: ToolContext, approve: Approver | None, background: BackgroundHooks
    ) -> None:
        self._config = config
        self._context = context
        self._approve = approve
        self._background = background
        self._allowed_for_good: set[Scope] = set()
        self._asking = asyncio.Lock()

    async def obtain(
        self, tool: Tool, call: ToolCall, given: Scope | None, waiting: Callable[[], None]
    ) -> Scope | None:
        """What the call may do now, `given` being what it might do before; None when it needed no permission.

        `waiting` is called when a person is really asked. RefusedError when they say no.
        """
        question = tool.needs_approval(call.arguments, self._context)
        if question is None or self._approve is None:
            return given
        scope = (tool.name, leaves_project(call.arguments, self._context))
        if scope in (given, *self._allowed_for_good):
            return scope
        async with self._asking:
            if scope not in self._allowed_for_good:
                waiting()
                await self._ask(self._approve, call, question, scope)
        return scope

    async def _ask(self, approve: Approver, call: ToolCall, question: str, scope: Scope) -> None:
        details = {"tool_name": call.name, "tool_input": dict(call.arguments)}
        message = f"{call.name} needs permission to {question}"
        self._background.spawn(fire_notification_hook(self._config, "ToolPermission", message, details))
        match await approve(call, question):
            case Approval.REFUSE:
                raise RefusedError(f"{call.name} was not run: permission to {question} was not given.")
            case Approval.ALLOW_ALWAYS:
                self._allowed_for_good.add(scope)
            case Approval.ALLOW_ONCE:
                pass
