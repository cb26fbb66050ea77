"""The question about a tool call: what the user is shown, how an answer is read, and the dialogue between them."""

import asyncio
import difflib
import json
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any, Protocol

from hookline.apps.agent.approval.approver import Approval, Reply, Request
from hookline.apps.agent.tool import ToolCall, ToolContext
from hookline.apps.agent.tools.paths import locate
from hookline.apps.cli.report.printer import print_lines, print_question
from hookline.apps.cli.terminal.output import names
from hookline.apps.cli.terminal.pasted import discard_input, is_pasted, marked_pastes
from hookline.protocol.text.readable import cut, one_line, text_lines
from hookline.protocol.text.strings import printable, visible

MAX_BYTES = 1024 * 1024
MAX_ROWS = 40
"""How many rows are shown before the user asks for all."""

# Our own tools that need no preview: the question says everything.
_LEAST_SUBJECT = 24
_SELF_EVIDENT = frozenset({"read_file", "list_directory", "glob", "search_file_content", "run_shell_command"})
_YES = frozenset({"y", "yes"})
_ALWAYS = frozenset({"a", "always"})
_NO = re.compile(r"(?:no?)?|no?\s*[:,]\s*(?P<why>.*)|no?\s+(?P<because>.*)", re.IGNORECASE | re.DOTALL)

_JSON_PIECE = re.compile(r"\\.|[^\\]+")

# Text of a row, and the first character of the line that it belongs to.
Row = tuple[str, str]


class Wish(Enum):
    """An answer that decides nothing yet."""

    VIEW = "view"
    UNKNOWN = "unknown"


class Dialogue(Protocol):
    """A terminal with a user."""

    def show(self, text: str, mark: str | None = None) -> None:
        """Prints a line, or a row that belongs to the line before it: `mark` is `+` or `-` where that is a change."""

    async def read(self, question: str) -> str:
        """The user's answer, typed after the question was shown. Raises EOFError when the input has ended."""


async def refuse(request: Request) -> Reply:  # noqa: ARG001 - the answer does not depend on it
    """Refuses: there is no user to ask."""
    return Reply(Approval.REFUSE)


async def ask(request: Request, context: ToolContext, dialogue: Dialogue) -> Reply:
    """Asks until the user decides; the end of the input refuses."""
    always = None if request.always is None else printable(request.always)
    (head, _), *rows = _rows(_lines(request, context))
    dialogue.show(head)
    for row in rows[:MAX_ROWS]:
        dialogue.show(*row)
    if len(rows) > MAX_ROWS:
        dialogue.show(f"… {len(rows) - MAX_ROWS} more lines; v shows all of them")
    if always is not None:
        (covers, _), *rest = _rows([f"[a]lways: {always} in this session"])
        dialogue.show(covers)
        for row in rest:
            dialogue.show(*row)
    question = _question(request, "[y]es, [a]lways, [v]iew, [N]o" if always is not None else "[y]es, [v]iew, [N]o")
    try:
        while True:
            match read_answer(await dialogue.read(question)):
                case Reply() as reply if reply.decision is not Approval.ALLOW_ALWAYS or always is not None:
                    return reply
                case Wish.VIEW:
                    await _page(_lines(request, context, whole=True), dialogue)
                case _:
                    also = ", a (always)" if always is not None else ""
                    dialogue.show(f"Type y (yes){also}, v (view all), n (no), or n: and what the model should know.")
    except EOFError:
        return Reply(Approval.REFUSE)


def read_answer(text: str) -> Reply | Wish:
    """What the user wants; nothing typed is a no."""
    answer = text.strip()
    if answer.lower() in _YES:
        return Reply(Approval.ALLOW_ONCE)
    if answer.lower() in _ALWAYS:
        return Reply(Approval.ALLOW_ALWAYS)
    if answer.lower() in ("v", "view"):
        return Wish.VIEW
    found = _NO.fullmatch(answer)
    return Wish.UNKNOWN if found is None else Reply(Approval.REFUSE, found["why"] or found["because"] or "")


class PlainTerminal:
    """The user outside the interactive mode: questions on stderr, answers from stdin."""

    def show(self, text: str, mark: str | None = None) -> None:
        """Prints a line."""
        print_lines(text if mark is None else f"  {text}", file=sys.stderr)

    async def read(self, question: str) -> str:
        """The next line; what was typed before the question is discarded, and pasted text is none of the answers."""
        discard_input()
        with marked_pastes():
            line = await self._line(question)
        if is_pasted(line):
            discard_input(of_paste=True)
        if not line.endswith("\n"):
            raise EOFError
        return line

    async def _line(self, question: str) -> str:
        print_question(question.rstrip(), file=sys.stderr)
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[str] = loop.create_future()
        # Not in a thread: reading in a thread can't be interrupted.
        loop.add_reader(sys.stdin, lambda: None if answer.done() else answer.set_result(sys.stdin.readline()))
        try:
            return await answer
        finally:
            loop.remove_reader(sys.stdin)


def preview(call: ToolCall, context: ToolContext) -> Iterator[str]:
    """The lines that show what a call would do; none when its question says everything."""
    match call.name, call.arguments:
        case "write_file", {"file_path": str(path), "content": str(content)}:
            yield from _changes(_read(path, context), content)
        case "replace", {"file_path": str(path), "old_string": str(old), "new_string": str(new)}:
            before = _read(path, context)
            yield from _changes(before, before.replace(old, new)) if old in before else _changes(old, new)
        case name, arguments if name not in _SELF_EVIDENT and arguments:
            yield from _argument_lines(arguments)


def _question(request: Request, choice: str) -> str:
    """The question, with its subject: the lines above it may be long, and other calls may have ended since then."""
    space = shutil.get_terminal_size().columns - len(f"Allow ? {choice}: ") - 1
    subject = one_line(printable(f"{request.call.name} to {request.what}"))
    # A wide character takes two columns.
    width = max(_LEAST_SUBJECT, space if subject.isascii() else space // 2)
    return f"Allow {cut(subject, width)}? {choice}: "


def _lines(request: Request, context: ToolContext, *, whole: bool = False) -> Iterator[str]:
    """What is shown of a request, safe for a terminal; the first line says who wants what."""
    call = request.call
    shown = list(preview(call, context))
    arguments = _argument_lines(call.arguments)
    if shown != arguments and (whole or (request.asked is not None and call.name in _SELF_EVIDENT)):
        shown += arguments
    yield from visible(f"{printable(call.name)} wants to {request.what}").splitlines()
    if request.asked is not None:
        yield from visible(f"{names(request.asked.hooks)} asks: {request.asked.reason}").splitlines()
    yield from map(visible, shown)
    if request.before is not None:
        yield "hooks changed the arguments:"
        yield from map(visible, _changes("\n".join(_texts(request.before)), "\n".join(_texts(call.arguments))))


def _argument_lines(arguments: Mapping[str, Any]) -> list[str]:
    """The arguments as JSON, with a row for each line of a text in it."""
    text = json.dumps(dict(arguments), ensure_ascii=False, indent=2, default=str)
    return [row for line in text.splitlines() for row in _text_rows(line)]


def _text_rows(line: str) -> list[str]:
    """A line of JSON, broken where the text in it has a line break."""
    indent = " " * (len(line) - len(line.lstrip(" ")) + 2)
    broken = "".join(f"\\n\n{indent}| " if piece == "\\n" else piece for piece in _JSON_PIECE.findall(line))
    return broken.split("\n")


def _texts(arguments: Mapping[str, Any]) -> Iterator[str]:
    """Each argument under its name, so that the lines of a text can be compared."""
    for name, value in arguments.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        yield f"{name}: {text}"


async def _page(lines: Iterable[str], dialogue: Dialogue) -> None:
    """Shows all lines, one screen after another."""
    rows = list(_rows(lines))
    height = max(4, shutil.get_terminal_size().lines - 2)
    for start in range(0, len(rows), height):
        for row in rows[start : start + height]:
            dialogue.show(*row)
        left = len(rows) - start - height
        if left > 0 and (await dialogue.read(f"{left} more lines; Enter shows them, q ends: ")).strip():
            return


def _rows(lines: Iterable[str]) -> Iterator[Row]:
    """The lines as they fit on the screen, two columns indented: no line can look like one of ours."""
    width = max(10, shutil.get_terminal_size().columns - 3)
    for line in lines:
        text = line.expandtabs()
        # A wide character takes two columns.
        wide = width if text.isascii() else width // 2
        yield from ((text[start : start + wide], text[:1]) for start in range(0, max(1, len(text)), wide))


def _changes(before: str, after: str) -> Iterator[str]:
    """A unified diff without file names, which are in the question."""
    lines = difflib.unified_diff(text_lines(before), text_lines(after), lineterm="")
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
