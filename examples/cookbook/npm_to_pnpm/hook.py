"""BeforeTool: runs pnpm where the model says npm."""

import re

from hookline.hook import BeforeTool, Rewrite, main


def use_pnpm(event: BeforeTool) -> Rewrite | None:
    """Changes commands that begin with npm; in the middle it may be text."""
    command = str(event.tool_input.get("command"))
    changed = re.sub(r"^npm (install|run|test|ci)\b", r"pnpm \1", command)
    return Rewrite(tool_input={"command": changed}) if changed != command else None


main(use_pnpm)
