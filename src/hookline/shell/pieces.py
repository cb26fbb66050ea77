"""The parts of a shell command: words, and the pieces of words."""

from typing import NamedTuple


class Text(NamedTuple):
    r"""Literal characters; `quote` is how they are quoted: `'`, `"`, `\`, `$'` or not at all."""

    text: str
    quote: str = ""


class Expansion(NamedTuple):
    """A place where the shell puts a value: a variable, the output of a command, a number."""

    source: str
    start: int
    quote: str = ""
    name: str = ""
    """The variable whose value it is, or is made from."""
    is_plain: bool = False
    """Whether it is that value unchanged: `$NAME` or `${NAME}`."""
    items: tuple["Item", ...] = ()
    """The commands or words inside it."""


Piece = Text | Expansion


class Word(NamedTuple):
    """One word, or the body of a here-document."""

    source: str
    start: int
    pieces: tuple[Piece, ...]
    is_compared: bool = False
    """Whether it is only compared with a text, as are words of `case … in`, of `[[ … ]]` and inside `${…}`."""
    is_descriptor: bool = False
    """Whether it is the number or the variable of a descriptor, directly before a redirection: `2>`, `{fd}<`."""

    @property
    def expansions(self) -> list[Expansion]:
        """Return the pieces that the shell replaces by a value."""
        return [piece for piece in self.pieces if isinstance(piece, Expansion)]


# A word, or what separates words: `|`, `;`, `>`, a new line, a comment (as `#`).
Item = Word | str
