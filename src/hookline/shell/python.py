"""Recognizes commands that run a Python script, and scripts that name Python as their interpreter."""

import re
from collections.abc import Sequence
from typing import NamedTuple

_PYTHON = re.compile(r"(?:.*/)?python(?:3(?:\.\d+)?)?")
_ENV = re.compile(r"(?:.*/)?env")
# Options that change nothing about how Python starts. With -I, -E and -S it ignores what we ask of it.
_OPTIONS = re.compile(r"-[uBOsbPq]+")
_PLAIN_WORD = re.compile(r"[A-Za-z0-9_./-]+")


class PythonCommand(NamedTuple):
    """The words that start Python, and the script that it is given."""

    launcher: tuple[str, ...]
    script: str


def python_command(argv: Sequence[str]) -> PythonCommand | None:
    """The parts of `python3 [options] FILE …`; None for any other command, and with options that we don't know."""
    if not _PYTHON.fullmatch(argv[0]):
        return None
    for place, word in enumerate(argv[1:], 1):
        if not _OPTIONS.fullmatch(word):
            is_file = word != "" and not word.startswith("-")
            return PythonCommand(tuple(argv[:place]), word) if is_file else None
    return None


def shebang_launcher(start: bytes) -> tuple[str, ...] | None:
    """The words that the kernel puts in front of a script's name, if they start Python; `start` is of the file."""
    line, newline, _ = start.partition(b"\n")
    if not line.startswith(b"#!") or not newline or not line.isascii():
        return None
    interpreter, _, argument = line[2:].strip(b" \t").decode().replace("\t", " ").partition(" ")
    argument = argument.strip()
    # The kernel passes everything behind the interpreter as one argument.
    launcher = (interpreter, argument) if argument else (interpreter,)
    return launcher if _is_launcher(interpreter, argument) else None


def launched_python(launcher: Sequence[str]) -> str:
    """The name of Python among these words: a path, or a name that PATH leads to."""
    if not _ENV.fullmatch(launcher[0]):
        return launcher[0]
    return launcher[1].removeprefix("-S").split()[0]


def _is_launcher(interpreter: str, argument: str) -> bool:
    if _PYTHON.fullmatch(interpreter):
        return not argument or bool(_OPTIONS.fullmatch(argument))
    if not _ENV.fullmatch(interpreter):
        return False
    words = argument.removeprefix("-S").split() if argument.startswith("-S") else [argument]
    if not words or not all(map(_PLAIN_WORD.fullmatch, words)) or "/" in words[0]:
        return False
    return bool(_PYTHON.fullmatch(words[0])) and all(map(_OPTIONS.fullmatch, words[1:]))
