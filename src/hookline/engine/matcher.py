"""May this hook run for this subject?"""

from functools import lru_cache
from typing import TYPE_CHECKING

from hookline.dialects.registry import dialect_of
from hookline.dialects.table import MatcherRule
from hookline.engine.event_table import EVENT_TABLE, Matching
from hookline.extensions import lazy_module
from hookline.protocol.constants import OWN_DIALECT
from hookline.protocol.hook_entry import HookEntry
from hookline.protocol.text.json_text import trim
from hookline.protocol.text.matchers import LONGEST_NAME, pattern_fault

if TYPE_CHECKING:
    import regress
else:
    regress = lazy_module("regress")  # many settings have no matcher

# Asking an enumeration for one of its members takes as long as a search, and a plan may ask for a thousand hooks.
_NEVER_ASKED, _EQUALITY = Matching.NEVER_ASKED, Matching.EQUALITY


def match(hook: HookEntry, subject: str | None) -> bool:
    """Return whether the hook may run for an event about this subject."""
    matching = EVENT_TABLE[hook.event].matching
    if hook.matcher is None or subject is None or matching is _NEVER_ASKED:
        return True
    if hook.dialect != OWN_DIALECT:
        return _match_theirs(hook, hook.matcher, subject)
    if matching is _EQUALITY:
        return matches_everything(hook.matcher) or trim(hook.matcher) == subject
    # It is unknown for which tools a hook with a plain text is required, and a guard too many is safer.
    return (hook.required and is_literal(hook.matcher)) or _search(hook.matcher, subject)


def _match_theirs(hook: HookEntry, matcher: str, subject: str) -> bool:
    """Return the same by the rules of another agent, for any of the names that it may know the subject by."""
    dialect = dialect_of(hook.dialect)
    names = dialect.names_of(hook.event, subject)
    rule = dialect.rules.get(hook.event, MatcherRule.NAMES)
    if matches_everything(matcher) or rule is MatcherRule.IGNORED:
        return True
    listed = frozenset({trim(matcher)}) if rule is MatcherRule.EQUALITY else dialect.exact_names(trim(matcher))
    if listed is not None:
        return not listed.isdisjoint(names)
    # That agent would never run a hook with a matcher that it can't read, and a guard too many is safer.
    return bool(foreign_matcher_fault(hook)) or any(_search(matcher, name) for name in names)


def _search(matcher: str, subject: str) -> bool:
    compiled = _compile(matcher)
    if compiled is None:
        return True
    pattern, regex = compiled
    if regex is None:
        return pattern == subject
    if len(subject) > LONGEST_NAME:
        return True
    try:
        return regex.find(subject) is not None
    except UnicodeError:
        return True  # a name that can't be searched is guarded rather than let through


def foreign_matcher_fault(hook: HookEntry) -> str | None:
    """Return the reason for which another agent can't read a matcher; None if it can, and for hookline's own hooks."""
    if hook.dialect == OWN_DIALECT or not hook.matcher:
        return None
    dialect = dialect_of(hook.dialect)
    is_list = dialect.exact_names(trim(hook.matcher)) is not None
    if is_list or dialect.bad_matcher_is_text or not is_literal(hook.matcher):
        return None
    effect = f"{dialect.agent} would never run this hook, and here it runs for everything"
    return f"{hook.matcher!r} is not a regular expression: {effect}"


def matches_everything(matcher: str | None) -> bool:
    """True for no matcher, a blank one and `*`."""
    return matcher is None or trim(matcher) in ("", "*")


def is_literal(matcher: str) -> bool:
    """True when a matcher is not a regular expression and is therefore compared as plain text."""
    compiled = _compile(matcher)
    return compiled is not None and compiled[1] is None


@lru_cache(maxsize=4096)
def _compile(matcher: str) -> "tuple[str, regress.Regex | None] | None":
    """The pattern, and its regular expression if it is one.

    None for a matcher that matches everything; one that could keep the regular expression engine busy counts as such.
    """
    pattern = trim(matcher)
    if matches_everything(matcher) or pattern_fault(pattern) is not None:
        return None
    try:
        return pattern, regress.Regex(pattern)
    except (regress.RegressError, UnicodeError):
        return pattern, None
