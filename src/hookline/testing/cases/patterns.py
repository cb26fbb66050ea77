"""The regular expressions of case files: ECMAScript, as matchers are, and searched within bounded time."""

from hookline.child.bounded_search import quick_length, search
from hookline.contract.matchers import pattern_fault


def why_unusable(pattern: str) -> str | None:
    """What is wrong with a pattern, or None."""
    import regress  # noqa: PLC0415 - few cases have patterns

    if fault := pattern_fault(pattern):
        return fault
    try:
        regress.Regex(pattern)
    except Exception as error:  # noqa: BLE001 - whatever the engine raises is about the pattern
        return f"is not a regular expression ({error})"
    return None


def is_found(pattern: str, text: str) -> bool | None:
    """Whether the pattern is found anywhere in the text; None if that takes too long."""
    import regress  # noqa: PLC0415 - few cases have patterns

    if len(text) <= quick_length(pattern):
        return regress.Regex(pattern).find(text) is not None
    return search(pattern, text)
