"""Asks the user before a tool does something that needs approval, and remembers what was allowed for the session."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
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
    """The user's answer."""

    ALLOW_ONCE = "allow_once"
    ALLOW_ALWAYS = "allow_always"
    """For this tool and the rest of the session; calls outside the project are asked about separately."""
    REFUSE = "refuse"


Approver = Callable[[ToolCall, str], Awaitable[Approval]]
# A tool's name, and whether the call leaves the project.
Scope = tuple[str, bool]


class RefusedError(HooklineError):
    """A call must not run; the message is for the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Permissions:
    """What the user has allowed in this session; asks for more, one question at a time."""

    config: "Config"
    approve: Approver | None
    """Asks the user; None approves everything without a Notification event."""
    person: Approver | None = None
    """Asks when a hook wants that, also where `approve` is None; if both are None, such calls are refused."""
    background: BackgroundHooks
    """Runs Notification hooks."""
    _always_allowed: set[Scope] = field(default_factory=set, init=False)
    _asking: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    async def obtain(
        self, tool: Tool, call: ToolCall, given: Scope | None, waiting: Callable[[], None]
    ) -> Scope | None:
        """Returns the permission of the call, None when it needs none; `given` is the permission that it has already.

        Calls `waiting` before it asks the user. Raises RefusedError when the answer is no.
        """
        context = ToolContext.of(self.config)
        question = tool.needs_approval(call.arguments, context)
        if question is None or self.approve is None:
            return given
        scope = (tool.name, leaves_project(call.arguments, context))
        if scope in (given, *self._always_allowed):
            return scope
        async with self._asking:
            if scope not in self._always_allowed:
                waiting()
                await self._ask(self.approve, call, question, scope)
        return scope

    async def ask_for_hook(self, call: ToolCall, reason: str, waiting: Callable[[], None]) -> bool:
        """Asks the user because a hook wants that, whatever was allowed before; False where there is no user to ask."""
        ask = self.person or self.approve
        if ask is None:
            return False
        async with self._asking:
            waiting()
            return await ask(call, f"go on; a hook asks you: {reason}") is not Approval.REFUSE

    async def _ask(self, approve: Approver, call: ToolCall, question: str, scope: Scope) -> None:
        details = {"tool_name": call.name, "tool_input": dict(call.arguments)}
        message = f"{call.name} needs permission to {question}"
        self.background.spawn(fire_notification_hook(self.config, "ToolPermission", message, details))
        answer = await approve(call, question)
        if answer is Approval.REFUSE:
            raise RefusedError(f"{call.name} was not run: permission to {question} was not given.")
        if answer is Approval.ALLOW_ALWAYS:
            self._always_allowed.add(scope)
