"""Reads the whole log for the page: one request at a time, and not again while the log is as it was."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

from hookline.log.files import open_all

_MOST_KEPT = 32


class Scans:
    """The results of functions of one log; the latest few are kept."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._kept: OrderedDict[tuple[Any, ...], Any] = OrderedDict()
        self._lock = threading.Lock()

    def run(self, function: Callable[..., Any], *given: Hashable) -> Any:
        """Return `function(log, *given)`."""
        with self._lock:
            key = (function, given, self._state())
            if key not in self._kept:
                self._kept[key] = function(self._log, *given)
            self._kept.move_to_end(key)
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
            return self._kept[key]

    def _state(self) -> tuple[Any, ...]:
        files = open_all(self._log)
        for file in files:
            file.close()
        return tuple((file.identity, file.size) for file in files)
