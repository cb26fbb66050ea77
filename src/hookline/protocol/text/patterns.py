"""Regular expressions that are compiled when they are first used."""

import re
from typing import Any, cast


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return an object with the methods of a compiled pattern.

    A command compiles eighty expressions while it starts, and uses a few of them. Compiling ours then took a
    twentieth of `hookline fire`.
    """
    return cast("re.Pattern[str]", _LazyPattern(pattern, flags))


class _LazyPattern:
    def __init__(self, pattern: str, flags: int) -> None:
        self._given = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        """A method of the pattern. It is kept, so that Python finds it by itself from now on."""
        found = getattr(re.compile(*self._given), name)
        setattr(self, name, found)
        return found
