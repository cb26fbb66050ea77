from collections.abc import Callable
from functools import lru_cache

import regress

from hookline.child.bounded_search import quick_length, search
from hookline.contract.wire import trim

# Whether a name is matched; None where that can't be told in time.
Matcher = Callable[[str], bool | None]


def matches_everything(matcher: str | None) -> bool:
    """True for no matcher, a blank one and `*`."""
    return matcher is None or trim(matcher) in ("", "*")


@lru_cache(maxsize=4096)
def compile_matcher(matcher: str) -> Matcher:
    """Whether a tool's name is matched: an ECMAScript pattern found anywhere in it, or else the very same text."""
    pattern = trim(matcher)
    regex = _regex(pattern)
    if regex is None:
        return pattern.__eq__

    longest = quick_length(pattern)

    def is_found(name: str) -> bool | None:
        if len(name) > longest:
            return search(pattern, name)
        try:
            return regex.find(name) is not None
        except UnicodeError:
            # A name that cannot even be searched is guarded rather than let through.
            return True

    return is_found


def is_literal(matcher: str) -> bool:
    """True when a matcher is not a regular expression and is therefore compared as plain text."""
    return _regex(trim(matcher)) is None


@lru_cache(maxsize=4096)
def _regex(pattern: str) -> regress.Regex | None:
    try:
        return regress.Regex(pattern)
    except (regress.RegressError, UnicodeError):
        return None
