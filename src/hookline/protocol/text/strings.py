"""Text: made safe to show or to send, and words that are like others."""

import contextlib
import os
import re
from collections.abc import Iterable, Sequence
from functools import cache

from hookline.extensions import lazy_module

TYPE_CHECKING = False  # typing.TYPE_CHECKING without typing
if TYPE_CHECKING:
    import difflib
else:
    difflib = lazy_module("difflib")  # a millisecond, and only mistakes need it

# Emoji keep the invisible characters that join and colour their parts, and Arabic and Indic words their joiners.
_EMOJI = r"\u2190-\u2bff\U0001f000-\U0001faff"
_KEPT = (
    rf"(?<=[\ufe0f{_EMOJI}])\u200d(?=[{_EMOJI}])",
    rf"(?<=[#*0-9©®\u203c-\u3299{_EMOJI}])[\ufe0e\ufe0f]",
    r"(?<=[\u0620-\u0dff])[\u200c\u200d](?=[\u0620-\u0dff])",
)
# The categories Cc (except line feed and tab), Cf, Cs, Co, Zl and Zp, the blocks of tags and variation selectors, and
# letters that have no shape.
_HIDDEN = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5"
    r"\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\uf8ff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    r"\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U0010ffff"
)


_MOST_SHOWN = 200
_PATH_BEGINS = r"""(?<![\w./~'"-])"""
_PATH_ENDS = r"[\s,;:)]|\.?$|\.\s"


@cache
def _found() -> re.Pattern[str]:
    # Made on use: it takes more than a millisecond, and most commands print nothing but ASCII.
    return re.compile(rf"{'|'.join(_KEPT)}|([{_HIDDEN}])")


def visible(text: str) -> str:
    r"""The text with everything that a terminal would act on, or not show, written out: `\x1b`, `\u202e`.

    Line feeds and tabs stay.
    """
    if _is_plain(text):
        return text
    return _found().sub(lambda found: ascii(found[1])[1:-1] if found[1] else found[0], text)


def printable(text: str) -> str:
    r"""The same in one line: a line feed is written out as `\n`."""
    return visible(text).replace("\n", r"\n")


def visible_json(text: str) -> str:
    r"""JSON text that holds the same values, and in which `visible` would find nothing: U+202E is `\u202e`."""
    if _is_plain(text):
        return text
    return _found().sub(lambda found: _json_escape(found[1]) if found[1] else found[0], text)


def _is_plain(text: str) -> bool:
    """Whether the text is ASCII without control characters, except line feeds and tabs."""
    return text.isascii() and text.replace("\n", "").replace("\t", "").isprintable()


def shortened(text: str) -> str:
    """The text, cut if it is long."""
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


def whole_text(text: str) -> str:
    """The text without lone surrogates, which JSON can hold and SDKs refuse."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def short_paths(text: str) -> str:
    """Return a message with paths as users read them: relative below the current directory, else `~/…`.

    Other paths stay absolute, and so do those behind a quote, because a shell does not expand `'~/…'`.
    """
    if "/" not in text:
        return text
    home = os.environ.get("HOME", "").rstrip("/")
    with contextlib.suppress(OSError):
        here = os.getcwd()
        text = re.sub(rf"{_PATH_BEGINS}{re.escape(here)}/(?=[^\s/])", "", text) if here != "/" else text
    if home:
        text = re.sub(rf"{_PATH_BEGINS}{re.escape(home)}(?=/[^\s/]|{_PATH_ENDS})", "~", text)
    return text


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(rf"\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def nearest(word: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """Return the known word that is most like a misspelled one; None if there is none."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=cutoff)
    return close[0] if close else None


def nearest_word(word: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """The known word that is most like this one, if any is."""
    spelled = {one.lower(): one for one in known}
    near = nearest(word.lower(), spelled, cutoff=cutoff)
    return spelled[near] if near else None


def did_you_mean(word: str, known: Iterable[str], otherwise: str, *, cutoff: float = 0.6) -> str:
    """Return the advice for an unknown word: the nearest known one, or `otherwise`."""
    near = nearest_word(word, known, cutoff=cutoff)
    return otherwise if near is None else f"did you mean {near}?"


def misspelled_option(words: Sequence[str], known: Iterable[str]) -> tuple[str | None, str | None]:
    """The first option among the words that is not known, and the one that is most like it."""
    options = {*known}
    for word in words[: words.index("--")] if "--" in words else words:
        name = word.partition("=")[0]
        if name.startswith("-") and name.strip("-")[:1].isalpha() and name not in options:
            return name, nearest_word(name, options, cutoff=0.7)
    return None, None
