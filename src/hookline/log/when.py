"""Times as people write them, such as `10m` or `2025-02-18T16:30`."""

import re
import time
from datetime import datetime

from hookline.contract.wire import utc_timestamp

_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_AGE = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")


def read_when(text: str) -> str:
    """The time as records write it, or ValueError; without a zone it is local time, and `10m` is ten minutes ago."""
    if age := _AGE.fullmatch(text.strip()):
        return utc_timestamp(max(0.0, time.time() - float(age[1]) * _UNITS_S[age[2]]))
    try:
        return utc_timestamp(max(0.0, datetime.fromisoformat(text.strip()).timestamp()))
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text} is not a time; write 10m, 2h, 7d or 2025-02-18T16:30") from error
