"""The regular expressions of case files: ECMAScript, as matchers are."""

from typing import TYPE_CHECKING

from hookline.extensions import lazy_module
from hookline.protocol.text.matchers import is_quick, pattern_fault

if TYPE_CHECKING:
    import regress
else:
    regress = lazy_module("regress")  # few cases have patterns


def why_unusable(pattern: str) -> str | None:
    """The mistake in a pattern, or None."""
    if fault := pattern_fault(pattern):
        return fault
    try:
        regress.Regex(pattern)
    except Exception as error:  # noqa: BLE001 - whatever the engine raises is about the pattern
        return f"is not a regular expression ({error})"
    return None


def is_found(pattern: str, text: str) -> bool | None:
    """Return whether the pattern is found anywhere in the text; None if that could take too long."""
    return regress.Regex(pattern).find(text) is not None if is_quick(pattern, len(text)) else None
