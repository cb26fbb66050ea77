"""Makes foreign text safe to show or to send, and writes messages of ours to stderr."""

import contextlib
import re
import sys
import unicodedata
from contextvars import ContextVar

overheard: ContextVar[list[str] | None] = ContextVar("overheard", default=None)
"""Takes the messages of `tell`, where a program works for a caller that has a stderr of its own."""

_UNUSUAL = re.compile(r"[^\n\t -~]")
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})


def visible(text: str) -> str:
    r"""The text with everything that a terminal would act on, or not show, written out: `\x1b`, `\u202e`."""
    return _UNUSUAL.sub(_written_out, text)


def printable(text: str) -> str:
    r"""The same in one line: `\n` and `\t` are written out as well."""
    return visible(text).replace("\n", r"\n").replace("\t", r"\t")


def whole_text(text: str) -> str:
    """The text without lone surrogates, which JSON can hold and SDKs refuse."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def tell(text: str) -> None:
    """Writes a line of ours to stderr; if stderr is missing or broken, the line is lost."""
    if (listener := overheard.get()) is not None:
        listener.append(text)
        return
    with contextlib.suppress(Exception):
        sys.stderr.write(f"hookline: {text}\n")
        sys.stderr.flush()


def _written_out(found: re.Match[str]) -> str:
    character = found[0]
    if unicodedata.category(character) not in _HIDDEN:
        return character
    return ascii(character)[1:-1]
