"""All requests that one worker serves: which it takes, and where their answers go."""

import asyncio
import os
from typing import NamedTuple

from hookline.child.conversation.offers import Promises
from hookline.child.conversation.serving import Serving
from hookline.child.conversation.steps import DECLINE, NO_ANSWER, OFFER, STEP, Line
from hookline.contract.messages import Message, RecentIds, Subscriber


class Asker(NamedTuple):
    """Who sent a request."""

    inbox: str
    machine: str
    """The server vouches for it, if it knows its machines."""


class Service:
    """The worker's half of a bus."""

    def __init__(self, line: Line, name: str, concurrency: int) -> None:
        self._line = line
        self._name = name
        self._concurrency = concurrency
        self._slots = asyncio.Semaphore(concurrency)
        self._working = 0
        self._run = RecentIds()
        self._promises = Promises()
        self._askers: dict[str, Asker] = {}
        """Who waits for the answer of each request at work, by its key."""
        self.inbox = ""
        self.is_leaving = False

    async def serve(self, message: Message, asker: Asker, at: str, subscriber: Subscriber) -> None:
        """One request, from the claim to the answer."""
        if self._is_refused(message):
            await self._line.say(asker.inbox, {STEP: DECLINE})
            return
        serving = Serving(self._line, _new_key(), asker.inbox, self._name)
        try:
            if await serving.may_begin(f"{self.inbox}.{serving.key}", at):
                await self._work(serving, message, asker, subscriber)
        finally:
            self._line.close(serving.key)

    async def serve_offered(self, message: Message, asker: Asker, subscriber: Subscriber) -> None:
        """One request that comes without a claim, because we offered to take it; declined if it can't begin at once."""
        key = message.get(OFFER)
        sent_s = self._promises.redeem(key, asker.machine, message.get("waitedS"))
        if sent_s is None or self._is_refused(message) or self._working >= self._concurrency:
            await self._line.say(asker.inbox, {STEP: DECLINE})
            return
        serving = Serving(self._line, str(key), asker.inbox, self._name)
        try:
            if serving.may_begin_offered(sent_s):
                told = {name: value for name, value in message.items() if name not in (OFFER, "waitedS")}
                await self._work(serving, told, asker, subscriber)
            else:
                await self._line.say(asker.inbox, {STEP: DECLINE})
        finally:
            self._line.close(serving.key)

    def withdraw(self, key: str) -> None:
        """Takes an offer back: its asker has given up a request that we have not looked at yet."""
        self._promises.drop(key)

    def _is_refused(self, message: Message) -> bool:
        return self.is_leaving or str(message.get("correlationId")) in self._run

    async def _work(self, serving: Serving, message: Message, asker: Asker, subscriber: Subscriber) -> None:
        if not self._run.add(str(message.get("correlationId"))):
            return
        self._askers[serving.key] = asker
        self._working += 1
        try:
            await serving.work(self._slots, lambda: subscriber({**message, "replyTo": serving.key}))
        finally:
            self._working -= 1
            if self._askers.pop(serving.key, None) is not None:
                await self._line.say(asker.inbox, {STEP: NO_ANSWER})

    def answer(self, key: str) -> tuple[str, str] | None:
        """Where the answer of a request goes, and where its asker may send the next one; None if nobody waits."""
        asker = self._askers.pop(key, None)
        if asker is None:
            return None
        if self.is_leaving or self._working > self._concurrency:
            return asker.inbox, ""
        offer = _new_key()
        self._promises.make(offer, asker.machine)
        return asker.inbox, f"{self.inbox}.{offer}"


def _new_key() -> str:
    # Nobody can guess it: whoever knows it can end the request.
    return os.urandom(12).hex()
