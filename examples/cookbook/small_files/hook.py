"""BeforeTool: denies files above a size."""

import os

from hookline.hook import BeforeTool, deny, main

LIMIT = int(os.environ.get("HOOK_MAX_BYTES", "100000"))


def guard(event: BeforeTool) -> None:
    """Counts bytes, as the disk does."""
    size = len(str(event.tool_input.get("content", "")).encode(errors="replace"))
    if size > LIMIT:
        deny(f"The file would have {size} bytes, and {LIMIT} are allowed; split it, or write a program that makes it.")


main(guard)
