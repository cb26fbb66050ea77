"""What hooks inherit of an environment."""

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hookline.contract.hooks import PROJECT_DIR_VARIABLES

Passes = Callable[[str], bool]


class Inherited:
    """The environment that hooks get, as it is at each event: the same object while nothing has changed."""

    def __init__(self, environ: Mapping[Any, Any], passes: Passes | None = None) -> None:
        # os.environ decodes every variable at every look; its own bytes are copied and compared in a microsecond.
        self._environ = environ._data if isinstance(environ, type(os.environ)) else environ  # type: ignore[attr-defined]  # noqa: SLF001
        self._passes = passes
        # What it was, where hooks ran, and what was made of that: replaced as a whole, for threads.
        self._last: tuple[Mapping[Any, Any] | None, str, Mapping[str, str]] = (None, "", {})

    def in_directory(self, cwd: str) -> Mapping[str, str]:
        """Everything that a hook finds in its environment; runners encode the same object only once."""
        # Another thread may change it meanwhile, so only this copy is read.
        now = dict(self._environ)
        known, last_cwd, made = self._last
        if cwd != last_cwd or _differ(now, known):
            passed_on = {name: value for name, value in _possible(now) if self._passes is None or self._passes(name)}
            made = {**passed_on, **dict.fromkeys(PROJECT_DIR_VARIABLES, cwd)}
            self._last = now, cwd, made
        return made


def _differ(now: Mapping[Any, Any], known: Mapping[Any, Any] | None) -> bool:
    try:
        return known is None or now != known
    except Exception:  # noqa: BLE001 - foreign code: an odd entry that can't be compared must not cost every guard
        return True


def _possible(environ: Mapping[Any, Any]) -> Iterator[tuple[str, str]]:
    """The entries that an environment can hold, as text: one odd entry must not cost every guard."""
    for entry in environ.items():
        name, value = (os.fsdecode(part) if isinstance(part, bytes) else part for part in entry)
        is_text = isinstance(name, str) and isinstance(value, str)
        if is_text and name and not {"=", "\0"} & {*name} and "\0" not in value:
            yield name, value
