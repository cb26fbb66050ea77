"""Run a command within limits, through a short launcher program that sets them on itself.

They can't be set on the calling process, which has other threads, nor between vfork and exec, where no Python code
runs; and from outside they would come too late for the running child. So a hook with limits takes the start of a Python
interpreter longer (about 10 ms). A hook without limits takes no longer.
"""

import os
import sys

from hookline.protocol.hook_entry import ResourceLimits
from hookline.runners.process import limit_launcher as _stage
from hookline.runners.process.spawn import Invocation

_LOCALE = b"LC_CTYPE"


def can_confine() -> bool:
    """Whether there is an interpreter for the program in front."""
    # A frozen program is its own interpreter: it would be started again.
    return bool(sys.executable) and not getattr(sys, "frozen", False)


def confined(
    invocation: Invocation, limits: ResourceLimits, *, ends_with: int | None = None, report: int | None = None
) -> Invocation:
    """The same program within limits; raise a ValueError if they can't be set from here.

    With `ends_with`, the number of its parent, it is killed when the parent's thread that starts it ends. With
    `report`, a descriptor that it inherits, its exit status is written there.
    """
    if not can_confine():
        raise ValueError("limits and network need a Python interpreter, and this program has none; remove them")
    path, argv, env = invocation
    given = {
        **limits.to_dict().get("limits", {}),
        **({} if limits.network else {"network": "off"}),
        **({} if ends_with is None else {"parent": ends_with}),
        **({} if report is None else {"report": report}),
    }
    words = " ".join(f"{name}={value}" for name, value in given.items())
    # Python changes this variable for programs that it executes.
    locale = next((entry.removeprefix(_LOCALE) for entry in env if entry.startswith(_LOCALE + b"=")), b"")
    stage = (sys.executable, "-I", "-S", _stage.__file__, words, os.fsdecode(locale), os.fsdecode(path), *argv)
    return Invocation(os.fsencode(sys.executable), stage, env)


def refusal(exit_code: int | None, stderr: bytes) -> str | None:
    """Why the program in front refused to start the command; None if the command was started."""
    text = stderr.decode("utf-8", "replace")
    if exit_code != _stage.REFUSED or not text.startswith(_stage.PREFIX):
        return None
    return f"could not be started: {text.removeprefix(_stage.PREFIX)}"
