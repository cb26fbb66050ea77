"""Recognizes commands that need no shell: plain words, quoted text and the project's variables."""

import os
import re
from collections.abc import Mapping

from hookline.protocol.constants import PROJECT_DIR_VARIABLES
from hookline.shell.lexer import read_script
from hookline.shell.pieces import Expansion, Word

# Unquoted characters that mean themselves to every shell. Globs, braces, comments and the like are left to bash.
_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./^-]*")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")

BUILTINS_AND_KEYWORDS = frozenset(
    """
    . : [ alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown echo
    enable eval exec exit export false fc fg getopts hash help history jobs kill let local logout mapfile popd printf
    pushd pwd read readarray readonly return set shift shopt source suspend test times trap true type typeset ulimit
    umask unalias unset wait
    if then else elif fi case esac for select while until do done in function time { } ! [[ ]] coproc
    """.split()
)


def direct_argv(command: str, env: Mapping[str, str]) -> tuple[str, ...] | None:
    """The words of a simple command with its variables expanded, or None if it needs a shell."""
    items, is_complete = read_script(command)
    argv: list[str] = []
    for item in items:
        word = _expanded(item, env) if isinstance(item, Word) else None
        if word is None:
            return None
        argv.append(word)
    return tuple(argv) if is_complete and argv and not _is_for_bash(argv[0]) else None


def find_program(name: str, cwd: str, env: Mapping[str, str]) -> str | None:
    """The path at which bash finds the program, or None if bash must decide."""
    path = env.get("PATH")
    if path is None:
        return None
    for folder in path.split(os.pathsep):
        if folder.startswith("/"):
            candidate = f"{folder}/{name}"
        elif folder.startswith("~"):
            return None  # bash reads it as a home directory
        else:
            candidate = f"{cwd}/{folder}/{name}"
        if os.access(candidate, os.X_OK) and os.path.isfile(candidate):
            # A relative folder of PATH is left to bash, which names the program by it.
            return candidate if folder.startswith("/") else None
    return None


def _expanded(word: Word, env: Mapping[str, str]) -> str | None:
    """The word with its quotes removed and its variables expanded, or None if only bash can do that."""
    parts: list[str] = []
    for piece in word.pieces:
        if isinstance(piece, Expansion):
            parts.append(env.get(piece.name, ""))
            is_known = piece.is_plain and piece.name in PROJECT_DIR_VARIABLES
        elif piece.text.startswith("~/") and not piece.quote and not parts:
            home, rest = env.get("HOME", ""), piece.text[1:]
            parts.append(home + rest)
            is_known = home != "" and bool(_PLAIN.fullmatch(rest))
        else:
            parts.append(piece.text)
            # Not every shell knows `$'…'`.
            is_known = piece.quote != "$'" and (piece.quote != "" or bool(_PLAIN.fullmatch(piece.text)))
        if not is_known:
            return None
    return "".join(parts)


def _is_for_bash(word: str) -> bool:
    """Whether the first word may mean something to bash itself."""
    return not word or word in BUILTINS_AND_KEYWORDS or word.startswith("%") or bool(_ASSIGNMENT.match(word))
