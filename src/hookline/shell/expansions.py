"""The expansions of a shell that need no values: braces, and the escapes of `$'…'`."""

import re

_BRACES = re.compile(r"\{(?:([^{},]*(?:,[^{},]*)+)|(-?\d{1,4}|[A-Za-z])\.\.(-?\d{1,4}|[A-Za-z])(?:\.\.(-?\d{1,4}))?)\}")
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|(.))", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}


def braced(text: str, most: int) -> list[str] | None:
    """The words that `{a,b}` and `{1..3}` make of a text; None if they are more than `most`, or not known."""
    words = [text]
    while (found := _BRACES.search(words[0])) is not None:
        if (parts := _parts(found, most)) is None:
            return None
        pairs = [(word, each) for word in words if (each := _BRACES.search(word)) is not None]
        words = [word[: each.start()] + part + word[each.end() :] for word, each in pairs for part in parts]
        if len(words) > most:
            return None
    return words


def _parts(found: re.Match[str], most: int) -> list[str] | None:
    """The replacements for one pair of braces."""
    if found[1] is not None:
        return found[1].split(",")
    is_number = found[2].lstrip("-").isdigit()
    if is_number != found[3].lstrip("-").isdigit():
        return None
    first, last = (int(found[2]), int(found[3])) if is_number else (ord(found[2]), ord(found[3]))
    step = max(1, abs(int(found[4] or 1)))
    numbers = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
    return None if len(numbers) > most else [str(each) if is_number else chr(each) for each in numbers]


def patterns_of(text: str) -> tuple[str, str]:
    """Two patterns for all the words that braces make of a text: for names with and without a leading dot."""
    return _BRACES.sub("*", text), _BRACES.sub(".*", text)


def unescaped(text: str) -> str:
    """The text between `$'` and `'`."""

    def decoded(found: re.Match[str]) -> str:
        code = found[1] or found[2] or found[3]
        if code:
            return chr(min(int(code, 16), 0x10FFFF))
        return chr(int(found[4], 8) & 0xFF) if found[4] else _LETTERS.get(found[5], found[5])

    return _ESCAPE.sub(decoded, text)
