"""Offers: a worker that answers takes the next request of the same asker without a claim, in one round trip.

The answer is the claim. The asker sends its next request to that worker alone, with the time that has passed since it
got the offer. So the worker knows when the request was sent at the earliest, by its own clock: when it made the offer,
and that time later. What may have waited too long since then it does not begin, as if it had claimed it just now.
Durations are compared, never the clocks of two machines.
"""

from collections import OrderedDict
from typing import NamedTuple

from hookline.child.conversation.steps import now_s

OFFER_S = 5.0
"""For so long after a claim an asker goes on without another; then all workers have a chance again."""
# Two clocks of computers drift apart by far less than this.
_DRIFT = 0.005
_MOST = 10_000


class Offer(NamedTuple):
    """What an asker has of a worker."""

    worker: str
    at: str
    """The last part of the subject where that worker alone is asked."""
    inbox: str
    """Where it hears about this request; a server with accounts gives it another name than the worker's own."""
    key: str
    """The offer's name, as its worker knows it."""
    claimed_s: float
    """When it last claimed a request."""
    got_s: float


class Offers:
    """The offers that an asker has, of all workers of its subject."""

    def __init__(self) -> None:
        self._open: list[Offer] = []

    def add(self, worker: str, at: str, inbox: str, key: str, claimed_s: float) -> None:
        """Keeps an offer that came with an answer just now."""
        if len(self._open) < _MOST:
            self._open.append(Offer(worker, at, inbox, key, claimed_s, now_s()))

    def take(self) -> Offer | None:
        """An offer that can still be used, once."""
        while self._open:
            offer = self._open.pop()
            if now_s() - offer.claimed_s < OFFER_S:
                return offer
        return None

    def forget(self, worker: str) -> None:
        """Drops every offer of a worker that fell silent or is gone."""
        self._open = [offer for offer in self._open if offer.worker != worker]


class Promises:
    """The offers that a worker has made."""

    def __init__(self) -> None:
        self._made: OrderedDict[str, tuple[str, float]] = OrderedDict()

    def make(self, key: str, machine: str) -> None:
        """Notes an offer to a machine; to be called before it is sent."""
        self._made[key] = machine, now_s()
        while len(self._made) > _MOST or next(iter(self._made.values()))[1] < now_s() - 2 * OFFER_S:
            self._made.popitem(last=False)

    def drop(self, key: str) -> None:
        """Takes an offer back."""
        self._made.pop(key, None)

    def redeem(self, key: object, machine: str, waited_s: object) -> float | None:
        """When the request was sent at the earliest, by our clock; None if there is no such offer to this machine."""
        if not isinstance(key, str) or not isinstance(waited_s, int | float) or not 0 <= waited_s <= 2 * OFFER_S:
            return None
        known = self._made.get(key)
        if known is None or known[0] != machine:
            return None
        self.drop(key)
        return known[1] + waited_s * (1 - _DRIFT)
