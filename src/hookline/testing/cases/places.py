"""The lines of a TOML file on which tables and keys stand, which `tomllib` does not report."""

import re
from collections.abc import Sequence

_HEADER = re.compile(r"\s*\[\[\s*case\s*\]\]")
_QUOTES = re.compile(r"\"\"\"|'''")


def case_lines(text: str) -> list[int]:
    """The line of each `[[case]]`, counted from 1."""
    found: list[int] = []
    open_quotes = ""
    for number, line in enumerate(text.split("\n"), 1):
        if not open_quotes and _HEADER.match(line):
            found.append(number)
        for quotes in _QUOTES.findall(line):
            # A line such as `x = """one line"""` opens and closes.
            open_quotes = "" if open_quotes == quotes else open_quotes or quotes
    return found


def line_of(text: str, start: int | None, path: Sequence[str]) -> int | None:
    """The line of the innermost key of a path that is found in the table that starts on this line, or that line."""
    if start is None:
        return None
    lines = text.split("\n")
    end = next((at for at in range(start, len(lines)) if _HEADER.match(lines[at])), len(lines))
    # `each.tool = …` before any other `tool = …`.
    for keys in (path, *([key] for key in reversed(path))):
        dotted = r"\s*\.\s*".join(re.escape(key) for key in keys)
        word = re.compile(rf"""(?:^|[\s.{{\[,])["']?{dotted}["']?\s*[=.\]]""")
        for at in range(start, end) if keys else ():
            if word.search(lines[at].partition("#")[0]):
                return at + 1
    return start
