"""May this hook run for this subject?"""

from enum import Enum, auto
from functools import lru_cache

import regress

from hookline.child.bounded_search import is_known, quick_length, search
from hookline.contract.hooks import HookEntry
from hookline.contract.matchers import pattern_fault
from hookline.contract.wire import trim
from hookline.engine.event_table import EVENT_TABLE, Matching


class Match(Enum):
    """Whether a hook's matcher matches."""

    YES = auto()
    NO = auto()
    UNDECIDED = auto()
    """The search takes too long, so the hook runs, to be on the safe side."""
    SLOW = auto()
    """The search may take long, and has to be made in a process of its own first."""


def match(hook: HookEntry, subject: str | None, *, may_wait: bool = False) -> Match:
    """Whether the hook may run for an event about this subject; only with `may_wait` is a slow search made here."""
    matching = EVENT_TABLE[hook.event].matching
    if subject is None or matching is Matching.NEVER_ASKED or matches_everything(hook.matcher):
        return Match.YES
    pattern = trim(hook.matcher or "")
    if matching is Matching.EQUALITY:
        return Match.YES if pattern == subject else Match.NO
    return _match_regex(pattern, subject, may_wait=may_wait)


def matches_everything(matcher: str | None) -> bool:
    """True for no matcher, a blank one and `*`."""
    return matcher is None or trim(matcher) in ("", "*")


def is_literal(matcher: str) -> bool:
    """True when a matcher is not a regular expression and is therefore compared as plain text."""
    return not _is_refused(trim(matcher)) and _regex(trim(matcher)) is None


def _match_regex(pattern: str, name: str, *, may_wait: bool) -> Match:
    if _is_refused(pattern):
        return Match.YES  # the pattern could crash the regular expression engine, so the hook always runs
    regex = _regex(pattern)
    if regex is None:
        return Match.YES if pattern == name else Match.NO
    if len(name) <= _quick_length(pattern):
        try:
            return Match.NO if regex.find(name) is None else Match.YES
        except UnicodeError:
            return Match.YES  # a name that can't be searched is guarded rather than let through
    if not may_wait and not is_known(pattern, name):
        return Match.SLOW
    return {True: Match.YES, False: Match.NO, None: Match.UNDECIDED}[search(pattern, name)]


@lru_cache(maxsize=4096)
def _is_refused(pattern: str) -> bool:
    return pattern_fault(pattern) is not None


@lru_cache(maxsize=4096)
def _regex(pattern: str) -> regress.Regex | None:
    try:
        return regress.Regex(pattern)
    except (regress.RegressError, UnicodeError):
        return None


_quick_length = lru_cache(maxsize=4096)(quick_length)
