"""Ends a short command without taking the interpreter apart, which takes a twentieth of its time."""

import atexit
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_asked_for = False


def end_at_once() -> None:
    """Called by a command that ran no code of others in this process: when it is done, nothing is left to clean up."""
    global _asked_for  # noqa: PLW0603 - it is about the whole process
    _asked_for = True


def finish(code: int) -> None:
    """Do what Python does at its end, in its order, and end the process; return if no command has asked for that."""
    if not _asked_for:
        return
    threading: Any = sys.modules.get("threading")
    if threading is not None:
        threading._shutdown()  # noqa: SLF001 - waits for threads, as the interpreter does
    atexit._run_exitfuncs()  # noqa: SLF001 - among them the end of the log
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):  # the interpreter says what there is to say
        return
    os._exit(code)
