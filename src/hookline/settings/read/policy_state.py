"""The state of the policy at one moment. Loaded while hooks are disabled, so no msgspec."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from hookline.protocol.constants import OnError

if TYPE_CHECKING:
    from hookline.protocol.hook_entry import PolicyMark


def show_time(seconds: float) -> str:
    """Format seconds since the epoch for display."""
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))


class SwitchedOff(NamedTuple):
    """A subject that a switch disables."""

    what: str
    """`agents` or `hook`."""
    hook: str
    why: str
    until: float
    file: str
    document: str
    """The digest of the switches that it is part of."""


class PolicyState(NamedTuple):
    """The policy in force, its end, and its faults."""

    version: int | None = None
    """None while there is none that could be verified."""
    expires: float | None = None
    """Seconds since the epoch."""
    team: str = "all"
    key: str | None = None
    """The public key of the signer."""
    on_expiry: OnError = OnError.ALLOW
    is_unloadable: bool = False
    """True where this installation can't read or verify policies at all: that blocks whatever onExpiry says."""
    fault: str | None = None
    """Why there is none, or why the file that is there now is not the one in force."""
    remedy: str = ""
    mark: "PolicyMark | None" = None
    switches: tuple[SwitchedOff, ...] = ()
    """Includes expired ones."""
    switch_fault: str | None = None
    latest: Mapping[str, float] = {}
    """When a part of each document was last seen to expire; a clock that was set back does not undo that."""

    def has_expired(self) -> bool:
        """Whether the policy in force should have been replaced by now."""
        return self.mark is not None and self.expires is not None and self._is_over(self.mark.directory, self.expires)

    def _is_over(self, document: str, until: float) -> bool:
        return until <= max(self.latest.get(document, 0.0), time.time())

    @property
    def why_unsure(self) -> str | None:
        """The fault of the policy itself, or None."""
        if self.version is not None and self.has_expired():
            return f"version {self.version} of the company's policy expired on {show_time(self.expires or 0)}"
        return self.fault

    @property
    def blocks(self) -> str | None:
        """Return why every event that can block does, or None: the settings require a policy, and none is valid.

        The same applies to switches that can't be verified: one of them may switch agents off.
        """
        is_valid = self.version is not None and not self.has_expired()
        if self.is_unloadable:
            return f"the company's policy can't be loaded: {self.fault}"
        if self.on_expiry is OnError.ALLOW or (is_valid and self.switch_fault is None):
            return None
        why = f"switches of the policy are not used: {self.switch_fault}" if is_valid else self.why_unsure
        return f"{why}, and hooksConfig.policy.onExpiry is block; {self.remedy}"

    @property
    def agents_off(self) -> str | None:
        """Why agents are switched off now, or None."""
        off = next((off for off in self.switches if off.what == "agents" and off.until > time.time()), None)
        return None if off is None else f"agents are switched off by the company's policy: {off.why}"

    @property
    def hooks_off(self) -> dict[str, str]:
        """The hooks that are switched off now, by name, each with the reason."""
        return {
            off.hook: f"the company's policy, which switched it off: {off.why}"
            for off in self.switches
            if off.what == "hook" and not self._is_over(off.document, off.until)
        }

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings for the user, each as a sentence."""
        found = []
        blocks = self.blocks
        if blocks is not None:
            found.append(blocks)
        elif self.why_unsure is not None:
            goes_on = "its guards still run" if self.version is not None else "agents run without its guards"
            why = "because hooksConfig.policy.onExpiry is allow"
            found.append(f"{self.why_unsure}; {goes_on}, {why}; {self.remedy}")
        if self.switch_fault is not None and self.switch_fault not in (blocks or ""):
            found.append(f"switches of the policy are not used: {self.switch_fault}")
        if self.agents_off is not None:
            found.append(self.agents_off)
        return tuple(found)

    def just_expired(self, at: float) -> set[str]:
        """The documents of which the policy, or a switch that keeps a hook off, expired after `latest`."""
        ends = [(off.document, off.until) for off in self.switches if off.what == "hook"]
        ends += [] if self.mark is None or self.expires is None else [(self.mark.directory, self.expires)]
        return {document for document, end in ends if self.latest.get(document, 0.0) < end <= at}

    def next_change(self, at: float) -> float | None:
        """The next moment at which one of these answers changes by itself."""
        moments = [*(off.until for off in self.switches), *([] if self.expires is None else [self.expires])]
        return min((moment for moment in moments if moment > at), default=None)
