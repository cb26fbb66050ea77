"""Exit statuses that the program around us can't take away.

A program that ignores SIGCHLD, or that waits for any child, gets or drops the statuses of our children. In such a
program a hook is started by a short program in front of it (`_stage.py`), which waits for it and writes the status to a
pipe. Elsewhere this costs nothing but a look at the signal's handler.
"""

import os
from _signal import SIG_DFL, SIGCHLD, getsignal  # type: ignore[import-not-found]  # `signal` makes enumerations of them

from hookline.runners.process.command import HIGHEST_STDIO, can_confine, move_above_stdio

_LONGEST = 32

STATUS_LOST = (
    "ended, and its exit status was lost: the program around it ignores SIGCHLD or waits for every child, "
    "so whether it succeeded is not known"
)


class Statuses:
    """Records whether other code takes the exit statuses of hookline's children."""

    was_lost = False
    """True once a status was lost, and from then on."""

    def are_contested(self) -> bool:
        """Whether a status may get lost: then ask for a report. A handler of SIGCHLD may wait for any child."""
        return self.was_lost or getsignal(SIGCHLD) != SIG_DFL


STATUSES = Statuses()


class StatusReport:
    """The pipe in which the status of one process arrives."""

    def __init__(self) -> None:
        self._read_end, write_end = os.pipe()
        self.write_end = write_end if write_end > HIGHEST_STDIO else move_above_stdio(write_end)
        os.set_blocking(self._read_end, False)

    def read(self) -> int | None:
        """Return the status, once the process has exited; None if it was not reported."""
        try:
            text = os.read(self._read_end, _LONGEST)
        except OSError:
            return None
        return int(text) if text.isdigit() else None

    def started(self) -> None:
        """Close the end that the process has inherited by now."""
        if self.write_end >= 0:
            os.close(self.write_end)
            self.write_end = -1

    def close(self) -> None:
        """Close both ends."""
        self.started()
        if self._read_end >= 0:
            os.close(self._read_end)
            self._read_end = -1


def open_report() -> StatusReport | None:
    """A report for a new process, if its status may get lost and there is an interpreter that can write one."""
    return StatusReport() if STATUSES.are_contested() and can_confine() else None
