"""One pass over the words and operators of a script, as a shell makes it."""

import re
from contextlib import ExitStack, nullcontext
from itertools import islice, product
from typing import NamedTuple

from hookline.guards.shell_eval.calls import ANYTHING, FILE, NOTHING, Stream, merged
from hookline.guards.shell_eval.commands import RUN_LATER, Commands, is_code, is_run
from hookline.guards.shell_eval.words import OUTPUT, SECRET, UNKNOWN, Expander, counted
from hookline.shell.pieces import Item, Text, Word

_SKIPPED = frozenset(("then", "elif", "else", "do", "!"))
# Words and operators that open a group, with the word that closes it.
_CLOSING = {
    "{": "}",
    "(": ")",
    "if": "fi",
    "while": "done",
    "until": "done",
    "for": "done",
    "select": "done",
    "case": "esac",
}
_KEYWORDS = frozenset((*_CLOSING, *_CLOSING.values()))
_BEFORE_A_COMMAND = frozenset(("if", "then", "elif", "else", "while", "until", "do", "time", "!", "{", "coproc"))
_REDIRECTIONS = frozenset((">", ">>", ">|", "&>", "&>>", "<>", ">&", "<&", "<", "<<<", "<<"))
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\[[^]]*\])?(\+?)=")
# Their assignments stay, in some shells.
_KEEPING = frozenset((".", ":", "break", "continue", "eval", "exec", "exit", "export", "readonly", "return", "set"))

_MOST_ALTERNATIVES = 64


class _Group(NamedTuple):
    """A part of a script with a closing word, such as a loop or a subshell."""

    closing: str
    given: Stream
    """Its input."""
    outputs: list[Stream]
    """The outputs of the commands around it."""
    scope: ExitStack
    """The contexts that end with it."""
    in_condition: bool
    """Whether the commands around it may not run."""


class _ScriptReader:
    """One pass over the words and operators of a script, in the order in which the shell would take them."""

    def __init__(self, commands: Commands, items: tuple[Item, ...], expander: Expander, stdin: Stream) -> None:
        self._commands = commands
        self._items = items
        self._expander = expander
        self._given = stdin
        self._at = 0
        self._bodies, self._is_body = _heredocs(items)
        self._ends = _ends(items)
        self._inputs: dict[int, list[str]] = {}
        self._groups: list[_Group] = []
        self._outputs: list[Stream] = []
        self._output = NOTHING
        self._in_condition = self._is_chained = False
        self._start_pipeline()

    def run(self) -> Stream:
        """Adds every call of the script; returns what it writes to its output."""
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
        self._end_pipeline()
        while self._groups:
            self._close()
            self._end_pipeline()
        return merged(self._outputs) if self._outputs else NOTHING

    def _start_pipeline(self) -> None:
        self._stdin = self._given
        self._is_piped = False
        self._start_command()

    def _end_pipeline(self) -> None:
        if self._output.is_given:
            self._outputs.append(self._output)
        self._output = NOTHING

    def _start_command(self) -> None:
        self._words: list[Word] = []
        self._assigned: list[str] = []
        self._writes: list[str] = []
        self._reads: list[str] = []

    def _word(self, word: Word) -> None:
        if word.is_compared and word.source != "esac":
            self._expander.words(word)  # for the commands in it
        elif self._words:
            self._words.append(word)
        elif (found := _ASSIGNMENT.match(word.source)) and _begins_with_text(word, found):
            self._assign(word, found)
        elif self._assigned:
            self._words.append(word)
        elif word.source in _SKIPPED:
            pass
        elif word.source in _CLOSING and self._at - 1 in self._ends:
            self._open(word.source)
        elif self._groups and word.source == self._groups[-1].closing:
            self._finish()
            self._close()
        elif not self._is_special(word):
            self._words.append(word)

    def _is_special(self, word: Word) -> bool:
        """Reads a word that is special at the start of a command; False for any other."""
        if word.source in ("for", "select"):
            self._for()
        elif word.source in _KEYWORDS:
            pass  # one without an end, or an end without a beginning
        elif word.source == "time" and not _is_flag(self._next()):
            pass
        elif word.source == "time" and _source(self._next()) == "-p":
            self._at += 1
        elif word.source == "coproc":
            self._commands.forget("COPROC", _source(self._next()) or "COPROC")
            name = self._next(1)
            self._at += isinstance(name, Word) and name.source == "{"  # its name comes first
        elif word.source == "function":
            name = self._next()
            self._at += 1
            if self._next() == "(":
                self._at += 2
            self._define(_source(name))
        else:
            return False
        return True

    # ---- groups ----------------------------------------------------------------------------------------------------

    def _open(self, opening: str) -> None:
        """Enters a group: what is piped or redirected into it is what its commands read."""
        at = self._at - 1
        stdin, behind = self._redirected(self._ends[at], self._stdin)
        scope = ExitStack()
        if opening == "(":
            scope.enter_context(self._commands.scoped())
        elif self._is_piped or behind in ("|", "|&"):
            scope.enter_context(self._commands.piped())
        self._groups.append(_Group(_CLOSING[opening], self._given, self._outputs, scope, self._in_condition))
        self._given, self._outputs = stdin, []
        self._in_condition = self._in_condition or self._is_chained or opening not in "({"
        self._start_pipeline()
        if opening in ("while", "until"):
            self._loop(at)
        elif opening in ("for", "select"):
            self._for()

    def _close(self) -> None:
        """Leaves a group; its output is what its commands wrote."""
        self._end_pipeline()
        group = self._groups.pop()
        outputs, self._outputs = self._outputs, group.outputs
        self._given, self._in_condition = group.given, group.in_condition
        group.scope.close()
        output = merged(outputs) if outputs else NOTHING
        if group.closing == "done" and output.text is not None:
            output = output._replace(text=None, kinds=output.kinds | {"unknown"})
        self._start_command()
        self._output = output

    def _redirected(self, end: int, stdin: Stream) -> tuple[Stream, Item | None]:
        """The input from redirections behind a group, and the operator that follows."""
        saved, self._at = self._at, end + 1
        while (operator := self._next()) in _REDIRECTIONS or (isinstance(operator, Word) and operator.is_descriptor):
            self._at += 1
            if operator in ("<", "<<<", "<<"):
                at, self._stdin = self._at - 1, stdin
                self._redirect(str(operator))
                stdin = self._stdin
                self._inputs[at], self._reads = self._reads, []
            elif isinstance(operator, str):
                self._at += 1
        self._at = saved
        return stdin, operator

    def _loop(self, at: int) -> None:
        """A loop without an end that starts programs without waiting for any fills the machine."""
        rest = self._items[at + 1 : self._ends[at]]
        self._commands.spend(len(rest))
        names = {item.source for item in rest if isinstance(item, Word)}
        is_endless = isinstance(rest[0], Word) and rest[0].source in ("true", ":") if rest else False
        if is_endless and "&" in rest and names.isdisjoint(("sleep", "wait", "read", "break")):
            self._commands.emit(("fork-bomb",))

    def _for(self) -> None:
        name = self._next()
        self._at += isinstance(name, Word)
        if _source(self._next()) == "in":
            self._at += 1
            words = [text for each in self._until(";", "\n") for text in self._expander.words(each)]
            self._commands.assign(_source(name), *(words or [UNKNOWN]))
        elif isinstance(name, Word):
            self._commands.forget(name.source)

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

    # ---- variables -------------------------------------------------------------------------------------------------

    def _assign(self, word: Word, found: re.Match[str]) -> None:
        name = found[1]
        if not word.source[found.end() :] and self._next() == "(":
            self._at += 1
            values = [text for each in self._until(")") for text in self._expander.words(each)]
            self._set(name, *((self._commands.values(name) or ()) if found[3] else ()), *(values or [""]))
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
        if found[3]:
            before = self._commands.values(name) or (UNKNOWN,)
            value = before[0] + value if len(before) == 1 else UNKNOWN
        self._assigned.append(f"{name}={value}")

    def _set(self, name: str, *values: str) -> None:
        """Gives a variable its value; one that is set under a condition may have kept the old one."""
        before = (self._commands.values(name) or ()) if self._in_condition or self._is_chained else ()
        self._commands.assign(name, *dict.fromkeys((*before, *values)))

    # ---- operators -------------------------------------------------------------------------------------------------

    def _operator(self, operator: str) -> None:
        if operator in _REDIRECTIONS:
            self._redirect(operator)
        elif operator in ("|", "|&"):
            self._finish(is_piped=True)
            self._stdin, self._is_piped = self._output, True
            self._output = NOTHING
        elif operator == "(" and len(self._words) == 1 and self._next() == ")":
            self._at += 1
            self._define(self._words.pop().source)
        elif operator == "((":
            self._commands.forget(*counted(_source(self._next())) or ("_",))
        elif operator == "#" or (operator in ("\n", ";") and self._is_idle()):
            pass
        elif operator == "(" and self._words[1:] and self._words[-1].source.endswith("="):
            self._list()
        elif operator == "(" and self._at - 1 in self._ends and not self._words:
            self._open("(")
        else:
            self._finish()
            if operator == ")" and self._groups and self._groups[-1].closing == ")":
                self._close()
                return
            self._end_pipeline()
            self._start_pipeline()
            self._is_chained = operator in ("&&", "||")

    def _is_idle(self) -> bool:
        """Whether nothing has begun, so that an empty line changes nothing."""
        is_empty = not (self._words or self._assigned or self._writes or self._reads)
        return is_empty and not self._output.is_given and not self._is_chained and not self._is_piped

    def _list(self) -> None:
        """The values of `declare name=(…)`."""
        name = self._words.pop().source.rstrip("+=")
        values = [text for each in self._until(")") for text in self._expander.words(each)]
        self._set(name, *(values or [""]))

    def _define(self, name: str) -> None:
        """A function: its body is read where it is called."""
        self._start_command()
        while self._next() == "\n":
            self._at += 1
        rest = self._items[self._at : self._at + 12]
        # A function that runs itself twice at a time fills the machine.
        uses = [index for index, item in enumerate(rest) if isinstance(item, Word) and item.source == name]
        if uses[1:] and "|" in [item for item in rest if isinstance(item, str)]:
            self._commands.emit(("fork-bomb",))
        end = self._ends.get(self._at)
        if end is not None:
            self._commands.define(name, self._items[self._at : end + 1])
            self._at = end + 1

    def _redirect(self, operator: str) -> None:
        if self._words and self._words[-1].is_descriptor and (name := self._words.pop().source).startswith("{"):
            self._commands.forget(name.strip("{}"))
        at = self._at - 1
        target = self._next()
        if at in self._inputs:
            self._reads += self._inputs[at]
            self._at += operator != "<<"
            return
        if operator == "<<":
            body = self._bodies.get(at)
            self._stdin = ANYTHING if body is None else self._text(body)
            return
        if not isinstance(target, Word):
            return
        self._at += 1
        if operator == "<<<":
            self._stdin = self._text(target)
            return
        for text in self._expander.words(target):
            if operator in ("<", "<&", "<>"):
                self._reads.append(text)
                self._stdin = self._commands.substituted if OUTPUT in text else FILE if text != "/dev/null" else NOTHING
            elif not (operator == ">&" and text.isdigit()):
                self._writes.append(text)

    def _text(self, word: Word) -> Stream:
        """A here-document or a here-string, with the origins of the output in it."""
        saved, self._commands.given = self._commands.given, set()
        text = self._expander.text(word)
        kinds, self._commands.given = self._commands.given, saved
        kinds = kinds | ({"unknown", "secret"} if SECRET in text else {"unknown"}) if UNKNOWN in text else set()
        return Stream(frozenset(kinds), text=text)

    def _finish(self, *, is_piped: bool = False) -> None:
        words, assigned = self._words, tuple(self._assigned)
        writes, reads, stdin = tuple(self._writes), tuple(self._reads), self._stdin
        self._start_command()
        if not words:
            self._finish_assignments(assigned, writes, reads, stdin)
            return
        self._expander.masked = frozenset(each.partition("=")[0] for each in assigned)
        expanded = [text for word in words for text in self._expander.words(word)]
        is_fixed = all(len(word.pieces) == 1 and isinstance(word.pieces[0], Text) for word in words)
        others = [] if is_fixed else [each for each in self._alternatives(words) if each != expanded]
        self._expander.masked = frozenset()
        if not expanded:
            return
        if expanded == ["exec"]:
            self._given = stdin  # what the rest of the script reads
        for name, _, value in (each.partition("=") for each in assigned):
            if is_run(name):
                self._commands.inner(value)
            if is_code(f"{name}={value}"):
                self._commands.doubt("a variable makes a program run code")
            if expanded[0] in _KEEPING:
                self._commands.forget(name)
        is_kept = any(not each.startswith("/dev/") for each in writes)
        goes_to = "kept" if is_kept else "" if is_piped or writes else "shown"
        given = frozenset({*self._commands.given, goes_to} if goes_to else self._commands.given)
        with self._commands.piped() if is_piped or self._is_piped else nullcontext():
            for each in (*others, expanded):
                self._output = self._commands.simple(
                    each,
                    is_plain=words[0].source == each[0],
                    stdin=stdin,
                    writes=writes,
                    reads=reads,
                    assigned=assigned,
                    given=given,
                )
        self._commands.start_command()

    def _alternatives(self, words: list[Word]) -> list[list[str]]:
        """The command with each of the values that a variable in it may have, where it has several."""
        names = {piece.name for word in words for piece in word.expansions if piece.is_plain}
        several = {name: values for name in sorted(names) if len(values := self._commands.values(name) or ()) > 1}
        found = []
        choices = [*islice(product(*several.values()), _MOST_ALTERNATIVES + 1)] if several else []
        if len(choices) > _MOST_ALTERNATIVES:
            choices[-1] = (UNKNOWN,) * len(several)
        for values in choices:
            for name, value in zip(several, values, strict=True):
                self._commands.assign(name, value)
            found.append([text for word in words for text in self._expander.words(word)])
        for name, every in several.items():
            self._commands.assign(name, *every)
        return [each for each in found if each]

    def _finish_assignments(
        self, assigned: tuple[str, ...], writes: tuple[str, ...], reads: tuple[str, ...], stdin: Stream
    ) -> None:
        for each in assigned:
            name, _, value = each.partition("=")
            self._set(name, value)
            if name in RUN_LATER:
                self._commands.inner(value)
        if writes or reads or assigned:
            output = self._commands.emit((":",), stdin=stdin, writes=writes, reads=reads, assigned=assigned)
            self._output = self._output if self._output.is_given else output
        self._commands.start_command()


def run_script(commands: Commands, items: tuple[Item, ...], expander: Expander, stdin: Stream) -> Stream:
    """Adds every call of a script; returns what it writes to its output."""
    return _ScriptReader(commands, items, expander, stdin).run()


def _source(item: Item | None) -> str:
    return item.source if isinstance(item, Word) else ""


def _is_flag(item: Item | None) -> bool:
    return _source(item).startswith("-")


def _begins_with_text(word: Word, found: re.Match[str]) -> bool:
    first = word.pieces[0]
    begins = found[0] if "$" not in found[0] and "`" not in found[0] else f"{found[1]}["
    return isinstance(first, Text) and not first.quote and first.text.startswith(begins)


def _ends(items: tuple[Item, ...]) -> dict[int, int]:
    """The end of each group, by the position of the word or operator that begins it."""
    found: dict[int, int] = {}
    opened: list[tuple[int, bool]] = []
    is_start, is_target = True, False
    for index, item in enumerate(items):
        if isinstance(item, Word):
            if is_target or (item.is_compared and item.source != "esac"):
                is_target = False
                continue
            source = item.source
            if is_start and source in _CLOSING:
                opened.append((index, True))
            elif (is_start or source == "esac") and opened and source == _closing(items[opened[-1][0]]):
                found[opened.pop()[0]] = index
            # The name of a function comes before its body.
            is_target = is_start and source == "function"
            is_start = is_start and (source in _BEFORE_A_COMMAND or is_target)
        elif item in _REDIRECTIONS:
            is_target = item != "<<"
        else:
            if item == "(":
                opened.append((index, is_start))
            elif item == ")" and opened and items[opened[-1][0]] == "(":
                at, is_group = opened.pop()
                found |= {at: index} if is_group else {}
            is_start = item != "#"
    return found


def _closing(item: Item) -> str:
    return _CLOSING[item.source if isinstance(item, Word) else item]


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
