"""The question about a tool call: its words, a preview of what the call would do, and how an answer is read."""

import asyncio
import difflib
import json
import sys
from collections.abc import Iterator

from hookline.agent.approval import Approval
from hookline.agent.tool import ToolCall, ToolContext
from hookline.agent.tools.paths import locate
from hookline.cli.report.printer import print_question
from hookline.contract.text import printable

MAX_BYTES = 1024 * 1024

# Our own tools that need no preview: the question says everything.
_SELF_EVIDENT = frozenset({"read_file", "list_directory", "glob", "search_file_content", "run_shell_command"})
_CHOICE = "[y]es, [a]lways, [N]o:"
_ANSWERS = {
    "y": Approval.ALLOW_ONCE,
    "yes": Approval.ALLOW_ONCE,
    "a": Approval.ALLOW_ALWAYS,
    "always": Approval.ALLOW_ALWAYS,
}


def read_answer(text: str) -> Approval:
    """The user's answer; anything but a clear yes refuses."""
    return _ANSWERS.get(text.strip().lower(), Approval.REFUSE)


async def refuse(call: ToolCall, what: str) -> Approval:  # noqa: ARG001 - the answer does not depend on them
    """Refuses: there is no user to ask."""
    return Approval.REFUSE


async def ask(call: ToolCall, what: str) -> Approval:
    """Asks the user outside the interactive mode; anything but a clear yes refuses."""
    print_question(f"{call.name} wants to {what}. Allow it? {_CHOICE}", file=sys.stderr)
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[str] = loop.create_future()
    # Not in a thread: reading in a thread can't be interrupted.
    loop.add_reader(sys.stdin, lambda: None if answer.done() else answer.set_result(sys.stdin.readline()))
    try:
        return read_answer(await answer)
    finally:
        loop.remove_reader(sys.stdin)


def question(call: ToolCall) -> str:
    """The question after a preview; it repeats the tool's name, because other calls may have ended since then."""
    return printable(f"Allow {call.name}? {_CHOICE} ")


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
