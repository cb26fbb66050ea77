"""Asks the user before a tool does something that needs approval, and remembers "always" for the session."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hookline.apps.agent.approval.details import permission_details
from hookline.apps.agent.approval.protected import ProtectedPlaces
from hookline.apps.agent.approval.scope import scope_of
from hookline.apps.agent.background import BackgroundHooks
from hookline.apps.agent.tool import AgentCall, AgentTool, ToolContext
from hookline.client.flow import answer_record, unasked_record
from hookline.client.triggers.results import AskReason, ToolCall
from hookline.client.triggers.session import fire_notification_hook
from hookline.client.triggers.tools import fire_permission_hook, write_in_session
from hookline.errors import HooklineError
from hookline.protocol.text.outcome_words import UserAnswer

if TYPE_CHECKING:
    from hookline.client.config import Config


THE_USER = "the user"
"""The person who answers the agent's questions, for the log."""


class Approval(StrEnum):
    """The user's decision."""

    ALLOW_ONCE = "allow_once"
    """For this call with these arguments."""
    ALLOW_ALWAYS = "allow_always"
    """For every call in the scope that the question names, until the session ends."""
    REFUSE = "refuse"


_ANSWERS = {
    Approval.ALLOW_ONCE: UserAnswer.YES,
    Approval.ALLOW_ALWAYS: UserAnswer.ALWAYS,
    Approval.REFUSE: UserAnswer.NO,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest:
    """A question to the user about one call."""

    call: AgentCall
    what: str
    """The effect of the call, as the end of a sentence."""
    always: str | None = None
    """The scope of "always"; None when it is not offered."""
    before: Mapping[str, Any] | None = None
    """The arguments before hooks changed them; None if they did not."""
    asked: AskReason | None = None
    """The reason of the hooks that want the user to be asked, if any."""


@dataclass(frozen=True, slots=True)
class UserReply:
    """The user's answer."""

    decision: Approval
    message: str = ""
    """A message from the user to the model."""


@dataclass(frozen=True, slots=True)
class Grant:
    """The permission for one call: its effect and its arguments."""

    what: str
    arguments: Mapping[str, Any]


Approver = Callable[[ApprovalRequest], Awaitable[UserReply]]


class RefusedError(HooklineError):
    """A call must not run; the message is for the model."""

    def __init__(self, message: str, hooks: tuple[str, ...] = ()) -> None:
        """`hooks` names the hooks that refused the call, if the user did not."""
        super().__init__(message)
        self.hooks = hooks


@dataclass(frozen=True, kw_only=True)
class Permissions:
    """The user's permissions in this session; asks for more, one question at a time."""

    config: "Config"
    person: Approver | None = None
    """Asks the user; None where there is no user to ask, so that calls that need a yes are refused."""
    approves_all: bool = False
    """Allows everything except protected places, without a question and without a Notification event."""
    background: BackgroundHooks
    """Runs Notification hooks."""
    _always_allowed: set[tuple[str, ...]] = field(default_factory=set, init=False)
    _asking: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    async def obtain(
        self,
        tool: AgentTool,
        call: AgentCall,
        waiting: Callable[[], None],
        *,
        given: Grant | None = None,
        before: Mapping[str, Any] | None = None,
    ) -> Grant | None:
        """Return the permission for a call, or None if it needs none; `given` is an earlier permission for this call.

        Calls `waiting` before it asks the user. Raises RefusedError if the user refuses.
        """
        grant, protected = self._needed(tool, call)
        if grant is None:
            return given
        if grant == given or (self.approves_all and protected is None):
            return grant
        if self.approves_all and self.person is None:
            advice = "it needs a person's yes, and nobody can be asked here"
            raise RefusedError(f"{call.name} was not run: {protected}; {advice}.")
        scope = None if protected else scope_of(tool.name, call.arguments, ToolContext.of(self.config, call))
        request = ApprovalRequest(call=call, what=grant.what, always=scope and scope.text, before=before)
        async with self._asking:
            # Another call may have got an "always" while this one waited.
            if scope is not None and scope.key in self._always_allowed:
                return grant
            # Hooks of other agents can't allow a protected place.
            if await self._is_allowed_by_hooks(request) and protected is None:
                return grant
            waiting()
            self._notify(request)
            reply = UserReply(Approval.REFUSE) if self.person is None else await self.person(request)
            self._log(request, reply)
            if reply.decision is Approval.REFUSE:
                refusal = f"{call.name} was not run: permission to {request.what} was not given."
                raise RefusedError(with_message(refusal, reply.message))
            if reply.decision is Approval.ALLOW_ALWAYS and scope is not None:
                self._always_allowed.add(scope.key)
        return grant

    @property
    def can_ask(self) -> bool:
        """True if the user can be asked."""
        return self.person is not None

    async def ask_for_hook(
        self,
        tool: AgentTool,
        call: AgentCall,
        waiting: Callable[[], None],
        *,
        asked: AskReason,
        before: Mapping[str, Any] | None = None,
    ) -> tuple[UserReply, Grant | None]:
        """Ask the user for a hook, whatever was allowed before, if the session `can_ask`.

        Returns the answer, and the permission if the user says yes.
        """
        if self.person is None:
            return UserReply(Approval.REFUSE), None
        grant, _ = self._needed(tool, call)
        what = "run" if grant is None else grant.what
        request = ApprovalRequest(call=call, what=what, before=before, asked=asked)
        async with self._asking:
            # Their deny is applied; their allow does not answer a guard that wants the user to be asked.
            await self._is_allowed_by_hooks(request)
            waiting()
            self._notify(request)
            reply = await self.person(request)
        return reply, None if reply.decision is Approval.REFUSE else grant

    def _needed(self, tool: AgentTool, call: AgentCall) -> tuple[Grant | None, str | None]:
        """Return the permission that a call needs, and why each such call must be confirmed, both if any."""
        context = ToolContext.of(self.config, call)
        what = tool.needs_approval(call.arguments, context)
        if what is None:
            return None, None
        protected = self._protected.touched_by(tool.name, call.arguments, context)
        if protected is not None:
            what += f" ({protected}, so this needs a yes each time)"
        return Grant(what, dict(call.arguments)), protected

    async def _is_allowed_by_hooks(self, request: ApprovalRequest) -> bool:
        """Return True if another agent's PermissionRequest hook allows the call. Raises RefusedError on a deny."""
        call = request.call
        answer = await fire_permission_hook(self.config, call.name, call.arguments)
        if answer.refusal is not None:
            raise RefusedError(f"{call.name} was not run: {answer.refusal}", answer.refusal.hooks)
        return answer.allowed

    def _notify(self, request: ApprovalRequest) -> None:
        call = request.call
        message = f"{call.name} needs permission to {request.what}"
        details = permission_details(call)
        self.background.spawn(fire_notification_hook(self.config, "ToolPermission", message, details))

    def _log(self, request: ApprovalRequest, reply: UserReply) -> None:
        call = ToolCall(name=request.call.name, arguments=dict(request.call.arguments), reason=request.what)
        record = (
            unasked_record(call, f"it needs permission to {request.what}, and nobody can be asked here")
            if self.person is None
            else answer_record(call, _ANSWERS[reply.decision], THE_USER)
        )
        write_in_session(self.config, self.config.get_hook_system(), record)

    @cached_property
    def _protected(self) -> ProtectedPlaces:
        return ProtectedPlaces(self.config)


def with_message(text: str, message: str) -> str:
    """Return a refusal for the model with the user's message."""
    return f"{text} The user says: {message}" if message else text
