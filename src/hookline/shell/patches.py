"""Patches in the format of Codex's `apply_patch`: the files that one changes, alone or inside a shell command.

The grammar is that of Codex, with its lenient parts: markers may have blanks around them, and a here-document may
enclose the patch. A text that Codex would refuse raises `PatchError`, and so does a shell command that can't be shown
to apply exactly one patch.
"""

import posixpath
import re
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from hookline.protocol.text.patterns import lazy_pattern
from hookline.shell.lexer import read_script
from hookline.shell.pieces import Item, Text, Word

# The characters that Rust trims. Python's own set has four more, and its `splitlines` breaks lines at nine more.
_BLANKS = "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
_BEGIN, _END = "*** Begin Patch", "*** End Patch"
_ADD, _DELETE, _UPDATE = "*** Add File: ", "*** Delete File: ", "*** Update File: "
_MOVE, _END_OF_FILE, _ENVIRONMENT = "*** Move to: ", "*** End of File", "*** Environment ID:"
_CHUNK, _CHUNK_IN = "@@", "@@ "
_HEREDOCS = ("<<EOF", "<<'EOF'", '<<"EOF"')
_SHORTEST_HEREDOC = 4


class PatchError(ValueError):
    """A patch that can't be read completely; the message says why."""


class ChangeKind(StrEnum):
    """The change that a patch makes to a file."""

    ADD = "add"
    UPDATE = "update"
    DELETE = "delete"


class FileChange(NamedTuple):
    """One file of a patch."""

    kind: ChangeKind
    path: str
    move_to: str | None = None
    """The path under which an updated file is written; the old one is deleted."""
    old: str = ""
    """The removed lines."""
    new: str = ""
    """The added lines; all lines of a new file."""

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path that the change writes or deletes."""
        return (self.path,) if self.move_to is None else (self.path, self.move_to)

    def below(self, directory: str) -> "FileChange":
        """The same change made from another directory."""
        moved = None if self.move_to is None else posixpath.join(directory, self.move_to)
        return self._replace(path=posixpath.join(directory, self.path), move_to=moved)


def parse_patch(text: str) -> tuple[FileChange, ...]:
    """Return the changes of a patch, in order; PatchError if Codex would not take it."""
    lines = _lines(text.strip(_BLANKS))
    if not _is_enclosed(lines):
        is_heredoc = len(lines) >= _SHORTEST_HEREDOC and lines[0] in _HEREDOCS and lines[-1].endswith("EOF")
        if not is_heredoc or not _is_enclosed(lines[1:-1]):
            raise PatchError(f"it does not begin with '{_BEGIN}' and end with '{_END}'")
        lines = lines[1:-1]
    return _PatchParser().read(lines)


def _lines(text: str) -> list[str]:
    """The lines as Rust splits them: only at a line feed, with a carriage return before it."""
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]


def _is_enclosed(lines: list[str]) -> bool:
    return bool(lines) and lines[0].strip(_BLANKS) == _BEGIN and lines[-1].strip(_BLANKS) == _END


class _PatchParser:
    """Reads a patch line by line. `_mode` is the kind of the file whose lines come next."""

    def __init__(self) -> None:
        self._mode: ChangeKind | None = None
        self._has_ended = False
        self._has_environment = False
        self._changes: list[FileChange] = []
        self._start("", None)

    def _start(self, path: str, kind: ChangeKind | None) -> None:
        self._mode, self._path = kind, path
        self._move_to: str | None = None
        self._old: list[str] = []
        self._new: list[str] = []
        self._chunk_sizes: list[int] = []
        self._is_at_end_of_file = False

    def read(self, lines: list[str]) -> tuple[FileChange, ...]:
        for number, line in enumerate(lines[1:], 2):
            try:
                # A line that had two carriage returns loses both.
                self._line(line if number == len(lines) else line.removesuffix("\r"))
            except PatchError as error:
                raise PatchError(f"line {number}: {error}") from None
        if not self._has_ended:
            raise PatchError(f"its last line is not '{_END}'")
        return tuple(self._changes)

    def _line(self, line: str) -> None:
        # In an updated file a blank at the beginning makes a line of the file.
        marker = line.rstrip(_BLANKS) if self._mode is ChangeKind.UPDATE else line.strip(_BLANKS)
        if self._has_ended:
            if marker:
                raise PatchError(f"text after '{_END}'")
        elif self._is_header(marker):
            pass
        elif self._mode is ChangeKind.UPDATE:
            self._updated(line, marker)
        elif self._mode is ChangeKind.ADD and line.startswith("+"):
            self._new.append(line[1:])
        else:
            raise PatchError("neither the header of a file nor a line of one")

    def _is_header(self, marker: str) -> bool:
        if self._mode is None and not self._changes and marker.startswith(_ENVIRONMENT):
            if self._has_environment or not marker.removeprefix(_ENVIRONMENT).strip(_BLANKS):
                raise PatchError("an environment that is empty or given twice")
            self._has_environment = True
            return True
        kinds = {_ADD: ChangeKind.ADD, _DELETE: ChangeKind.DELETE, _UPDATE: ChangeKind.UPDATE}
        header = next((each for each in kinds if marker.startswith(each)), None)
        if header is None and marker != _END:
            return False
        self._finish()
        if header is None:
            self._has_ended = True
        else:
            self._start(marker.removeprefix(header), kinds[header])
        return True

    def _finish(self) -> None:
        if self._mode is None:
            return
        if self._mode is ChangeKind.UPDATE and not all(self._chunk_sizes or [0]):
            raise PatchError("the file before it has an update without lines")
        end = "\n" if self._mode is ChangeKind.ADD and self._new else ""
        texts = "\n".join(self._old), "\n".join(self._new) + end
        self._changes.append(FileChange(self._mode, self._path, self._move_to, *texts))
        self._mode = None

    def _updated(self, line: str, marker: str) -> None:
        is_chunk = marker == _CHUNK or marker.startswith(_CHUNK_IN)
        if self._is_at_end_of_file and not is_chunk:
            if marker:
                raise PatchError(f"a line after '{_END_OF_FILE}'")
        elif not self._chunk_sizes and self._move_to is None and marker.startswith(_MOVE):
            self._move_to = marker.removeprefix(_MOVE)
        elif is_chunk or marker == _END_OF_FILE:
            if self._chunk_sizes and not self._chunk_sizes[-1]:
                raise PatchError("a part without lines")
            self._is_at_end_of_file = not is_chunk and bool(self._chunk_sizes)
            self._chunk_sizes += [0] if is_chunk else []
        else:
            self._changed(line)

    def _changed(self, line: str) -> None:
        if line and line[0] not in " +-":
            raise PatchError("a line of an update begins with ' ', '+' or '-'")
        self._chunk_sizes = self._chunk_sizes or [0]
        self._chunk_sizes[-1] += 1
        if line.startswith("+"):
            self._new.append(line[1:])
        elif line.startswith("-"):
            self._old.append(line[1:])


_APPLY = lazy_pattern(r"(?<![\w.-])apply_?patch(?![\w./-])|--codex-run-as-apply-patch|\*\*\* Begin Patch")
_QUOTES = lazy_pattern(r"\\\n|['\"\\]|\$(?=['\"])")
_WORD = r"[\w./@%+,:-]+"
_FORM = lazy_pattern(
    rf"""[ \t\n]*(?:cd[ \t]+(?P<directory>(?!-){_WORD}|'(?!-)[^'\n]+'|"(?!-)[^"\\$`!\n]+")[ \t]*&&[ \t]*)?
    apply_?patch[ \t]*
    (?: <<[ \t]*(?:'(?P<quoted>\w+)'|"(?P<double>\w+)"|(?P<bare>\w+))[ \t]*\n(?P<body>.*)
    |   '(?P<single>[^']*)'[ \t\n]*
    |   "(?P<text>[^"\\$`!]*)"[ \t\n]*
    )""",
    re.DOTALL | re.VERBOSE,
)
# They start no program that an argument names, except by the options below.
_READERS = frozenset(
    "cat diff echo egrep fgrep file find grep head ls printf pytest rg stat tail type wc which".split()
)
_READERS_BY_COMMAND = {
    "git": frozenset(("add", "blame", "commit", "diff", "log", "ls-files", "mv", "rm", "show", "status")),
    "cargo": frozenset(("build", "check", "clippy", "nextest", "test")),
}
_RUNS_PROGRAM = lazy_pattern(r"-(?:exec|ok|-pre(?:=|$)|-hostname-bin|-config|-codex)")
_NO_COMMAND = frozenset((">", ">>", ">|", "&>", "&>>", "<>", ">&", "<&", "<", "<<<", "#"))


def patch_in_command(command: str) -> tuple[FileChange, ...] | None:
    """Return the changes of the patch that a shell command applies, or None if it applies none.

    Only a command that consists of `apply_patch` with a literal patch, after `cd DIRECTORY &&` at most, is understood:
    there Codex and the shell agree on what it does. Any other command that runs `apply_patch`, or holds a patch,
    raises PatchError.
    """
    if not _mentions(command):
        if _may_build_name(command):
            raise PatchError("the name of a program in it may become apply_patch; write the name without variables")
        return None
    form = _FORM.fullmatch(command)
    if form is None:
        pipelines = list(_pipelines(read_script(command)[0]))
        is_hidden = _BEGIN in command and not any(map(_named_in, pipelines))
        if not is_hidden and all(map(_is_read_only, pipelines)):
            return None
        raise PatchError("a shell command may apply a patch only alone: apply_patch <<'EOF', the patch, EOF")
    changes = parse_patch(_literal(form))
    directory = form["directory"]
    return changes if directory is None else tuple(change.below(directory.strip("'\"")) for change in changes)


def _literal(form: re.Match[str]) -> str:
    delimiter = form["quoted"] or form["double"] or form["bare"]
    if delimiter is None:
        return form["single"] if form["single"] is not None else form["text"]
    body, found, rest = f"\n{form['body']}\n".partition(f"\n{delimiter}\n")
    if not found or rest.strip(" \t\n"):
        raise PatchError(f"text after {delimiter}, or no line {delimiter}")
    if form["bare"] and not {"$", "`", "\\"}.isdisjoint(body):
        raise PatchError(f"the shell would change it; write <<'{delimiter}'")
    return body


def _mentions(text: str) -> bool:
    return _APPLY.search(text) is not None or _APPLY.search(_QUOTES.sub("", text)) is not None


def _may_build_name(command: str) -> bool:
    """True if the name of a program in the command has a part of `apply_patch` and a part that the shell fills in."""
    if "$" not in command and "`" not in command:
        return False
    if "apply" not in command and "patch" not in command:
        return False
    programs = [
        next((word for word in words if "=" not in word.source), None)
        for pipeline in _pipelines(read_script(command)[0])
        for words in pipeline
    ]
    return any(word is not None and word.expansions and _may_become_name(word) for word in programs)


def _may_become_name(word: Word) -> bool:
    if "apply" not in word.source and "patch" not in word.source:
        return False
    parts = [re.escape(piece.text) if isinstance(piece, Text) else ".*" for piece in word.pieces]
    return any(re.fullmatch("".join(parts), name) for name in ("apply_patch", "applypatch"))


def _pipelines(items: tuple[Item, ...]) -> Iterator[list[list[Word]]]:
    """Yield the commands of each pipeline as lists of words; the body of a here-document is a command here."""
    pipeline: list[list[Word]] = [[]]
    for item in items:
        if isinstance(item, Word):
            pipeline[-1].append(item)
        elif item in ("|", "|&"):
            pipeline.append([])
        elif item not in _NO_COMMAND:
            yield pipeline
            pipeline = [[]]
    yield pipeline


def _is_read_only(pipeline: list[list[Word]]) -> bool:
    """True if no word of the pipeline names `apply_patch`, or every command in it only reads and prints."""
    mentions = _named_in(pipeline)
    if any(word.expansions for word in mentions):
        return False
    return not mentions or all(words and _reads(list(map(_plain, words))) for words in pipeline)


def _named_in(pipeline: list[list[Word]]) -> list[Word]:
    return [word for words in pipeline for word in words if _mentions(word.source)]


def _reads(words: list[str]) -> bool:
    program, *arguments = words
    if program not in _READERS and not _READERS_BY_COMMAND.get(program, frozenset()).intersection(arguments[:1]):
        return False
    return not any(map(_RUNS_PROGRAM.match, arguments))


def _plain(word: Word) -> str:
    return "".join(piece.text if isinstance(piece, Text) else "$" for piece in word.pieces)


_HEADER = lazy_pattern(
    r"(?:\*\*\* (?:Add File|Delete File|Update File|Move to): |(?:---|\+\+\+|Index:|(?:rename|copy) (?:from|to)) +)"
    r"(?P<path>[^\n]+)|diff --git (?P<both>[^\n]+)"
)


def paths_in_patch(text: str) -> tuple[str, ...]:
    """Return every path that a patch may change, whichever format it has and whether or not it is complete.

    For texts whose reader is not known: a line that looks like a header counts, wherever it stands.
    """
    found: dict[str, None] = {}
    for line in text.split("\n"):
        header = _HEADER.match(line.strip(_BLANKS))
        if header is None:
            continue
        given = [header["path"].split("\t")[0]] if header["path"] else re.split(r' (?="?[abciow]/)', header["both"])
        for path in given:
            name = _unquoted(path.strip(_BLANKS))
            found |= dict.fromkeys([name, re.sub(r"^[abciow]/", "", name)])
    return tuple(path for path in found if path and path != "/dev/null")


def _unquoted(path: str) -> str:
    """A path without git's quotes, with its escapes replaced by bytes."""
    if not path.startswith('"'):
        return path
    data = _ESCAPE.sub(_escaped, path.strip('"').encode("utf-8", "surrogateescape"))
    return data.decode("utf-8", "surrogateescape")


def _escaped(found: re.Match[bytes]) -> bytes:
    octal, other = found.groups()
    return bytes([int(octal, 8) & 0xFF]) if octal else _ESCAPED.get(other, other)


_ESCAPE = re.compile(rb"\\(?:([0-7]{1,3})|(.))", re.DOTALL)
_ESCAPED = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
