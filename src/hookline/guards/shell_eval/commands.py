"""Finds every program that a shell command runs, also in substitutions, wrappers, pipes and other shells."""

import posixpath
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Unpack

from hookline.guards.facts import patterns
from hookline.guards.shell_eval.calls import (
    ANYTHING,
    ELSEWHERE,
    LONGEST_LINE,
    NOTHING,
    ProgramCall,
    Stream,
    Surroundings,
    merged,
)
from hookline.guards.shell_eval.links import Links
from hookline.guards.shell_eval.streams import output_of
from hookline.guards.shell_eval.words import SECRET, UNKNOWN, Expander, is_known
from hookline.shell.lexer import read_script, read_within
from hookline.shell.pieces import Item, Word

_P = patterns("programs")
# A shell runs the values of these by itself.
RUN_LATER = frozenset(("PROMPT_COMMAND", "BASH_ENV", "ENV", "PS0", "PS4"))


def is_run(name: str) -> bool:
    """Whether a shell or another program runs the value of a variable."""
    return name in RUN_LATER or _P["run_by_programs"].fullmatch(name) is not None


def is_code(assignment: str) -> bool:
    """Whether `NAME=value` makes a program run code that is not read here."""
    return _P["code_in"].match(assignment) is not None


_DEEPEST = 12
# The budget of one command, in steps. All packs together spend less than half a microsecond on a step.
_BUDGET = 42_000
# A longer command may take more.
_USUAL_LENGTH = 10_000
_CALL = 85
# Of programs that many rules are about.
_JUDGED_CALL = 220
_MUCH_JUDGED = frozenset(
    (
        *(
            "rm",
            "nc",
            "ncat",
            "netcat",
            "curl",
            "wget",
            "git",
            "socat",
            "telnet",
            "unlink",
            "shred",
            "mv",
            "aws",
            "http",
        ),
        *("https", "openssl", "ftp", "php", "python", "python3", "rimraf", "rsync", "npx", "gsutil", "ruby", "rclone"),
    )
)
_WORD = 8
# Of more words than a few, each takes more.
_FEW = 16
_MORE_WORDS = 24
_ITEM = 5
# A nested script: a substitution, a text for a shell.
_SCRIPT = 40
# A word or an operator without quotes, a piece of another word, a character of a calculation.
_LEXER_STEP = 5
# A command of this length is judged no more: it would take too long for an event.
LONGEST = 64 * 1024
_TOO_MUCH = "the command is too long or too deeply nested to be read"
# Each alone is more than commands for people have.
_MOST_VALUES = 64
_LONGEST_VALUE = 16 * 1024


class _OverBudgetError(Exception):
    """Reading the command takes too many steps."""


Follow = Callable[["Commands", ProgramCall], Stream | None]
"""Adds what a call runs in turn; returns the output where it is known from that."""
RunScript = Callable[["Commands", tuple[Item, ...], Expander, Stream], Stream]
"""Adds every call of a script; returns what it writes to its output."""


class Commands:
    """Reads commands into calls. What can't be known is in `doubts`, each a sentence."""

    def __init__(
        self, follow: Follow, run_script: RunScript, *, cwd: str, home: str, project: str | None = None
    ) -> None:
        self._follow = follow
        self._run_script = run_script
        self.calls: list[ProgramCall] = []
        self.doubts: list[str] = []
        self.cwd = cwd
        self.home = home
        self.project = project or cwd
        self._texts: dict[str, str | None] = {}
        self._variables: dict[str, tuple[str, ...]] = {}
        self._referred: set[str] = set()
        self._is_any_referred = False
        self._aliases: dict[str, str] = {}
        self._links = Links()
        self._functions: dict[str, tuple[Item, ...]] = {}
        self._called: set[str] = set()
        self._active: set[str] = set()
        self._depth = 0
        self._left = _BUDGET
        self._via: tuple[str, ...] = ()
        self._streams: list[Stream] = []
        self.made_by: list[str] = []
        self.given: set[str] = set()
        """The kinds of what substitutions gave to the words that are being read."""
        self._expander = Expander(self._known, self._output, home, self._note, self.spend, self.forget)

    def read(self, text: str) -> Stream:
        """Reads one command line or script; returns what it writes to its output, as far as that is known."""
        self._left = _BUDGET + max(0, len(text) - _USUAL_LENGTH)
        if len(text) > LONGEST:
            self.doubt(f"the command is longer than {LONGEST:,} characters")
            text = text[:LONGEST]
        try:
            output = self._read(text, NOTHING)
            self._read_functions()
        except (_OverBudgetError, RecursionError):
            self.doubt(_TOO_MUCH)
            return ANYTHING
        return output

    def _read(self, text: str, stdin: Stream) -> Stream:
        self.spend(len(text) // 10)
        most = self._left // _LEXER_STEP
        items, is_complete, left = read_within(text, most)
        self.spend(int(most - left) * _LEXER_STEP)
        if not is_complete:
            self.doubt("a quote or a parenthesis is not closed, or there are too many of them")
        return self._run(items, stdin)

    def _read_functions(self) -> None:
        """Functions that are defined for later."""
        while left := [name for name in self._functions if name not in self._called]:
            self._called.update(left)
            for name in left:
                self._run(self._functions[name], NOTHING)

    def spend(self, steps: int) -> None:
        """Counts steps; past the budget nothing more is read."""
        self._left -= steps
        if self._left < 0:
            raise _OverBudgetError

    def doubt(self, sentence: str) -> None:
        """Notes something that can't be known."""
        if sentence not in self.doubts:
            self.doubts.append(sentence)

    @contextmanager
    def guessing(self) -> Iterator[None]:
        """Reads a text that is perhaps not a command, so no doubts about it are noted."""
        saved = list(self.doubts)
        yield
        self.doubts = saved

    def inner(
        self,
        text: str,
        stdin: Stream = NOTHING,
        *,
        arguments: Sequence[str] = (),
        via: tuple[str, ...] = (),
        given: frozenset[str] = frozenset(),
        is_same_shell: bool = False,
    ) -> Stream:
        """Reads a command that another program passes to a shell, in a scope of its own variables and directory.

        `given` has the kinds of what substitutions put into the text: with any of them it is no literal.
        """
        if not is_known(text):
            # It may contain a variable of the environment, but not the output of another command.
            if "network" in given:
                self.emit(("run-from-network",))
            elif given - {"variable", "shown", "kept"}:
                self.doubt("a shell runs a text with the output of another program in it")
            if not text.replace(UNKNOWN, "").replace(SECRET, "").strip():
                self.doubt("a command is made up while it runs")
                return ANYTHING
        if is_same_shell:
            return self._read(text, stdin)
        saved, self._via = self._via, (*self._via, *via)
        with self.scoped():
            self._pass(arguments)
            output = self._read(text, stdin)
        self._via = saved
        return output

    def _pass(self, arguments: Sequence[str]) -> None:
        """Sets the positional parameters."""
        self._variables |= {str(index): (word,) for index, word in enumerate(arguments)}
        if arguments[1:]:
            self._variables |= {"@": tuple(arguments[1:]), "*": tuple(arguments[1:])}

    def emit(self, words: Sequence[str], **surroundings: Unpack[Surroundings]) -> Stream:
        """Adds a call and those that it makes in turn; returns what it writes to its output."""
        paths = (*surroundings.get("writes", ()), *surroundings.get("reads", ()))
        count = len(words) + len(paths)
        cost = _JUDGED_CALL if words and words[0].rpartition("/")[2] in _MUCH_JUDGED else _CALL
        self.spend(cost + _WORD * count + _MORE_WORDS * max(0, count - _FEW) + sum(map(len, words)))
        if self._depth >= _DEEPEST:
            raise _OverBudgetError
        surroundings.setdefault("via", self._via)
        if self._links.count and words:
            self.spend(2 * self._links.count * count)
            words = self._links.words(words, self.cwd)
            surroundings["writes"] = tuple(self._links.path(each, self.cwd) for each in surroundings.get("writes", ()))
            surroundings["reads"] = tuple(self._links.path(each, self.cwd) for each in surroundings.get("reads", ()))
        call = ProgramCall(tuple(words), cwd=self.cwd, **surroundings)
        self.calls.append(call)
        self._links.note(call)
        if len(call.line) > LONGEST_LINE:
            self.doubt(f"a program gets more than {LONGEST_LINE:,} characters as its arguments")
        if not is_known(call.program) or "*" in call.program or "?" in call.program:
            self.doubt("the name of a program is made up while it runs")
        self._depth += 1
        try:
            output = self._follow(self, call) or output_of(call)
        finally:
            self._depth -= 1
        for path in (*call.writes, *(call.operands if call.program == "tee" else ())):
            self._texts[call.path(path)] = output.text
        return output

    def define(self, name: str, body: tuple[Item, ...]) -> None:
        """Notes a function, which is read where it is called."""
        self._functions[name] = body

    def is_function(self, name: str) -> bool:
        """Whether a word is the name of a function that this command defines."""
        return name in self._functions

    def values(self, name: str) -> tuple[str, ...] | None:
        """The values that a variable may have; None where it was not set here."""
        return self._variables.get(name)

    def assign(self, name: str, *values: str) -> None:
        """Gives a variable the values that it may have; too many or too long ones are unknown."""
        is_fit = len(values) <= _MOST_VALUES and sum(map(len, values)) <= _LONGEST_VALUE
        if self._is_any_referred or name in self._referred or not is_fit:
            values = (UNKNOWN,)
        self._variables[name] = values

    def forget(self, *names: str) -> None:
        """Makes variables unknown, or all of them if none is named."""
        for name in names or tuple(self._variables):
            self._variables[name] = (UNKNOWN,)

    def refer(self, name: str) -> None:
        """Makes a variable unknown for good: another name writes to it."""
        if is_known(name):
            self._referred.add(name)
            self.forget(name)
        else:
            self._is_any_referred = True
            self.forget()

    @contextmanager
    def assigned(self, pairs: Sequence[str]) -> Iterator[None]:
        """Sets variables, as `NAME=value`, for one command; reads those whose value a program runs."""
        if not pairs:
            yield
            return
        saved = dict(self._variables)
        for name, _, value in (each.partition("=") for each in pairs):
            self.assign(name, value)
            if is_run(name):
                self.inner(value)
        yield
        self._variables = saved

    @contextmanager
    def scoped(self) -> Iterator[None]:
        """A subshell: its directory, its variables and its aliases are its own."""
        saved = self.cwd, dict(self._variables), dict(self._aliases)
        yield
        self.cwd, self._variables, self._aliases = saved

    @contextmanager
    def piped(self) -> Iterator[None]:
        """A part of a pipeline: in some shells its variables are its own, in others they are not."""
        saved = dict(self._variables)
        yield
        changed = [name for name, value in self._variables.items() if saved.get(name) != value]
        if changed:
            self.forget(*changed)

    @contextmanager
    def elsewhere(self) -> Iterator[None]:
        """Another machine or container: what is relative there is not below this project."""
        saved, self.cwd = self.cwd, ELSEWHERE
        yield
        self.cwd = saved

    def written(self, path: str) -> Stream | None:
        """The text that this command has written to a file; None for a file that it did not write."""
        return Stream(frozenset({"file"}), self._texts[path]) if path in self._texts else None

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
        """The output of the substitutions in the command that is being read."""
        return merged(self._streams) if self._streams else NOTHING

    def start_command(self) -> None:
        """Forgets the substitutions of the command before."""
        self.given, self.made_by, self._streams = set(), [], []

    def _known(self, name: str) -> tuple[str, ...] | None:
        known = self._variables.get(name)
        if known is not None:
            if any(UNKNOWN in each for each in known):
                self.given.add("unknown")
            return known
        return {"HOME": (self.home,), "PWD": (self.cwd,), "TMPDIR": ("/tmp/tmpdir",)}.get(name)

    def _note(self, kind: str) -> None:
        self.given.add(kind)

    def _output(self, items: tuple[Item, ...], kind: str) -> str | None:
        if self._depth >= _DEEPEST:
            raise _OverBudgetError
        first = len(self.calls)
        self._depth += 1
        with self.scoped():
            output = self._run(items, ANYTHING if kind == ">" else NOTHING)
        self._depth -= 1
        self.given |= output.kinds
        self.made_by += [call.line for call in self.calls[first:]]
        if kind in "<>" or output.kinds:
            self._streams.append(output)
        if output.text is None and not output.kinds.isdisjoint(("secret", "environment")):
            return UNKNOWN + SECRET
        return output.text

    def _run(self, items: tuple[Item, ...], stdin: Stream) -> Stream:
        self.spend(_SCRIPT + _ITEM * len(items))
        saved = self.given, self.made_by, self._streams, self._expander.masked
        self.start_command()
        self._expander.masked = frozenset()
        output = self._run_script(self, items, self._expander, stdin)
        self.given, self.made_by, self._streams, self._expander.masked = saved
        return output

    def simple(self, words: list[str], *, is_plain: bool, **surroundings: Unpack[Surroundings]) -> Stream:
        """One simple command, with its alias replaced; a quoted word is none. A function is read with its arguments."""
        if not words:
            return NOTHING
        text = self._aliases.get(words[0]) if is_plain else None
        if text is not None:
            del self._aliases[words[0]]  # an alias is not replaced inside itself
            inner, _ = read_script(text)
            if all(isinstance(item, Word) and "=" not in item.source for item in inner):
                first = [word for item in inner if isinstance(item, Word) for word in self._expander.words(item)]
                return self.simple([*first, *words[1:]], is_plain=True, **surroundings)
            return self.inner(text, is_same_shell=True)
        if (body := self._functions.get(words[0])) is not None and words[0] not in self._active:
            with self.assigned(surroundings.get("assigned", ())):
                return self._call(words, body, surroundings.get("stdin", NOTHING))
        return self.emit(words, **surroundings)

    def _call(self, words: list[str], body: tuple[Item, ...], stdin: Stream) -> Stream:
        """A call of a function: its body, which is of the same shell."""
        self._called.add(words[0])
        self.spend(_CALL)
        if self._depth >= _DEEPEST:
            raise _OverBudgetError
        saved = {name: value for name, value in self._variables.items() if name.isdigit() or name in "@*"}
        self._depth += 1
        for name in saved:
            del self._variables[name]
        self._pass(words)
        self._active.add(words[0])
        output = self._run(body, stdin)
        self._active.discard(words[0])
        self._depth -= 1
        for name in [name for name in self._variables if name.isdigit() or name in "@*"]:
            del self._variables[name]
        self._variables |= saved
        return output
