"""Parses untrusted TOML within limits.

`tomllib` takes quadratic time for a key of many parts. So the parts are counted first, in one pass over the text.
"""

import re
import tomllib
from typing import Any

from hookline.protocol.text.patterns import lazy_pattern

_MOST_PARTS = 16

# Strings and comments, as TOML ends them. An unclosed one runs to the end of its line or of the text, where tomllib
# stops with an error.
_OPAQUE = lazy_pattern(
    r'"""(?:[^"\\]++|\\.|"(?!""))*+(?:"{3,5})?'
    r"|'''(?:[^']++|'(?!''))*+(?:'{3,5})?"
    r'|"(?:[^"\\\n]++|\\.)*+"?'
    r"|'[^'\n]*+'?"
    r"|#[^\n]*+",
    re.DOTALL,
)
_BETWEEN_KEYS = lazy_pattern(r"[=,{}\[\]\n]+")


def parse(text: str) -> dict[str, Any]:
    """Return the tables of a TOML text; ValueError if it is none, or has keys of too many parts."""
    if any(part.count(".") >= _MOST_PARTS for part in _BETWEEN_KEYS.split(_OPAQUE.sub("_", text))):
        raise ValueError(f"a key has more than {_MOST_PARTS} parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
