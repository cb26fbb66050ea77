"""Writes the tables of docs/packs.md from the rules of the packs."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hookline.guards.catalog import PACKS, Pack
from hookline.guards.rules import listed

PAGE = Path(__file__).resolve().parent.parent / "docs" / "packs.md"

# The text above is written by hand.
_MARK = "<!-- Below: written by `make pages` from the rules in src/hookline/guards/data/. -->\n"


def page() -> str:
    """The text of docs/packs.md."""
    head, _, _ = PAGE.read_text(encoding="utf-8").partition(_MARK)
    return head + _MARK + "\n".join(line for pack in PACKS.values() for line in _pack(pack))


def _pack(pack: Pack) -> Iterator[str]:
    yield ""
    yield f"## {pack.use}"
    yield ""
    events = ", ".join(pack.events)
    yield f"Rules about {pack.about}. Events: {events}. A pattern in its options is {_code(pack.patterns)}."
    yield ""
    yield "| rule | | stops | why | for example | but not |"
    yield "|---|---|---|---|---|---|"
    for rule in listed(pack.name):
        yield _row(rule)


def _row(rule: dict[str, Any]) -> str:
    stopped, passed = (f"`{rule[name][0]}`".replace("|", "\\|") for name in ("stopped", "passed"))
    return f"| `{rule['id']}` | {rule['action']} | {rule['stops']} | {rule['why']} | {stopped} | {passed} |"


def _code(text: str) -> str:
    kind, _, example = text.partition(": ")
    pattern, semicolon, rest = example.partition(";")
    return f"{kind}, such as `{pattern}`{semicolon}{rest}"


if __name__ == "__main__":
    PAGE.write_text(page().rstrip() + "\n", encoding="utf-8")
    sys.stdout.write(f"{PAGE}\n")
