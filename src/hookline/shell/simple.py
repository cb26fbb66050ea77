"""Splits a script into its simple commands."""

from collections.abc import Iterator

from hookline.shell.pieces import Item, Text, Word

_REDIRECTIONS = frozenset(("<", ">", ">>", ">|", ">&", "<&", "&>", "&>>", "<>", "<<<"))


def simple_commands(items: tuple[Item, ...]) -> Iterator[list[str]]:
    """The words of each command, without redirections."""
    words: list[str] = []
    is_target = False
    for item in (*items, ";"):
        if isinstance(item, Word):
            if not is_target:
                words.append("".join(piece.text if isinstance(piece, Text) else piece.source for piece in item.pieces))
            is_target = False
        elif item in _REDIRECTIONS:
            is_target = True
        else:
            if words:
                yield words
            words = []
