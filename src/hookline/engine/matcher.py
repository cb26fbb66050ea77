"""May this hook run for this subject?"""

from enum import Enum, auto
from functools import lru_cache
from typing import TYPE_CHECKING

from hookline.child.bounded_search import is_known, quick_length, search
from hookline.contract.hooks import HookEntry
from hookline.contract.matchers import pattern_fault
from hookline.contract.vocabulary import OWN_DIALECT
from hookline.contract.wire import trim
from hookline.dialects.known import dialect_of
from hookline.dialects.table import Rule
from hookline.engine.event_table import EVENT_TABLE, Matching

if TYPE_CHECKING:
    import regress


class Match(Enum):
    """Whether a hook's matcher matches."""

    YES = auto()
    NO = auto()
    UNDECIDED = auto()
    """The search takes too long, so the hook runs, to be on the safe side."""
    SLOW = auto()
    """The search may take long, and has to be made in a process of its own first."""


# Asking an enumeration for one of its members takes as long as a search, and a plan may ask for a thousand hooks.
_YES, _NO = Match.YES, Match.NO
_NEVER_ASKED, _EQUALITY = Matching.NEVER_ASKED, Matching.EQUALITY


def match(hook: HookEntry, subject: str | None, *, may_wait: bool = False) -> Match:
    """Whether the hook may run for an event about this subject; only with `may_wait` is a slow search made here."""
    matching = EVENT_TABLE[hook.event].matching
    if hook.matcher is None or subject is None or matching is _NEVER_ASKED:
        return _YES
    if hook.dialect != OWN_DIALECT:
        return _match_theirs(hook, hook.matcher, subject, may_wait=may_wait)
    if matching is _EQUALITY:
        is_match = matches_everything(hook.matcher) or trim(hook.matcher) == subject
        return _YES if is_match else _NO
    if hook.required and is_literal(hook.matcher):
        return _YES  # nobody can say for which tools it is required, and a guard too many is safer
    return _search(hook.matcher, subject, may_wait=may_wait)


def _match_theirs(hook: HookEntry, matcher: str, subject: str, *, may_wait: bool) -> Match:
    """The same by the rules of another agent, for any of the names that it may know the subject by."""
    dialect = dialect_of(hook.dialect)
    names = dialect.names_of(hook.event, subject)
    rule = dialect.rules.get(hook.event, Rule.NAMES)
    if matches_everything(matcher) or rule is Rule.IGNORED:
        return Match.YES
    listed = frozenset({trim(matcher)}) if rule is Rule.EQUALITY else dialect.exact_names(trim(matcher))
    if listed is not None:
        return Match.NO if listed.isdisjoint(names) else Match.YES
    if foreign_matcher_fault(hook):
        return Match.YES  # that agent would never run it, and a guard too many is safer
    found = {_search(matcher, name, may_wait=may_wait) for name in names}
    return next(answer for answer in (Match.YES, Match.SLOW, Match.UNDECIDED, Match.NO) if answer in found)


def _search(matcher: str, subject: str, *, may_wait: bool) -> Match:
    compiled = _compile(matcher)
    if compiled is None:
        return _YES
    pattern, regex, quick_length = compiled
    if regex is None:
        return _YES if pattern == subject else _NO
    if len(subject) <= quick_length:
        try:
            return _NO if regex.find(subject) is None else _YES
        except UnicodeError:
            return _YES  # a name that can't be searched is guarded rather than let through
    if not may_wait and not is_known(pattern, subject):
        return Match.SLOW
    return {True: _YES, False: _NO, None: Match.UNDECIDED}[search(pattern, subject)]


def foreign_matcher_fault(hook: HookEntry) -> str | None:
    """What is wrong with a matcher that another agent can't read; None if it can, and for hooks of ours."""
    if hook.dialect == OWN_DIALECT or not hook.matcher:
        return None
    dialect = dialect_of(hook.dialect)
    is_list = dialect.exact_names(trim(hook.matcher)) is not None
    if is_list or dialect.bad_matcher_is_text or not is_literal(hook.matcher):
        return None
    effect = f"{dialect.agent} would never run this hook, and here it runs for everything"
    return f"{hook.matcher!r} is not a regular expression: {effect}"


def compared_names(hook: HookEntry, subject: str) -> tuple[str, ...]:
    """Everything that the hook's matcher is compared with for this subject."""
    return (subject,) if hook.dialect == OWN_DIALECT else dialect_of(hook.dialect).names_of(hook.event, subject)


def matches_everything(matcher: str | None) -> bool:
    """True for no matcher, a blank one and `*`."""
    return matcher is None or trim(matcher) in ("", "*")


def is_literal(matcher: str) -> bool:
    """True when a matcher is not a regular expression and is therefore compared as plain text."""
    compiled = _compile(matcher)
    return compiled is not None and compiled[1] is None


@lru_cache(maxsize=4096)
def _compile(matcher: str) -> "tuple[str, regress.Regex | None, int] | None":
    """The pattern, its regular expression if it is one, and how long a name can be to be searched in no time.

    None for a matcher that matches everything; one that could crash the regular expression engine counts as such.
    """
    pattern = trim(matcher)
    if matches_everything(matcher) or pattern_fault(pattern) is not None:
        return None
    import regress  # noqa: PLC0415 - many settings have no matcher

    try:
        return pattern, regress.Regex(pattern), quick_length(pattern)
    except (regress.RegressError, UnicodeError):
        return pattern, None, 0
