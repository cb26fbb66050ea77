from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateContentParameters:
    """The three arguments of the SDK's `generate_content`: what model callers hand in and get back."""

    model: str
    contents: Any
    """Any value that the SDK accepts: a string, a `Content`, or a list of strings, parts and `Content` objects."""
    config: Any = None
    """A `GenerateContentConfig`, its dictionary form, or None."""
