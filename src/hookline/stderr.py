"""Messages to the user on stderr."""

import sys
from contextlib import suppress
from contextvars import ContextVar

from hookline.protocol.text.strings import printable, short_paths

captured_notices: ContextVar[list[str] | None] = ContextVar("captured_notices", default=None)
"""If set, `warn_user` appends here instead of writing to stderr; the bridge server returns these to its client."""


def warn_user(text: str) -> None:
    """Write one line to stderr, safe for a terminal; if stderr is missing or broken, the line is lost."""
    if (listener := captured_notices.get()) is not None:
        listener.append(text)
        return
    with suppress(Exception):
        sys.stderr.write(f"hookline: {printable(short_paths(text))}\n")
        sys.stderr.flush()
