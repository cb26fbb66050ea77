"""A status line for `hookline agent --prompt` on a terminal: what is being waited for, while nothing comes."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from hookline.apps.agent.events import Event, ModelText
from hookline.apps.cli.main import terminal_columns
from hookline.apps.cli.report.printer import StatusLine
from hookline.apps.cli.terminal.activity import Activity
from hookline.protocol.text.readable import cut, one_line

_TICK_S = 0.1


class Waiting:
    """Shows it on stderr while `busy`, and removes it before anything else is printed."""

    def __init__(self) -> None:
        self._line = StatusLine(sys.stderr)
        self._activity = Activity()
        self._is_wanted = sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self._is_held = False
        """True during a question, and while the cursor stands behind a part of the model's text."""

    def listen(self, event: Event) -> None:
        """Takes in what the agent tells, before it is printed."""
        self._line.hide()
        self._activity.listen(event)
        if isinstance(event, ModelText):
            self._is_held = not event.is_final and not event.text.endswith("\n")

    @asynccontextmanager
    async def busy(self, default: str = "thinking") -> AsyncIterator[None]:
        """Shows what is being waited for until the work inside is done."""
        if not self._is_wanted:
            yield
            return
        self._activity.begin(default)
        whole, sys.stderr = sys.stderr, _Beside(sys.stderr, self._line.hide)
        ticker = asyncio.create_task(self._tick())
        try:
            yield
        finally:
            ticker.cancel()
            self._line.hide()
            sys.stderr = whole

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Hides it during a question."""
        self._is_held = True
        self._line.hide()
        try:
            yield
        finally:
            self._is_held = False

    async def _tick(self) -> None:
        while True:
            text = None if self._is_held else self._activity.text()
            if text is None:
                self._line.hide()
            else:
                self._line.show(cut(one_line(text), max(1, terminal_columns() - 3)))
            await asyncio.sleep(_TICK_S)


class _Beside:
    """A stream that others write to, which makes room first."""

    def __init__(self, stream: Any, make_room: Callable[[], None]) -> None:
        self._stream = stream
        self._make_room = make_room

    def write(self, text: str) -> Any:
        """Writes behind what was written before, not behind the status line."""
        self._make_room()
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
