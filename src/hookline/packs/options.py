"""What a person changes about a pack: rules that are allowed, denied or asked about, and patterns of their own."""

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from hookline.packs.findings import Finding


class PackOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Ids of rules, or patterns of what the pack judges. `deny` counts before `ask`, and `ask` before `allow`."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "PackOptions":
        """The options as settings have them."""
        return cls(**{name: tuple(given.get(name, ())) for name in ("allow", "deny", "ask")})

    @property
    def hosts(self) -> tuple[str, ...]:
        """The entries of `allow` that are hosts: an id of a rule has neither a dot nor a wildcard."""
        return tuple(each.lower() for each in self.allow if "." in each or "*" in each or each == "localhost")

    def apply(self, findings: Iterable[Finding], subjects: Sequence[str], *, may_allow: bool = True) -> list[Finding]:
        """The findings as they count: those that are allowed are left out, others change what follows from them.

        A pattern under `allow` frees what it matches itself: for a command that runs several programs, only those.
        `subjects` is everything that patterns under `deny` and `ask` are compared with.
        """
        found = [each for each in self._each(findings) if not (may_allow and self._frees(each))]
        for action, patterns in (("deny", self.deny), ("ask", self.ask)):
            if pattern := next((each for each in patterns if any(_matches(one, each) for one in subjects)), None):
                return [Finding("settings", action, f"The settings have {pattern} under {action}"), *found]
        return found

    def _frees(self, finding: Finding) -> bool:
        is_kept = finding.rule in (*self.deny, *self.ask)
        return not is_kept and any(_matches(finding.subject, each) for each in self.allow)

    def _each(self, findings: Iterable[Finding]) -> list[Finding]:
        found = []
        for finding in findings:
            if finding.rule in self.deny:
                found.append(finding._replace(action="deny"))
            elif finding.rule in self.ask:
                found.append(finding._replace(action="ask"))
            elif finding.rule not in self.allow:
                found.append(finding)
        return found


def _matches(subject: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(subject.strip(), pattern)
