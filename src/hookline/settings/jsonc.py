"""JSON as people write it: comments and trailing commas are accepted, and every place in it can be found again."""

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NoReturn

# What is not closed goes to the end of the text: to try again at every character would take time by its square.
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"?|//[^\n\r]*|/\*(?:[^*]++|\*(?!/))*+(?:\*/)?|,(?=\s*[}\]])', re.DOTALL)
_STRUCTURE = re.compile(r'("(?:[^"\\]++|\\.)*+")(\s*:)?|[{}\[\]]', re.DOTALL)
_NOT_NEWLINE = re.compile(r"[^\n\r]")
_SPACE = re.compile(r"\s*")
_DECODER = json.JSONDecoder(parse_int=str)  # only places are asked for, and Python refuses to read very long numbers
_LONGEST_INTEGER = 309

PathStep = str | int


def parse(text: str) -> Any:
    """The value of a JSON text with comments and trailing commas; ValueError when it is not one."""
    return json.loads(plain_json(text), parse_int=_whole_number, parse_constant=_refuse_constant)


def repeated_keys(text: str) -> list[tuple[str, int, int]]:
    """Keys that stand more than once in the same object, each with line and column of the last one."""
    found: dict[tuple[int, str], int] = {}
    objects: list[dict[str, int]] = []
    for token in _STRUCTURE.finditer(plain_json(text)):
        if token[0] in ("{", "["):
            objects.append({})
        elif token[0] in ("}", "]"):
            objects.pop()
        elif token[2] is not None and objects:
            key = json.loads(token[1], strict=False)
            if key in objects[-1]:
                found[id(objects[-1]), key] = token.start()
            objects[-1][key] = token.start()
    return [(key, *_place(text, offset)) for (_, key), offset in found.items()]


@lru_cache(maxsize=4)
def plain_json(text: str) -> str:
    """The same text with comments and trailing commas blanked out, so that every offset stays true."""
    # Twice: only when the comments are gone is it plain which commas are trailing.
    return _TOKEN.sub(_blank, _TOKEN.sub(_blank, text))


def position_of(text: str, path: Sequence[PathStep]) -> tuple[int, int] | None:
    """Line and column (from 1) of the value at a path, or None when it is not there."""
    offset = _offset_of(plain_json(text), path)
    if offset is None:
        return None
    return _place(text, offset)


def span_of(text: str, path: Sequence[PathStep]) -> tuple[int, int] | None:
    """The offsets at which the value at a path starts and ends, or None when it is not there."""
    plain = plain_json(text)
    offset = _offset_of(plain, path)
    return None if offset is None else (offset, _DECODER.raw_decode(plain, offset)[1])


def show_path(path: Sequence[PathStep]) -> str:
    """A path as people write it: `hooks.BeforeTool[0].command`."""
    shown = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return shown.removeprefix(".")


def _place(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset) + 1, offset - (text.rfind("\n", 0, offset) + 1) + 1


def _offset_of(plain: str, path: Sequence[PathStep]) -> int | None:
    offset = _skip_space(plain, 0)
    for step in path:
        found = _member(plain, offset, step) if isinstance(step, str) else _item(plain, offset, step)
        if found is None:
            return None
        offset = found
    return offset


def _member(text: str, offset: int, key: str) -> int | None:
    if text[offset : offset + 1] != "{":
        return None
    found = None
    offset = _skip_space(text, offset + 1)
    while text[offset : offset + 1] == '"':
        name, offset = _DECODER.raw_decode(text, offset)
        offset = _skip_space(text, _skip_space(text, offset) + 1)
        if name == key:
            found = offset  # not the end of the search: of two equal keys the last one counts
        offset = _next_item(text, offset)
    return found


def _item(text: str, offset: int, index: int) -> int | None:
    if text[offset : offset + 1] != "[":
        return None
    offset = _skip_space(text, offset + 1)
    for _ in range(index):
        if text[offset : offset + 1] == "]":
            return None
        offset = _next_item(text, offset)
    return None if text[offset : offset + 1] == "]" else offset


def _next_item(text: str, offset: int) -> int:
    _, offset = _DECODER.raw_decode(text, offset)
    offset = _skip_space(text, offset)
    return _skip_space(text, offset + 1) if text[offset : offset + 1] == "," else offset


def _skip_space(text: str, offset: int) -> int:
    space = _SPACE.match(text, offset)
    return space.end() if space else offset


def _blank(token: re.Match[str]) -> str:
    return token[0] if token[0].startswith('"') else _NOT_NEWLINE.sub(" ", token[0])


def _whole_number(digits: str) -> int | float:
    # Longer than any number of a double's size: infinite, rather than an error of the whole file.
    return int(digits) if len(digits) <= _LONGEST_INTEGER else float(digits)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
