"""Fires the hooks around prompts and sessions; the agent waits only for hooks whose answers are applied."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from hookline.apps.agent.background import BackgroundHooks
from hookline.apps.agent.events import Listener, Notice, TurnEnded
from hookline.apps.agent.pipeline import ModelCallResult
from hookline.client.triggers import session as hooks
from hookline.client.triggers.results import (
    AfterAgentHookResult,
    BeforeAgentHookResult,
    LifecycleHookResult,
    PreCompressHookResult,
    SessionStartHookResult,
)
from hookline.protocol.constants import DEFAULT_MAX_STOP_BLOCKS
from hookline.protocol.events import HookEventName, PreCompressTrigger, SessionStartSource
from hookline.protocol.records import AdviceRecord, LogLevel

if TYPE_CHECKING:
    from hookline.client.config import Config

Result = TypeVar("Result", bound=LifecycleHookResult)


class LifecycleHooks:
    """Fires the events around the prompts of one session."""

    def __init__(self, config: "Config", background: BackgroundHooks) -> None:
        self._config = config
        self._background = background
        self._started: asyncio.Future[SessionStartHookResult] | None = None

    def start(self, source: SessionStartSource) -> None:
        """Start the SessionStart hooks without waiting; `started` waits for them."""
        self._started = asyncio.get_running_loop().create_future()
        self._background.spawn(self._start(source, self._started))

    async def started(self) -> SessionStartHookResult:
        """Return the decision of the SessionStart hooks; empty from the second call on."""
        if self._started is None:
            return SessionStartHookResult()
        # A cancelled prompt leaves the future in place for the next one, or a stop would be lost.
        result = await asyncio.shield(self._started)
        self._started = None
        return result

    async def compressed(self) -> SessionStartHookResult:
        """Return what the SessionStart hooks add to the compressed history."""
        source = SessionStartSource.COMPRESS
        return await self._fire(SessionStartHookResult, HookEventName.SESSION_START, {"source": source}, source)

    async def before_agent(self, prompt: str) -> BeforeAgentHookResult:
        """Return the decision of the BeforeAgent hooks about a prompt."""
        return await self._fire(BeforeAgentHookResult, HookEventName.BEFORE_AGENT, {"prompt": prompt})

    async def after_agent(self, prompt: str, response: str, *, stop_hook_active: bool) -> AfterAgentHookResult:
        """Return the decision of the AfterAgent hooks about the agent's answer."""
        fields = hooks.after_agent_fields(prompt, response, stop_hook_active=stop_hook_active)
        return await self._fire(AfterAgentHookResult, HookEventName.AFTER_AGENT, fields)

    async def pre_compress(self, trigger: PreCompressTrigger) -> PreCompressHookResult:
        """Return the decision of the PreCompress hooks."""
        return await self._fire(PreCompressHookResult, HookEventName.PRE_COMPRESS, {"trigger": trigger}, trigger)

    def continues(self, after: AfterAgentHookResult, ended: TurnEnded, rounds: int, listener: Listener) -> bool:
        """Return True if a hook continues the turn, as it did `rounds` times; a hook without effect is reported."""
        if not after.should_go_on:
            return False
        system = self._config.get_hook_system()
        most = DEFAULT_MAX_STOP_BLOCKS if system is None else system.get_settings().options.max_stop_blocks
        names = " and ".join(after.decided_by)
        if not ended.stopped and rounds < most:
            listener(Notice(text=f"{names} continues the turn: {after.reason}"))
            return True
        why = "another hook stopped the agent" if ended.stopped else f"hooksConfig.maxStopBlocks is {most}"
        message = f"{names} wants to continue the turn ({after.reason}), but {why}, so the turn ends"
        listener(Notice(text=f"{message}.", is_error=True))
        if system is not None:
            record = AdviceRecord(
                level=LogLevel.WARN,
                message=f"AfterAgent: {message}",
                session=self._config.get_session_id(),
                event=HookEventName.AFTER_AGENT.value,
                hook=", ".join(after.decided_by),
            )
            system.get_log().write(record)
        return False

    async def _fire(
        self, kind: type[Result], event: HookEventName, fields: Mapping[str, Any], subject: str | None = None
    ) -> Result:
        if await hooks.is_applied(self._config, event, subject):
            return await hooks.apply(kind, self._config, event, fields)
        self._background.spawn(hooks.watch(self._config, event, fields))
        return kind()

    async def _start(self, source: SessionStartSource, started: "asyncio.Future[SessionStartHookResult]") -> None:
        try:
            if await hooks.is_applied(self._config, HookEventName.SESSION_START, source):
                started.set_result(await hooks.apply_session_start_hook(self._config, source))
                return
            started.set_result(SessionStartHookResult())
            await hooks.fire_session_start_hook(self._config, source)
        finally:
            if not started.done():
                started.cancel()


def refused_turn(hooks: BeforeAgentHookResult | SessionStartHookResult) -> TurnEnded:
    """Return the end of a turn whose prompt was not sent."""
    return TurnEnded(
        response="",
        is_sent=False,
        blocked=True,
        reason=hooks.reason,
        stopped=hooks.should_stop,
        stop_reason=hooks.stop_reason,
        decided_by=hooks.decided_by,
        turns=0,
        calls=(),
    )


def prevented_summary(hooks: PreCompressHookResult | SessionStartHookResult) -> ModelCallResult:
    """Return the result of a summary that hooks prevented."""
    return ModelCallResult(
        blocked=True,
        reason=hooks.reason,
        should_stop=hooks.should_stop,
        stop_reason=hooks.stop_reason,
        decided_by=hooks.decided_by,
    )
