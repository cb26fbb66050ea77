"""How values look to a person: times, places, and text that came from somebody else."""

import re
import sys
import time
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from hookline.apps.cli.main import terminal_columns
from hookline.apps.cli.suggest import did_you_mean
from hookline.dialects.registry import dialect_of
from hookline.extensions import lazy_module
from hookline.protocol.constants import OWN_AGENT, WHY_DISABLED
from hookline.protocol.hook_entry import HookEntry
from hookline.protocol.text.strings import short_paths, visible

if TYPE_CHECKING:
    import textwrap
else:
    textwrap = lazy_module("textwrap")

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
    """A message of ours on one line, with paths in the form that people read."""
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


def show_policy(hook: Mapping[str, Any]) -> str:
    """From which policy a described hook is, as a line below it."""
    required = "; it is required: where it can't run, its event is blocked" if "required" in hook else ""
    return f"of the company's policy, version {hook['policyVersion']}{required}"


def show_dialect(hook: Mapping[str, Any]) -> str:
    """Whose words a described hook uses, as a line below it."""
    agent = dialect_of(hook["dialect"]).agent
    event = f" as {hook['theirEvent']}" if "theirEvent" in hook else ""
    rule = f", for calls that match {one_line(hook['if'])}" if "if" in hook else ""
    beside = ", beside the agent, so its decisions do not count" if "async" in hook else ""
    return f"in the words of {agent}{event}{rule}{beside}"


def show_place(file: str, line: int | None = None) -> str:
    """A file in the form that people read, with the line in it."""
    return f"{short_paths(file)}:{line}" if line else short_paths(file)


def screen_width() -> int:
    """How wide the terminal is; unlimited if stdout is not a terminal."""
    return terminal_columns() if sys.stdout.isatty() else sys.maxsize


def wrap(text: str, indent: str) -> list[str]:
    """A message of ours in lines that fit on the screen, each with this indent."""
    return textwrap.wrap(
        visible(short_paths(text)),
        screen_width(),
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def cut(text: str, width: int) -> str:
    """The text, or its beginning and an ellipsis if it is wider."""
    return text if len(text) <= width else f"{text[: max(0, width - 1)]}…"


def plural(count: int, word: str) -> str:
    """`1 hook`, `2 hooks`."""
    return f"{count} {word}{'' if count == 1 else 's'}"


def trust_advice(count: int) -> str:
    """What to do about this many hooks without trust."""
    it, they = ("it", "is not trusted and does") if count == 1 else ("them", "are not trusted and do")
    return f"{plural(count, 'hook')} {they} not run; look at {it} and run: hookline trust"


def unknown_hook(name: str, hooks: Iterable[HookEntry]) -> str:
    """That none of the hooks has this name, and which one may be meant."""
    labels = {hook.label: None for hook in hooks}
    return f"there is no hook {name}; {did_you_mean(name, labels, 'hookline list shows all hooks', cutoff=0.5)}"


def _seconds(timestamp: str | None) -> float | None:
    try:
        # Not time.strptime, which takes longer to load.
        return datetime.fromisoformat(f"{(timestamp or '')[:19]}+00:00").timestamp()
    except ValueError:
        return None


def show_ways(ways: Mapping[str, int]) -> str:
    """How often a hook ran in each way, behind the number of its runs: ` (10 warm, 2 cold)`, or ` (cold)` for all."""
    if not ways:
        return ""
    named = [one_line(way) if len(ways) == 1 else f"{count} {one_line(way)}" for way, count in ways.items()]
    return f" ({', '.join(named)})"
