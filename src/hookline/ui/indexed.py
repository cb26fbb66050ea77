"""Lets one request make the index of a large log, while the others wait for it instead of making it, too."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

from hookline.log.reader import LogReader

Given = ParamSpec("Given")
Found = TypeVar("Found")


class Indexed:
    """Runs functions that need the index of one log."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._making = threading.Lock()
        self._is_made = False

    def run(self, function: Callable[Given, Found], *given: Given.args, **named: Given.kwargs) -> Found:
        """What the function returns, once the index is there."""
        self.make()
        return function(*given, **named)

    def make(self) -> None:
        """Makes the index on the first call; a log of gigabytes takes a minute."""
        with self._making:
            if not self._is_made:
                with LogReader(self._log) as reader:
                    reader.sessions(1)
                self._is_made = True
