"""With --prompt on a terminal, a status line says what is being waited for, and never mixes with other output."""

import asyncio
import io
from collections.abc import Awaitable, Callable
from contextlib import redirect_stderr

import pytest

from hookline.apps.agent.events import ModelText
from hookline.apps.cli.terminal.waiting import Waiting
from hookline.protocol.text.strings import warn_user

ERASED = "\r\x1b[K"


class Tty(io.StringIO):
    """A terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        """It is one."""
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Tty:
    """The stderr of a command that waits for something at once."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("hookline.apps.cli.terminal.activity.PATIENCE_S", -1.0)
    monkeypatch.setattr("hookline.apps.cli.terminal.waiting._TICK_S", 0)
    return Tty()


async def ticks() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def during(work: Callable[[Waiting], Awaitable[None]], stderr: io.StringIO) -> None:
    async def run() -> None:
        waiting = Waiting()
        async with waiting.busy():
            await work(waiting)

    with redirect_stderr(stderr):
        asyncio.run(run())


def test_it_disappears_before_anything_else_is_printed(terminal: Tty) -> None:
    """A message of ours begins on a line of its own, whoever writes it."""

    async def work(_waiting: Waiting) -> None:
        await ticks()
        assert "thinking" in terminal.getvalue()
        warn_user("a message")

    during(work, terminal)
    assert f"{ERASED}hookline: a message\n" in terminal.getvalue()
    assert terminal.getvalue().rpartition("\n")[2] in ("", ERASED)


def test_a_question_stands_still(terminal: Tty) -> None:
    """Nothing is drawn while a person reads it and types."""

    async def work(waiting: Waiting) -> None:
        await ticks()
        with waiting.paused():
            before = terminal.getvalue()
            await ticks()
            assert terminal.getvalue() == before
        await ticks()
        assert terminal.getvalue() != before

    during(work, terminal)


def test_a_line_of_the_model_stands_still_until_it_ends(terminal: Tty) -> None:
    """The cursor is behind its text, where a status line would overwrite it."""

    async def work(waiting: Waiting) -> None:
        waiting.listen(ModelText(text="half a", is_final=False))
        before = terminal.getvalue()
        await ticks()
        assert terminal.getvalue() == before
        waiting.listen(ModelText(text=" line\n", is_final=False))
        await ticks()
        assert terminal.getvalue() != before

    during(work, terminal)


@pytest.mark.parametrize("term", ["dumb", None])
def test_a_dumb_terminal_and_a_pipe_have_none(term: str | None, terminal: Tty, monkeypatch: pytest.MonkeyPatch) -> None:
    """They could not remove it."""
    stderr = io.StringIO() if term is None else terminal
    monkeypatch.setenv("TERM", term or "xterm")

    async def work(_waiting: Waiting) -> None:
        await ticks()

    during(work, stderr)
    assert stderr.getvalue() == ""
