"""The dialects by their names. Each table is loaded when a hook needs it."""

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from hookline.protocol.constants import OWN_DIALECT

if TYPE_CHECKING:
    from hookline.dialects.table import Dialect

FOREIGN_DIALECTS = ("claude", "codex", "gemini")
DIALECTS = (OWN_DIALECT, *FOREIGN_DIALECTS)


@cache
def dialect_of(name: str) -> "Dialect":
    """The table of another agent. Raises KeyError for a name that is not in `FOREIGN_DIALECTS`."""
    if name not in FOREIGN_DIALECTS:
        raise KeyError(name)
    table: Dialect = getattr(import_module(f"hookline.dialects.{name}"), name.upper())
    return table


def dialects_with(event: str) -> "tuple[Dialect, ...]":
    """The dialects whose agents have an event of this name."""
    tables = map(dialect_of, FOREIGN_DIALECTS)
    return tuple(table for table in tables if event in table.events or event in table.without_counterpart)
