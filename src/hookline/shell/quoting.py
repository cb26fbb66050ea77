"""Puts the project's variables between quotes in the text of a command that a shell will read."""

from collections.abc import Iterator
from functools import lru_cache

from hookline.protocol.constants import POLICY_DIR_VARIABLE, PROJECT_DIR_VARIABLES
from hookline.shell.lexer import read_script, splice
from hookline.shell.pieces import Expansion, Item, Word

_DIRECTORIES = (*PROJECT_DIR_VARIABLES, POLICY_DIR_VARIABLE)


@lru_cache(maxsize=256)
def quote_project_variables(command: str) -> str:
    """The command with double quotes around each project variable outside quotes."""
    found = _unquoted(read_script(command)[0])
    return splice(command, ((each.start, each.source, f'"{each.source}"') for each in found))


def _unquoted(items: tuple[Item, ...]) -> Iterator[Expansion]:
    for item in items:
        for piece in item.expansions if isinstance(item, Word) else ():
            if piece.is_plain and not piece.quote and piece.name in _DIRECTORIES:
                yield piece
            yield from _unquoted(piece.items)
