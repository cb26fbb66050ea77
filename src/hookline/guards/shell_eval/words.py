"""The values of the words of a shell command, as far as they are known without running anything."""

import re
from collections.abc import Callable, Iterator
from itertools import product

from hookline.protocol.text.secret_names import is_secret_variable
from hookline.shell.expansions import braced, unescaped
from hookline.shell.lexer import read_script
from hookline.shell.pieces import Expansion, Item, Piece, Text, Word

UNKNOWN = "\ue000"
"""Stands in a word for a part whose value can't be known."""
ENTRY = "\ue001"
"""Stands for a name that was found, such as those that `find` gives to `-exec`."""
PROCESS = "\ue003"
"""Stands for the number of the process whose name follows."""
OUTPUT = "\ue002"
"""Stands for the output of a command that is read as a file: `<(…)`."""

SECRET = "\ue004"
"""Stands behind an unknown part that is a secret, by the name of its variable or by what it was read from."""

# More values than this are not told apart.
_MOST_VALUES = 64
# The steps that a word takes, beside its characters.
_WORD = 4
_EXPANSION = 20
# No longer name of a variable is looked at.
_LONGEST_NAME = 128

_OTHER_HOME = re.compile(r"~([a-z_][a-z0-9_-]*)(?=/|$)")
_STACKED = re.compile(r"~(?:-|[+-]?\d+)(?=/|$)")
_BLANKS = " \t\n"
# An operator that writes to a variable in a calculation.
_COUNTED = re.compile(
    r"(?<!\w)([A-Za-z_]\w*)(?:\[[^][]*\])?\s*(?:\+\+|--|(?:<<|>>|[-+*/%&|^])?=(?!=))|(?:\+\+|--)\s*([A-Za-z_]\w*)"
)
_DEFAULT = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*:?[-=]")

# Gives the values that a variable may have, or the output of commands; None where that is not known.
Values = Callable[[str], tuple[str, ...] | None]
Output = Callable[[tuple[Item, ...], str], str | None]


def is_known(text: str) -> bool:
    """Whether no part of a text is made up while the command runs."""
    return UNKNOWN not in text and OUTPUT not in text


def counted(text: str) -> list[str]:
    """The variables that a calculation may write to."""
    return [found[1] or found[2] for found in _COUNTED.finditer(text)]


class Expander:
    """Turns words into the arguments that a program would get."""

    def __init__(
        self,
        values: Values,
        output: Output,
        home: str,
        note: Callable[[str], None],
        spend: Callable[[int], None] = lambda _: None,
        forget: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._note = note
        self._given_values = values
        self._output = output
        self._home = home
        self._spend = spend
        self._forget = forget
        self.masked: frozenset[str] = frozenset()
        """Variables that are set for the command whose words these are: they get the value that was there before."""

    def _values(self, name: str) -> tuple[str, ...] | None:
        return (UNKNOWN,) if name in self.masked else self._given_values(name)

    def words(self, word: Word) -> list[str]:
        """The arguments that one word becomes: several after splitting, braces, or where a variable has many values."""
        if len(word.pieces) == 1 and isinstance(only := word.pieces[0], Text) and (only.quote or only.text[:1] != "~"):
            self._spend(_WORD + len(only.text))
            return [only.text]
        choices = [self._piece(piece, is_first=index == 0) for index, piece in enumerate(_joined(word.pieces))]
        found: dict[str, None] = {}
        blanks = self._blanks()
        for combination in product(*choices):
            self._spend(_WORD + len(combination) + sum(len(text) for text, _ in combination))
            for text in _split(combination, blanks):
                found.setdefault(text)
            if len(found) > _MOST_VALUES:
                found[UNKNOWN] = None
                break
        return list(found)

    def _blanks(self) -> str:
        return (self._values("IFS") or (_BLANKS,))[0] or _BLANKS

    def text(self, word: Word) -> str:
        """The same as one text, for places where the shell does not split: assignments, here-documents."""
        return "".join(part for piece in word.pieces for part, _ in self._piece(piece, is_first=False)[:1])

    def _piece(self, piece: Piece, *, is_first: bool) -> list[tuple[str, bool]]:
        """The values of one piece, each with whether the shell splits it at blanks."""
        if isinstance(piece, Text):
            if piece.quote:
                return [(piece.text, False)]
            text = self._with_home(piece.text) if is_first else piece.text
            return [(each, False) for each in braced(text, _MOST_VALUES) or (UNKNOWN,)]
        may_split = not piece.quote
        if may_split and UNKNOWN in self._blanks():
            # Nobody knows where the words end.
            self._values_of(piece)
            return [(UNKNOWN, True)]
        return [(value, may_split) for value in self._values_of(piece)]

    def _with_home(self, text: str) -> str:
        if text == "~" or text.startswith("~/"):
            return self._home + text[1:]
        if found := _STACKED.match(text):
            return UNKNOWN + text[found.end() :]  # a directory that the shell remembers
        if found := _OTHER_HOME.match(text):
            return ("/root" if found[1] == "root" else f"/home/{found[1]}") + text[found.end() :]
        return text

    def _values_of(self, piece: Expansion) -> tuple[str, ...]:
        source = piece.source
        self._spend(_EXPANSION if piece.is_plain else 2 * _EXPANSION)
        if source.startswith("$'"):
            return (unescaped(source[2:-1]),)
        if _is_commands(piece):
            output = self._output(_items_of(piece), source[0])
            return (UNKNOWN if output is None else output.rstrip("\n"),)
        if source.startswith(("<(", ">(")):
            self._output(piece.items, source[0])
            return (OUTPUT,)
        if source.startswith(("$((", "$[")):
            self._spend(len(source))
            for name in counted(source):
                self._forget(name)
        name = piece.name or source[:_LONGEST_NAME].strip("${}")
        values = self._values(name)
        has_default = _DEFAULT.match(source) is not None and source.endswith("}")
        if not has_default:
            self._look_into(piece)
        if name == "IFS":
            return (self._blanks()[0],)
        if is_secret_variable(name) and (values is None or any(UNKNOWN in value for value in values)):
            self._note("variable")
            return (UNKNOWN + SECRET,)
        if piece.is_plain or values is None or not piece.name:
            # The variable may have a value that is not set here.
            return values or ((self._default(piece), UNKNOWN) if has_default else (UNKNOWN,))
        # With a known value `${x:-…}` is that value, and `${x[@]}` all of them; other operators change it.
        return values if has_default or source.endswith(("[@]}", "[*]}")) else (UNKNOWN,)

    def _look_into(self, piece: Expansion) -> None:
        """Finds the commands inside a calculation, an index or the operator of a variable."""
        for item in piece.items:
            for each in item.expansions if isinstance(item, Word) else ():
                self._values_of(each)

    def _default(self, piece: Expansion) -> str:
        """The text of a default value."""
        return " ".join(part for item in piece.items if isinstance(item, Word) for part in self.words(item))


def _joined(pieces: tuple[Piece, ...]) -> list[Piece]:
    """The pieces, with unquoted text in one: the reader ends it at each brace."""
    found: list[Piece] = []
    for piece in pieces:
        last = found[-1] if found else None
        if isinstance(piece, Text) and isinstance(last, Text) and not piece.quote and not last.quote:
            found[-1] = Text(last.text + piece.text)
        else:
            found.append(piece)
    return found


def _is_commands(piece: Expansion) -> bool:
    """Whether a piece is the output of commands: `$((…) …)` is, where `$((…))` is a calculation."""
    if not piece.source.startswith("$(("):
        return piece.source.startswith(("$(", "`"))
    first = piece.items[0] if piece.items else None
    return first is not None and not (isinstance(first, Word) and first.source.startswith("$(("))


def _items_of(piece: Expansion) -> tuple[Item, ...]:
    if piece.items or not piece.source.startswith("`"):
        return piece.items
    # Between double quotes the reader leaves backquoted text as it is.
    return read_script(re.sub(r"\\([`$\\\"])", r"\1", piece.source[1:-1]))[0]


def _split(parts: tuple[tuple[str, bool], ...], blanks: str) -> Iterator[str]:
    """The words that these parts form together: blanks of an unquoted value end a word."""
    current, has_text = "", False
    for text, may_split in parts:
        if not may_split or not any(char in text for char in blanks):
            current, has_text = current + text, has_text or text != "" or not may_split
            continue
        first, *others = re.split(f"[{re.escape(blanks)}]+", text)
        current += first
        for other in others:
            if current:
                yield current
            current = other
        has_text = current != ""
    if has_text or not parts:
        yield current
