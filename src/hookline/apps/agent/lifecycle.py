"""The hooks around prompts and sessions: the agent waits for those whose answers are applied, and for no others."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from hookline.apps.agent.background import BackgroundHooks
from hookline.apps.agent.events import Listener, Note, TurnEnded
from hookline.apps.agent.pipeline import ModelAnswer
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
        """Starts the SessionStart hooks, and returns; `started` waits for them."""
        self._started = asyncio.get_running_loop().create_future()
        self._background.spawn(self._start(source, self._started))

    async def started(self) -> SessionStartHookResult:
        """What the SessionStart hooks decided; empty from the second call on."""
        if self._started is None:
            return SessionStartHookResult()
        # Who does not want to wait any longer cancels the prompt; the next one waits again, or a stop would be lost.
        result = await asyncio.shield(self._started)
        self._started = None
        return result

    async def compressed(self) -> SessionStartHookResult:
        """What the SessionStart hooks add to the history that was just compressed."""
        source = SessionStartSource.COMPRESS
        return await self._fire(SessionStartHookResult, HookEventName.SESSION_START, {"source": source}, source)

    async def before_agent(self, prompt: str) -> BeforeAgentHookResult:
        """What the BeforeAgent hooks decided about a prompt."""
        return await self._fire(BeforeAgentHookResult, HookEventName.BEFORE_AGENT, {"prompt": prompt})

    async def after_agent(self, prompt: str, response: str, *, stop_hook_active: bool) -> AfterAgentHookResult:
        """What the AfterAgent hooks decided about the agent's answer."""
        fields = hooks.after_agent_fields(prompt, response, stop_hook_active=stop_hook_active)
        return await self._fire(AfterAgentHookResult, HookEventName.AFTER_AGENT, fields)

    async def pre_compress(self, trigger: PreCompressTrigger) -> PreCompressHookResult:
        """What the PreCompress hooks decided about compressing the history."""
        return await self._fire(PreCompressHookResult, HookEventName.PRE_COMPRESS, {"trigger": trigger}, trigger)

    def may_go_on(self, after: AfterAgentHookResult, ended: TurnEnded, rounds: int, listener: Listener) -> bool:
        """Whether the agent goes on, which it did `rounds` times; a hook that wants it in vain is reported."""
        if not after.should_go_on:
            return False
        names, most = " and ".join(after.decided_by), self._most_stop_blocks()
        if not ended.stopped and rounds < most:
            listener(Note(text=f"{names} makes the agent go on: {after.reason}"))
            return True
        why = "another hook stopped the agent" if ended.stopped else f"hooksConfig.maxStopBlocks is {most}"
        message = f"{names} wants the agent to go on ({after.reason}), but {why}, so the turn ends"
        listener(Note(text=f"{message}.", is_error=True))
        self._log(message, after)
        return False

    def _most_stop_blocks(self) -> int:
        system = self._config.get_hook_system()
        return DEFAULT_MAX_STOP_BLOCKS if system is None else system.get_settings().options.max_stop_blocks

    def _log(self, message: str, after: AfterAgentHookResult) -> None:
        if (system := self._config.get_hook_system()) is not None:
            record = AdviceRecord(
                level=LogLevel.WARN,
                message=f"AfterAgent: {message}",
                session=self._config.get_session_id(),
                event=HookEventName.AFTER_AGENT.value,
                hook=", ".join(after.decided_by),
            )
            system.get_log().write(record)

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
    """The end of a turn whose prompt was not sent."""
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


def prevented_summary(hooks: PreCompressHookResult | SessionStartHookResult) -> ModelAnswer:
    """In place of a summary that hooks prevented."""
    return ModelAnswer(
        blocked=True,
        reason=hooks.reason,
        should_stop=hooks.should_stop,
        stop_reason=hooks.stop_reason,
        decided_by=hooks.decided_by,
    )
