"""The settings as they are now: read once, and read again when a file changes."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from hookline.settings.read import NOTHING_RUNS, Layer, Problem

# Events can come in bursts, and an edited file need not be used sooner than this.
_LOOK_AGAIN_S = 0.002

_Stamp = tuple[int, int, int, int] | None


class SettingsSource:
    """The layers of settings, and whether their files have changed since they were read."""

    def __init__(self, read: Callable[[], tuple[Layer, ...]], files: Sequence[Path] = ()) -> None:
        self._read = read
        self._files = tuple(files)
        self._stamps = tuple(map(_stamp, self._files))
        self._looked = time.monotonic()
        self.layers = read()

    def has_changed(self) -> bool:
        """Whether it is time to look at the files again, and one of them has changed since it was read."""
        now = time.monotonic()
        if not self._files or now - self._looked < _LOOK_AGAIN_S:
            return False
        self._looked = now
        return tuple(map(_stamp, self._files)) != self._stamps

    def refresh(self) -> bool:
        """Reads the files again if one of them has changed, and returns whether it has. Not thread-safe."""
        stamps = tuple(map(_stamp, self._files))
        if stamps == self._stamps:
            return False
        self.layers = tuple(_last_good(*pair) for pair in zip(self.layers, self._read(), strict=True))
        # Last: another thread that sees these stamps expects the new layers.
        self._stamps = stamps
        return True


def _last_good(before: Layer, after: Layer) -> Layer:
    """The layer as it is now, or as it was if it can't be read any more: a typo must not remove a guard.

    Of the files only a project's can be deleted while the program runs.
    """
    kept = "so the settings that were read before are used"
    if not any(problem.is_error for problem in after.problems):
        if after.is_guest or before.text is None or after.text is not None:
            return after
        # Editors remove a file before they write it anew, and an agent must not end its guards by deleting it.
        message = f"was deleted, {kept}; write {{}} to the file, or restart, to remove its hooks"
        return replace(before, problems=(Problem(origin=after.origin, path="", message=message, is_error=True),))
    problems = [replace(one, message=one.message.replace(NOTHING_RUNS, kept)) for one in after.problems]
    return replace(before, problems=tuple(problems))


def _stamp(file: Path) -> _Stamp:
    try:
        status = os.stat(file)  # noqa: PTH116 - asked at every event, and twice as fast as Path.stat
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino
