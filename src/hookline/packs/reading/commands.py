"""What a shell command runs: every program in it, also behind substitutions, wrappers, pipes and other shells."""

import posixpath
import re
from collections.abc import Sequence

from hookline.packs.reading import wrappers
from hookline.packs.reading.calls import ANYTHING, NOTHING, Call, Stream
from hookline.packs.reading.shells import RUN_LATER
from hookline.packs.reading.streams import output_of
from hookline.packs.reading.words import OUTPUT, UNKNOWN, Expander
from hookline.shell.lexer import Item, Text, Word, read_script

_SKIPPED = frozenset(
    ("if", "then", "elif", "else", "while", "until", "do", "done", "fi", "{", "}", "esac", "!", "time", "coproc")
)
_REDIRECTIONS = frozenset((">", ">>", ">|", "&>", "&>>", "<>", ">&", "<&", "<", "<<<", "<<"))
_DESCRIPTORS = frozenset("0123456789")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\[[^]]*\])?\+?=")

_FILE = Stream(frozenset({"file"}))
_DEEPEST = 12
_MOST_CALLS = 500
# A command of this length is judged no more: it would take too long for an event.
LONGEST = 64 * 1024


class Commands:
    """Reads commands into calls. What can't be known is in `doubts`, each a sentence."""

    def __init__(self, *, cwd: str, home: str, project: str | None = None) -> None:
        self.calls: list[Call] = []
        self.doubts: list[str] = []
        self.cwd = cwd
        self.home = home
        self.project = project or cwd
        self._variables: dict[str, tuple[str, ...]] = {}
        self._aliases: dict[str, str] = {}
        self._depth = 0
        self._via: tuple[str, ...] = ()
        self._substituted: Stream = NOTHING
        self.given: set[str] = set()
        """The kinds of what substitutions gave to the words that are being read."""
        self._expander = Expander(self._values, self._output, home)

    def read(self, text: str, stdin: Stream = NOTHING) -> Stream:
        """Reads one command line or script; returns what it writes to its output, as far as that is known."""
        if len(text) > LONGEST:
            self.doubt(f"the command is longer than {LONGEST:,} characters")
            text = text[:LONGEST]
        items, is_complete = read_script(text)
        if not is_complete:
            self.doubt("a quote or a parenthesis is not closed")
        return self._run(items, stdin)

    def doubt(self, sentence: str) -> None:
        """Notes something that can't be known."""
        if sentence not in self.doubts:
            self.doubts.append(sentence)

    def inner(
        self, text: str, stdin: Stream = NOTHING, *, arguments: Sequence[str] = (), via: tuple[str, ...] = ()
    ) -> Stream:
        """Reads a command that another one hands to a shell; what it changes holds for itself alone."""
        if UNKNOWN in text and not text.replace(UNKNOWN, "").strip():
            self.doubt("a command is made up while it runs")
            return ANYTHING
        saved = self.cwd, self._variables, self._via
        self._via = (*self._via, *via)
        self._variables = {**self._variables, **{str(index): (word,) for index, word in enumerate(arguments)}}
        if arguments[1:]:
            self._variables |= {"@": tuple(arguments[1:]), "*": tuple(arguments[1:])}
        output = self.read(text, stdin)
        self.cwd, self._variables, self._via = saved
        return output

    def emit(
        self,
        words: Sequence[str],
        *,
        stdin: Stream = NOTHING,
        writes: tuple[str, ...] = (),
        reads: tuple[str, ...] = (),
        via: tuple[str, ...] = (),
        assigned: tuple[str, ...] = (),
        given: frozenset[str] = frozenset(),
    ) -> Stream:
        """Adds a call and those that it makes in turn; returns what it writes to its output."""
        if len(self.calls) >= _MOST_CALLS or self._depth >= _DEEPEST:
            self.doubt("the command nests too deeply, or runs too many programs")
            return ANYTHING
        call = Call(
            tuple(words),
            cwd=self.cwd,
            stdin=stdin,
            writes=writes,
            reads=reads,
            via=(*self._via, *via),
            assigned=assigned,
            given=given,
        )
        self.calls.append(call)
        if UNKNOWN in call.program or "*" in call.program or "?" in call.program:
            self.doubt("the name of a program is made up while it runs")
        self._depth += 1
        try:
            return wrappers.follow(self, call) or output_of(call)
        finally:
            self._depth -= 1

    def assign(self, name: str, *values: str) -> None:
        """Gives a variable the values that it may have."""
        self._variables[name] = values

    def alias(self, name: str, text: str) -> None:
        """Gives a word another meaning for the rest of the command."""
        self._aliases[name] = text

    def change_directory(self, directory: str) -> None:
        """Follows `cd`."""
        self.cwd = (
            directory if directory.startswith(UNKNOWN) else posixpath.normpath(posixpath.join(self.cwd, directory))
        )

    @property
    def substituted(self) -> Stream:
        """The output of the last `<(…)`."""
        return self._substituted

    def _values(self, name: str) -> tuple[str, ...] | None:
        known = self._variables.get(name)
        if known is not None:
            return known
        return {"HOME": (self.home,), "PWD": (self.cwd,), "TMPDIR": ("/tmp",)}.get(name)

    def _output(self, items: tuple[Item, ...], kind: str) -> str | None:
        if self._depth >= _DEEPEST:
            self.doubt("the command nests too deeply, or runs too many programs")
            return None
        saved, given = self.cwd, self.given
        self._depth += 1
        output = self._run(items, NOTHING)
        self._depth -= 1
        self.cwd, self.given = saved, given | output.kinds
        if kind in "<>" or output.kinds:
            self._substituted = output
        return output.text

    def _run(self, items: tuple[Item, ...], stdin: Stream) -> Stream:
        return _Run(self, items, self._expander, stdin).run()

    def simple(self, words: list[str], *, is_plain: bool, **streams: object) -> Stream:
        """One simple command, with its alias replaced; a quoted word is none."""
        text = self._aliases.get(words[0]) if is_plain and words else None
        if text is not None:
            del self._aliases[words[0]]  # an alias is not replaced inside itself
            inner, _ = read_script(text)
            first = [word for item in inner if isinstance(item, Word) for word in self._expander.words(item)]
            if all(isinstance(item, Word) for item in inner):
                return self.simple([*first, *words[1:]], is_plain=True, **streams)
            return self.inner(text)
        return self.emit(words, **streams)  # type: ignore[arg-type]


class _Run:
    """One pass over the words and operators of a script, in the order in which the shell would take them."""

    def __init__(self, commands: Commands, items: tuple[Item, ...], expander: Expander, stdin: Stream) -> None:
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
            pass
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

    def _next(self) -> Item | None:
        return self._items[self._at] if self._at < len(self._items) else None

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
            self._finish()
            self._stdin = self._output
        elif operator == "(" and len(self._words) == 1 and self._next() == ")":
            self._at += 1  # a function: its body is read where it stands
            self._define(self._words[0].source)
        elif operator in ("#", "(("):
            pass
        else:
            self._finish()
            self._start_pipeline()
            if operator == "(":
                self._scopes.append(self._commands.cwd)
            elif operator == ")" and self._scopes:
                self._commands.cwd = self._scopes.pop()

    def _define(self, name: str) -> None:
        self._start_command()
        rest = self._items[self._at :]
        # A function that runs itself twice at a time fills the machine.
        uses = [index for index, item in enumerate(rest[:12]) if isinstance(item, Word) and item.source == name]
        if uses[1:] and "|" in [item for item in rest[:12] if isinstance(item, str)]:
            self._commands.emit(("fork-bomb",))

    def _redirect(self, operator: str) -> None:
        if self._words and self._words[-1].source in _DESCRIPTORS and operator != "<<<":
            self._words.pop()  # a descriptor's number
        if operator == "<<":
            body = self._bodies.get(self._at - 1)
            self._stdin = ANYTHING if body is None else Stream(text=self._expander.text(body))
            return
        target = self._next()
        if not isinstance(target, Word):
            return
        self._at += 1
        if operator == "<<<":
            self._stdin = Stream(text=self._expander.text(target))
            return
        for text in self._expander.words(target):
            if operator in ("<", "<&", "<>"):
                self._reads.append(text)
                self._stdin = (
                    self._commands.substituted if OUTPUT in text else _FILE if text != "/dev/null" else NOTHING
                )
            elif not (operator == ">&" and text.isdigit()):
                self._writes.append(text)

    def _finish(self) -> None:
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
        given = frozenset(self._commands.given)
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
    return isinstance(first, Text) and not first.quote and first.text.startswith(found[0])


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
