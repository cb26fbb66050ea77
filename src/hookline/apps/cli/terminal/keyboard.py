"""Keyboard input: lines with editing and history, and answers to questions."""

import asyncio
import os
import sys
import termios
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input.typeahead import clear_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.patch_stdout import patch_stdout

from hookline.apps.cli.terminal.pasted import discard_input, mark_pastes
from hookline.files import make_private_directory, state_path

_LOCAL_FLAGS = 3


class Keyboard:
    """Reads from the terminal. Raises KeyboardInterrupt for Ctrl-C and EOFError for Ctrl-D."""

    def __init__(self, commands: Sequence[str], on_expand: Callable[[], None] = lambda: None) -> None:
        self._lines: PromptSession[str] = PromptSession(
            history=_history(state_path("history")),
            completer=WordCompleter(list(commands), sentence=True),
            complete_while_typing=False,
            key_bindings=_bindings(on_expand),
        )
        self._answers: PromptSession[str] = PromptSession()
        self._asking: PromptSession[str] | None = None
        self._is_interrupted = False

    @property
    def has_text(self) -> bool:
        """True if the last line was not empty, even if it was not sent."""
        return bool(self._lines.default_buffer.text)

    async def read_line(self) -> str:
        """Return the next line; output is printed above it."""
        return await self._ask(self._lines, "> ")

    async def answer(self, question: str) -> str:
        """Return the answer to a question; keys typed before the question are discarded."""
        clear_typeahead(self._answers.input)
        discard_input()
        try:
            return await self._ask(self._answers, question)
        finally:
            mark_pastes(on=True)  # the prompt switched it off, and the agent is still working

    def interrupt(self) -> bool:
        """Act like Ctrl-C, for a SIGINT to the process. Return False if no input is awaited."""
        if self._asking is None:
            return False
        future = self._asking.app.future
        if future is None:
            self._is_interrupted = True  # the prompt has not started yet
        elif future.done():
            return False  # the line or answer was sent at the same moment
        else:
            self._asking.app.exit(exception=KeyboardInterrupt())
        return True

    @contextmanager
    def silenced(self) -> Iterator[None]:
        """Turn off echo while the agent works; keys typed then go to the next line.

        Pasted text is marked, so that several lines of it become one message.
        """
        try:
            before = termios.tcgetattr(sys.stdin)
        except termios.error:
            yield
            return
        quiet = [*before]
        quiet[_LOCAL_FLAGS] = before[_LOCAL_FLAGS] & ~(termios.ECHO | termios.ICANON)
        termios.tcsetattr(sys.stdin, termios.TCSANOW, quiet)
        mark_pastes(on=True)
        try:
            yield
        finally:
            mark_pastes(on=False)
            with suppress(termios.error):
                termios.tcsetattr(sys.stdin, termios.TCSANOW, before)

    async def _ask(self, session: PromptSession[str], message: str) -> str:
        self._asking, self._is_interrupted = session, False
        try:
            with patch_stdout(raw=True):
                # The conversation handles SIGINT itself.
                return await session.prompt_async(message, pre_run=self._started, handle_sigint=False)
        finally:
            self._asking = None

    def _started(self) -> None:
        if self._is_interrupted:
            asyncio.get_running_loop().call_soon(self.interrupt)


class _PrivateHistory(FileHistory):
    """A history file that ignores write errors."""

    def store_string(self, string: str) -> None:
        with suppress(OSError):
            super().store_string(string)


def _history(path: Path) -> History:
    try:
        make_private_directory(path.parent)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError:
        return InMemoryHistory()
    return _PrivateHistory(path)


def _bindings(on_expand: Callable[[], None]) -> KeyBindings:
    bindings = KeyBindings()

    @bindings.add("c-o")
    def _(_event: KeyPressEvent) -> None:
        on_expand()

    @bindings.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return bindings
