"""Recognizes commands that need no shell: plain words, quoted text and the project's variables."""

import os
import re
from collections.abc import Mapping

from hookline.contract.hooks import PROJECT_DIR_VARIABLES
from hookline.shell.lexer import Expansion, Word, read_script

# Unquoted characters that mean themselves to every shell. Globs, braces, comments and the like are left to bash.
_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./^-]*")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")

_BUILTINS_AND_KEYWORDS = frozenset(
    """
    . : [ alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown echo
    enable eval exec exit export false fc fg getopts hash help history jobs kill let local logout mapfile popd printf
    pushd pwd read readarray readonly return set shift shopt source suspend test times trap true type typeset ulimit
    umask unalias unset wait
    if then else elif fi case esac for select while until do done in function time { } ! [[ ]] coproc
    """.split()  # noqa: SIM905 - as a list it would fill two screens
)

# A literal piece of text, or the name of a variable whose value stands there.
_Piece = tuple[str, bool]
_Word = tuple[_Piece, ...]


def direct_argv(command: str, env: Mapping[str, str]) -> tuple[str, ...] | None:
    """The words of a simple command with its variables expanded, or None if it needs a shell."""
    items, is_complete = read_script(command)
    words = [_pieces(item) if isinstance(item, Word) else None for item in items]
    known = [word for word in words if word is not None]
    if not is_complete or not words or len(known) < len(words) or _is_for_bash(known[0]):
        return None
    if not env.get("HOME") and any(("HOME", True) in word for word in known):
        return None
    return tuple("".join(env.get(text, "") if is_name else text for text, is_name in word) for word in known)


def find_program(name: str, cwd: str, env: Mapping[str, str]) -> str | None:
    """Where bash would find the program, or None if that is for bash to decide."""
    path = env.get("PATH")
    if not name or name in _BUILTINS_AND_KEYWORDS or path is None:
        return None
    for folder in path.split(os.pathsep):
        if folder.startswith("/"):
            candidate = f"{folder}/{name}"
        elif folder.startswith("~"):
            return None  # bash reads it as a home directory
        else:
            candidate = f"{cwd}/{folder}/{name}"
        if os.access(candidate, os.X_OK) and os.path.isfile(candidate):  # noqa: PTH113 - Path takes longer than the check
            # A relative folder of PATH is left to bash, which names the program by it.
            return candidate if folder.startswith("/") else None
    return None


def _pieces(word: Word) -> _Word | None:
    """The pieces of a word, or None if only bash can expand it."""
    pieces: list[_Piece] = []
    for piece in word.pieces:
        if isinstance(piece, Expansion):
            pieces.append((piece.name, True))
            is_known = piece.is_plain and piece.name in PROJECT_DIR_VARIABLES
        elif piece.text.startswith("~/") and not piece.quote and not pieces:
            pieces += [("HOME", True), (piece.text[1:], False)]
            is_known = bool(_PLAIN.fullmatch(piece.text[1:]))
        else:
            pieces.append((piece.text, False))
            # Not every shell knows `$'…'`.
            is_known = piece.quote != "$'" and (piece.quote != "" or bool(_PLAIN.fullmatch(piece.text)))
        if not is_known:
            return None
    return tuple(pieces)


def _is_for_bash(first: _Word) -> bool:
    """Whether the first word may mean something to bash itself."""
    if any(is_name for _, is_name in first):
        # Its value is a path; one without a slash is noticed when it is looked up.
        return False
    text = "".join(piece for piece, _ in first)
    return not text or text in _BUILTINS_AND_KEYWORDS or text.startswith("%") or bool(_ASSIGNMENT.match(text))
