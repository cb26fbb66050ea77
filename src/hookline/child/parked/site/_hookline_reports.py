"""What the first runs of a script report at their end: which modules they used, and which pages of memory.

A report goes into a pipe of hookline, which is opened by its path when there is something to write: a run has no
descriptor more than a cold one. Whatever the script has done to functions, limits or modules must not be noticed here,
so everything comes from `posix`, and every error is silent.
"""

import atexit
import sys

# From here, because scripts replace functions of `os`, and because that module has been emptied when a run ends.
from os import fsencode
from posix import O_CLOEXEC, O_NONBLOCK, O_WRONLY, close, fstat, getpid, open, write  # noqa: A004

from _hookline_c import untrack
from _hookline_library import Library
from _hookline_pages import own_pages


class Report:
    """Where one run reports to."""

    def __init__(self, wanted: bytes) -> None:
        identity, _, self._path = wanted.partition(b" ")
        self._identity = tuple(map(int, identity.split(b":")))
        # A child of the script that ends as Python ends has nothing to report.
        self._pid = getpid()

    def write(self, entries: "list[bytes]") -> None:
        """Send them, unless this is another process, or hookline has closed the pipe."""
        if getpid() != self._pid:
            return
        fd = open(self._path, O_WRONLY | O_CLOEXEC | O_NONBLOCK)
        found = fstat(fd)
        # Its number may be that of another file of hookline by now.
        if (found.st_dev, found.st_ino) == self._identity:
            write(fd, b"\0".join(entries))
        close(fd)


class _Witness:
    """Reports which pages a run has written to: it is the last object that Python deletes, or nearly so."""

    def __init__(self, report: Report) -> None:
        self._report = report

    def __del__(self) -> None:
        try:
            self._report.write([b"%x-%x" % pages for pages in own_pages("self")])
        except BaseException:
            return


def register(kind: bytes, wanted: bytes, library: Library, known: "set[str]") -> None:
    """Have the run that begins now report at its end."""
    if kind == b"m":
        atexit.register(_report_modules, Report(wanted), library, known)
    elif kind == b"p":
        sys._hookline = witness = _Witness(Report(wanted))  # type: ignore[attr-defined]
        untrack(witness)  # or the pages of this run would not be those of others: see _hookline_frozen


def _report_modules(report: Report, library: Library, known: "set[str]") -> None:
    """Report the modules that the script has imported, and what it has searched before the standard library."""
    try:
        found = [(name, module) for name, module in list(sys.modules.items()) if type(name) is str]
        words = [library.word_for(name, module) for name, module in found if name not in known]
        words += library.leading_entries()
        # The first one is no name: it tells a report from a run that ended without one.
        report.write([b"-", *[fsencode(word) for word in words if word is not None]])
    except BaseException:
        return
