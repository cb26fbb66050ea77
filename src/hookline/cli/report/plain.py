"""Text of models and tools, made safe for a terminal and still easy to read."""

import re

_COLOURS = re.compile(r"\x1b\[[0-9;:]*m")
# Control characters except line feed and tab, and marks that change the writing direction; not the invisible characters
# inside an emoji, which `visible` escapes.
_ACTING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def plain(text: str) -> str:
    """The text without colours, and with everything else that would control the terminal escaped."""
    colourless = _COLOURS.sub("", text.replace("\r\n", "\n"))
    return _ACTING.sub(lambda found: ascii(found[0])[1:-1], colourless)
