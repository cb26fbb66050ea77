"""What a tool call does, whatever the agent calls its tools: the commands it runs, the files and addresses it names."""

import posixpath
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from hookline.hook import BeforeTool

_COMMAND_KEYS = frozenset(
    ("command", "cmd", "commands", "script", "shell_command", "bash", "commandline", "command_line")
)
_DIRECTORY_KEYS = ("directory", "dir_path", "cwd", "workdir", "working_directory")


def directory_of(event: BeforeTool) -> str:
    """Where a tool call runs its commands."""
    given = next((event.tool_input[key] for key in _DIRECTORY_KEYS if event.tool_input.get(key)), "")
    return posixpath.normpath(posixpath.join(event.cwd, given)) if isinstance(given, str) else event.cwd


def commands_of(tool_input: Mapping[str, Any]) -> Iterator[str]:
    """The shell commands of a tool call: under any of the usual keys, as a text or as a list of words."""
    for key, value in tool_input.items():
        if key.lower() not in _COMMAND_KEYS:
            continue
        if isinstance(value, str):
            yield value
        elif isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            yield shlex.join(value) if key.lower() != "commands" else "\n".join(value)
