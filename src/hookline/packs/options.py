"""What a person changes about a pack: rules that are allowed, denied or asked about, and patterns of their own."""

import fnmatch
from collections.abc import Iterable, Mapping
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

    def apply(self, findings: Iterable[Finding], subject: str) -> list[Finding]:
        """The findings as they count: those that are allowed are left out, others change what follows from them."""
        for action, patterns in (("deny", self.deny), ("ask", self.ask)):
            if pattern := _matching(subject, patterns):
                reason = f"the settings have {pattern!r} under {action}"
                return [Finding("settings", action, reason), *self._each(findings)]
        if _matching(subject, self.allow):
            return [each for each in findings if each.rule in (*self.deny, *self.ask)]
        return self._each(findings)

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


def _matching(subject: str, patterns: Iterable[str]) -> str | None:
    # An id of a rule has no blank and no wildcard; as a pattern it would match itself alone.
    return next((each for each in patterns if fnmatch.fnmatchcase(subject.strip(), each)), None)
