"""The asker's side of one request."""

import asyncio
from collections import deque
from contextlib import suppress

from hookline.child.conversation.offers import Offer, Offers
from hookline.child.conversation.steps import (
    ANSWER,
    CANCEL,
    CLAIM,
    DECLINE,
    GO,
    NO_ANSWER,
    NOBODY,
    OFFER,
    SILENCE_S,
    STEP,
    TOO_LATE,
    Line,
    Step,
    now_s,
    settle,
)
from hookline.contract.messages import Message
from hookline.contract.wire import stringify_json
from hookline.errors import NoAnswerError

_ATTEMPTS = 3


class Asking:
    """One request, from the first message to the answer."""

    def __init__(self, line: Line, key: str, subject: str, data: bytes) -> None:
        self._line = line
        self._key = key
        self._subject = subject
        self._data = data
        self._steps: deque[Step] = deque()
        self._waiting: asyncio.Future[None] | None = None
        line.open(key, self._hear)
        self.worker: str | None = None
        self._worker_inbox = ""
        self._is_over = False

    async def run(self, patience_s: float, offers: Offers, alone: str) -> Message:
        """The answer. `alone` is what the subject begins with where one worker is asked."""
        end = now_s() + patience_s
        offer = offers.take()
        if offer is not None and (message := await self._use(offer, offers, alone)) is not None:
            return message
        claim = await self._claim(end - now_s())
        self.worker, self._worker_inbox = str(claim.get("worker")), claim["reply"]
        claimed_s = now_s()
        await self._line.say(self._worker_inbox, {STEP: GO})
        step = await self._outcome(ANSWER, NOBODY, NO_ANSWER)
        if step is None:
            raise NoAnswerError(f"worker {self.worker} fell silent while it worked", worker=self.worker)
        return self._read(step, offers, str(claim.get("at") or ""), claimed_s)

    async def find(self, patience_s: float) -> str:
        """The name of the first worker that claims it; it is told that it is too late."""
        claim = await self._claim(patience_s)
        self._is_over = True
        await self._line.say(claim["reply"], {STEP: TOO_LATE})
        return str(claim.get("worker"))

    async def _use(self, offer: Offer, offers: Offers, alone: str) -> Message | None:
        """The answer of the worker that offered to take the request; None if it has not begun, and will not."""
        self.worker, self._worker_inbox = offer.worker, offer.inbox
        about = {OFFER: offer.key, "waitedS": now_s() - offer.got_s}
        await self._line.send(f"{alone}.{offer.at}", self._data[:-1] + b"," + stringify_json(about)[1:], self._key)
        step = await self._outcome(ANSWER, NOBODY, NO_ANSWER, DECLINE)
        if step is None:
            offers.forget(offer.worker)
            raise NoAnswerError(f"worker {self.worker}, which answered before, fell silent", worker=self.worker)
        if step[STEP] in (DECLINE, NOBODY):
            if step[STEP] == NOBODY:
                offers.forget(offer.worker)
            self.worker, self._worker_inbox = None, ""
            return None
        return self._read(step, offers, offer.at, offer.claimed_s)

    async def _claim(self, patience_s: float) -> Step:
        end = now_s() + patience_s
        for attempt in range(_ATTEMPTS):
            await self._line.send(self._subject, self._data, self._key)
            again = end - patience_s * (_ATTEMPTS - 1 - attempt) / _ATTEMPTS
            while (step := await self._next(again - now_s())) is not None:
                if step[STEP] == CLAIM and step["reply"]:
                    return step
                if step[STEP] == NOBODY:
                    raise NoAnswerError("no worker is there")
                if step[STEP] == DECLINE:
                    break
        raise NoAnswerError(f"no worker answered within {patience_s:.1g} s")

    async def _outcome(self, *ends: str) -> Step | None:
        """The first of these steps; None when the worker falls silent."""
        while (step := await self._next(SILENCE_S)) is not None:
            if step[STEP] == CLAIM:
                await self._line.say(step["reply"], {STEP: TOO_LATE})
            elif step[STEP] in ends:
                return step
        return None

    def _read(self, step: Step, offers: Offers, at: str, claimed_s: float) -> Message:
        self._is_over = True
        if step[STEP] != ANSWER:
            why = "is gone" if step[STEP] == NOBODY else "did not answer"
            raise NoAnswerError(f"worker {self.worker} {why}", worker=self.worker)
        if at and step["reply"] and step[OFFER]:
            offers.add(str(self.worker), at, step["reply"], step[OFFER], claimed_s)
        return {**step["message"], "worker": self.worker}

    def _hear(self, step: Step) -> None:
        if STEP in step:
            self._steps.append(step)
            settle(self._waiting)

    async def _next(self, seconds: float) -> Step | None:
        # Without a task, which asyncio.wait_for would make for each step.
        if not self._steps:
            loop = asyncio.get_running_loop()
            self._waiting = loop.create_future()
            timer = loop.call_later(max(seconds, 0.0), settle, self._waiting)
            try:
                await self._waiting
            finally:
                timer.cancel()
        return self._steps.popleft() if self._steps else None

    async def end(self) -> None:
        """Tells the worker that nobody waits any more, unless it has answered."""
        self._line.close(self._key)
        if self._worker_inbox and not self._is_over:
            with suppress(Exception):
                await self._line.say(self._worker_inbox, {STEP: CANCEL})
