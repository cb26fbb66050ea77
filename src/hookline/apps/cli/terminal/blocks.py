"""Splits Markdown that arrives in pieces where it can be shown."""

import re

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


def split_blocks(text: str) -> tuple[str, str]:
    """The complete blocks, and the rest; a blank line ends a block, except inside a fence."""
    end = position = 0
    fence = ""
    for line in text.splitlines(keepends=True):
        position += len(line)
        found = _FENCE.match(line)
        if fence:
            if found and found[1].startswith(fence) and not line.strip(" `~\n"):
                fence = ""
        elif found:
            fence = found[1]
        elif line.endswith("\n") and not line.strip():
            end = position
    return text[:end], text[end:]
