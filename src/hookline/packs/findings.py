"""What a pack finds, and the answer that follows from it."""

from collections.abc import Sequence
from typing import NamedTuple

from hookline.hook import Answer, Ask, Deny

UNSURE = "unsure"
"""The id under which doubts are reported; it can be allowed or denied like a rule."""


class Finding(NamedTuple):
    """A rule that something breaks."""

    rule: str
    action: str
    reason: str
    instead: str = ""
    subject: str = ""
    """What breaks it, as patterns in settings are compared with: one program with its arguments, a path, a host."""


def answer(findings: Sequence[Finding], pack: str) -> Answer | None:
    """Denies if any finding does, or else asks; the reason names each rule, so that it can be allowed."""
    if not findings:
        return None
    counted = [each for each in findings if each.action == "deny"] or list(findings)
    text = " ".join(dict.fromkeys(_sentence(each, pack) for each in counted))
    return Deny(text) if counted[0].action == "deny" else Ask(text)


def _sentence(finding: Finding, pack: str) -> str:
    reason = finding.reason if finding.reason.endswith(".") else f"{finding.reason}."
    instead = f" {finding.instead}" if finding.instead else ""
    return f"{reason}{instead} (rule {finding.rule} of {pack})"
