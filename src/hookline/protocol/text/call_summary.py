"""A tool call in a few words for the log and everything that shows it: its command, its file, or its arguments."""

import shlex
from collections.abc import Mapping
from typing import Any

from hookline.protocol.text.json_text import stringify_json

LONGEST_CALL = 200
"""How many characters of a call the log keeps."""

# A secret across the end of what is kept must be whole while it is searched for.
_MOST_SEARCHED = LONGEST_CALL + 8 * 1024

# The argument that says what a call does; the first that is there.
_COMMANDS = ("command", "cmd")
_FILES = ("file_path", "filePath", "absolute_path", "notebook_path", "path")
_TELLING = (*_COMMANDS, *_FILES, "dir_path", "directory", "url", "uri", "pattern", "query")


def call_of(arguments: Any) -> str | None:
    """The command, file or other arguments of a tool call; None without arguments.

    It may be longer than what is kept: secrets are replaced first, and `short_call` cuts it then.
    """
    if not isinstance(arguments, Mapping) or not arguments:
        return None
    for name in _TELLING:
        if name in arguments and (text := _text(arguments[name])):
            # The command of an editor is a word such as "view", and a command must not hide a file.
            file = _first(arguments, _FILES) if name in _COMMANDS else None
            return text if file is None else f"{text} {file}"
    return _text(stringify_json(dict(arguments))[:_MOST_SEARCHED].decode("utf-8", "replace"))


def short_call(call: str) -> str:
    """A call as the log keeps it: on one line, and cut."""
    text = " ".join(call.split())
    return text if len(text) <= LONGEST_CALL else f"{text[: LONGEST_CALL - 1]}…"


def _first(arguments: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    return next((text for name in names if (text := _text(arguments.get(name)))), None)


def _text(value: Any) -> str | None:
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        value = shlex.join(value)
    if not isinstance(value, str):
        return None
    return value.strip()[:_MOST_SEARCHED] or None
