"""BeforeTool: denies changes to migrations that exist."""

from pathlib import Path

from hookline.hook import BeforeTool, deny, main


def guard(event: BeforeTool) -> None:
    """Looks at the file itself, so that links and `..` make no difference."""
    path = Path(event.cwd, str(event.tool_input.get("file_path"))).resolve()
    if path.parent.name == "migrations" and path.exists():
        deny("This migration may have run already; add a new one that changes what it did.")


main(guard)
