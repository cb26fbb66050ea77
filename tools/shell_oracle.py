"""Compares hookline's reader of shell commands with tree-sitter-bash: the simple commands that each finds in a text.

The texts are the lists of tests/guards/data: dangerous and harmless commands, and the corners of the grammar. Where
the two differ, `bash -n` says whether the text is a command at all; every difference is printed.

    python tools/shell_oracle.py [FILE...]

It needs the packages tree-sitter and tree-sitter-bash (`make shell-oracle` installs them); without them it prints that.
"""

import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hookline.guards.shell_eval.calls import ANYTHING, Stream
from hookline.guards.shell_eval.commands import Commands
from hookline.guards.shell_eval.programs.table import follow
from hookline.guards.shell_eval.script import run_script
from hookline.guards.shell_eval.words import Expander
from hookline.shell.lexer import read_script
from hookline.shell.pieces import Expansion, Text, Word

LISTS = Path(__file__).parent.parent / "tests" / "guards" / "data"
# A word whose value is only known when it runs.
UNKNOWN = "?"
# Words of the grammar that one of the two reads as programs.
_NO_PROGRAMS = frozenset((":", "[", "[[", "time", "coproc"))
# tree-sitter takes a continued line for a blank, and for programs the braces behind `time` and `coproc NAME`, and -p.
_MISREAD = frozenset(("e\\\ncho hi", "time { a; b; }", "time -p a", "coproc N { a; }"))
_DECLARING = frozenset(("declare", "typeset", "export", "readonly", "local", "unset"))


class _Plain(Expander):
    """Finds the commands inside words as the real one does, and leaves the words as they are written."""

    def words(self, word: Word) -> list[str]:
        super().words(word)
        return [_written(word)]

    def text(self, word: Word) -> str:
        super().text(word)
        return _written(word)


def _written(word: Word) -> str:
    parts = [piece.text if isinstance(piece, Text) else UNKNOWN for piece in word.pieces]
    plain = [piece.source[2:-1] for piece in word.pieces if isinstance(piece, Expansion) and piece.quote == "$'"]
    return UNKNOWN if UNKNOWN in parts and not plain else "".join(parts)


class _Recorder(Commands):
    """Keeps the simple commands of a text, and follows none of them."""

    def __init__(self) -> None:
        super().__init__(follow, run_script, cwd="/work", home="/home/me")
        self.found: list[tuple[str, ...]] = []
        self._expander = _Plain(lambda _: None, self._output, "/home/me", lambda _: None)

    def emit(self, words: Sequence[str], **_: Any) -> Stream:
        self.found.append(tuple(words))
        return ANYTHING

    def simple(self, words: list[str], **_: Any) -> Stream:
        return self.emit(words)


def ours(text: str) -> tuple[list[tuple[str, ...]], bool]:
    """The simple commands that hookline reads, and whether it read the text without a complaint."""
    commands = _Recorder()
    commands.read(text)
    return commands.found, read_script(text)[1]


class Oracle:
    """tree-sitter-bash."""

    def __init__(self) -> None:
        from tree_sitter import Language, Parser  # noqa: PLC0415 - a development tool's own package
        from tree_sitter_bash import language  # noqa: PLC0415

        self._parser = Parser(Language(language()))

    def read(self, text: str) -> tuple[list[tuple[str, ...]], bool]:
        """The simple commands that it finds, and whether it parsed the text without an error."""
        root = self._parser.parse(text.encode()).root_node
        return [tuple(words) for words in _commands(root)], not root.has_error


def _commands(node: Any) -> Iterator[list[str]]:
    if node.type == "command":
        arguments = [_value(each) for each in node.children if each.type not in _BESIDE]
        if arguments:
            yield arguments
    elif node.type in ("declaration_command", "unset_command"):
        yield [node.children[0].text.decode()]
    for each in node.children:
        yield from _commands(each)


_BESIDE = frozenset(
    ("variable_assignment", "file_redirect", "herestring_redirect", "heredoc_redirect", "comment", "subshell")
)
_LITERAL = frozenset(("word", "number", "raw_string", "string", "string_content", "concatenation", "command_name"))


def _value(node: Any) -> str:
    text = str(node.text.decode())
    if node.type == "raw_string":
        return text[1:-1]
    if node.type == "word" or (node.type == "number" and not node.child_count):
        return re.sub(r"\\(.)", r"\1", text.replace("\\\n", ""), flags=re.DOTALL)
    if node.type in ("string", "concatenation", "command_name"):
        inner = [_value(each) for each in node.children if each.type != '"']
        if UNKNOWN in inner:
            return UNKNOWN
        if node.type == "string":
            return re.sub(r"\\([$`\"\\\n])", lambda found: found[1].strip("\n"), text[1:-1])
        return "".join(inner)
    if node.type == "string_content":
        return text
    return text if not node.child_count and node.type not in ("ansi_c_string", "translated_string") else UNKNOWN


def _compared(commands: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the compared part: names and arguments, without the words that only one of the two has."""
    kept = []
    for words in commands:
        rest = words
        while rest and rest[0] in _NO_PROGRAMS:
            rest = rest[1:] if rest[0] in ("time", "coproc") else ()
        if rest:
            kept.append(rest[:1] if rest[0] in _DECLARING else rest)
    return sorted(kept)


def _texts(paths: Sequence[str]) -> Iterator[str]:
    for path in [Path(each) for each in paths] or [
        LISTS / f"{name}.txt" for name in ("grammar", "dangerous", "harmless")
    ]:
        for line in path.read_text("utf-8").splitlines():
            if line and not line.startswith("## "):
                yield line.replace("⏎", "\n")


def _is_bash(text: str) -> bool:
    return subprocess.run(["bash", "-O", "extglob", "-n", "-c", text], capture_output=True, check=False).returncode == 0  # noqa: S603, S607


def main() -> int:
    """Prints the differences and a summary; 1 if hookline misses a program that the oracle finds in a valid text."""
    try:
        oracle = Oracle()
    except ImportError:
        print("shell-oracle: skipped, because tree-sitter and tree-sitter-bash are not installed")
        return 0
    texts = list(_texts(sys.argv[1:]))
    differ = missed = unreadable = 0
    for text in texts:
        (mine, is_read), (theirs, is_parsed) = ours(text), oracle.read(text)
        unreadable += not is_parsed
        if _compared(mine) == _compared(theirs):
            continue
        is_valid = _is_bash(text)
        names = {words[0] for words in _compared(mine)}
        lacks = (
            is_valid
            and is_parsed
            and text not in _MISREAD
            and any(words[0] not in names for words in _compared(theirs))
        )
        differ, missed = differ + 1, missed + lacks
        print(
            f"{'MISSED ' if lacks else ''}{text!r} (bash: {'valid' if is_valid else 'invalid'}, tree-sitter: "
            f"{'parsed' if is_parsed else 'error'}, hookline: {'read' if is_read else 'unsure'})"
        )
        print(f"    hookline     {_compared(mine)}\n    tree-sitter  {_compared(theirs)}")
    print(f"{len(texts)} texts: {differ} read differently, {missed} with a program that hookline misses.")
    print(f"tree-sitter has errors in {unreadable} of them.")
    print(f"Time per text: hookline {_time(ours, texts):.0f} µs, tree-sitter {_time(oracle.read, texts):.0f} µs.")
    return 1 if missed else 0


def _time(read: Any, texts: Sequence[str]) -> float:
    start = time.perf_counter()
    for text in texts:
        read(text)
    return (time.perf_counter() - start) / len(texts) * 1e6


if __name__ == "__main__":
    sys.exit(main())
