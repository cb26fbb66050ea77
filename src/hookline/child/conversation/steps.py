"""The words of a conversation, and how long a silence may last."""

import asyncio
import time
from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from hookline.contract.wire import parse_json

PATIENCE_S = 0.9
"""How long the asker waits for the first sign of a worker."""
SILENCE_S = 0.8
"""After how long without a sign of life the asker gives up, and a worker must not begin."""

STEP = "step"
OFFER = "offer"
CLAIM, DECLINE, ALIVE, NO_ANSWER = "claim", "decline", "alive", "no answer"
GO, TOO_LATE, CANCEL = "go", "too late", "cancel"
# Ours, for what comes without a step.
ANSWER, NOBODY = "answer", "nobody"

Step = dict[str, Any]
_decode = msgspec.json.Decoder().decode


class Line(Protocol):
    """What a conversation needs of its bus."""

    @property
    def is_connected(self) -> bool:
        """Whether what is said now can be heard."""

    async def say(self, subject: str, step: Step, *, reply: str = "") -> None:
        """Sends one step of a conversation."""

    async def send(self, subject: str, data: bytes, key: str) -> None:
        """Sends a request."""

    def open(self, key: str, hear: Callable[[Step], None]) -> None:
        """Begins a conversation."""

    def close(self, key: str) -> None:
        """Ends it."""


def now_s() -> float:
    """Seconds that go on while this process stands still, and while the machine sleeps."""
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime(clock)


def settle(future: "asyncio.Future[None] | None") -> None:
    """Ends whatever waits for it."""
    if future is not None and not future.done():
        future.set_result(None)


def read_message(data: bytes) -> dict[str, Any] | None:
    """What was sent; None if it is no JSON object."""
    try:
        message = _decode(data)
    except ValueError:
        try:
            message = parse_json(data.decode("utf-8", "surrogatepass"))  # such as a lone surrogate
        except (ValueError, RecursionError):
            return None
    except RecursionError:  # nested too deep
        return None
    return message if isinstance(message, dict) else None
