"""Asks a person at the terminal about a tool call, and shows what it would do."""

import difflib
import json
from collections.abc import Iterator, Mapping

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from hookline.agent.approval import Approval
from hookline.agent.tool import ToolCall, ToolContext
from hookline.agent.tools.paths import locate
from hookline.contract.text import visible

MAX_LINES = 40
MAX_BYTES = 1024 * 1024

_ANSWERS: Mapping[str, Approval] = {
    "y": Approval.ALLOW_ONCE,
    "yes": Approval.ALLOW_ONCE,
    "a": Approval.ALLOW_ALWAYS,
    "always": Approval.ALLOW_ALWAYS,
}
# Our own tools whose question says everything.
_SELF_EVIDENT = frozenset({"read_file", "list_directory", "glob", "search_file_content", "run_shell_command"})
_COLOURS: Mapping[str, str] = {"+": "green", "-": "red", "@": "cyan"}


def question(call: ToolCall) -> str:
    """What is asked; the tool's name is in it, because other calls may have ended since it was shown."""
    return f"Allow {visible(call.name)}? [y]es, [a]lways, [N]o: "


def read_answer(text: str) -> Approval:
    """What was said; anything but a clear yes refuses."""
    return _ANSWERS.get(text.strip().lower(), Approval.REFUSE)


def show_call(console: Console, call: ToolCall, what: str, context: ToolContext) -> None:
    """Prints what the call would do: the command, or the changes that would be written."""
    console.print(Text.assemble((visible(call.name), "bold"), f" wants to {visible(what)}"))
    lines = [visible(line) for line in preview(call, context)]
    if len(lines) > MAX_LINES:
        lines = [*lines[:MAX_LINES], f"… {len(lines) - MAX_LINES} more lines"]
    for line in lines:
        console.print(Padding(Text(line, style=_COLOURS.get(line[:1], "dim")), (0, 0, 0, 2), expand=False))


def preview(call: ToolCall, context: ToolContext) -> Iterator[str]:
    """The lines that show what a call would do, where its question does not say everything."""
    match call.name, call.arguments:
        case "write_file", {"file_path": str(path), "content": str(content)}:
            yield from _changes(_read(path, context), content)
        case "replace", {"file_path": str(path), "old_string": str(old), "new_string": str(new)}:
            before = _read(path, context)
            yield from _changes(before, before.replace(old, new)) if old in before else _changes(old, new)
        case name, arguments if name not in _SELF_EVIDENT and arguments:
            yield from json.dumps(dict(arguments), ensure_ascii=False, indent=2, default=str).splitlines()


def _changes(before: str, after: str) -> Iterator[str]:
    """A unified diff without the names of files, which the question has said."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="")
    for number, line in enumerate(lines):
        if number > 1 and not (line.startswith("@@") and not before):
            yield line


def _read(path: str, context: ToolContext) -> str:
    """The file as it is now; nothing where there is none that can be shown."""
    file = locate(path, context)
    try:
        if not file.is_file():
            return ""  # also for pipes and devices, from which reading might never end
        with file.open("rb") as stream:
            return stream.read(MAX_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""
