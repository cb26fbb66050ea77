"""The question about a tool call: its text, the dialogue and the answer."""

import asyncio
import difflib
import json
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any, Protocol

from hookline.apps.agent.approval.approver import Approval, ApprovalRequest, UserReply
from hookline.apps.agent.tool import AgentCall, ToolContext
from hookline.apps.agent.tools.paths import locate
from hookline.apps.cli.report.printer import print_lines, print_question
from hookline.apps.cli.terminal.output import names
from hookline.apps.cli.terminal.pasted import discard_input, is_pasted, marked_pastes
from hookline.protocol.text.readable import cut, one_line, text_lines
from hookline.protocol.text.strings import printable, visible

MAX_BYTES = 1024 * 1024
MAX_ROWS = 40
"""The number of rows in the question; `v` shows all."""

# Built-in tools without a preview, because the question says everything.
_LEAST_SUBJECT = 24
_SELF_EVIDENT = frozenset({"read_file", "list_directory", "glob", "search_file_content", "run_shell_command"})
_YES = frozenset({"y", "yes"})
_ALWAYS = frozenset({"a", "always"})
_NO = re.compile(r"(?:no?)?|no?\s*[:,]\s*(?P<why>.*)|no?\s+(?P<because>.*)", re.IGNORECASE | re.DOTALL)

_JSON_PIECE = re.compile(r"\\.|[^\\]+")

# Text of a row, and the first character of the line that it belongs to.
Row = tuple[str, str]


class Choice(Enum):
    """An answer without a decision."""

    VIEW = "view"
    UNKNOWN = "unknown"


class Dialogue(Protocol):
    """A terminal with a user."""

    def show(self, text: str, mark: str | None = None) -> None:
        """Print a line, or a row below it: `mark` is `+` or `-` for a change."""

    async def read(self, question: str) -> str:
        """Return the user's answer, typed after the question. Raises EOFError at the end of the input."""


async def ask(request: ApprovalRequest, context: ToolContext, dialogue: Dialogue) -> UserReply:
    """Ask until the user decides; the end of the input refuses."""
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
                case UserReply() as reply if reply.decision is not Approval.ALLOW_ALWAYS or always is not None:
                    return reply
                case Choice.VIEW:
                    await _page(_lines(request, context, whole=True), dialogue)
                case _:
                    also = ", a (always)" if always is not None else ""
                    dialogue.show(f"Type y (yes){also}, v (view all), n (no), or n: and what the model should know.")
    except EOFError:
        return UserReply(Approval.REFUSE)


def read_answer(text: str) -> UserReply | Choice:
    """Return the decision or the choice; an empty answer is a no."""
    answer = text.strip()
    if answer.lower() in _YES:
        return UserReply(Approval.ALLOW_ONCE)
    if answer.lower() in _ALWAYS:
        return UserReply(Approval.ALLOW_ALWAYS)
    if answer.lower() in ("v", "view"):
        return Choice.VIEW
    found = _NO.fullmatch(answer)
    return Choice.UNKNOWN if found is None else UserReply(Approval.REFUSE, found["why"] or found["because"] or "")


class PlainTerminal:
    """The dialogue with `--prompt`: questions on stderr, answers from stdin."""

    def show(self, text: str, mark: str | None = None) -> None:
        """Print a line."""
        print_lines(text if mark is None else f"  {text}", file=sys.stderr)

    async def read(self, question: str) -> str:
        """Return the next line; earlier input is discarded, and pasted text is not an answer."""
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
        # Not in a thread, because a blocking read there can't be cancelled.
        loop.add_reader(sys.stdin, lambda: None if answer.done() else answer.set_result(sys.stdin.readline()))
        try:
            return await answer
        finally:
            loop.remove_reader(sys.stdin)


def preview(call: AgentCall, context: ToolContext) -> Iterator[str]:
    """Yield the lines of a preview; none if the question says everything."""
    match call.name, call.arguments:
        case "write_file", {"file_path": str(path), "content": str(content)}:
            yield from _changes(_read(path, context), content)
        case "replace", {"file_path": str(path), "old_string": str(old), "new_string": str(new)}:
            before = _read(path, context)
            yield from _changes(before, before.replace(old, new)) if old in before else _changes(old, new)
        case name, arguments if name not in _SELF_EVIDENT and arguments:
            yield from _argument_lines(arguments)


def _question(request: ApprovalRequest, choice: str) -> str:
    """Return the question with its subject, because many lines may separate it from the first line."""
    space = shutil.get_terminal_size().columns - len(f"Allow ? {choice}: ") - 1
    subject = one_line(printable(f"{request.call.name} to {request.what}"))
    # A wide character takes two columns.
    width = max(_LEAST_SUBJECT, space if subject.isascii() else space // 2)
    return f"Allow {cut(subject, width)}? {choice}: "


def _lines(request: ApprovalRequest, context: ToolContext, *, whole: bool = False) -> Iterator[str]:
    """Yield the lines of a request, safe for a terminal; the first one is the tool and its effect."""
    call = request.call
    shown = list(preview(call, context))
    arguments = _argument_lines(call.arguments)
    if shown != arguments and (whole or (request.asked is not None and call.name in _SELF_EVIDENT)):
        shown += arguments
    yield from visible(f"{printable(call.name)} wants to {request.what}").splitlines()
    if request.asked is not None:
        yield from visible(f"{names(request.asked.hooks)} asks: {request.asked}").splitlines()
    yield from map(visible, shown)
    if request.before is not None:
        yield "hooks changed the arguments:"
        yield from map(visible, _changes("\n".join(_texts(request.before)), "\n".join(_texts(call.arguments))))


def _argument_lines(arguments: Mapping[str, Any]) -> list[str]:
    """Return the arguments as JSON, with a row for each line of a text."""
    text = json.dumps(dict(arguments), ensure_ascii=False, indent=2, default=str)
    return [row for line in text.splitlines() for row in _text_rows(line)]


def _text_rows(line: str) -> list[str]:
    """Split a line of JSON at the line breaks of its text."""
    indent = " " * (len(line) - len(line.lstrip(" ")) + 2)
    broken = "".join(f"\\n\n{indent}| " if piece == "\\n" else piece for piece in _JSON_PIECE.findall(line))
    return broken.split("\n")


def _texts(arguments: Mapping[str, Any]) -> Iterator[str]:
    """Yield each argument with its name, for a diff."""
    for name, value in arguments.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        yield f"{name}: {text}"


async def _page(lines: Iterable[str], dialogue: Dialogue) -> None:
    """Show all lines, one screen after another."""
    rows = list(_rows(lines))
    height = max(4, shutil.get_terminal_size().lines - 2)
    for start in range(0, len(rows), height):
        for row in rows[start : start + height]:
            dialogue.show(*row)
        left = len(rows) - start - height
        if left > 0 and (await dialogue.read(f"{left} more lines; Enter shows them, q ends: ")).strip():
            return


def _rows(lines: Iterable[str]) -> Iterator[Row]:
    """Split lines to fit on the screen, indented by two columns, so that none looks like a question."""
    width = max(10, shutil.get_terminal_size().columns - 3)
    for line in lines:
        text = line.expandtabs()
        # A wide character takes two columns.
        wide = width if text.isascii() else width // 2
        yield from ((text[start : start + wide], text[:1]) for start in range(0, max(1, len(text)), wide))


def _changes(before: str, after: str) -> Iterator[str]:
    """Yield a unified diff without file names, which are in the question."""
    lines = difflib.unified_diff(text_lines(before), text_lines(after), lineterm="")
    for number, line in enumerate(lines):
        if number > 1 and not (line.startswith("@@") and not before):
            yield line


def _read(path: str, context: ToolContext) -> str:
    """Return the content of the file, or an empty text if it can't be read."""
    file = locate(path, context)
    try:
        if not file.is_file():
            return ""  # reading a FIFO or device might never end
        with file.open("rb") as stream:
            return stream.read(MAX_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""
