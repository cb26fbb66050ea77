"""What a shell command runs: every program in it, also behind substitutions, wrappers, pipes and other shells."""

import posixpath
from collections.abc import Sequence
from typing import Unpack

from hookline.packs.reading import wrappers
from hookline.packs.reading.calls import ANYTHING, NOTHING, Call, Stream, Surroundings
from hookline.packs.reading.script import Run
from hookline.packs.reading.streams import output_of
from hookline.packs.reading.words import SECRET, UNKNOWN, Expander
from hookline.shell.lexer import read_script
from hookline.shell.pieces import Item, Word

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
        self._texts: dict[str, str] = {}
        self._variables: dict[str, tuple[str, ...]] = {}
        self._aliases: dict[str, str] = {}
        self._depth = 0
        self._via: tuple[str, ...] = ()
        self._substituted: Stream = NOTHING
        self.given: set[str] = set()
        """The kinds of what substitutions gave to the words that are being read."""
        self._expander = Expander(self._values, self._output, home, self._note)

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

    def emit(self, words: Sequence[str], **surroundings: Unpack[Surroundings]) -> Stream:
        """Adds a call and those that it makes in turn; returns what it writes to its output."""
        if len(self.calls) >= _MOST_CALLS or self._depth >= _DEEPEST:
            self.doubt("the command nests too deeply, or runs too many programs")
            return ANYTHING
        surroundings["via"] = (*self._via, *surroundings.get("via", ()))
        call = Call(tuple(words), cwd=self.cwd, **surroundings)
        self.calls.append(call)
        if UNKNOWN in call.program or "*" in call.program or "?" in call.program:
            self.doubt("the name of a program is made up while it runs")
        self._depth += 1
        try:
            output = wrappers.follow(self, call) or output_of(call)
        finally:
            self._depth -= 1
        if output.text is not None:
            self._texts |= {call.path(path): output.text for path in _written(call)}
        return output

    def assign(self, name: str, *values: str) -> None:
        """Gives a variable the values that it may have."""
        self._variables[name] = values

    def text_of(self, path: str) -> str | None:
        """The text that this command has written to a file."""
        return self._texts.get(path)

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
        return {"HOME": (self.home,), "PWD": (self.cwd,), "TMPDIR": ("/tmp/tmpdir",)}.get(name)  # noqa: S108 - a name, no file

    def _note(self, kind: str) -> None:
        self.given.add(kind)

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
        if output.text is None and not output.kinds.isdisjoint(("secret", "environment")):
            return UNKNOWN + SECRET
        return output.text

    def _run(self, items: tuple[Item, ...], stdin: Stream) -> Stream:
        return Run(self, items, self._expander, stdin).run()

    def simple(self, words: list[str], *, is_plain: bool, **surroundings: Unpack[Surroundings]) -> Stream:
        """One simple command, with its alias replaced; a quoted word is none."""
        text = self._aliases.get(words[0]) if is_plain and words else None
        if text is not None:
            del self._aliases[words[0]]  # an alias is not replaced inside itself
            inner, _ = read_script(text)
            first = [word for item in inner if isinstance(item, Word) for word in self._expander.words(item)]
            if all(isinstance(item, Word) for item in inner):
                return self.simple([*first, *words[1:]], is_plain=True, **surroundings)
            return self.inner(text)
        return self.emit(words, **surroundings)


def _written(call: Call) -> tuple[str, ...]:
    return (*call.writes, *(call.operands if call.program == "tee" else ()))
