"""The settings as they are now: read once, and read again when a file changes."""

import os
import time
from collections.abc import Callable
from pathlib import Path

from hookline.settings.read.files import NOTHING_RUNS, Layer, Problem

# Events can come in bursts, and an edited file need not be used sooner than this.
_LOOK_AGAIN_S = 0.002

_Stamp = tuple[int, int, int, int] | None


class FileWatch:
    """Reads files for a source, which looks at each of them again later."""

    def __init__(self, before: "FileWatch | None" = None) -> None:
        self._before = before.taken if before is not None else {}
        self.taken: dict[str, Layer] = {}
        self.stamps: dict[Path, _Stamp] = {}
        self.deadline: float | None = None
        """When everything has to be read again although no file has changed, in seconds since the epoch."""

    @property
    def seen(self) -> tuple[tuple[Path, ...], tuple[_Stamp, ...]]:
        """The files that were looked at, and their state then."""
        return tuple(self.stamps), tuple(self.stamps.values())

    def watch(self, path: Path) -> None:
        """Make the source read everything again when this file or directory changes, appears or disappears."""
        self.stamps.setdefault(path, _stamp(path))

    def expire_at(self, moment: float | None) -> None:
        """Make the source read everything again at that moment, because something expires then."""
        if moment is not None:
            self.deadline = moment if self.deadline is None else min(moment, self.deadline)

    def previous(self, origin: str) -> Layer | None:
        """Return the layer that was kept for this origin at the previous read, or None."""
        return self._before.get(origin)

    def keep(self, layer: Layer) -> None:
        """Remembers a layer for the next time that the source is read."""
        self.taken[layer.origin] = layer

    def read(self, path: Path, read: Callable[[Path], Layer]) -> Layer:
        """The layer of a file as it is now, or as it was if it can't be read any more."""
        self.watch(path)  # first, or a change while it is read would not be noticed
        after = read(path)
        before = self._before.get(after.origin)
        self.taken[after.origin] = after if before is None else _last_good(before, after)
        return self.taken[after.origin]


class SettingsSource:
    """The layers of settings, and whether their files have changed since they were read."""

    def __init__(self, read: Callable[[FileWatch], tuple[Layer, ...]]) -> None:
        self._read = read
        self._looked = time.monotonic()
        self._watch = FileWatch()
        self.layers = read(self._watch)
        self._seen = self._watch.seen

    def has_changed(self) -> bool:
        """Whether it is time to look at the files again, and one of them has changed since it was read."""
        now = time.monotonic()
        if not self._seen[0] or now - self._looked < _LOOK_AGAIN_S:
            return False
        self._looked = now
        return self._differs()

    def refresh(self) -> bool:
        """Reads the files again if one of them has changed, and returns whether it has. Not thread-safe."""
        if not self._differs():
            return False
        watch = FileWatch(self._watch)
        self.layers = self._read(watch)
        # Last: another thread that sees these stamps expects the new layers.
        self._watch, self._seen = watch, watch.seen
        return True

    def _differs(self) -> bool:
        files, stamps = self._seen
        if self._watch.deadline is not None and time.time() >= self._watch.deadline:
            return True
        return tuple(map(_stamp, files)) != stamps


def _last_good(before: Layer, after: Layer) -> Layer:
    """The layer as it is now, or as it was if it can't be read any more: a typo must not remove a guard.

    Of the files only a project's can be deleted while the program runs.
    """
    kept = "so the settings that were read before are used"
    if not any(problem.is_error for problem in after.problems):
        if after.is_guest or before.text is None or after.text is not None:
            return after
        # Editors delete a file before they write the new one, and an agent must not end its guards by deleting it.
        message = f"was deleted, {kept}; write {{}} to the file, or restart, to remove its hooks"
        return before._replace(problems=(Problem(origin=after.origin, path="", message=message, is_error=True),))
    problems = [one._replace(message=one.message.replace(NOTHING_RUNS, kept)) for one in after.problems]
    return before._replace(problems=tuple(problems))


def _stamp(file: Path) -> _Stamp:
    try:
        status = os.stat(file)
    except (OSError, ValueError):  # a ValueError for a path with a NUL in it
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino
