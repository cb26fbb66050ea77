"""One pass over the words and operators of a script, as a shell makes it."""

import re

from hookline.packs.reading.calls import ANYTHING, NOTHING, Reader, Stream
from hookline.packs.reading.shells import RUN_BY_PROGRAMS, RUN_LATER
from hookline.packs.reading.words import OUTPUT, SECRET, UNKNOWN, Expander
from hookline.shell.pieces import Item, Text, Word

_SKIPPED = frozenset(
    ("if", "then", "elif", "else", "while", "until", "do", "done", "fi", "{", "}", "case", "esac", "!", "time")
)
_REDIRECTIONS = frozenset((">", ">>", ">|", "&>", "&>>", "<>", ">&", "<&", "<", "<<<", "<<"))
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\[[^]]*\])?\+?=")

_FILE = Stream(frozenset({"file"}))


class Run:
    """One pass over the words and operators of a script, in the order in which the shell would take them."""

    def __init__(self, commands: Reader, items: tuple[Item, ...], expander: Expander, stdin: Stream) -> None:
        self._commands = commands
        self._items = items
        self._expander = expander
        self._given = stdin
        self._at = 0
        self._bodies, self._is_body = _heredocs(items)
        self._scopes: list[str] = []
        self._output = NOTHING
        self._start_pipeline()

    def run(self) -> Stream:
        """Adds every call of the script; returns what the last one writes to its output."""
        items = self._items
        while self._at < len(items):
            item = items[self._at]
            self._at += 1
            if isinstance(item, Word):
                if self._at - 1 not in self._is_body:
                    self._word(item)
            else:
                self._operator(item)
        self._finish()
        return self._output

    def _start_pipeline(self) -> None:
        self._stdin = self._given
        self._start_command()

    def _start_command(self) -> None:
        self._words: list[Word] = []
        self._assigned: list[str] = []
        self._writes: list[str] = []
        self._reads: list[str] = []

    def _word(self, word: Word) -> None:
        if word.is_compared:
            self._expander.words(word)  # for the commands in it
        elif not self._words and not self._assigned and word.source in _SKIPPED:
            if word.source == "while":
                self._loop()
        elif not self._words and word.source == "coproc":
            self._at += isinstance(name := self._next(1), Word) and name.source == "{"  # its name stands before
        elif not self._words and word.source in ("for", "select"):
            self._for()
        elif not self._words and word.source == "function":
            self._at += 1
        elif not self._words and (found := _ASSIGNMENT.match(word.source)) and _begins_with_text(word, found):
            self._assign(word, found)
        else:
            self._words.append(word)

    def _assign(self, word: Word, found: re.Match[str]) -> None:
        name = found[1]
        if not word.source[found.end() :] and self._next() == "(":
            self._at += 1
            values = [text for each in self._until(")") for text in self._expander.words(each)]
            self._commands.assign(name, *(values or [""]))
            return
        if "$" in found[0] or "`" in found[0]:
            self._expander.words(word)  # for the commands in its index
            self._assigned.append(f"{name}={UNKNOWN}")
            return
        first = word.pieces[0]
        rest = (Text(first.text[len(found[0]) :]), *word.pieces[1:]) if isinstance(first, Text) else ()
        value = self._expander.text(word._replace(pieces=rest))
        if value == "~" or value.startswith("~/"):
            value = self._commands.home + value[1:]
        self._assigned.append(f"{name}={value}")

    def _for(self) -> None:
        name = self._next()
        self._at += 1
        following = self._next()
        if isinstance(following, Word) and following.source == "in":
            self._at += 1
            words = [text for each in self._until(";", "\n") for text in self._expander.words(each)]
            if isinstance(name, Word):
                self._commands.assign(name.source, *(words or [UNKNOWN]))

    def _next(self, ahead: int = 0) -> Item | None:
        at = self._at + ahead
        return self._items[at] if at < len(self._items) else None

    def _until(self, *ends: str) -> list[Word]:
        found: list[Word] = []
        while (item := self._next()) is not None and item not in ends:
            self._at += 1
            if isinstance(item, Word):
                found.append(item)
        self._at += 1
        return found

    def _operator(self, operator: str) -> None:
        if operator in _REDIRECTIONS:
            self._redirect(operator)
        elif operator in ("|", "|&"):
            self._finish(is_piped=True)
            self._stdin = self._output
        elif operator == "(" and len(self._words) == 1 and self._next() == ")":
            self._at += 1  # a function: its body is read where it stands
            self._define(self._words[0].source)
        elif operator in ("#", "(("):
            pass
        elif operator == "(" and self._words[1:] and self._words[-1].source.endswith("="):
            self._list()
        else:
            self._finish()
            self._start_pipeline()
            if operator == "(":
                self._scopes.append(self._commands.cwd)
            elif operator == ")" and self._scopes:
                self._commands.cwd = self._scopes.pop()

    def _list(self) -> None:
        """The values of `declare name=(…)`."""
        name = self._words.pop().source.rstrip("+=")
        values = [text for each in self._until(")") for text in self._expander.words(each)]
        self._commands.assign(name, *(values or [""]))

    def _define(self, name: str) -> None:
        self._start_command()
        rest = self._items[self._at :]
        # A function that runs itself twice at a time fills the machine.
        uses = [index for index, item in enumerate(rest[:12]) if isinstance(item, Word) and item.source == name]
        if uses[1:] and "|" in [item for item in rest[:12] if isinstance(item, str)]:
            self._commands.emit(("fork-bomb",))

    def _redirect(self, operator: str) -> None:
        if self._words and self._words[-1].is_descriptor:
            self._words.pop()
        if operator == "<<":
            body = self._bodies.get(self._at - 1)
            self._stdin = ANYTHING if body is None else self._text(body)
            return
        target = self._next()
        if not isinstance(target, Word):
            return
        self._at += 1
        if operator == "<<<":
            self._stdin = self._text(target)
            return
        for text in self._expander.words(target):
            if operator in ("<", "<&", "<>"):
                self._reads.append(text)
                self._stdin = (
                    self._commands.substituted if OUTPUT in text else _FILE if text != "/dev/null" else NOTHING
                )
            elif not (operator == ">&" and text.isdigit()):
                self._writes.append(text)

    def _text(self, word: Word) -> Stream:
        """A here-document or a here-string, with what is known about the output that stands in it."""
        self._commands.given = set()
        text = self._expander.text(word)
        kinds = self._commands.given | ({"secret"} if SECRET in text else set()) if UNKNOWN in text else set()
        return Stream(frozenset(kinds), text=text)

    def _loop(self) -> None:
        """A loop without an end that starts programs without waiting for any fills the machine."""
        rest = self._items[self._at :]
        end = next((at for at, item in enumerate(rest) if isinstance(item, Word) and item.source == "done"), len(rest))
        names = {item.source for item in rest[:end] if isinstance(item, Word)}
        is_endless = isinstance(rest[0], Word) and rest[0].source in ("true", ":") if rest else False
        if is_endless and "&" in rest[:end] and names.isdisjoint(("sleep", "wait", "read", "break")):
            self._commands.emit(("fork-bomb",))

    def _finish(self, *, is_piped: bool = False) -> None:
        words, assigned = self._words, tuple(self._assigned)
        writes, reads, stdin = tuple(self._writes), tuple(self._reads), self._stdin
        self._start_command()
        if not words:
            for each in assigned:
                name, _, value = each.partition("=")
                self._commands.assign(name, value)
                if name in RUN_LATER:
                    self._commands.inner(value)
            if writes or reads or assigned:
                self._output = self._commands.emit((":",), stdin=stdin, writes=writes, reads=reads, assigned=assigned)
            return
        self._commands.given = set()
        expanded = [text for word in words for text in self._expander.words(word)]
        if not expanded:
            return
        for name, _, value in (each.partition("=") for each in assigned):
            if name in RUN_BY_PROGRAMS:
                self._commands.inner(value)
        given = frozenset(self._commands.given | ({"shown"} if not is_piped and not writes else set()))
        self._output = self._commands.simple(
            expanded,
            is_plain=words[0].source == expanded[0],
            stdin=stdin,
            writes=writes,
            reads=reads,
            assigned=assigned,
            given=given,
        )


def _begins_with_text(word: Word, found: re.Match[str]) -> bool:
    first = word.pieces[0]
    begins = found[0] if "$" not in found[0] and "`" not in found[0] else f"{found[1]}["
    return isinstance(first, Text) and not first.quote and first.text.startswith(begins)


def _heredocs(items: tuple[Item, ...]) -> tuple[dict[int, Word], set[int]]:
    """The bodies of here-documents by the position of their operator, and the positions of the bodies themselves."""
    bodies: dict[int, Word] = {}
    found: set[int] = set()
    waiting: list[int] = []
    for index, item in enumerate(items):
        if item == "<<":
            waiting.append(index)
        elif isinstance(item, Word) and waiting and index and (items[index - 1] == "\n" or index - 1 in found):
            bodies[waiting.pop(0)] = item
            found.add(index)
    return bodies, found
