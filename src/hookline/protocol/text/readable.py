"""Values as users read them: times, sizes, places, and text that others wrote on one line."""

import re
import time
from datetime import datetime

from hookline.protocol.constants import OWN_AGENT, WHY_DISABLED
from hookline.protocol.text.strings import short_paths, visible

HOOKS_DISABLED = f"Hooks are disabled: {WHY_DISABLED}. No hook runs."

_SECOND_MS = 1000.0
_MINUTE_MS = 60 * _SECOND_MS
_TENTHS_BELOW = 10
_UNIT_BYTES = 1024
_COLOURS = re.compile(r"\x1b\[[0-9;:]*m")
_AGES = ((86_400 * 2, 86_400, "days"), (3_600 * 2, 3_600, "h"), (60, 60, "min"), (1, 1, "s"))


def one_line(text: str) -> str:
    """The text on one line without runs of spaces, as wide as it will be printed."""
    return visible(" ".join(text.split()))


def show_message(text: str) -> str:
    """Return a message on one line, with short paths."""
    return one_line(short_paths(text))


def plain(text: str) -> str:
    """Text of a model or a tool: without its colours, and everything else that would control the terminal escaped."""
    return visible(_COLOURS.sub("", text.replace("\r\n", "\n")))


def text_lines(text: str) -> list[str]:
    """The lines of a text, as an editor or a shell counts them."""
    # Not `splitlines`, which also splits at characters that are part of a line.
    return text.removesuffix("\n").split("\n") if text else []


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


def show_size(count: int) -> str:
    """So many bytes: `512 bytes`, `1.5 MiB`, `256 MiB`."""
    value, unit = float(count), "bytes"
    for larger in ("KiB", "MiB", "GiB"):
        if value < _UNIT_BYTES:
            break
        value, unit = value / _UNIT_BYTES, larger
    digits = 1 if value < _TENTHS_BELOW and not value.is_integer() else 0
    return f"{value:.{digits}f} {unit}"


def show_ago(timestamp: str | None, now: float | None = None) -> str:
    """How long ago a record was written: `5 min ago`."""
    seconds = _seconds(timestamp)
    if seconds is None:
        return "never"
    age = (time.time() if now is None else now) - seconds
    return next((f"{int(age // unit)} {name} ago" for limit, unit, name in _AGES if age >= limit), "now")


def show_evidence(word: str, timestamp: str | None, asker: str | None = None) -> str:
    """When a hook last ran or denied something, and for which agent: `enforced 5 min ago by claude`."""
    by = "" if asker is None else f" by {'the agent' if asker == OWN_AGENT else one_line(asker)}"
    return f"{word} {show_ago(timestamp)}{by}"


def show_clock(timestamp: str | None) -> str:
    """When a record was written, in local time: `02-18 16:30:00`."""
    seconds = _seconds(timestamp)
    return "-" if seconds is None else time.strftime("%m-%d %H:%M:%S", time.localtime(seconds))


def show_place(file: str, line: int | None = None) -> str:
    """A file in the form that people read, with the line in it."""
    return f"{short_paths(file)}:{line}" if line else short_paths(file)


def cut(text: str, width: int) -> str:
    """The text, or its beginning and an ellipsis if it is wider."""
    return text if len(text) <= width else f"{text[: max(0, width - 1)]}…"


def plural(count: int, word: str) -> str:
    """`1 hook`, `2 hooks`."""
    return f"{count} {word}{'' if count == 1 else 's'}"


def _seconds(timestamp: str | None) -> float | None:
    try:
        # Not time.strptime, which takes longer to load.
        return datetime.fromisoformat(f"{(timestamp or '')[:19]}+00:00").timestamp()
    except ValueError:
        return None
