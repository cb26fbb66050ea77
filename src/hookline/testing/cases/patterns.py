"""The regular expressions of case files: ECMAScript, as matchers are."""

from hookline.protocol.text.matchers import is_quick, pattern_fault


def why_unusable(pattern: str) -> str | None:
    """The mistake in a pattern, or None."""
    import regress  # noqa: PLC0415 - few cases have patterns

    if fault := pattern_fault(pattern):
        return fault
    try:
        regress.Regex(pattern)
    except Exception as error:  # noqa: BLE001 - whatever the engine raises is about the pattern
        return f"is not a regular expression ({error})"
    return None


def is_found(pattern: str, text: str) -> bool | None:
    """Return whether the pattern is found anywhere in the text; None if that could take too long."""
    import regress  # noqa: PLC0415 - few cases have patterns

    return regress.Regex(pattern).find(text) is not None if is_quick(pattern, len(text)) else None
