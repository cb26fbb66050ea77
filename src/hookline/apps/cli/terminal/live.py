"""What is drawn again and again below the printed lines: text that is still arriving, and what the agent waits for."""

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.live import Live
from rich.segment import Segment
from rich.spinner import Spinner
from rich.text import Text

from hookline.protocol.text.readable import cut

# The rows that a screen has for other things: the status line, and the line below which the cursor stands.
_OTHER_ROWS = 4
_LEAST_ROWS = 3


class LiveArea:
    """The last rows of the screen, which disappear when they are hidden."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = None
        self._spinner = Spinner("dots" if console.encoding.lower().startswith("utf") else "line")

    def show(self, arriving: RenderableType | None, status: str | None) -> None:
        """Draws the end of what is arriving, and the status line below it."""
        rows: list[RenderableType] = [] if arriving is None else [_End(arriving)]
        if status is not None:
            # Cut, not wrapped: a status line that is redrawn must stay on one line.
            self._spinner.update(text=Text(cut(status, max(1, self._console.width - 3)), style="dim"))
            rows.append(self._spinner)
        if self._live is None:
            self._live = Live(console=self._console, transient=True, auto_refresh=False)
            self._live.start()
        self._live.update(Group(*rows), refresh=True)

    def hide(self) -> None:
        """Removes it."""
        if self._live is not None:
            self._live.stop()
            self._live = None


@dataclass(frozen=True, slots=True)
class _End:
    """As many of the last rows of something as fit on the screen: only what is on it can be drawn again."""

    whole: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        lines = console.render_lines(self.whole, options, pad=False)
        for line in lines[-max(_LEAST_ROWS, console.height - _OTHER_ROWS) :]:
            yield from line
            yield Segment.line()
