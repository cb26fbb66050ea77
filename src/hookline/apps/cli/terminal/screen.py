"""The terminal's view of the agent at work."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.segment import Segment
from rich.text import Text

from hookline.apps.agent.conversation.transcript import PastSession
from hookline.apps.agent.events import (
    Event,
    HistoryCompressed,
    HooksFinished,
    ModelText,
    Note,
    ToolCallChanged,
    TurnEnded,
)
from hookline.apps.agent.tool import CallStatus, ToolCall
from hookline.apps.cli.terminal.activity import Activity
from hookline.apps.cli.terminal.blocks import split_blocks
from hookline.apps.cli.terminal.live import LiveArea
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
from hookline.protocol.text.readable import one_line, plain, text_lines
from hookline.protocol.text.strings import printable, short_paths, visible

_TICK_S = 0.1
_SIGNS: Mapping[CallStatus, tuple[str, str, str]] = {
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
    """Writes out whatever would act on the terminal, and no code before has written out."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            # Markdown decodes entities, so that `&#x202e;` becomes a character only here.
            yield segment if segment.control else segment._replace(text=visible(segment.text))


class Terminal:
    """Prints the agent's events; while the agent works, a status line says what it is waiting for."""

    def __init__(self) -> None:
        self.console = _SafeConsole(highlight=False, markup=False, emoji=False)
        self._is_unicode = self.console.encoding.lower().startswith("utf")
        self.activity = Activity()
        self._live = LiveArea(self.console)
        self._is_paused = False
        self._streamed = ""
        self._cut: ToolCall | None = None
        """The last call whose result was too long to be shown whole."""

    def listen(self, event: Event) -> None:
        """Takes an event of the agent."""
        self.activity.listen(event)
        match event:
            case ModelText():
                self._show_model(event)
            case ToolCallChanged() if event.call.status in _SIGNS:
                self._show_call(event.call)
            case HooksFinished() if not event.should_stop:
                self._show_decision(event)
            case HistoryCompressed():
                before, after = event.before_tokens, event.after_tokens
                self.say(f"The history was compressed from about {before} to about {after} tokens.", "dim")
            case Note():
                self.say(event.text, "red" if event.is_error else "yellow")
            case TurnEnded() if event.stopped and (line := ending(event)) is not None:
                self.say(line, "bold yellow")
            case _:
                pass

    def say(self, text: str, style: str = "") -> None:
        """Prints a line of hookline or of a hook."""
        self.say_parts((text, style))

    def say_parts(self, *parts: tuple[str, str]) -> None:
        """Prints a line that has several styles; where it is too long for the screen, the rest is indented."""
        line = Text.assemble(*((printable(text), style) for text, style in parts))
        first, *others = line.wrap(self.console, max(1, self.console.width - _INDENT))
        self.console.print(first)
        self._print_indented(*others)

    def indented(self, lines: Iterable[str], style: str) -> None:
        """Prints lines that belong to the line before them."""
        self._print_indented(*(Text(printable(line), style=style) for line in lines))

    def _print_indented(self, *things: RenderableType) -> None:
        """Prints what a stranger wrote: the first column is ours, so that a question there is a question of ours."""
        for thing in things:
            self.console.print(_indented(thing))

    def show_row(self, text: str, mark: str | None) -> None:
        """Prints a line of a question, or a row below it: part of a command, or of the changes to a file."""
        if mark is None:
            self.say(text, "bold")
        else:
            self.indented([text], _COLOURS.get(mark, "dim"))

    @asynccontextmanager
    async def busy(self, default: str) -> AsyncIterator[None]:
        """Shows the status line until the work inside is done."""
        self.activity.begin(default)
        ticker = asyncio.create_task(self._tick())
        try:
            yield
        finally:
            ticker.cancel()
            self._live.hide()
            # If the stream was cut off, the text so far is still worth reading.
            self._print_streamed(self._streamed)
            self._streamed = ""

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Hides the status line during a question to the user."""
        self._is_paused = True
        self._live.hide()
        try:
            yield
        finally:
            self._is_paused = False

    async def _tick(self) -> None:
        while True:
            self._refresh()
            await asyncio.sleep(_TICK_S)

    def _refresh(self) -> None:
        """Draws the text that is still arriving, and what is being waited for."""
        status = None if self._is_paused else self.activity.text()
        text = "" if self._is_paused else self._streamed
        if self.console.is_dumb_terminal or (status is None and not text.strip()):
            self._live.hide()
        else:
            arriving = _indented(_markdown(text)) if text.strip() else None
            self._live.show(arriving, None if status is None else one_line(status))

    def _show_model(self, event: ModelText) -> None:
        done, self._streamed = split_blocks(self._streamed + event.text)
        if event.is_final:
            done, self._streamed = done + self._streamed, ""
        self._print_streamed(done)

    def _print_streamed(self, text: str) -> None:
        if text.strip():
            # It was drawn while it arrived.
            self._live.hide()
            self._print_indented(_markdown(text))

    def show_past(self, past: PastSession) -> None:
        """Shows the end of a conversation that is resumed."""
        if past.prompt:
            rows = first_lines(text_lines(plain(past.prompt)), _PAST_ROWS)
            self.indented([f"> {row}" for row in rows], "dim")
        if past.answer is None:
            self.indented(["(a hook hides this answer)"], "dim")
        self._print_streamed(past.answer or "")

    def _show_call(self, call: ToolCall) -> None:
        sign, ascii_sign, style = _SIGNS[call.status]
        head = Text.assemble((sign if self._is_unicode else ascii_sign, style), " ", (printable(call.name), "bold"))
        subject = one_line(_subject(call.arguments))
        head.append(f" {subject}" if subject else "")
        # The line before this one says which hook blocked the call, and why.
        is_blocked = call.status is CallStatus.IDLE
        head.append(" was not run" if is_blocked else "", style="dim")
        self.console.print(head, overflow="ellipsis", no_wrap=True)
        if is_blocked:
            return
        self.indented(display_lines(call, f"{EXPAND_KEY} shows them"), "dim")
        if is_cut(call):
            self._cut = call

    def expand(self) -> None:
        """Shows all of the last result that was cut."""
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


def _markdown(text: str) -> Markdown:
    return Markdown(plain(text), code_theme="ansi_dark", hyperlinks=False)


def _indented(thing: RenderableType) -> Padding:
    return Padding(thing, (0, 0, 0, _INDENT), expand=False)


def _subject(arguments: Mapping[str, Any]) -> str:
    """The argument that tells most about a call, or all of them."""
    for name in _MAIN_ARGUMENTS:
        if isinstance(value := arguments.get(name), str):
            return value if name == "command" else short_paths(value)
    return json.dumps(dict(arguments), ensure_ascii=False, default=str) if arguments else ""
