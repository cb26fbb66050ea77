"""One request as its client sees it, from the first message to the answer."""

import asyncio
from collections import deque
from contextlib import suppress

from hookline.errors import NoAnswerError
from hookline.fleet.remote.protocol import HEARTBEAT_TIMEOUT_S, Step, StepKind, Transport, now_s, settle
from hookline.protocol.messages import Message

_ATTEMPTS = 3


class ClientRequest:
    """One request to whichever worker claims it first."""

    def __init__(self, transport: Transport, key: str, subject: str, data: bytes) -> None:
        """Take the request.

        Args:
            transport: the connection.
            key: the name of the request at this client.
            subject: where workers listen.
            data: the request in JSON.
        """
        self._transport = transport
        self._key = key
        self._subject = subject
        self._data = data
        self._steps: deque[Step] = deque()
        self._waiting: asyncio.Future[None] | None = None
        self.worker: str | None = None
        """The worker that runs it, once one has claimed it."""
        self._inbox = ""
        self._is_over = False
        transport.open(key, self._handle)

    async def run(self, claim_timeout_s: float) -> Message:
        """Return the answer; raises NoAnswerError when no worker claims the request, or the worker falls silent."""
        claim = await self._claim(claim_timeout_s)
        self.worker, self._inbox = claim.worker, claim.reply
        await self._transport.send_step(claim.reply, Step(StepKind.GO))
        step = await self._outcome()
        if step is None:
            raise NoAnswerError(f"worker {self.worker} fell silent while it worked", worker=self.worker)
        self._is_over = True
        if step.kind is not StepKind.ANSWER:
            why = "is gone" if step.kind is StepKind.NO_RESPONDERS else "did not answer"
            raise NoAnswerError(f"worker {self.worker} {why}", worker=self.worker)
        return {**step.message, "worker": self.worker}

    async def find(self, claim_timeout_s: float) -> str:
        """Return the name of the first worker that claims the request, without giving it any work."""
        claim = await self._claim(claim_timeout_s)
        self._is_over = True
        await self._transport.send_step(claim.reply, Step(StepKind.TOO_LATE))
        return claim.worker

    async def _claim(self, timeout_s: float) -> Step:
        end = now_s() + timeout_s
        for attempt in range(_ATTEMPTS):
            await self._transport.send_request(self._subject, self._data, self._key)
            again = end - timeout_s * (_ATTEMPTS - 1 - attempt) / _ATTEMPTS
            while (step := await self._next(again - now_s())) is not None:
                if step.kind is StepKind.CLAIM and step.reply:
                    return step
                if step.kind is StepKind.NO_RESPONDERS:
                    raise NoAnswerError("no worker is there")
                if step.kind is StepKind.DECLINE:
                    break
        raise NoAnswerError(f"no worker answered within {timeout_s:.1g} s")

    async def _outcome(self) -> Step | None:
        """Return the step that ends the request; None when the worker falls silent."""
        while (step := await self._next(HEARTBEAT_TIMEOUT_S)) is not None:
            match step.kind:
                case StepKind.CLAIM:
                    await self._transport.send_step(step.reply, Step(StepKind.TOO_LATE))
                case StepKind.ANSWER | StepKind.NO_RESPONDERS | StepKind.NO_ANSWER:
                    return step
        return None

    def _handle(self, step: Step) -> None:
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
        """Cancel the work of the worker unless it has answered."""
        self._transport.close(self._key)
        if self._inbox and not self._is_over:
            with suppress(Exception):
                await self._transport.send_step(self._inbox, Step(StepKind.CANCEL))
