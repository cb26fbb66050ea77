"""The signed heartbeat of a machine: its policy, and whether its guards can run."""

import msgspec

from hookline.fleet.health.canary import CanaryResult
from hookline.fleet.names import machine_key
from hookline.protocol.text.json_text import utc_timestamp

EVERY_S = 60.0
"""How often a machine says that it lives."""
MOST_HOOKS = 200
_LONGEST = 200


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
