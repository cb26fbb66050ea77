"""The report that the first warm runs of a script write at their end: the modules that they used.

The report goes into a pipe of hookline, which is opened by its path when the run ends: a warm run has no file
descriptor that a cold one lacks. The script must not be able to disturb this, whatever it has done to functions, limits
or modules, so every function comes from `posix`, and every error is silent.
"""

import atexit
import sys

# From here, because scripts replace functions of `os`.
from os import fsencode
from posix import O_CLOEXEC, O_NONBLOCK, O_WRONLY, close, fstat, getpid, open, write  # noqa: A004

from _hookline_library import Library


class Report:
    """The pipe that one run reports to."""

    def __init__(self, pipe: bytes) -> None:
        identity, _, self._path = pipe.partition(b" ")
        self._identity = tuple(map(int, identity.split(b":")))
        # A child that the script forked must not report.
        self._pid = getpid()

    def write(self, entries: "list[bytes]") -> None:
        """Write the entries, unless this is another process, or hookline has closed the pipe."""
        if getpid() != self._pid:
            return
        fd = open(self._path, O_WRONLY | O_CLOEXEC | O_NONBLOCK)
        found = fstat(fd)
        # The number of the pipe may belong to another file of hookline by now.
        if (found.st_dev, found.st_ino) == self._identity:
            write(fd, b"\0".join(entries))
        close(fd)


def register(pipe: bytes, library: Library, known: "set[str]") -> None:
    """Let the run that begins now report at its end, if hookline asks for a report."""
    if pipe:
        atexit.register(_report, Report(pipe), library, known)


def _report(report: Report, library: Library, known: "set[str]") -> None:
    """Report the modules that the script has imported, and the folders that were searched before the library."""
    try:
        found = [(name, module) for name, module in list(sys.modules.items()) if type(name) is str]
        words = [library.word_for(name, module) for name, module in found if name not in known]
        words += library.leading_entries()
        # The first entry distinguishes an empty report from a run that ended without one.
        report.write([b"-", *[fsencode(word) for word in words if word is not None]])
    except BaseException:
        return
