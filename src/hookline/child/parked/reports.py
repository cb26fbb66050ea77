"""What the first warm runs of a script report at their end: the modules that they used, and pages of memory."""

import os

from hookline.child.parked.place import Place
from hookline.child.parked.recipe import signature

MODULES, PAGES = "m", "p"

# Pages are asked for when the modules are loaded. A run that ends without its report is followed by another one.
_REPORTS = (MODULES, MODULES, MODULES, PAGES, PAGES)
# As much as a pipe holds.
_LONGEST_REPORT = 1 << 16


class Report:
    """A pipe for what one run reports. The run opens it by its path, so that it has no descriptor more than others."""

    def __init__(self, kind: str) -> None:
        """Raise OSError if there are no descriptors."""
        self.kind = kind
        self._fd, write_end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        os.close(write_end)

    def wish(self) -> bytes:
        """What the run is told: the kind of the report, which pipe it is, and its path."""
        pipe = os.fstat(self._fd)
        return f"{self.kind}{pipe.st_dev}:{pipe.st_ino} /proc/{os.getpid()}/fd/{self._fd}".encode()

    def read(self) -> list[bytes]:
        """What the run has reported; nothing if it has not. The pipe is closed."""
        try:
            found = os.read(self._fd, _LONGEST_REPORT)
        except BlockingIOError:
            return []
        finally:
            os.close(self._fd)
        entries = found.split(b"\0")
        if len(found) == _LONGEST_REPORT:
            entries.pop()  # may be cut
        return [each for each in entries if each]


def new_report(place: Place) -> Report | None:
    """What the next run is to report; None if it need not."""
    now = signature(place.script)
    if now != place.reporting:
        place.reporting, place.reports = now, [*_REPORTS]
    if not place.reports:
        return None
    kind = place.reports.pop(0)
    try:
        return Report(kind)
    except OSError:
        return None
