"""Changes one place in the text of a settings file; comments and layout stay as they are."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hookline.errors import HooklineError
from hookline.files import locked, make_private_directory, write_atomically
from hookline.protocol.answers import kind_of
from hookline.protocol.text.json_text import stringify_json
from hookline.settings.read import jsonc

_BOM = "\ufeff"
NEW_FILE = "{\n}\n"
_LF = "\n"
_COMMA = re.compile(r"\s*,")


def edit_file(path: Path, change: Callable[[str], str]) -> None:
    """Replaces the file's text by `change(text)` in one step, under the file's lock.

    A missing file is made from an empty object. HooklineError when the file is not JSON or cannot be written.
    """
    try:
        make_private_directory(path.parent)
        with locked(path):
            text = path.read_bytes().decode("utf-8") if path.exists() else NEW_FILE
            changed = change(text.removeprefix(_BOM))
            if changed != text.removeprefix(_BOM):
                mark = _BOM if text.startswith(_BOM) else ""
                write_atomically(path, (mark + changed).encode())
    except OSError as error:
        raise HooklineError(f"{path} could not be changed: {error.strerror}") from error
    except ValueError as error:
        raise HooklineError(f"{path} is not JSON ({error}); fix it first") from error


def add_to_list(text: str, path: Sequence[str], value: Any, *, in_lines: bool = False) -> str:
    """Return the text with the value at the end of the list at a path, which is made where it is missing.

    A value that is there already is not added again, except with `in_lines`: then each of its keys gets a line.
    """
    known, depth = _deepest(jsonc.parse(text), path)
    if depth < len(path):
        return _add_member(text, path, known, depth, [value], in_lines=in_lines)
    if not isinstance(known, list):
        raise _not_a_place(path, known, "an array")
    if value in known and not in_lines:
        return text
    return _insert(text, path, _shown(value, in_lines=in_lines))


def set_value(text: str, path: Sequence[str], value: Any) -> str:
    """The text with a new value at a path where there is none yet."""
    known, depth = _deepest(jsonc.parse(text), path)
    if depth == len(path):
        raise _not_a_place(path, known, "nothing")
    return _add_member(text, path, known, depth, value)


def _add_member(text: str, path: Sequence[str], known: Any, depth: int, value: Any, *, in_lines: bool = False) -> str:
    """Return the text with a value at a path of which only the first steps are there."""
    if not isinstance(known, dict):
        raise _not_a_place(path[:depth], known, "an object")
    for key in reversed(path[depth + 1 :]):
        value = {key: value}
    shown = _shown(value, in_lines=in_lines)
    return _insert(text, path[:depth], f"{stringify_json(path[depth]).decode()}: {shown}")


def remove_from_list(text: str, path: Sequence[str], value: Any) -> str:
    """The text without the value in the list at a path; the same text when it is not there."""
    known, depth = _deepest(jsonc.parse(text), path)
    if depth < len(path):
        return text
    if not isinstance(known, list):
        raise _not_a_place(path, known, "an array")
    for index in reversed([index for index, item in enumerate(known) if item == value]):
        text = _remove(text, path, index)
    return text


def remove_member(text: str, path: Sequence[str]) -> str:
    """The text without the member at a path; the same text when it is not there."""
    if _deepest(jsonc.parse(text), path)[1] < len(path):
        return text
    start, end = _span(text, path)
    before = jsonc.without_comments(text)[:start].rstrip()[:-1].rstrip()
    key = stringify_json(path[-1]).decode()
    return _cut(text, len(before) - len(key), end) if before.endswith(key) else text


def _deepest(document: Any, path: Sequence[str]) -> tuple[Any, int]:
    """The last value on the way that is there, and how many steps lead to it."""
    value = document
    for depth, key in enumerate(path):
        if not isinstance(value, dict) or key not in value:
            return value, depth
        value = value[key]
    return value, len(path)


def _not_a_place(path: Sequence[str], value: Any, expected: str) -> HooklineError:
    return HooklineError(f"{jsonc.show_path(path) or 'it'} is {kind_of(value)}, expected {expected}; fix it first")


def _shown(value: Any, *, in_lines: bool) -> str:
    plain = json.loads(stringify_json(value))
    shown = json.dumps(plain, indent=2 if in_lines else None, ensure_ascii=False)
    # A lone surrogate can't be written as it is; backslashreplace writes it as JSON does.
    return shown.encode("utf-8", "backslashreplace").decode()


def _insert(text: str, path: Sequence[str], item: str) -> str:
    start, end = _span(text, path)
    last = len(jsonc.plain_json(text)[: end - 1].rstrip())
    if last == start + 1:
        return _insert_first(text, start, end, item)
    comma = _comma_after(text, last)
    line_end = text.find("\n", comma or last, end - 1)
    if line_end >= 0:
        line_end -= text[line_end - 1] == "\r"
        indent = _newline(text) + _indent(text, last - 1)
        line = f"{indent}{item.replace(_LF, indent)}{',' if comma else ''}"
        changed = f"{text[:last]}{'' if comma else ','}{text[last:line_end]}{line}{text[line_end:]}"
        # Where that line ends inside a longer comment, the item would be lost in it.
        if jsonc.parse(changed) != jsonc.parse(text):
            return changed
    indent = _newline(text) + _indent(text, last - 1)
    return f"{text[:last]}, {item.replace(_LF, indent)}{text[last:]}"


def _insert_first(text: str, start: int, end: int, item: str) -> str:
    inside = text[start + 1 : end - 1]
    if "\n" in inside:
        indent = f"{_newline(text)}{_indent(text, start)}  "
        item = f"{indent}{item.replace(_LF, indent)}"
    elif not inside.strip():
        return f"{text[: start + 1]}{item}{text[end - 1 :]}"
    return f"{text[: start + 1]}{item}{text[start + 1 :]}"


def _remove(text: str, path: Sequence[str], index: int) -> str:
    return _cut(text, *_span(text, (*path, index)))


def _cut(text: str, start: int, end: int) -> str:
    """The text without an item of a list or an object, and without the comma that it no longer needs."""
    comma = _comma_after(text, end)
    cut_end = end if comma is None else comma + 1
    rest = text[cut_end:] if comma is None else text[cut_end:].lstrip(" ")
    shortened = (text[:start].rstrip(" ") if comma is None else text[:start]) + rest
    line_start, line_end = text.rfind("\n", 0, start) + 1, text.find("\n", cut_end) + 1
    if not text[line_start:start].strip() and line_end and not jsonc.plain_json(text)[cut_end:line_end].strip():
        without_line = text[:line_start] + text[line_end:]
        # Where that line ends inside a longer comment, the comment's end would be left alone.
        shortened = without_line if _is_json(without_line) else shortened
    before = len(jsonc.without_comments(text)[:start].rstrip()) - 1
    if comma is not None or before < 0 or text[before] != ",":
        return shortened
    return shortened[:before] + shortened[before + 1 :]


def _span(text: str, path: Sequence[jsonc.PathStep]) -> tuple[int, int]:
    span = jsonc.span_of(text, path)
    if span is None:
        raise HooklineError(f"{jsonc.show_path(path)} could not be found again; change it by hand")
    return span


def _is_json(text: str) -> bool:
    try:
        jsonc.parse(text)
    except ValueError:
        return False
    return True


def _comma_after(text: str, offset: int) -> int | None:
    """The offset of the comma after a value, behind spaces and comments, or None."""
    found = _COMMA.match(jsonc.without_comments(text), offset)
    return found and found.end() - 1


def _indent(text: str, offset: int) -> str:
    line = text[text.rfind("\n", 0, offset) + 1 :]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
