"""The worker's side of one request."""

import asyncio
from collections.abc import Awaitable, Callable

from hookline.child.conversation.steps import (
    ALIVE,
    CANCEL,
    CLAIM,
    GO,
    NOBODY,
    SILENCE_S,
    STEP,
    TOO_LATE,
    Line,
    Step,
    now_s,
    settle,
)

BEAT_S = 0.25


class Serving:
    """One request, from the claim to the end of the work; lives in a task of its own."""

    def __init__(self, line: Line, key: str, asker: str, name: str) -> None:
        self._line = line
        self.key = key
        self._asker = asker
        self._name = name
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        self._first: asyncio.Future[None] = self._loop.create_future()
        self._said: str | None = None
        self._is_dismissed = False
        self._heard_of_us = 0.0
        line.open(key, self._hear)

    def _hear(self, step: Step) -> None:
        if self._said is None:
            self._said = step.get(STEP, "")
            settle(self._first)
        elif step.get(STEP) in (CANCEL, TOO_LATE, NOBODY):
            self._dismiss()

    def _dismiss(self) -> None:
        self._is_dismissed = True
        if self._task is not None:
            self._task.cancel()

    async def may_begin(self, inbox: str, at: str) -> bool:
        """Claims the request; True if the asker still wants it, and says so in time."""
        self._heard_of_us = now_s()
        await self._line.say(self._asker, {STEP: CLAIM, "worker": self._name, "at": at}, reply=inbox)
        timer = self._loop.call_later(SILENCE_S, settle, self._first)
        try:
            await self._first
        finally:
            timer.cancel()
        return self._said == GO and not self._is_given_up()

    def may_begin_offered(self, sent_s: float) -> bool:
        """True if the asker can't have given up a request that it sent at this time or later."""
        self._said = GO
        self._heard_of_us = sent_s
        return not self._is_given_up()

    def _is_given_up(self) -> bool:
        # We may have stood still: then the asker heard nothing of us, and has answered without us.
        return self._is_dismissed or now_s() - self._heard_of_us > SILENCE_S

    async def work(self, slots: asyncio.Semaphore, begin: Callable[[], Awaitable[None]]) -> None:
        """Runs the work when there is room for it, with signs of life; it is cancelled when the asker gives up."""
        beats = _Beats(self._loop, self._beat)
        try:
            async with slots:
                if not self._is_given_up():
                    await begin()
        except asyncio.CancelledError:
            if not self._is_dismissed:
                raise
        finally:
            beats.end()

    def _beat(self) -> None:
        if self._is_given_up():
            self._dismiss()
            return
        if not self._line.is_connected:  # the asker hears nothing of us either
            return
        self._heard_of_us = now_s()
        self._saying = asyncio.ensure_future(self._line.say(self._asker, {STEP: ALIVE}))


class _Beats:
    """Calls a function again and again, until it is ended."""

    def __init__(self, loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
        self._loop = loop
        self._call = call
        self._timer = loop.call_later(BEAT_S, self._beat)

    def _beat(self) -> None:
        self._timer = self._loop.call_later(BEAT_S, self._beat)
        self._call()

    def end(self) -> None:
        """Ends it."""
        self._timer.cancel()
