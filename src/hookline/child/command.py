"""Decides how the text of a command is run: a simple one directly, everything else by bash."""

import os
import re
import shutil
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from hookline.child._quoting import PROJECT_VARIABLE, quote_project_variables
from hookline.child.environment import Environment, prepare


class Invocation(NamedTuple):
    """A program ready to be executed."""

    executable: bytes
    argv: tuple[str, ...]
    env: tuple[bytes, ...]


# One piece of a word that means the same to every shell: plain characters, quoted text, an escaped character. What else
# there is (globs, braces, redirections, other variables, assignments, comments) is left to bash.
_BLANKS = re.compile(r"[ \t]+")
_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./^-]+")
_SINGLE = re.compile(r"'([^']*)'")
_DOUBLE = re.compile(r'"([^"\\`]*)"')
_ESCAPED = re.compile(r"\\([ -~])")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_TILDE = re.compile(r"~(?=/)")

_OWN_WORDS_OF_BASH = frozenset(
    [
        ".",
        ":",
        "[",
        "alias",
        "bg",
        "bind",
        "break",
        "builtin",
        "caller",
        "cd",
        "command",
        "compgen",
        "complete",
        "compopt",
        "continue",
        "declare",
        "dirs",
        "disown",
        "echo",
        "enable",
        "eval",
        "exec",
        "exit",
        "export",
        "false",
        "fc",
        "fg",
        "getopts",
        "hash",
        "help",
        "history",
        "jobs",
        "kill",
        "let",
        "local",
        "logout",
        "mapfile",
        "popd",
        "printf",
        "pushd",
        "pwd",
        "read",
        "readarray",
        "readonly",
        "return",
        "set",
        "shift",
        "shopt",
        "source",
        "suspend",
        "test",
        "times",
        "trap",
        "true",
        "type",
        "typeset",
        "ulimit",
        "umask",
        "unalias",
        "unset",
        "wait",
        "if",
        "then",
        "else",
        "elif",
        "fi",
        "case",
        "esac",
        "for",
        "select",
        "while",
        "until",
        "do",
        "done",
        "in",
        "function",
        "time",
        "{",
        "}",
        "!",
        "[[",
        "]]",
        "coproc",
    ]
)

# A literal piece of text, or the name of a variable whose value stands there.
_Piece = tuple[str, bool]
_Word = tuple[_Piece, ...]


class _Analysis(NamedTuple):
    shell_text: str
    words: tuple[_Word, ...] | None
    """The words of a simple command."""
    argv: tuple[str, ...] | None
    """The same, where no variable stands in them."""


def direct_invocation(command: str, cwd: str, env: Mapping[str, str]) -> Invocation | None:
    """The command as a program of its own, or None if that is for bash to decide."""
    _, words, argv = _analyse(command)
    if words is None:
        return None
    prepared = prepare(env, cwd)
    if prepared.needs_bash:
        return None
    if argv is None:
        if not env.get("HOME") and any(("HOME", True) in word for word in words):
            return None
        argv = tuple("".join(env.get(text, "") if is_name else text for text, is_name in word) for word in words)
    # A name with a slash is for the kernel to judge.
    executable = argv[0] if "/" in argv[0] else _found_on_path(argv[0], cwd, env)
    return None if executable is None else _by_itself(executable, argv, prepared)


@lru_cache(maxsize=64)
def _by_itself(executable: str, argv: tuple[str, ...], prepared: Environment) -> Invocation:
    path = os.fsencode(executable)
    return Invocation(path, argv, (*prepared.handed_on, b"_=" + path))


def shell_invocation(command: str, cwd: str, env: Mapping[str, str]) -> Invocation:
    """The command run by bash, or by plain sh where there is no bash."""
    return _by_shell(command, prepare(env, cwd))


@lru_cache(maxsize=64)
def _by_shell(command: str, prepared: Environment) -> Invocation:
    path, name = _shell()
    text = _analyse(command).shell_text
    if text.startswith(("-", "+")):
        text = f" {text}"  # or the shell would take it for options
    return Invocation(os.fsencode(path), (name, "-c", text), prepared.encoded)


@lru_cache(maxsize=256)
def _analyse(command: str) -> _Analysis:
    words = _simple_words(command)
    argv = None
    if words is not None and not any(is_name for word in words for _, is_name in word):
        argv = tuple("".join(text for text, _ in word) for word in words)
    return _Analysis(quote_project_variables(command), words, argv)


@lru_cache(maxsize=1)
def _shell() -> tuple[str, str]:
    bash = shutil.which("bash")
    return (bash, "bash") if bash else ("/bin/sh", "sh")


def _simple_words(command: str) -> tuple[_Word, ...] | None:
    words: list[_Word] = []
    at = _skip_blanks(command, 0)
    while at < len(command):
        word: list[_Piece] = []
        if tilde := _TILDE.match(command, at):
            word.append(("HOME", True))
            at = tilde.end()
        while at < len(command) and command[at] not in " \t":
            pieces, at = _pieces(command, at)
            if pieces is None:
                return None
            word += pieces
        words.append(tuple(word))
        at = _skip_blanks(command, at)
    if not words or _is_for_bash(words[0]):
        return None
    return tuple(words)


def _pieces(command: str, at: int) -> tuple[list[_Piece] | None, int]:
    """The next pieces of a word and where they end; None where only bash can tell."""
    if found := _PLAIN.match(command, at):
        return [(found.group(), False)], found.end()
    if found := PROJECT_VARIABLE.match(command, at):
        return [(found.group(1) or found.group(2), True)], found.end()
    if found := _SINGLE.match(command, at) or _ESCAPED.match(command, at):
        return [(found.group(1), False)], found.end()
    if found := _DOUBLE.match(command, at):
        return _in_double_quotes(found.group(1)), found.end()
    return None, at


def _in_double_quotes(text: str) -> list[_Piece] | None:
    pieces: list[_Piece] = []
    at = 0
    for variable in PROJECT_VARIABLE.finditer(text):
        pieces += [(text[at : variable.start()], False), (variable.group(1) or variable.group(2), True)]
        at = variable.end()
    pieces.append((text[at:], False))
    return None if any("$" in piece for piece, is_name in pieces if not is_name) else pieces


def _is_for_bash(first: _Word) -> bool:
    """Whether the first word may mean something to bash itself."""
    if any(is_name for _, is_name in first):
        # Its value is a path; one without a slash is found out when it is looked up.
        return False
    text = "".join(piece for piece, _ in first)
    return not text or text in _OWN_WORDS_OF_BASH or text.startswith("%") or bool(_ASSIGNMENT.match(text))


def _skip_blanks(command: str, at: int) -> int:
    found = _BLANKS.match(command, at)
    return found.end() if found else at


def _found_on_path(name: str, cwd: str, env: Mapping[str, str]) -> str | None:
    """Where bash would find the program."""
    path = env.get("PATH")
    if not name or name in _OWN_WORDS_OF_BASH or path is None:
        return None
    for folder in path.split(os.pathsep):
        if folder.startswith("/"):
            candidate = f"{folder}/{name}"
        elif folder.startswith("~"):
            return None  # to bash it is somebody's home
        else:
            candidate = f"{cwd}/{folder}/{name}"
        if os.access(candidate, os.X_OK) and os.path.isfile(candidate):  # noqa: PTH113 - Path costs more than the look
            # A relative folder of PATH is left to bash, which names the program by it.
            return candidate if folder.startswith("/") else None
    return None
