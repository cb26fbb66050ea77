"""Reads the text of a shell command: its words, what each word is made of, and how that is quoted.

Nothing is expanded and nothing is executed. Any text can be read, even one that the shell would refuse.
"""

import math
import re
from collections.abc import Iterable

from hookline.protocol.text.patterns import lazy_pattern
from hookline.shell.pieces import Expansion, Item, Piece, Text, Word

# Plain characters, a single-quoted text or an escaped character.
_LITERAL = lazy_pattern(r"([^ \t\n;&|<>()'\"\\`${}#]+)|'([^']*)'|\\(.)", re.DOTALL)
# A whole word of such characters, or what separates commands: most of what people write.
_PLAIN_WORD = lazy_pattern(r"([^ \t\n;&|<>()'\"\\`${}#]+)(?=[ \t\n;&|]|\Z)[ \t]*")
_SEPARATOR = lazy_pattern(r"(&&|\|\||;(?![;&])|\|(?!&)|\n)[ \t]*")
_BLANKS = lazy_pattern(r"[ \t]*")
_LITERAL_IN_QUOTES = lazy_pattern(r"([^\"\\`$}]+)|\\([$`\"\\\n])")
_OPERATOR = lazy_pattern(r"&>>|&>|>>|>\||>&|<>|<<<|<&|;;&|;;|;&|&&|\|\||\|&|[;&|<>()\n]")
_HEREDOC = lazy_pattern(r"<<(-?)[ \t]*((?:\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|[^\s;&|<>()'\"\\])+)", re.DOTALL)
_COMMENT, _COMMENT_IN_BACKQUOTES = lazy_pattern(r"#[^\n]*"), lazy_pattern(r"#[^\n`]*")
_BACKQUOTED = lazy_pattern(r"`(?:\\.|[^`\\])*`", re.DOTALL)
_DESCRIPTOR = lazy_pattern(r"[0-9]+|\{[A-Za-z_][A-Za-z0-9_]*\}")
_NAME = "[A-Za-z_][A-Za-z0-9_]*"
_VARIABLE = lazy_pattern(rf"\$(?:({_NAME})|\{{({_NAME})\}}|[?!#@*$0-9-])")
_PARAMETER = lazy_pattern(rf"\$\{{(?:({_NAME})|[!#]?\w*)(?::?[-=?+]|##?|%%?|//?|\^\^?|,,?|[:@\[])?")
_ANSI = lazy_pattern(r"\$'((?:\\.|[^'\\])*)'", re.DOTALL)

# Where in a construct whose words are compared we are, and the keyword that leads on.
_NEXT = {
    ("", "case"): "subject",
    ("subject", "in"): "patterns",
    ("patterns", "esac"): "",
    ("", "esac"): "",
    ("", "[["): "test",
    ("test", "]]"): "",
}
_LEADING = frozenset(word for _, word in _NEXT)
_BEFORE_A_COMMAND = frozenset(("if", "then", "elif", "else", "while", "until", "do", "time", "!", "{"))

# Deeper than real commands nest substitutions, and well below Python's recursion limit.
_DEEPEST = 50


def read_script(text: str, most_steps: float = math.inf) -> tuple[tuple[Item, ...], bool]:
    """The words and operators of a shell command, and whether all its quotes and parentheses are closed.

    Past `most_steps`, the rest of the text is left out, and counts as not closed.
    """
    items, is_complete, _ = read_within(text, most_steps)
    return items, is_complete


def read_within(text: str, most_steps: float) -> tuple[tuple[Item, ...], bool, float]:
    """The same, with the number of steps that are left."""
    reader = _Reader(text, most_steps=most_steps)
    return _Level(reader, "").read(), reader.is_complete, reader.steps_left


def splice(text: str, replacements: Iterable[tuple[int, str, str]]) -> str:
    """The text with the old parts that begin at these positions, in rising order, replaced by new ones."""
    done, parts = 0, []
    for start, old, new in replacements:
        parts += [text[done:start], new]
        done = start + len(old)
    return "".join([*parts, text[done:]])


class _Reader:
    """A position in a text, with methods that read the pieces of words there."""

    def __init__(self, text: str, at: int = 0, depth: int = 0, most_steps: float = math.inf) -> None:
        self.text = text
        self.at = at
        self.depth = depth
        self.steps_left = most_steps
        self.is_complete = True
        self.heredocs: list[re.Match[str]] = []

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        self.steps_left -= 1
        found = pattern.match(self.text, self.at)
        if found:
            self.at = found.end()
        return found

    def is_over(self) -> bool:
        """Whether the text has ended, or has taken too many steps."""
        if self.steps_left < 0:
            self.give_up()
        return self.at >= len(self.text)

    def give_up(self) -> str:
        """Returns the rest of the text and ends the reading."""
        rest = self.text[self.at :]
        self.is_complete, self.at = False, len(self.text)
        return rest

    def pieces(self) -> list[Piece]:
        """The pieces here outside quotes, if there is neither a blank nor an operator."""
        if found := self.take(_LITERAL):
            text, quote = found[1] or found[2] or found[3] or "", "" if found[1] else found[0][0]
            return [] if found[0] == "\\\n" else [Text(text, quote)]
        char = self.text[self.at]
        if char == "$":
            return [self.expansion("")]
        if char in "`<>":
            return [self._inside("`", 1) if char == "`" else self._inside(")", 2)]
        if char in "'\\":
            return [Text(self.give_up()[1:], "'")]
        self.at += 1
        return (self.quoted('"') or [Text("", '"')]) if char == '"' else [Text(char)]

    def quoted(self, end: str) -> list[Piece]:
        """The pieces up to `end` of a text that is read as between double quotes."""
        pieces: list[Piece] = []
        while not self.is_over():
            start, char = self.at, self.text[self.at]
            if char == "$":
                pieces.append(self.expansion('"'))
            elif found := self.take(_BACKQUOTED):
                pieces.append(Expansion(found[0], start, '"'))
            elif found := self.take(_LITERAL_IN_QUOTES):
                pieces.append(Text(found[1] or found[2].strip("\n"), '"'))
            else:
                self.at += 1
                if char == end:
                    return pieces
                pieces += self.quoted('"') if char == '"' and end == "}" else [Text(char, '"')]
        self.is_complete = self.is_complete and not end
        return pieces

    def expansion(self, quote: str) -> Piece:
        """The expansion that begins with the dollar sign here."""
        start, text = self.at, self.text
        if found := self.take(_VARIABLE):
            name = found[1] or found[2] or ""
            return Expansion(found[0], start, quote, name, is_plain=name != "")
        if text.startswith(("$((", "$["), start) and (inner := self.arithmetic(3 if text[start + 1] == "(" else 2)):
            return Expansion(text[start : self.at], start, quote, items=(inner,) if inner.pieces else ())
        if text.startswith("$(", start):
            return self._inside(")", 2, quote)
        if found := _PARAMETER.match(text, start):
            return self._inside("}", len(found[0]), quote, found[1] or "")
        if not quote and (found := self.take(_ANSI)):
            return Expansion(found[0], start, "$'") if "\\" in found[1] else Text(found[1], "$'")
        self.at += 1
        is_literal = text[self.at : self.at + 1] not in (("[",) if quote else ("[", "'", '"'))
        return Text("$", quote) if is_literal else Expansion("$", start, quote)

    def _inside(self, end: str, opening: int, quote: str = "", name: str = "") -> Expansion:
        """An expansion with commands or words in it."""
        start, self.at = self.at, self.at + opening
        self.depth += 1
        self.steps_left -= 3
        items: tuple[Item, ...] = ()
        if self.depth > _DEEPEST:
            self.give_up()
        elif end == "}" and quote:
            items = (Word("", self.at, tuple(self.quoted("}")), is_compared=True),)
        else:
            items = _Level(self, end).read()
        self.depth -= 1
        return Expansion(self.text[start : self.at], start, quote, name, items=items)

    def arithmetic(self, opening: int) -> Word | None:
        """The calculation that begins here, up to its `))` or `]`; None for two parentheses around commands."""
        start, self.at = self.at, self.at + opening
        opens, closes = ("[", "]") if self.text[self.at - 1] == "[" else ("(", ")")
        depth, last, pieces = 1 if closes == "]" else 2, 0, list[Piece]()
        self.depth += 1
        while not self.is_over() and depth and self.depth <= _DEEPEST:
            self.steps_left -= 1
            at, char = self.at, self.text[self.at]
            if char == "$":
                pieces.append(self.expansion('"'))
            elif found := self.take(_BACKQUOTED):
                pieces.append(Expansion(found[0], at, '"'))
            else:
                self.at += 2 if char == "\\" else 1
                depth += {opens: 1, closes: -1}.get(char, 0)
                if closes == ")" == char and not depth and last != at - 1:
                    self.depth, self.at = self.depth - 1, start
                    return None
                last = at if char == closes else last
        self.depth -= 1
        if depth:
            self.give_up()
        return Word(self.text[start : self.at], start, tuple(pieces), is_compared=True)

    def heredoc_bodies(self) -> list[Word]:
        """The here-documents that were announced on the line before."""
        found, self.heredocs = self.heredocs, []
        return [self._heredoc_body(each) for each in found]

    def _heredoc_body(self, found: re.Match[str]) -> Word:
        delimiter = re.sub(r"\\(.)|['\"]", r"\1", found[2])
        start = self.at
        end = self._take_lines_before(delimiter, "\t" if found[1] else "")
        body = self.text[start:end]
        if delimiter != found[2]:
            return Word(body, start, (Text(body, "'"),))
        # A separate reader, so that an open parenthesis in the body ends with the body.
        inner = _Reader(self.text[:end], start, self.depth, self.steps_left)
        word = Word(body, start, tuple(inner.quoted("")))
        self.steps_left = inner.steps_left
        self.is_complete = self.is_complete and inner.is_complete
        return word

    def _take_lines_before(self, delimiter: str, indent: str) -> int:
        """Moves behind the line that is the delimiter; returns where that begins, or the end of the text."""
        text = self.text
        while self.at < len(text):
            at, end = self.at, text.find("\n", self.at)
            end = end if end >= 0 else len(text)
            self.at = min(end + 1, len(text))
            if text[at:end].lstrip(indent) == delimiter:
                return at
        return len(text)


class _Level:
    """Reads text outside quotes up to the character that closes it, into words and operators."""

    def __init__(self, reader: _Reader, end: str) -> None:
        self._reader = reader
        self._end = end
        self._items: list[Item] = []
        self._pieces: list[Piece] = []
        self._start = 0
        self._parentheses = 0
        self._cases = 0
        self._comparing = ""

    def read(self) -> tuple[Item, ...]:
        reader, text = self._reader, self._reader.text
        while not reader.is_over():
            if not self._pieces:
                self._read_plain()
                if reader.is_over():
                    break
            reader.steps_left -= 1  # what is not plain takes longer
            char = text[reader.at]
            if char in (" ", "\t", self._end):
                self._end_word()
            if char == self._end and not (char == ")" and (self._parentheses or self._comparing == "patterns")):
                reader.at += 1
                return tuple(self._items)
            if char in " \t":
                reader.at += 1
            elif char == "(" and self._is_pattern():
                self._read_group()
            elif char in "\n;&|<>()" and not text.startswith(("<(", ">("), reader.at):
                self._read_operator()
            elif char == "#" and not self._pieces and self._end != "}":
                self._items.append("#")
                reader.take(_COMMENT_IN_BACKQUOTES if self._end == "`" else _COMMENT)
            else:
                self._start = self._start if self._pieces else reader.at
                self._pieces += reader.pieces()
        self._end_word()
        reader.is_complete = reader.is_complete and not (self._end or self._parentheses or self._cases)
        return tuple(self._items)

    def _read_plain(self) -> None:
        """Reads words without quotes, and operators between them, as far as they mean nothing more."""
        reader, text, items, comparing = self._reader, self._reader.text, self._items, self._comparing
        found = _BLANKS.match(text, reader.at)
        at, steps, is_compared = found.end() if found else reader.at, reader.steps_left, self._end == "}"
        while steps >= 0 and not comparing:
            if found := _PLAIN_WORD.match(text, at):
                source, start = found[1], found.start(1)
                if source in _LEADING:
                    break
                items.append(Word(source, start, (Text(source),), is_compared))
            elif (found := _SEPARATOR.match(text, at)) and not (reader.heredocs and found[1] == "\n"):
                items.append(found[1])
            else:
                break
            at = found.end()
            steps -= 1
        reader.at, reader.steps_left = at, steps

    def _is_pattern(self) -> bool:
        """Whether the parenthesis here belongs to a pattern such as `!(a|b)`, which bash knows with extglob."""
        last = self._pieces[-1] if self._pieces else None
        if self._comparing or self._end == "}" or not isinstance(last, Text) or last.quote:
            return False
        is_negation = last.text == "!" and not self._pieces[1:] and self._starts_command()
        return last.text.endswith(("?", "*", "+", "@", "!")) and not is_negation

    def _read_group(self) -> None:
        """The alternatives of a pattern, as parts of the word."""
        reader, depth = self._reader, 0
        while not reader.is_over():
            char = reader.text[reader.at]
            if char in "()|&;<> \t\n":
                depth += {"(": 1, ")": -1}.get(char, 0)
                reader.at += 1
                self._pieces.append(Text(char))
            else:
                self._pieces += reader.pieces()
            if not depth:
                return
        reader.is_complete = False

    def _read_operator(self) -> None:
        reader, starts_word = self._reader, not self._pieces
        self._end_word(is_before_redirection=reader.text[reader.at] in "<>")
        if starts_word and reader.text.startswith("((", reader.at) and (inner := reader.arithmetic(2)):
            self._items += ["((", inner]
        elif heredoc := reader.take(_HEREDOC):
            self._items.append("<<")
            reader.heredocs.append(heredoc)
        elif found := reader.take(_OPERATOR):
            self._items.append(found[0])
            if found[0] == "\n":
                self._items += reader.heredoc_bodies()
            elif found[0] in ("(", ")") and self._end != "}":
                self._count_parenthesis(found[0])
            elif found[0] in (";;", ";&", ";;&"):
                self._comparing = "patterns" if self._cases else ""

    def _count_parenthesis(self, char: str) -> None:
        if self._comparing == "patterns":
            self._comparing = "patterns" if char == "(" else ""
        elif char == "(" or self._parentheses:
            self._parentheses += 1 if char == "(" else -1
        else:
            self._reader.is_complete = False

    def _end_word(self, *, is_before_redirection: bool = False) -> None:
        if not self._pieces:
            return
        source = self._reader.text[self._start : self._reader.at]
        is_compared = self._comparing != "" or self._end == "}"
        then = _NEXT.get((self._comparing, source))
        if then is not None and self._end != "}" and (self._comparing or self._starts_command()):
            self._comparing = then
            self._cases = max(0, self._cases + {"case": 1, "esac": -1}.get(source, 0))
        is_descriptor = is_before_redirection and _DESCRIPTOR.fullmatch(source) is not None
        self._items.append(Word(source, self._start, tuple(self._pieces), is_compared, is_descriptor))
        self._pieces.clear()

    def _starts_command(self) -> bool:
        last = self._items[-1] if self._items else ""
        return last.source in _BEFORE_A_COMMAND if isinstance(last, Word) else not {"<", ">"} & {*last}
