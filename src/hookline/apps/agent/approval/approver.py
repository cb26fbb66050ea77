"""Asks the user before a tool does something that needs approval, and remembers what was allowed for the session."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hookline.apps.agent.approval.details import permission_details
from hookline.apps.agent.approval.protected import ProtectedPlaces
from hookline.apps.agent.approval.scope import Scope, scope_of
from hookline.apps.agent.background import BackgroundHooks
from hookline.apps.agent.tool import Tool, ToolCall, ToolContext
from hookline.client.flow import answer_record
from hookline.client.triggers import results as questions
from hookline.client.triggers.session import fire_notification_hook
from hookline.client.triggers.tools import fire_permission_hook, write_in_session
from hookline.errors import HooklineError
from hookline.protocol.text.outcome_words import UserAnswer

if TYPE_CHECKING:
    from hookline.client.config import Config


THE_USER = "the user"
"""Who answers the agent's questions, for the log."""


class Approval(StrEnum):
    """The user's decision."""

    ALLOW_ONCE = "allow_once"
    """For this call with these arguments."""
    ALLOW_ALWAYS = "allow_always"
    """For every call in the scope that the question names, in the rest of the session."""
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class Asked:
    """Which hooks want the user to be asked, and why."""

    hooks: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A question to the user about one call."""

    call: ToolCall
    what: str
    """What the call wants to do, as the end of a sentence."""
    always: str | None = None
    """What "always" would cover; None when it is not offered."""
    before: Mapping[str, Any] | None = None
    """The arguments before hooks changed them; None when they did not."""
    asked: Asked | None = None
    """Set when hooks want the user to be asked."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The user's answer."""

    decision: Approval
    message: str = ""
    """What the user wants the model to know."""


@dataclass(frozen=True, slots=True)
class Grant:
    """What was allowed of one call: to do this with these arguments."""

    what: str
    arguments: Mapping[str, Any]


Approver = Callable[[Request], Awaitable[Reply]]


class RefusedError(HooklineError):
    """A call must not run; the message is for the model."""

    def __init__(self, message: str, hooks: tuple[str, ...] = ()) -> None:
        """`hooks` are the names of the hooks that refused it, if it was not the user."""
        super().__init__(message)
        self.hooks = hooks


@dataclass(frozen=True, kw_only=True)
class Permissions:
    """What the user has allowed in this session; asks for more, one question at a time."""

    config: "Config"
    approve: Approver | None
    """Asks the user; None approves everything but protected places, without a Notification event."""
    person: Approver | None = None
    """Asks where `approve` is None and the user must be asked: about protected places, and when a hook wants it."""
    background: BackgroundHooks
    """Runs Notification hooks."""
    _always_allowed: set[tuple[str, ...]] = field(default_factory=set, init=False)
    _asking: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    async def obtain(
        self,
        tool: Tool,
        call: ToolCall,
        waiting: Callable[[], None],
        *,
        given: Grant | None = None,
        before: Mapping[str, Any] | None = None,
    ) -> Grant | None:
        """Returns what is allowed, None when the call needs no approval; `given` was allowed for this call already.

        Calls `waiting` before it asks the user. Raises RefusedError when the answer is no.
        """
        grant, protected = self._needed(tool, call)
        if grant is None:
            return given
        if grant == given or (self.approve is None and protected is None):
            return grant
        approve = self.approve or self.person
        if approve is None:
            advice = "it needs a person's yes, and nobody can be asked here"
            raise RefusedError(f"{call.name} was not run: {protected}; {advice}.")
        scope = None if protected else scope_of(tool.name, call.arguments, ToolContext.of(self.config, call))
        async with self._asking:
            # Another call may have got an "always" while this one waited.
            if scope is None or scope.key not in self._always_allowed:
                request = Request(call=call, what=grant.what, always=scope and scope.text, before=before)
                # Hooks of other agents can't allow a protected place.
                if not await self._is_allowed_by_hooks(request) or protected is not None:
                    waiting()
                    await self._ask(approve, request, scope)
        return grant

    @property
    def can_ask(self) -> bool:
        """Whether there is a way to ask the user."""
        return self.person is not None or self.approve is not None

    async def ask_for_hook(
        self,
        tool: Tool,
        call: ToolCall,
        waiting: Callable[[], None],
        *,
        asked: Asked,
        before: Mapping[str, Any] | None = None,
    ) -> tuple[Reply, Grant | None]:
        """Asks the user because hooks want that, whatever was allowed before, for a session that `can_ask`.

        Returns the answer, and what the user allowed by a yes.
        """
        if (ask := self.person or self.approve) is None:
            return Reply(Approval.REFUSE), None
        grant, _ = self._needed(tool, call)
        what = "go on" if grant is None else grant.what
        request = Request(call=call, what=what, before=before, asked=asked)
        async with self._asking:
            # Their deny counts; a yes is no answer to a guard that wants the user to be asked.
            await self._is_allowed_by_hooks(request)
            waiting()
            self._notify(request)
            reply = await ask(request)
        return reply, None if reply.decision is Approval.REFUSE else grant

    def _needed(self, tool: Tool, call: ToolCall) -> tuple[Grant | None, str | None]:
        """What the user has to allow, None when nothing; and why that needs a yes each time, None if it does not."""
        context = ToolContext.of(self.config, call)
        what = tool.needs_approval(call.arguments, context)
        if what is None:
            return None, None
        protected = self._protected.touched_by(tool.name, call.arguments, context)
        if protected is not None:
            what += f" ({protected}, so this needs a yes each time)"
        return Grant(what, dict(call.arguments)), protected

    async def _is_allowed_by_hooks(self, request: Request) -> bool:
        """Whether a PermissionRequest hook of another agent allows the call; RefusedError if one denies it."""
        call = request.call
        answer = await fire_permission_hook(self.config, call.name, call.arguments)
        if answer.refusal is not None:
            raise RefusedError(f"{call.name} was not run: {answer.refusal}", answer.refusal.hooks)
        return answer.allowed

    def _notify(self, request: Request) -> None:
        call = request.call
        details = permission_details(call)
        message = f"{call.name} needs permission to {request.what}"
        self.background.spawn(fire_notification_hook(self.config, "ToolPermission", message, details))

    async def _ask(self, approve: Approver, request: Request, scope: Scope | None) -> None:
        call = request.call
        self._notify(request)
        reply = await approve(request)
        asked_about = questions.ToolCall(name=call.name, arguments=dict(call.arguments), reason=request.what)
        record = answer_record(asked_about, _ANSWERS[reply.decision], THE_USER)
        write_in_session(self.config, self.config.get_hook_system(), record)
        if reply.decision is Approval.REFUSE:
            told = with_message("", reply.message)
            raise RefusedError(f"{call.name} was not run: permission to {request.what} was not given.{told}")
        if reply.decision is Approval.ALLOW_ALWAYS and scope is not None:
            self._always_allowed.add(scope.key)

    @cached_property
    def _protected(self) -> ProtectedPlaces:
        return ProtectedPlaces(self.config)


_ANSWERS = {
    Approval.ALLOW_ONCE: UserAnswer.YES,
    Approval.ALLOW_ALWAYS: UserAnswer.ALWAYS,
    Approval.REFUSE: UserAnswer.NO,
}


def with_message(text: str, message: str) -> str:
    """A refusal for the model, with what the user said to it."""
    return f"{text} The user says: {message}" if message else text
