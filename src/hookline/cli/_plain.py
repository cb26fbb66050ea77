"""Foreign text made safe for a terminal: nothing in it moves the cursor, paints or hides."""

import re

_COLOURS = re.compile(r"\x1b\[[0-9;:]*m")
# Control characters but for line feed and tab, and the marks that turn the direction of writing around.
_ACTING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def plain(text: str) -> str:
    """The text without its colours, and with everything else that would act on the terminal spelled out."""
    return visible(_COLOURS.sub("", text.replace("\r\n", "\n")))


def visible(text: str) -> str:
    """The text with everything that would act on the terminal spelled out, colours too."""
    return _ACTING.sub(lambda found: _spell(found[0]), text)


def one_line(text: str) -> str:
    """The same on one line, white space run together."""
    return visible(" ".join(text.split()))


def _spell(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}"  # noqa: PLR2004 - what two hex digits hold
