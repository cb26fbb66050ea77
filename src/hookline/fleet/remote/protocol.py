"""The steps of one request between two machines, and how long each side waits for the other.

    client   the request, again after a third of CLAIM_TIMEOUT_S if no worker claims it
    worker   claim: it has the request, and has not begun
    client   go, to the first claim; too late, to any other
    worker   alive, every quarter of a second, and then the answer

So at most one worker runs a request, and none runs one that its client has abandoned, however long the request was
under way or its worker was suspended. Clocks of different machines are never compared.
"""

import time
from enum import StrEnum
from typing import Any

import msgspec

from hookline.protocol.text.json_text import parse_json

CLAIM_TIMEOUT_S = 0.9
"""How long a client waits for the first claim."""
HEARTBEAT_S = 0.25
HEARTBEAT_TIMEOUT_S = 0.8
"""Without a heartbeat for so long the client gives up, and a worker must not begin."""

_decode = msgspec.json.Decoder().decode


class StepKind(StrEnum):
    """The kinds of steps, as they are sent; the last two describe what arrives without a kind."""

    CLAIM = "claim"
    DECLINE = "decline"
    ALIVE = "alive"
    NO_ANSWER = "no answer"
    GO = "go"
    TOO_LATE = "too late"
    CANCEL = "cancel"
    ANSWER = "answer"
    NO_RESPONDERS = "no responders"


class Step(msgspec.Struct, frozen=True):
    """One step of a request."""

    kind: StepKind
    reply: str = ""
    """The inbox where the sender reads the next step."""
    worker: str = ""
    """With a claim: the name of the worker."""
    message: dict[str, Any] = {}
    """With an answer: the answer itself."""

    def to_json(self) -> dict[str, Any]:
        """Return the step as it is sent; the inbox travels beside it."""
        return {"step": self.kind.value, **({"worker": self.worker} if self.worker else {})}

    @classmethod
    def read(cls, data: bytes, reply: str) -> "Step | None":
        """Return the step that arrived, which may be an answer; None if it is neither."""
        message = read_message(data)
        if message is None:
            return None
        if message.get("type") is not None:
            return cls(StepKind.ANSWER, reply, message=message)
        try:
            return cls(StepKind(message.get("step", "")), reply, worker=str(message.get("worker", "")))
        except ValueError:
            return None


def now_s() -> float:
    """Return a clock that keeps running while this process is stopped or the machine is suspended."""
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime(clock)


def read_message(data: bytes) -> dict[str, Any] | None:
    """Return the JSON object that was sent; None if it is not one."""
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
