"""The daily canary of a machine: events that its guards have to deny, on the way that every event takes.

One is denied by a guard that exists for this moment, as in `hookline prove`: it shows that hooks run here at all. The
others are calls that the settings name, and that the machine's own guards have to deny. Nothing of it is ever run.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from hookline.contract.vocabulary import CANARY_AGENT
from hookline.contract.wire import utc_timestamp
from hookline.files import write_atomically
from hookline.hooks.hooks import Hooks
from hookline.hooks.session import Session
from hookline.proof.canary import canary_at, harmless
from hookline.settings.canary import Canary
from hookline.settings.paths import default_paths
from hookline.settings.schema import CanarySettings

_CANARY_S = 120.0
_TOOL = "run_shell_command"
_LONGEST = 200


class CanaryWord(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What became of the latest canaries."""

    time: str = msgspec.field(default_factory=utc_timestamp)
    tried: int
    missed: tuple[str, ...] = ()
    """Those that nothing denied, in words."""

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


def try_canaries(directory: Path, canaries: Sequence[CanarySettings]) -> CanaryWord:
    """Fires them with the hooks that this user's programs have; takes as long as the guards do."""
    # In this order, because the guard is part of the settings only while its file exists.
    with canary_at(default_paths(directory).canary, _CANARY_S) as canary, Hooks(directory, quiet=True) as hooks:
        # Not the whole text in the id, or its guard would deny the other canaries as well.
        session = hooks.session(f"{CANARY_AGENT}-{canary.nonce[:12]}", agent=CANARY_AGENT)
        missed = list(_missed(session, canary, canaries))
        if missed and not hooks.config.get_enable_hooks():
            missed = ["hooks are disabled here", *missed]
    return CanaryWord(tried=len(canaries) + 1, missed=tuple(text[:_LONGEST] for text in missed))


def read_canary(log: Path) -> CanaryWord | None:
    """What became of the canaries that were tried last for a log."""
    try:
        return msgspec.json.decode(_path(log).read_bytes(), type=CanaryWord)
    except (OSError, msgspec.MsgspecError):
        return None


def write_canary(log: Path, word: CanaryWord) -> None:
    """Keeps what became of them, for a service that is started again."""
    write_atomically(_path(log), msgspec.json.encode(word), is_durable=False)


def _path(log: Path) -> Path:
    return log.with_name(f"{log.name}.canary")


def _missed(session: Session, canary: Canary, canaries: Sequence[CanarySettings]) -> Iterator[str]:
    reason = _reason(session, _TOOL, {"command": harmless(canary)})
    if canary.word not in (reason or ""):
        yield "the guard of the canary itself was not asked"
    for each in canaries:
        if _reason(session, each.tool, each.input) is None:
            yield f"nothing denies {each.tool} {msgspec.json.encode(each.input).decode()}"


def _reason(session: Session, tool: str, arguments: Mapping[str, Any]) -> str | None:
    """Why a call was denied; None if it was not. A question that nobody was asked is no denial."""
    call = session.sync.before_tool(tool, arguments)
    return (call.reason or "no reason given") if call.blocked and not call.ask else None
