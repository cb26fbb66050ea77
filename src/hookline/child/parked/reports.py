"""What the first warm runs of a script report at their end: the modules that they used, and pages of memory."""

import contextlib
import os
import tempfile

from hookline.child.parked.place import Place
from hookline.child.parked.recipe import signature

MODULES, PAGES = "m", "p"

# Pages are asked for when the modules are loaded. A run that ends without its report is followed by another one.
_REPORTS = (MODULES, MODULES, MODULES, PAGES, PAGES)
_LONGEST_REPORT = 1 << 16


def new_report(place: Place) -> str:
    """What the next run is to report, as one letter, and the file for it; nothing if it need not."""
    now = signature(place.script)
    if now != place.reporting:
        place.reporting, place.reports = now, [*_REPORTS]
    if not place.reports:
        return ""
    kind = place.reports.pop(0)
    try:
        fd, path = tempfile.mkstemp(prefix="hookline-")
    except OSError:
        return ""
    os.close(fd)
    return kind + path


def read_report(report: str) -> list[bytes]:
    """What a run has reported; its file is removed."""
    if not report:
        return []
    path = report[1:]
    with contextlib.suppress(OSError), open(path, "rb") as file:  # noqa: PTH123
        found = file.read(_LONGEST_REPORT).split(b"\0")
        os.unlink(path)  # noqa: PTH108
        return [each for each in found if each]
    return []
