"""JSON as people write it: comments and trailing commas are accepted, and every place in it can be found again."""

import json
import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple, NoReturn

from hookline.protocol.text.patterns import lazy_pattern

PathStep = str | int

# An unclosed string or comment runs to the end of the text: to try again at every character would be quadratic.
_STRING = r'"(?:[^"\\]++|\\.)*+"?'
_COMMENT = lazy_pattern(rf"{_STRING}|//[^\n\r]*|/\*(?:[^*]++|\*(?!/))*+(?:\*/)?", re.DOTALL)
_TRAILING_COMMA = lazy_pattern(rf"{_STRING}|,(?=\s*[}}\]])", re.DOTALL)
_HAS_TRAILING_COMMA = lazy_pattern(r",\s*[}\]]")
_VALUE = lazy_pattern(r'("(?:[^"\\]++|\\.)*+")(\s*:)?|[{}\[\]]|[^\s",:{}\[\]]+', re.DOTALL)
_NOT_NEWLINE = lazy_pattern(r"[^\n\r]")
_NEWLINE = lazy_pattern("\n")
_DECODER = json.JSONDecoder(parse_int=str)  # only places are asked for, and Python refuses to read very long numbers
_LONGEST_INTEGER = 309
# A project's file may hold millions of values. Only problems need places, and this many are enough.
_MOST_PLACES = 300_000


# Neither msgspec nor dataclasses: this is loaded while hooks are disabled, and at the start of every command.
class _Node:
    """An object or array: where it starts, and where its values do."""

    __slots__ = ("children", "is_object", "offset")

    def __init__(self, offset: int, *, is_object: bool) -> None:
        self.offset = offset
        self.is_object = is_object
        self.children: dict[PathStep, _Node | int] = {}


class _Index(NamedTuple):
    root: _Node | int | None
    newlines: list[int]
    repeated: list[tuple[str, int]]
    """Keys that an object has more than once, each with the offset of the last one."""


def parse(text: str) -> Any:
    """The value of a JSON text with comments and trailing commas; ValueError when it is not one."""
    return json.loads(plain_json(text), parse_int=_whole_number, parse_constant=_refuse_constant)


def repeated_keys(text: str) -> list[tuple[str, int, int]]:
    """Keys that stand more than once in the same object of a valid text, each with line and column of the last one."""
    has_repeated = False

    def look(pairs: list[tuple[str, Any]]) -> None:
        nonlocal has_repeated
        has_repeated = has_repeated or len(dict(pairs)) != len(pairs)

    # Reading it again is much quicker than the index, which hardly any file needs.
    json.loads(plain_json(text), object_pairs_hook=look, parse_int=str)
    return [(key, *_place(text, offset)) for key, offset in _index(text).repeated] if has_repeated else []


@lru_cache(maxsize=4)
def plain_json(text: str) -> str:
    """The same text with comments and trailing commas blanked out, so that every offset stays true."""
    text = without_comments(text)
    return _TRAILING_COMMA.sub(_blank, text) if _HAS_TRAILING_COMMA.search(text) else text


@lru_cache(maxsize=4)
def without_comments(text: str) -> str:
    """The same text with comments blanked out."""
    return _COMMENT.sub(_blank, text) if "//" in text or "/*" in text else text


def position_of(text: str, path: Sequence[PathStep]) -> tuple[int, int] | None:
    """Line and column (from 1) of the value at a path of a valid text, or None when it is not there."""
    offset = _offset_of(text, path)
    return None if offset is None else _place(text, offset)


def span_of(text: str, path: Sequence[PathStep]) -> tuple[int, int] | None:
    """The offsets at which the value at a path starts and ends, or None when it is not there."""
    offset = _offset_of(text, path, most=None)
    return None if offset is None else (offset, _DECODER.raw_decode(plain_json(text), offset)[1])


def show_path(path: Sequence[PathStep]) -> str:
    """A path as people write it: `hooks.BeforeTool[0].command`."""
    shown = "".join([f"[{step}]" if isinstance(step, int) else f".{step}" for step in path])
    return shown.removeprefix(".")


def _place(text: str, offset: int) -> tuple[int, int]:
    newlines = _index(text).newlines
    line = bisect_left(newlines, offset)
    return line + 1, offset - (newlines[line - 1] if line else -1)


def _offset_of(text: str, path: Sequence[PathStep], most: int | None = _MOST_PLACES) -> int | None:
    found = _index(text, most).root
    for step in path:
        found = found.children.get(step) if isinstance(found, _Node) else None
    return found.offset if isinstance(found, _Node) else found


@lru_cache(maxsize=4)
def _index(text: str, most: int | None = _MOST_PLACES) -> _Index:
    """Return the places of a valid text, found once: a file can have a problem in each of its values."""
    root = _Node(0, is_object=False)
    open_nodes, key = [root], ""
    repeated: dict[tuple[int, str], int] = {}
    for token in islice(_VALUE.finditer(plain_json(text)), most):
        node, first = open_nodes[-1], token[0][0]
        if first in "}]":
            open_nodes.pop()
        elif token[2] is not None:
            key = token[1][1:-1] if "\\" not in token[1] else json.loads(token[1], strict=False)
            if key in node.children:
                repeated[node.offset, key] = token.start()
        else:
            value = _Node(token.start(), is_object=first == "{") if first in "{[" else token.start()
            # Of two equal keys the last one is used, as in every JSON.
            node.children[key if node.is_object else len(node.children)] = value
            if isinstance(value, _Node):
                open_nodes.append(value)
    newlines = [found.start() for found in _NEWLINE.finditer(text)]
    return _Index(root.children.get(0), newlines, [(key, offset) for (_, key), offset in repeated.items()])


def _blank(token: re.Match[str]) -> str:
    return token[0] if token[0].startswith('"') else _NOT_NEWLINE.sub(" ", token[0])


def _whole_number(digits: str) -> int | float:
    # Longer than any number of a double's size: infinite, rather than an error of the whole file.
    return int(digits) if len(digits) <= _LONGEST_INTEGER else float(digits)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
