"""Which matchers are safe to compile: a hostile pattern must not crash the regex engine or keep it busy forever."""

import re

from hookline.contract.patterns import lazy_pattern

# `regress` compiles recursively, and a stack overflow ends the process. Measured on a thread with a stack of 128 KiB:
# it crashes from 700 alternatives or 90 nested groups on; at both limits at once it uses three quarters.
LARGEST_BYTES = 4096
MOST_ALTERNATIVES = 400
DEEPEST_NESTING = 20

# An unclosed class runs to the end of the pattern: to try again at each bracket would be quadratic.
_PIECE = lazy_pattern(r"(\\(?:k<[^>]*>|[0-9]+)|\)|\\.|\[(?:\\.|[^\]\\])*+\]?|\()([*+?{]?)", re.DOTALL)


def pattern_fault(pattern: str) -> str | None:
    """Why a pattern is not safe to compile and search with, or None; linear in its length, and compiles nothing."""
    # The length first: nothing else looks at a pattern of any size.
    if len(pattern) > LARGEST_BYTES or len(pattern.encode(errors="surrogatepass")) > LARGEST_BYTES:
        return f"is longer than {LARGEST_BYTES >> 10} KiB"
    # Escaped bars and bars in a class are counted as well: refusing too much is the safe side.
    if pattern.count("|") >= MOST_ALTERNATIVES:
        return f"has more than {MOST_ALTERNATIVES} alternatives"
    return _group_fault(pattern)


def _group_fault(pattern: str) -> str | None:
    # For each open group: whether it holds a quantified group or backreference.
    open_groups = [False]
    for piece, quantifier in _PIECE.findall(pattern):
        if piece == "(":
            open_groups.append(False)
            if len(open_groups) > DEEPEST_NESTING + 1:
                return f"has groups nested more than {DEEPEST_NESTING} deep"
        elif piece == ")" and len(open_groups) > 1:
            # `(?:(?:a?)*)*b` searched in "a" never ends in `regress`, and takes all memory.
            holds_quantified = open_groups.pop()
            if holds_quantified and quantifier not in ("", "?"):
                return "has a group with a quantifier inside a repeated group"
            open_groups[-1] |= holds_quantified or quantifier != ""
        elif piece[0] == "\\" and piece[1] in "k0123456789":
            open_groups[-1] |= quantifier != ""
    return None
