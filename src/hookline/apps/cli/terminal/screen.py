"""Shows the agent's events on a terminal."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markdown import Heading, Markdown
from rich.padding import Padding
from rich.segment import Segment
from rich.text import Text

from hookline.apps.agent.conversation.transcript import PastSession
from hookline.apps.agent.events import (
    AgentEvent,
    HistoryCompressed,
    HooksFinished,
    ModelText,
    Notice,
    ToolCallChanged,
    TurnEnded,
)
from hookline.apps.agent.tool import AgentCall, CallStatus
from hookline.apps.cli.terminal.activity import Activity
from hookline.apps.cli.terminal.output import (
    all_lines,
    display_lines,
    ending,
    first_lines,
    is_cut,
    names,
    not_called,
    not_sent,
)
from hookline.protocol.events import HookEventName
from hookline.protocol.text.readable import cut, one_line, plain, text_lines
from hookline.protocol.text.strings import printable, short_paths, visible

if TYPE_CHECKING:
    from rich.status import Status

_TICK_S = 0.1
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_SYMBOLS: Mapping[CallStatus, tuple[str, str, str]] = {
    CallStatus.SUCCESS: ("✓", "+", "green"),
    CallStatus.ERROR: ("✗", "x", "red"),
    CallStatus.CANCELLED: ("-", "-", "yellow"),
    CallStatus.IDLE: ("⊘", "/", "yellow"),
}
_COLOURS: Mapping[str, str] = {"+": "green", "-": "red", "@": "cyan"}
_INDENT = 2
_PAST_ROWS = 10
EXPAND_KEY = "Ctrl-O"
_MAIN_ARGUMENTS = ("file_path", "command", "pattern", "path")


class _SafeConsole(Console):
    """Escapes control characters that earlier layers let through."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            # Markdown decodes entities, so `&#x202e;` becomes a character only here.
            yield segment if segment.control else segment._replace(text=visible(segment.text))


class _LeftHeading(Heading):
    """A heading at the left margin, where the text begins; Rich centres the first level on the screen."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the text."""
        text = self.text.copy()
        text.justify = "left"
        yield text


class _MarkdownText(Markdown):
    """Markdown of a model."""

    elements = {**Markdown.elements, "heading_open": _LeftHeading}  # noqa: RUF012 - as in Rich


class Terminal:
    """Prints the agent's events, and a status line while the agent works."""

    def __init__(self) -> None:
        self.console = _SafeConsole(highlight=False, markup=False, emoji=False)
        self._is_unicode = self.console.encoding.lower().startswith("utf")
        self.activity = Activity()
        self._status: Status | None = None
        self._is_paused = False
        self._streamed = ""
        self._cut: AgentCall | None = None
        """The last call whose result was shown in part."""

    def listen(self, event: AgentEvent) -> None:
        """Handle an event of the agent."""
        self.activity.listen(event)
        match event:
            case ModelText():
                self._show_model(event)
            case ToolCallChanged() if event.call.status in _SYMBOLS:
                self._show_call(event.call)
            case HooksFinished() if not event.should_stop:
                self._show_decision(event)
            case HistoryCompressed():
                before, after = event.before_tokens, event.after_tokens
                self.say(f"The history was compressed from about {before} to about {after} tokens.", "dim")
            case Notice():
                self.say(event.text, "red" if event.is_error else "yellow")
            case TurnEnded() if event.stopped and (line := ending(event)) is not None:
                self.say(line, "bold yellow")
            case _:
                pass

    def say(self, text: str, style: str = "") -> None:
        """Print a line of hookline or of a hook."""
        self.say_parts((text, style))

    def say_parts(self, *parts: tuple[str, str]) -> None:
        """Print a line with several styles; if it is too long for the screen, the rest is indented."""
        line = Text.assemble(*((printable(text), style) for text, style in parts))
        first, *others = line.wrap(self.console, max(1, self.console.width - _INDENT))
        self.console.print(first)
        self._print_indented(*others)

    def indented(self, lines: Iterable[str], style: str) -> None:
        """Print lines below the line that they belong to."""
        self._print_indented(*(Text(printable(line), style=style) for line in lines))

    def _print_indented(self, *things: RenderableType) -> None:
        """Print untrusted text. Only hookline writes in the first column, so a question there is genuine."""
        for thing in things:
            self.console.print(Padding(thing, (0, 0, 0, _INDENT), expand=False))

    def show_row(self, text: str, mark: str | None) -> None:
        """Print a line of a question, or a row of a command or a diff below it."""
        if mark is None:
            self.say(text, "bold")
        else:
            self.indented([text], _COLOURS.get(mark, "dim"))

    @asynccontextmanager
    async def busy(self, default: str) -> AsyncIterator[None]:
        """Show the status line until the block ends."""
        self.activity.begin(default)
        ticker = asyncio.create_task(self._tick())
        try:
            yield
        finally:
            ticker.cancel()
            self._hide_status()
            # If the stream was cut off, the text so far is still worth reading.
            self._print_markdown(self._streamed)
            self._streamed = ""

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Hide the status line during a question to the user."""
        self._is_paused = True
        self._hide_status()
        try:
            yield
        finally:
            self._is_paused = False

    async def _tick(self) -> None:
        while True:
            self._refresh()
            await asyncio.sleep(_TICK_S)

    def _refresh(self) -> None:
        """Draw the status line: the activity, or that a paragraph is arriving."""
        text = self.activity.text() or ("writing…" if self._streamed.strip() else None)
        if text is None or self._is_paused or self.console.is_dumb_terminal:
            self._hide_status()
            return
        # Cut, not wrapped: a status line must fit on one line to be redrawn.
        line = Text(cut(one_line(text), max(1, self.console.width - 3)), style="dim")
        if self._status is None:
            self._status = self.console.status(line, spinner="dots" if self._is_unicode else "line")
            self._status.start()
        else:
            self._status.update(line)

    def _hide_status(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None

    def _show_model(self, event: ModelText) -> None:
        done, self._streamed = split_blocks(self._streamed + event.text)
        if event.is_final:
            done, self._streamed = done + self._streamed, ""
        self._print_markdown(done)

    def _print_markdown(self, text: str) -> None:
        if text.strip():
            self._print_indented(_MarkdownText(plain(text), code_theme="ansi_dark", hyperlinks=False))

    def show_past(self, past: PastSession) -> None:
        """Show the end of a resumed conversation."""
        if past.prompt:
            rows = first_lines(text_lines(plain(past.prompt)), _PAST_ROWS)
            self.indented([f"> {row}" for row in rows], "dim")
        if past.answer is None:
            self.indented(["(a hook hides this answer)"], "dim")
        self._print_markdown(past.answer or "")

    def _show_call(self, call: AgentCall) -> None:
        symbol, ascii_symbol, style = _SYMBOLS[call.status]
        head = Text.assemble((symbol if self._is_unicode else ascii_symbol, style), " ", (printable(call.name), "bold"))
        subject = one_line(_subject(call.arguments))
        head.append(f" {subject}" if subject else "")
        # The previous line names the hook that blocked the call, and its reason.
        is_blocked = call.status is CallStatus.IDLE
        head.append(" was not run" if is_blocked else "", style="dim")
        self.console.print(head, overflow="ellipsis", no_wrap=True)
        if is_blocked:
            return
        self.indented(display_lines(call, f"{EXPAND_KEY} shows them"), "dim")
        if is_cut(call):
            self._cut = call

    def expand(self) -> None:
        """Show all of the last result that was cut."""
        if self._cut is None:
            self.say("No output was cut.", "dim")
            return
        self.say(f"All of {self._cut.name}:", "dim")
        self.indented(all_lines(self._cut), "dim")

    def _show_decision(self, event: HooksFinished) -> None:
        match event.event:
            case HookEventName.BEFORE_AGENT if event.blocked:
                self.say(not_sent(event.reason, event.decided_by), "yellow")
            case HookEventName.BEFORE_AGENT if event.effect is not None:
                self.say("hooks changed the prompt", "dim")
            case HookEventName.BEFORE_MODEL if event.blocked:
                self.say(not_called(event.reason, event.decided_by), "yellow")
            case HookEventName.BEFORE_TOOL if event.blocked:
                self.say(f"{names(event.decided_by)} blocked {event.subject}: {event.reason}", "yellow")
            case HookEventName.BEFORE_TOOL if event.effect is not None:
                self.say(f"hooks changed the arguments of {event.subject}", "dim")
            case _:
                pass


def split_blocks(text: str) -> tuple[str, str]:
    """Return the complete Markdown blocks and the rest; a blank line ends a block, except inside a fence."""
    end = position = 0
    fence = ""
    for line in text.splitlines(keepends=True):
        position += len(line)
        found = _FENCE.match(line)
        if fence:
            if found and found[1].startswith(fence) and not line.strip(" `~\n"):
                fence = ""
        elif found:
            fence = found[1]
        elif line.endswith("\n") and not line.strip():
            end = position
    return text[:end], text[end:]


def _subject(arguments: Mapping[str, Any]) -> str:
    """Return the most informative argument of a call, or all of them."""
    for name in _MAIN_ARGUMENTS:
        if isinstance(value := arguments.get(name), str):
            return value if name == "command" else short_paths(value)
    return json.dumps(dict(arguments), ensure_ascii=False, default=str) if arguments else ""
