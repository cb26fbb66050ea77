"""BeforeTool: denies edits of lock files."""

from pathlib import PurePath

from hookline.hook import BeforeTool, deny, main

TOOLS = {"package-lock.json": "npm install", "uv.lock": "uv lock", "poetry.lock": "poetry lock", "Cargo.lock": "cargo"}


def guard(event: BeforeTool) -> None:
    """Names the command that writes the file."""
    name = PurePath(str(event.tool_input.get("file_path"))).name
    if name in TOOLS:
        deny(f"{name} is generated; run `{TOOLS[name]}` instead of editing it.")


main(guard)
