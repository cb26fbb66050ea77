"""Times as people write them, such as `10m` or `2025-02-18T16:30`."""

import re
import time
from datetime import datetime

from hookline.protocol.text.json_text import utc_timestamp

_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")


def read_span(text: str) -> float | None:
    """The seconds of a time such as `10m`, or None."""
    span = _SPAN.fullmatch(text.strip())
    return None if span is None else float(span[1]) * _UNITS_S[span[2]]


def read_when(text: str) -> str:
    """The time as records write it, or ValueError; without a zone it is local time, and `10m` is ten minutes ago."""
    if (age_s := read_span(text)) is not None:
        return utc_timestamp(max(0.0, time.time() - age_s))
    try:
        return utc_timestamp(max(0.0, datetime.fromisoformat(text.strip()).timestamp()))
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text} is not a time; write 10m, 2h, 7d or 2025-02-18T16:30") from error
