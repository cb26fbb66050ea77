"""The question about a tool call in the interactive mode, with a preview of what the call would do."""

import difflib
import json
from collections.abc import Iterator, Mapping

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from hookline.agent.tool import ToolCall, ToolContext
from hookline.agent.tools.paths import locate
from hookline.contract.text import visible

MAX_LINES = 40
MAX_BYTES = 1024 * 1024

# Our own tools that need no preview: the question says everything.
_SELF_EVIDENT = frozenset({"read_file", "list_directory", "glob", "search_file_content", "run_shell_command"})
_COLOURS: Mapping[str, str] = {"+": "green", "-": "red", "@": "cyan"}


def question(call: ToolCall) -> str:
    """The question; it repeats the tool's name, because other calls may have ended since the preview."""
    return f"Allow {visible(call.name)}? [y]es, [a]lways, [N]o: "


def show_call(console: Console, call: ToolCall, what: str, context: ToolContext) -> None:
    """Prints what the call would do: the command, or the changes to a file."""
    console.print(Text.assemble((visible(call.name), "bold"), f" wants to {visible(what)}"))
    lines = [visible(line) for line in preview(call, context)]
    if len(lines) > MAX_LINES:
        lines = [*lines[:MAX_LINES], f"… {len(lines) - MAX_LINES} more lines"]
    for line in lines:
        console.print(Padding(Text(line, style=_COLOURS.get(line[:1], "dim")), (0, 0, 0, 2), expand=False))


def preview(call: ToolCall, context: ToolContext) -> Iterator[str]:
    """The lines that show what a call would do; none when its question says everything."""
    match call.name, call.arguments:
        case "write_file", {"file_path": str(path), "content": str(content)}:
            yield from _changes(_read(path, context), content)
        case "replace", {"file_path": str(path), "old_string": str(old), "new_string": str(new)}:
            before = _read(path, context)
            yield from _changes(before, before.replace(old, new)) if old in before else _changes(old, new)
        case name, arguments if name not in _SELF_EVIDENT and arguments:
            yield from json.dumps(dict(arguments), ensure_ascii=False, indent=2, default=str).splitlines()


def _changes(before: str, after: str) -> Iterator[str]:
    """A unified diff without file names, which are in the question."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="")
    for number, line in enumerate(lines):
        if number > 1 and not (line.startswith("@@") and not before):
            yield line


def _read(path: str, context: ToolContext) -> str:
    """The current content of the file; empty when it can't be read."""
    file = locate(path, context)
    try:
        if not file.is_file():
            return ""  # also for pipes and devices: reading them might never end
        with file.open("rb") as stream:
            return stream.read(MAX_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""
