"""Text for users: the origin of hooks, wrapped lines, and the width of the screen."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hookline.apps.cli.parser import terminal_columns
from hookline.dialects.registry import dialect_of
from hookline.extensions import lazy_module
from hookline.protocol.text.readable import one_line, plural
from hookline.protocol.text.strings import short_paths, visible

if TYPE_CHECKING:
    import textwrap
else:
    textwrap = lazy_module("textwrap")


def show_policy(hook: Mapping[str, Any]) -> str:
    """Return the line about the policy of a described hook."""
    required = "; it is required: where it can't run, its event is blocked" if "required" in hook else ""
    return f"of the company's policy, version {hook['policyVersion']}{required}"


def show_dialect(hook: Mapping[str, Any]) -> str:
    """Return the line about the format of a described hook."""
    agent = dialect_of(hook["dialect"]).agent
    event = f" as {hook['theirEvent']}" if "theirEvent" in hook else ""
    rule = f", for calls that match {one_line(hook['if'])}" if "if" in hook else ""
    in_background = ", in the background, so its decisions have no effect" if "async" in hook else ""
    return f"in the format of {agent}{event}{rule}{in_background}"


def screen_width() -> int:
    """Return the width of the terminal; unlimited if stdout is not a terminal."""
    return terminal_columns() if sys.stdout.isatty() else sys.maxsize


def wrap(text: str, indent: str) -> list[str]:
    """Split a message into lines that fit on the screen, each with this indent."""
    return textwrap.wrap(
        visible(short_paths(text)),
        screen_width(),
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def trust_advice(count: int) -> str:
    """Return the advice about this many hooks without trust."""
    it, they = ("it", "is not trusted and does") if count == 1 else ("them", "are not trusted and do")
    return f"{plural(count, 'hook')} {they} not run; look at {it} and run: hookline trust"


def show_ways(ways: Mapping[str, int]) -> str:
    """Return how often a hook ran in each way, to follow the number of runs: ` (10 warm, 2 cold)`, or ` (cold)`."""
    if not ways:
        return ""
    named = [one_line(way) if len(ways) == 1 else f"{count} {one_line(way)}" for way, count in ways.items()]
    return f" ({', '.join(named)})"
