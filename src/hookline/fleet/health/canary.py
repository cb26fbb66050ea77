"""The daily canary of a machine: events that its guards have to deny, on the way that every event takes.

One is denied by a guard that exists for this moment, as in `hookline doctor --prove`: it shows that hooks run here at
all. The others are calls that the settings name, and that the machine's own guards have to deny. None is ever run.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from hookline.client.hooks import Hooks
from hookline.client.session import Session
from hookline.files import write_atomically
from hookline.protocol.constants import CANARY_AGENT
from hookline.protocol.text.json_text import utc_timestamp
from hookline.settings.canary import Canary, canary_at
from hookline.settings.decode.schema import CanarySettings
from hookline.settings.read.paths import default_paths

_CANARY_S = 120.0
_TOOL = "run_shell_command"
_LONGEST = 200


class CanaryResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The result of the latest canaries."""

    time: str = msgspec.field(default_factory=utc_timestamp)
    tried: int
    missed: tuple[str, ...] = ()
    """The calls that no guard denied, as text."""

    @property
    def age_s(self) -> float:
        """How long ago that was; for ever, if the time can't be read."""
        try:
            return time.time() - datetime.fromisoformat(self.time).timestamp()
        except (ValueError, OverflowError):
            return float("inf")

    @property
    def is_denied(self) -> bool:
        """Whether every one of them was denied."""
        return not self.missed


def try_canaries(directory: Path, canaries: Sequence[CanarySettings]) -> CanaryResult:
    """Fires them with the hooks that this user's programs have; takes as long as the guards do."""
    # In this order, because the guard is part of the settings only while its file exists.
    with canary_at(default_paths(directory).canary, _CANARY_S) as canary, Hooks(directory, quiet=True) as hooks:
        # Not the whole text in the id, or its guard would deny the other canaries as well.
        session = hooks.session(f"{CANARY_AGENT}-{canary.nonce[:12]}", agent=CANARY_AGENT)
        missed = list(_missed(session, canary, canaries))
        if missed and not hooks.config.get_enable_hooks():
            missed = ["hooks are disabled here", *missed]
    return CanaryResult(tried=len(canaries) + 1, missed=tuple(text[:_LONGEST] for text in missed))


def read_canary(log: Path) -> CanaryResult | None:
    """Return the result of the latest canaries of a log."""
    try:
        return msgspec.json.decode(_path(log).read_bytes(), type=CanaryResult)
    except (OSError, msgspec.MsgspecError):
        return None


def write_canary(log: Path, word: CanaryResult) -> None:
    """Keeps what became of them, for a service that is started again."""
    write_atomically(_path(log), msgspec.json.encode(word), is_durable=False)


def _path(log: Path) -> Path:
    return log.with_name(f"{log.name}.canary")


def _missed(session: Session, canary: Canary, canaries: Sequence[CanarySettings]) -> Iterator[str]:
    reason = _reason(session, _TOOL, {"command": canary.command})
    if canary.word not in (reason or ""):
        yield "the guard of the canary itself was not asked"
    for each in canaries:
        if _reason(session, each.tool, each.input) is None:
            yield f"nothing denies {each.tool} {msgspec.json.encode(each.input).decode()}"


def _reason(session: Session, tool: str, arguments: Mapping[str, Any]) -> str | None:
    """Why a call was denied; None if it was not. A question that the user was not asked is not a denial."""
    call = session.sync.before_tool(tool, arguments)
    return (call.reason or "no reason given") if call.blocked and not call.ask else None
