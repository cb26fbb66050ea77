"""BeforeAgent: adds the texts of the tickets that a prompt names."""

import re
from pathlib import Path

from hookline.hook import BeforeAgent, Context, main


def add_tickets(event: BeforeAgent) -> Context | None:
    """Reads tickets/ABC-1.md; a real one would ask the tracker."""
    files = [Path(event.cwd, "tickets", f"{name}.md") for name in re.findall(r"\b[A-Z]{2,5}-\d+\b", event.prompt)]
    texts = [file.read_text(encoding="utf-8") for file in files if file.exists()]
    return Context("\n\n".join(texts)) if texts else None


main(add_tickets)
