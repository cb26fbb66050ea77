"""How values look to a person: times, places, and text that came from somebody else."""

import shutil
import sys
import time
from calendar import timegm
from pathlib import Path

from hookline.contract.text import visible

_SECOND_MS = 1000.0
_MINUTE_MS = 60 * _SECOND_MS
_TENTHS_BELOW = 10
_AGES = ((86_400 * 2, 86_400, "days"), (3_600 * 2, 3_600, "h"), (60, 60, "min"), (1, 1, "s"))


def one_line(text: str) -> str:
    """The text as it can stand in a line."""
    return visible(" ".join(text.split()))


def show_ms(milliseconds: float | None) -> str:
    """A duration: `0.4 ms`, `45 ms`, `1.2 s`, `2 min`."""
    if milliseconds is None:
        return "-"
    for limit, unit, name in ((_SECOND_MS, 1.0, "ms"), (_MINUTE_MS * 2, _SECOND_MS, "s")):
        if milliseconds < limit:
            value = milliseconds / unit
            digits = 1 if value < _TENTHS_BELOW and not value.is_integer() else 0
            return f"{value:.{digits}f} {name}"
    return f"{milliseconds / _MINUTE_MS:.0f} min"


def show_ago(timestamp: str | None, now: float | None = None) -> str:
    """How long ago a record was written: `5 min ago`."""
    seconds = _seconds(timestamp)
    if seconds is None:
        return "never"
    age = (time.time() if now is None else now) - seconds
    for limit, unit, name in _AGES:
        if age >= limit:
            return f"{int(age // unit)} {name} ago"
    return "now"


def show_clock(timestamp: str | None) -> str:
    """When a record was written, on the clock of the person who reads it: `02-18 16:30:00`."""
    seconds = _seconds(timestamp)
    return "-" if seconds is None else time.strftime("%m-%d %H:%M:%S", time.localtime(seconds))


def show_place(file: str, line: int | None = None) -> str:
    """A file as a person would write it, from here or from home, with the line in it."""
    for base, prefix in ((str(Path.cwd()), ""), (str(Path("~").expanduser()), "~/")):
        if file.startswith(f"{base}/"):
            file = prefix + file.removeprefix(f"{base}/")
            break
    return f"{file}:{line}" if line else file


def screen_width() -> int:
    """How wide the terminal is; what is not shown on one may be as wide as it likes."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize


def cut(text: str, width: int) -> str:
    """The beginning of a text that is too long for its place."""
    return text if len(text) <= width else f"{text[: max(0, width - 1)]}…"


def plural(count: int, word: str) -> str:
    """`1 hook`, `2 hooks`."""
    return f"{count} {word}{'' if count == 1 else 's'}"


def _seconds(timestamp: str | None) -> float | None:
    try:
        return float(timegm(time.strptime((timestamp or "")[:19], "%Y-%m-%dT%H:%M:%S")))
    except ValueError:
        return None
