"""Keeps pasted text from answering a question: the terminal marks pastes, and earlier input is dropped."""

import os
import select
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

# Bracketed paste: the terminal sends these around pasted text while the mode is on.
_MARK_PASTES, _DONT_MARK_PASTES = b"\x1b[?2004h", b"\x1b[?2004l"
_START, _END = b"\x1b[200~", b"\x1b[201~"
_LOCAL_FLAGS = 3
# A terminal sends a long paste in pieces; shorter pauses do not end it.
_QUIET_S = 0.05
_QUIET_IN_A_PASTE_S = 0.5
_MOST_S = 5.0
_AT_ONCE = 65536


def is_pasted(line: str) -> bool:
    """Return True for a line that was pasted, completely or in part."""
    return _START.decode() in line or _END.decode() in line


def mark_pastes(*, on: bool) -> None:
    """Switch the marking of pasted text on or off."""
    if os.environ.get("TERM") == "dumb":
        return
    mode = _MARK_PASTES if on else _DONT_MARK_PASTES
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # it is closed
            if os.isatty(stream.fileno()):
                stream.flush()
                os.write(stream.fileno(), mode)
                return


@contextmanager
def marked_pastes() -> Iterator[None]:
    """Mark pasted text while a question is open."""
    mark_pastes(on=True)
    try:
        yield
    finally:
        mark_pastes(on=False)


def discard_input(*, of_paste: bool = False) -> None:
    """Drop pending input of a terminal, to the end of a paste in progress.

    `of_paste` is true if the start of a paste was read already.
    """
    with suppress(AttributeError, OSError, ValueError, termios.error), _raw(sys.stdin.fileno()) as descriptor:
        _drop(descriptor, is_open=of_paste)


def _drop(descriptor: int, *, is_open: bool) -> None:
    deadline = time.monotonic() + _MOST_S
    tail = b""
    while time.monotonic() < deadline:
        ready, _, _ = select.select([descriptor], [], [], _QUIET_IN_A_PASTE_S if is_open else _QUIET_S)
        if not ready or not (piece := os.read(descriptor, _AT_ONCE)):
            return
        text = tail + piece
        # The last of the two marks decides; a mark may come in two pieces.
        is_open = text.rfind(_START) > text.rfind(_END) if _START in text or _END in text else is_open
        tail = text[-len(_END) :]


@contextmanager
def _raw(descriptor: int) -> Iterator[int]:
    """Disable line mode and echo, so that pending input can be read."""
    before = termios.tcgetattr(descriptor)
    raw = [*before]
    raw[_LOCAL_FLAGS] = before[_LOCAL_FLAGS] & ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(descriptor, termios.TCSANOW, raw)
    try:
        yield descriptor
    finally:
        termios.tcsetattr(descriptor, termios.TCSANOW, before)
