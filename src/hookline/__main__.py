"""Starts the command so that Ctrl-C is quiet from its first line to its last; before that, Python itself answers it."""

import os
import sys

# Not `signal`, which takes a millisecond to load: until the handler is set, Ctrl-C prints a traceback.
from _signal import (  # type: ignore[import-not-found]
    SIG_DFL,
    SIG_IGN,
    SIG_UNBLOCK,
    SIGCHLD,
    SIGINT,
    default_int_handler,
    getsignal,
    pthread_sigmask,
    raise_signal,
)
from _signal import signal as set_handler

EXIT_INTERRUPTED = 130

if not __package__:
    # Started by its path and isolated (runners/process/own_process.py), so Python may not know where the package is.
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# A parent may have SIGCHLD ignored. Then the exit status of every hook would be lost, and with it every deny, here and
# in whatever is started from here.
set_handler(SIGCHLD, SIG_DFL)
pthread_sigmask(SIG_UNBLOCK, (SIGCHLD,))

if getsignal(SIGINT) is default_int_handler:
    # While modules are loaded there is nothing to clean up, and an exception might be caught by one of them.
    set_handler(SIGINT, lambda *_: os._exit(EXIT_INTERRUPTED))


def main() -> int:
    """Runs the command and returns its exit code; the only thing that sees every interrupt."""
    sys.unraisablehook = _pass_on
    sys.excepthook = _end_quietly
    from hookline.apps.cli.streams import open_missing  # noqa: PLC0415 - after the handler is set

    open_missing()
    from hookline.apps.cli.main import main as run_command  # noqa: PLC0415 - the same

    try:
        return run_command()
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    finally:
        # The work is done: what is left is to end in an orderly way.
        set_handler(SIGINT, SIG_IGN)


def _pass_on(problem: "sys.UnraisableHookArgs") -> None:
    """Raises an interrupt again that came where no exception can be raised, such as in a finalizer."""
    if issubclass(problem.exc_type, KeyboardInterrupt):
        raise_signal(SIGINT)
    else:
        sys.__unraisablehook__(problem)


def _end_quietly(kind: type[BaseException], error: BaseException, trace: object) -> None:
    """Prints no traceback for an interrupt that came while another was being handled."""
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)  # type: ignore[arg-type]  # it is a traceback or None


if __name__ == "__main__":
    sys.exit(main())
