"""Prose of models and output of tools, made safe for a terminal and still pleasant to read."""

import re

_COLOURS = re.compile(r"\x1b\[[0-9;:]*m")
# Control characters but for line feed and tab, and marks that turn the direction of writing around; not the invisible
# ones that hold an emoji together, which `visible` spells out.
_ACTING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def plain(text: str) -> str:
    """The text without its colours, and with everything else that would act on the terminal spelled out."""
    colourless = _COLOURS.sub("", text.replace("\r\n", "\n"))
    return _ACTING.sub(lambda found: ascii(found[0])[1:-1], colourless)
