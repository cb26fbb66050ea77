"""What a tool call does, whatever the agent calls its tools: commands that it runs, files and texts that it names."""

import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from hookline.hook import BeforeTool

COMMAND_KEYS = frozenset(
    ("command", "cmd", "commands", "script", "shell_command", "bash", "commandline", "command_line")
)
_DIRECTORY_KEYS = ("directory", "dir_path", "cwd", "workdir", "working_directory")
_TEXT_KEYS = re.compile(
    r"content|text|string|str$|diff|patch|body|code|prompt|message|description|instruction|query", re.IGNORECASE
)
_WRITING = re.compile(
    r"write|edit|replace|create|patch|insert|append|delete|remove|move|rename|save|update|upload", re.IGNORECASE
)
_LONGEST_PATH = 4096


def directory_of(event: BeforeTool) -> str:
    """Where a tool call runs its commands."""
    given = next((event.tool_input[key] for key in _DIRECTORY_KEYS if event.tool_input.get(key)), "")
    return posixpath.normpath(posixpath.join(event.cwd, given)) if isinstance(given, str) else event.cwd


def commands_of(tool_input: Mapping[str, Any]) -> Iterator[str]:
    """The shell commands of a tool call: under any of the usual keys, as a text or as a list of words."""
    for key, value in tool_input.items():
        if key.lower() not in COMMAND_KEYS:
            continue
        if isinstance(value, str):
            yield value
        elif isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            yield shlex.join(value) if key.lower() != "commands" else "\n".join(value)


def is_writing(tool_name: str) -> bool:
    """Whether a tool changes files, by its name."""
    return _WRITING.search(tool_name) is not None


def paths_of(tool_input: Mapping[str, Any]) -> Iterator[str]:
    """The values that may be paths or patterns of paths: no commands, and no texts to be written."""
    for key, value in _strings(tool_input):
        is_path = 0 < len(value) <= _LONGEST_PATH and "\n" not in value and "\0" not in value and "://" not in value
        if is_path and key.lower() not in COMMAND_KEYS and not _TEXT_KEYS.search(key):
            yield value


def texts_of(tool_input: Mapping[str, Any]) -> Iterator[str]:
    """All texts of a tool call."""
    yield from (value for _, value in _strings(tool_input))


def _strings(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Every text in a JSON value, with the key that it stands under."""
    pending = [(key, value)]
    while pending:
        name, each = pending.pop()
        if isinstance(each, str):
            yield name, each
        elif isinstance(each, Mapping):
            pending += [(str(inner), more) for inner, more in each.items()]
        elif isinstance(each, list):
            pending += [(name, more) for more in each]
