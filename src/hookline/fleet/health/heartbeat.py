"""The signed heartbeat of a machine: its policy, whether its guards can run, and the result of its daily canary.

A canary is a set of events that the guards have to deny, on the way that every event takes. One is denied by a guard
that exists for this moment, as in `hookline doctor --prove`: it shows that hooks run here at all. The others are calls
that the settings name, and that the machine's own guards have to deny. None is ever run.
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
from hookline.fleet.names import machine_key
from hookline.protocol.constants import CANARY_AGENT
from hookline.protocol.text.json_text import utc_timestamp
from hookline.settings.canary import Canary, canary_at
from hookline.settings.decode.schema import CanarySettings
from hookline.settings.read.paths import default_paths

EVERY_S = 60.0
"""How often a machine says that it lives."""
CLOCK_S = 900.0
"""How far the clock of a machine may be from the server's."""
MOST_HOOKS = 200
_LONGEST = 200
_CANARY_S = 120.0
_TOOL = "run_shell_command"


class CanaryResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The result of the latest canaries."""

    time: str = msgspec.field(default_factory=utc_timestamp)
    tried: int
    missed: tuple[str, ...] = ()
    """The calls that no guard denied, as text."""

    @property
    def age_s(self) -> float:
        """How long ago that was; infinite if the time can't be read, or lies ahead: then a clock was wrong."""
        try:
            age_s = time.time() - datetime.fromisoformat(self.time).timestamp()
        except (ValueError, OverflowError):
            return float("inf")
        return age_s if age_s > -CLOCK_S else float("inf")

    @property
    def is_denied(self) -> bool:
        """Whether every one of them was denied."""
        return not self.missed


class HookStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One hook: configured, trusted, able to run, and when it last did."""

    event: str
    name: str
    source: str
    state: str
    """`on`, or why it does not run: off (hooks are not enabled), disabled, untrusted, changed, refused, duplicate."""
    problem: str | None = None
    """Why it can't run, if it is enabled: tested on the machine, as `hookline doctor` does."""
    last_run: str | None = None
    last_block: str | None = None
    required: bool = False

    @property
    def can_run(self) -> bool:
        """Whether it runs at its event."""
        return self.state == "on" and self.problem is None

    @property
    def is_missing(self) -> bool:
        """True for a hook that should run and can't; one that the user disabled need not, unless it is required."""
        return not self.can_run and (self.required or self.state not in ("off", "disabled", "duplicate"))


class BridgeStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Another agent that has hookline as its hook command."""

    agent: str
    configured: bool
    observed: str | None = None
    enforced: str | None = None
    problem: str | None = None


class Facts(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The state of this machine, from its settings and its log."""

    enabled: bool
    logged: bool = True
    policy: int | None = None
    policy_problem: str | None = None
    hooks: tuple[HookStatus, ...] = ()
    more_hooks: int = 0
    """How many hooks there are besides."""
    bridges: tuple[BridgeStatus, ...] = ()
    problems: tuple[str, ...] = ()
    """The problems of the settings."""


class Heartbeat(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One sign of life."""

    team: str
    machine: str
    user: str
    hookline: str
    time: str = msgspec.field(default_factory=utc_timestamp)
    every_s: float = EVERY_S
    facts: Facts
    canary: CanaryResult | None = None
    sent: int = 0
    """The number of the last record that was sent."""
    dropped: int = 0
    """How many records were removed before they could be sent, in all."""
    is_leaving: bool = False
    """True for the last one of a service that ends as it should."""

    @property
    def key(self) -> str:
        """Where it is kept."""
        return machine_key(self.team, self.machine, self.user)


def short(text: str | None) -> str | None:
    """A text that fits into a heartbeat."""
    return None if text is None else text[:_LONGEST]


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
