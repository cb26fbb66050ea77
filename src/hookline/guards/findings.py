"""The findings of a pack, and the answer that follows from them."""

from collections.abc import Sequence
from typing import NamedTuple

from hookline.hook import Answer, Ask, Deny

UNSURE = "unsure"
"""The id under which doubts are reported; it can be allowed or denied like a rule."""
LONGEST_REASON = 200
# A command that breaks more rules than this is refused for the first of them.
_MOST_REASONS = 3
_LONGEST_SUBJECT = 48


class Subject(NamedTuple):
    """The program, path or host that breaks a rule; patterns under `allow` are compared with it."""

    words: tuple[str, ...] = ()
    """One program with its arguments, a path, or a host."""
    cwd: str = ""
    """The directory for words that are relative paths."""
    base: str = ""
    """The directory for relative paths in patterns: the working directory of the agent."""
    is_plain: bool = True
    """False if something beside the words decides what happens: a variable, a redirection, a substitution."""


class RuleFinding(NamedTuple):
    """A rule that something breaks."""

    rule: str
    action: str
    reason: str
    """The reason, as a sentence without its full stop."""
    instead: str = ""
    """The remedy: what to do instead, as a sentence."""
    subject: Subject = Subject()


def answer(findings: Sequence[RuleFinding], pack: str, earlier: Sequence[RuleFinding] = ()) -> Answer | None:
    """Denies if any finding does, or else asks.

    The reason has a sentence and a remedy for each thing that was found, and names the rule, so that it can be allowed.
    `earlier` are the findings of the packs that run before this one: a reason that they give is not given twice.
    """
    if not findings:
        return None
    action = "deny" if any(each.action == "deny" for each in findings) else "ask"
    counted = [each for each in findings if each.action == action]
    given = [each for each in earlier if each.action == action]
    ordered: list[RuleFinding] = []
    for each in counted:
        if not any(_is_same(each, other) for other in (*given, *ordered)):
            ordered.append(each)
    sentences = dict.fromkeys(sentence(each, pack) for each in ordered)
    text = " ".join([*sentences][:_MOST_REASONS])
    return Deny(text) if action == "deny" else Ask(text)


def _is_same(one: RuleFinding, other: RuleFinding) -> bool:
    """Whether two findings are about the same program or path; where one names none, by the same rule."""
    if one.subject.words and other.subject.words:
        return one.subject == other.subject
    return one.rule == other.rule


def sentence(finding: RuleFinding, pack: str) -> str:
    """The reason, the remedy and the id of the rule, as a text."""
    text = f"{finding.reason.rstrip('.')}. {finding.instead}".strip()
    return f"{text} (rule {finding.rule} of {pack})"


def shortened(text: str) -> str:
    """A path or host for a reason: in one line, and not longer than a reason can take."""
    shown = "".join(char if char.isprintable() else "?" for char in text)
    half = _LONGEST_SUBJECT // 2
    return shown if len(shown) <= _LONGEST_SUBJECT else f"{shown[: half - 1]}…{shown[-half:]}"
