"""Code in languages that the reader does not read: harmless if each of its names is known to be, otherwise unsure."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

from hookline.guards.shell_eval.calls import Call, Reader
from hookline.guards.shell_eval.literals import Code
from hookline.guards.shell_eval.shells import STDIN
from hookline.guards.shell_eval.words import OUTPUT, is_known

_raw: Mapping[str, Any] = tomllib.loads(files("hookline.guards").joinpath("data", "languages.toml").read_text("utf-8"))
_HARMLESS = frozenset(_raw["harmless"].split())
_Table = dict[str, list[tuple[tuple[str, ...], str, tuple[str, ...]]]]


def _by_program() -> _Table:
    """By program: the words behind it, the language (empty if it is not read), and the options that take code."""
    found: _Table = {}
    for language, entries in (("", _raw["code"]), *_raw["read"].items()):
        for name, options in entries.items():
            program, *behind = name.split()
            found.setdefault(program, []).append((tuple(behind), language, tuple(options)))
    return found


_PROGRAMS = _by_program()
_NAME = re.compile(r"[^\W\d]\w*")
_BOUND = re.compile(r"([^\W\d]\w*)\s*(?::?=(?![=>])|<-)|\b(?:for|let|var|val)\s+([^\W\d]\w*)|\\([^\W\d]\w*)\s*->")
_USED = re.compile(r"([^\W\d]\w*)\s*[(\ue010.!\[]")
# What a language or its prompt runs by a mark: backquotes, `"ls".!`, `:!ls`, `%sx`, and pipes that literals name.
_MARK = re.compile(r"`|\.!|(?:^|\n)\s*[:%]?!|(?:^|\n)\s*[:%\\][\w!]|\$\{|\$EXEC")
_NAMED_PIPE = re.compile(r"\s*[|<!]|.*\|\s*$", re.DOTALL)
# A literal with code in it is code.
_INTERPOLATED = re.compile(r"[#$\\]?[{(]|\$\w|@\w")
_SHORTEST = 2
_MOST_BEHIND = 4
# They run a script that takes subcommands of its own.
_RUNNERS = ("python", "php", "ruby", "bundle", "uv", "poetry")


def follow(commands: Reader, call: Call) -> Iterator[tuple[str, str]]:
    """Judges the code of a call; yields each piece with its language, which is empty if it is not read."""
    for behind, language, options in _entries(call):
        for text in _texts(commands, call, behind, options):
            if not language and not is_harmless(text):
                commands.doubt(f"{call.program} runs code in a language that is not read here")
            yield text, language


def _entries(call: Call) -> Iterator[tuple[tuple[str, ...], str, tuple[str, ...]]]:
    """The rows of the table for a call: of its program, or of a script that an interpreter runs (`php artisan`)."""
    words = [word for word in (call.program, *call.operands[:_MOST_BEHIND]) if word]
    for at, word in enumerate(words):
        for behind, language, options in _PROGRAMS.get(word.rpartition("/")[2], ()):
            is_meant = tuple(words[at + 1 : at + 1 + len(behind)]) == behind
            if is_meant and (at == 0 or (behind and call.program.startswith(_RUNNERS))):
                yield tuple(words[1 : at + 1 + len(behind)]), language, options


def _texts(commands: Reader, call: Call, behind: tuple[str, ...], options: tuple[str, ...]) -> Iterator[str]:
    """The pieces of code that a call gets."""
    words = call.words[1:]
    named = [*_named(words, options)]
    yield from named
    operands = [word for word in call.operands[len(behind) :] if word not in named]
    if "" in options:
        yield from operands[:1]
    elif "-" in options and not named and (not operands or STDIN & {*operands, *words} or OUTPUT in operands[0]):
        stream = commands.substituted if operands and OUTPUT in operands[0] else call.stdin
        if stream.is_given and (stream.text is None or not is_known(stream.text)):
            if "network" in stream.kinds:
                commands.emit(("run-from-network",))
            else:
                commands.doubt("an interpreter runs the output of another program")
        elif stream.is_given:
            yield stream.text or ""


def _named(words: tuple[str, ...], options: tuple[str, ...]) -> Iterator[str]:
    """The values of the options that have code: behind them, behind `=` or `:`, or in the same word."""
    for index, word in enumerate(words):
        following = words[index + 1] if index + 1 < len(words) else ""
        for option in options:
            if len(option) < _SHORTEST:
                continue
            if word == option:
                yield " ".join(words[index + 1 : index + 4]) if option in ("-run", "-s") else following
            elif option.startswith("--") and word.startswith((f"{option}=", f"{option}:")):
                yield word[len(option) + 1 :]
            elif len(option) == _SHORTEST and not word.startswith("--") and word.startswith("-"):
                if word.startswith(option):
                    yield word[_SHORTEST:]
                elif word.endswith(option[1]) and word[1:].isalpha() and len(word) <= _SHORTEST + 2:
                    yield following


def is_harmless(text: str) -> bool:
    """Whether code in any language starts, deletes and opens nothing, as far as its names show."""
    code = Code(text, "")
    if _MARK.search(code.text) or any(each.is_command or _NAMED_PIPE.match(each.text) for each in code.literals):
        return False
    inside = [each.text for each in code.literals if _INTERPOLATED.search(each.text)]
    used = {found[1] for found in _USED.finditer(code.text)}
    bound = {found[1] or found[2] or found[3] for found in _BOUND.finditer(code.text)} - used
    names = {name for part in (code.text, *inside) for name in _NAME.findall(part) if len(name) > 1}
    return "\ue000" not in text and names <= _HARMLESS | bound
