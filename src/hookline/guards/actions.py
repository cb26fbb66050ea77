"""The commands, files and texts in a tool call, independent of the name of the tool."""

import posixpath
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from hookline.guards.facts import patterns
from hookline.hook import BeforeTool
from hookline.shell.names import COMMAND_KEYS
from hookline.shell.patches import paths_in_patch

_P = patterns("tools")
_ARGUMENT_KEYS = ("args", "arguments", "argv")
_DIRECTORY_KEYS = ("directory", "dir_path", "cwd", "workdir", "working_directory")

_TYPED_KEYS = frozenset(("chars", "input", "text", "data", "keys", "stdin", "content", "characters", "value", "line"))


class NamedPath(NamedTuple):
    """A value of a tool call that may be a path or a pattern of paths."""

    path: str
    is_certain: bool
    """Whether the name of its argument says that it is one."""


def directory_of(event: BeforeTool) -> str:
    """The directory in which a tool call runs its commands."""
    given = next((event.tool_input[key] for key in _DIRECTORY_KEYS if event.tool_input.get(key)), "")
    return posixpath.normpath(posixpath.join(event.cwd, given)) if isinstance(given, str) else event.cwd


def commands_of(event: BeforeTool) -> Iterator[str]:
    """The shell commands of a tool call: under any of the usual keys, as a text or as a list of words."""
    types = _P["typing"].search(event.tool_name) is not None
    for arguments in _objects(event.tool_input):
        for key, value in arguments.items():
            if key.lower() in COMMAND_KEYS:
                yield from _commands(key.lower(), value, arguments)
            elif types and key.lower() in _TYPED_KEYS and isinstance(value, str | list):
                yield _typed(value)


def is_unfinished(event: BeforeTool) -> bool:
    """Whether a tool types a part of a line into a shell: what it becomes is only known when the rest comes."""
    return _P["typing"].search(event.tool_name) is not None and any(
        " " in line.strip() for each in commands_of(event) for line in each.split("\n")[-1:]
    )


def _commands(key: str, value: Any, arguments: Mapping[str, Any]) -> Iterator[str]:
    more: list[Any] = next((arguments[name] for name in _ARGUMENT_KEYS if isinstance(arguments.get(name), list)), [])
    if isinstance(value, str):
        yield " ".join((value, *(shlex.quote(str(word)) for word in more)))
    elif isinstance(value, list) and value and not any(isinstance(word, list | Mapping) for word in value):
        words = [str(word) for word in value]
        yield shlex.join(words) if key != "commands" else "\n".join(words)


def _typed(value: Any) -> str:
    text = value if isinstance(value, str) else "".join(str(each) for each in value)
    return _P["keys"].sub("", _P["enter"].sub("\n", text))


def is_writing(tool_name: str) -> bool:
    """Whether a tool changes files, by its name."""
    return _P["writing"].search(tool_name) is not None


def is_searching(tool_name: str) -> bool:
    """Whether a tool searches the text of many files, by its name."""
    return _P["searching"].search(tool_name) is not None


def paths_of(tool_input: Mapping[str, Any]) -> Iterator[NamedPath]:
    """The values that may be paths or patterns of paths, whatever they look like: no commands, no texts to be written.

    The names of members below the arguments may be paths, too, and a patch names the files that it changes.
    """
    for key, value in _strings(tool_input):
        if key.lower() in COMMAND_KEYS or not value:
            continue
        if not _P["text_keys"].search(key):
            if not (_P["address_keys"].search(key) and _P["address"].match(value)):
                yield NamedPath(value, is_certain=_P["path_keys"].search(key) is not None)
        else:
            yield from (NamedPath(path, is_certain=True) for path in paths_in_patch(value))
    for arguments in _objects(tool_input):
        if arguments is not tool_input:
            yield from (NamedPath(key, is_certain=False) for key in arguments if "." in key or "/" in key)


def texts_of(tool_input: Mapping[str, Any]) -> Iterator[str]:
    """All texts of a tool call."""
    yield from (value for _, value in _strings(tool_input))


def _objects(value: Any) -> Iterator[Mapping[str, Any]]:
    """Every object in a JSON value, itself first."""
    pending = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, Mapping):
            yield each
            pending += each.values()
        elif isinstance(each, list):
            pending += each


def _strings(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Every text in a JSON value, with its key."""
    pending = [(key, value)]
    while pending:
        name, each = pending.pop()
        if isinstance(each, str):
            yield name, each
        elif isinstance(each, Mapping):
            pending += [(str(inner), more) for inner, more in each.items()]
        elif isinstance(each, list):
            pending += [(name, more) for more in each]
