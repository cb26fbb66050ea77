import asyncio
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from hookline.client.events import Engine, SessionEvents
from hookline.client.sync import SyncSession
from hookline.client.triggers import session as lifecycle
from hookline.client.triggers.boundary import fire
from hookline.client.triggers.results import OnAsk, SessionStartHookResult
from hookline.protocol.events import HookEventName, SessionEndReason, SessionFacts, SessionStartSource

# The end of a session waits this long for the hooks of SessionStart and SessionEnd.
_END_S = 5.0


class Session(SessionEvents):
    """One conversation of an agent; `Hooks.session()` makes it.

    Its methods are safe to use from several tasks, and from several event loops and threads. As a context manager it
    fires SessionStart and SessionEnd, and waits for their hooks at its end only, for some seconds; but if answers to
    SessionStart are applied, `started` has them from the beginning. Without `with` neither event is fired, and nothing
    has to be closed.
    """

    __slots__ = ("_background", "started")

    def __init__(self, engine: Engine, facts: SessionFacts, on_ask: OnAsk | None = None) -> None:
        super().__init__(engine, facts, on_ask)
        self._background: set[asyncio.Task[Any]] = set()
        self.started = SessionStartHookResult()
        """The context that the hooks of SessionStart added, if their answers are applied."""

    @property
    def id(self) -> str:
        """The session's identifier, as hooks and log have it."""
        return self.facts.session_id

    @property
    def sync(self) -> SyncSession:
        """The same methods for code that does not await: they block, and can be called in any thread."""
        return SyncSession(self, self._engine.blocking)

    async def __aenter__(self) -> Self:
        self._check_open()
        source = SessionStartSource.STARTUP
        if await lifecycle.is_applied(self._engine.config, HookEventName.SESSION_START, source):
            self.started = await self.session_start(source)
        else:
            self._spawn(HookEventName.SESSION_START, {"source": source})
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._drain()
        if self.is_open:
            self._spawn(HookEventName.SESSION_END, {"reason": SessionEndReason.EXIT})
        self.close()
        await self._drain()

    def __enter__(self) -> Self:
        self._engine.blocking.run(self.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._engine.blocking.run(self.__aexit__(kind, error, trace))

    def _spawn(self, event: HookEventName, fields: Mapping[str, Any]) -> None:
        if (system := self._engine.system) is not None:
            task = asyncio.get_running_loop().create_task(
                fire(system, event, fields, None, self.facts, limits=self._limits())
            )
            self._background.add(task)
            task.add_done_callback(self._background.discard)

    async def _drain(self) -> None:
        """Waits for the hooks in the background, and ends those that take too long."""
        loop = asyncio.get_running_loop()
        tasks = {task for task in self._background if task.get_loop() is loop}
        if tasks:
            _, tasks = await asyncio.wait(tasks, timeout=_END_S)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_END_S)
