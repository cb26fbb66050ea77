"""The fingerprint of a hook: one hash of its definition and of the content of the files that its command names."""

import hashlib
import json
import os
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

from hookline.protocol.events import LIFECYCLE_EVENTS
from hookline.protocol.hook_entry import CommandLine, HookEntry, particulars
from hookline.protocol.text.json_text import to_plain
from hookline.shell.files import FoundFiles, existing_files
from hookline.shell.lexer import read_script, splice
from hookline.shell.names import PossiblePaths, possible_paths
from hookline.shell.pieces import Text, Word

Signature = tuple[int, ...]

_FOREIGN_BINARY = "binary"
# ELF and the kinds of Mach-O.
_BINARY_MAGIC = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe")

# Longer than the coarsest clock of a file system: within it, a second change may leave no trace in the times.
_SETTLING_NS = 2_000_000_000

_UNREADABLE = "unreadable:"
# Smaller files are read every time: a store through a mapping of a dirty page changes no time of the file.
_CHUNK = 1024 * 1024
# For all files of a hook together: an untrusted command may name any number of files of any size.
_MOST_BYTES = 256 * _CHUNK
_MAX_PREPARED = 1024
# Programs that print their arguments or the content of files, and have no option that runs another program.
_PRINTERS = frozenset(
    ("[", "cat", "cut", "date", "echo", "egrep", "fgrep", "grep", "head", "ls", "nl", "printf", "tac", "tail", "test")
)
_BETWEEN_COMMANDS = frozenset(("|", "&&", "||", ";", "\n"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """The definition and the files of a hook, at one moment."""

    digest: str
    definition: Mapping[str, Any]
    """The part of the configuration that decides what runs and when."""
    hashes: Mapping[str, str]
    """The files that the command names, by their resolved paths, with the SHA-256 of their content."""
    unresolved: tuple[str, ...] = ()
    """The words of the command that may lead to files which are not covered."""
    given_up: tuple[str, ...] = ()
    """The unresolved words that match or name too many files."""

    @property
    def uncovered(self) -> tuple[str, ...]:
        """The unresolved words for display, with a note on those that match too many files."""
        return tuple(f"{word} (too many files)" if word in self.given_up else word for word in self.unresolved)

    @property
    def files(self) -> tuple[Path, ...]:
        """The script files that are covered, resolved."""
        return tuple(map(Path, self.hashes))


def fingerprint(hook: HookEntry, project_dir: str) -> Fingerprint:
    """The fingerprint of a hook, with every file that its command names read now."""
    return Fingerprinter().fingerprint(hook, os.path.realpath(project_dir))


def signature(status: os.stat_result) -> Signature:
    """Return the values that differ between two states of a file, without reading it."""
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _is_still(name: str, known: Signature | None) -> bool:
    """Whether a name leads to the same file as before, or still to nothing (None)."""
    try:
        return signature(os.stat(name)) == known
    except (OSError, ValueError):
        return known is None


def is_settled(status: os.stat_result) -> bool:
    """True if the file's next change is sure to change its signature."""
    return time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) > _SETTLING_NS


class Fingerprinter:
    """Takes fingerprints. Reads small files every time, and those of 1 MiB and more when their times have changed."""

    def __init__(self, search_path: str | None = None) -> None:
        self._search_path = search_path
        self._prepared: dict[tuple[int, str], _Prepared] = {}
        self._large: dict[tuple[str, str], tuple[Signature, str]] = {}

    def fingerprint(self, hook: HookEntry, project: str) -> Fingerprint:
        """The fingerprint of a hook as it and its files are now, in a project directory that is resolved."""
        prepared = self._prepare(hook, project)
        found = existing_files(prepared.paths, project)
        contents = self._contents(found, project)
        state = (found.unresolved, found.given_up, contents)
        if prepared.latest is None or prepared.latest[0] != state:
            prepared.latest = (state, _take(prepared.definition, contents, found, project))
        return prepared.latest[1]

    def program(self, hook: HookEntry, project: str) -> Sequence[tuple[str, str, str | Signature]]:
        """Return the name, path and content of each file: they differ if another program would be started now.

        Unlike a fingerprint, this includes the times of system binaries: an update does not change trust, but the
        program that runs.
        """
        found = existing_files(self._prepare(hook, project).paths, project)
        return [
            (name, resolved, signature(found.files[name]) if digest == _FOREIGN_BINARY else digest)
            for name, resolved, digest in self._contents(found, project)
        ]

    def signatures(self, hook: HookEntry, project: str) -> Sequence[tuple[str, Signature]] | None:
        """Return values that differ if a file of the hook has changed, without reading any file. Not enough for trust.

        None if a file changed so recently that another change may not be visible in its times.
        """
        prepared = self._prepare(hook, project)
        seen = prepared.seen
        if seen is None or not all(_is_still(name, then) for name, then in seen[0].items()):
            seen = prepared.seen = None
            found = existing_files(prepared.paths, project)
            if not all(map(is_settled, found.files.values())):
                return None
            signatures = [(name, signature(status)) for name, status in found.files.items()]
            if found.looked_at is None:
                return signatures
            looked_at = {name: status and signature(status) for name, status in found.looked_at.items()}
            seen = prepared.seen = looked_at, signatures
        return seen[1]

    def definition(self, hook: HookEntry, project: str) -> Mapping[str, Any]:
        """The part of a fingerprint that does not depend on files."""
        return self._prepare(hook, project).definition

    def unresolved(self, hook: HookEntry, project: str) -> tuple[str, ...]:
        """The words that may lead to files which can't be covered, without a look at any file."""
        return self._prepare(hook, project).paths.unresolved

    def _contents(self, found: FoundFiles, project: str) -> list[tuple[str, str, str]]:
        """Of each file its name, where it is without links, and the hash of its content."""
        contents: list[tuple[str, str, str]] = []
        left = _MOST_BYTES
        for name, status in sorted(found.files.items()):
            resolved, digest, size = self._look_into(name, status, project, left)
            contents.append((name, resolved, digest))
            left -= size
        return contents

    def _look_into(self, name: str, status: os.stat_result, project: str, most: int) -> tuple[str, str, int]:
        """Where a file is, without links; the hash of its content; and how many bytes were read for that.

        A file that is longer than `most` counts as unreadable.
        """
        try:
            # Opening a pipe must not wait for a writer.
            file = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError:
            return os.path.realpath(name), _unread(status), 0
        try:
            resolved = _place_of(file) or os.path.realpath(name)
            return resolved, *self._content(file, resolved, status, project, most)
        finally:
            os.close(file)

    def _content(self, file: int, resolved: str, status: os.stat_result, project: str, most: int) -> tuple[str, int]:
        if status.st_size < _CHUNK:
            return _hash(file, resolved, status, project, most)
        known = self._large.get((resolved, project))
        if known is not None and known[0] == signature(status):
            return known[1], status.st_size
        digest, size = _hash(file, resolved, status, project, most)
        if is_settled(status):
            if len(self._large) >= _MAX_PREPARED:
                self._large.clear()
            self._large[resolved, project] = (signature(status), digest)
        return digest, size

    def _prepare(self, hook: HookEntry, project: str) -> "_Prepared":
        key = (id(hook), project)
        prepared = self._prepared.get(key)
        if prepared is None or prepared.hook is not hook:
            if len(self._prepared) >= _MAX_PREPARED:
                self._prepared.clear()
            prepared = self._prepared[key] = _Prepared(hook, project, self._search_path)
        return prepared


class _Prepared:
    """The facts about a hook that do not depend on its files, and its latest fingerprint."""

    def __init__(self, hook: HookEntry, project: str, search_path: str | None) -> None:
        self.hook = hook
        self._search_path = search_path
        self._project = project
        self.definition = _definition(hook)
        self.latest: tuple[object, Fingerprint] | None = None
        self.seen: tuple[Mapping[str, Signature | None], Sequence[tuple[str, Signature]]] | None = None
        """The status of every name that was looked up, and the signatures of the files that were found."""

    @cached_property
    def paths(self) -> PossiblePaths:
        """The words of the command that could be files."""
        text = _text(self.hook)
        # On other events the output is a decision, and so is the content of a file that is printed.
        if self.hook.event in LIFECYCLE_EVENTS and isinstance(self.hook.run, CommandLine) and not self.hook.run.shell:
            text = _without_data(text)
        return possible_paths(text, self.hook.env, self._project, search_path=self._search_path)


def _text(hook: HookEntry) -> str:
    """The command as a shell would read it; the words of one that is run without a shell stay words."""
    if hook.args is None:
        return hook.command or ""
    return " ".join('"' + re.sub(r'([\\"`])', r"\\\1", word) + '"' for word in (hook.command or "", *hook.args))


def _without_data(command: str) -> str:
    """Return the command without the data files that it only prints, such as `cat TODO.md`.

    If it runs anything besides programs that print, all of its words count: a shell could run what `cat` prints.
    """
    items, is_complete = read_script(command)
    data: list[Word] = []
    is_name = True
    for before, item in pairwise(("", *items)):
        if isinstance(item, str):
            is_name = is_name or item in _BETWEEN_COMMANDS
            is_allowed = item in (*_BETWEEN_COMMANDS, "<", ">")
        elif item.is_descriptor:
            is_allowed = True
        elif before == ">":
            is_allowed = _literal(item) == "/dev/null"
        elif is_name and before != "<":
            is_name, is_allowed = False, _literal(item) in _PRINTERS
        else:
            data.append(item)
            is_allowed = all(piece.is_plain for piece in item.expansions)
        if not is_allowed:
            return command
    return splice(command, ((word.start, word.source, " ") for word in data)) if is_complete else command


def _literal(item: Word) -> str | None:
    """Return the text of a word, or None for one with expansions."""
    if item.expansions:
        return None
    return "".join(piece.text for piece in item.pieces if isinstance(piece, Text))


def _definition(hook: HookEntry) -> dict[str, Any]:
    # Not its place in the file, its description or whether it is disabled: those do not change what was agreed to.
    plain: dict[str, Any] = to_plain(
        {
            "event": str(hook.event),
            "type": str(hook.type),
            "name": hook.name,
            "matcher": hook.matcher,
            "sequential": hook.sequential,
            "command": hook.command,
            "timeout": hook.timeout_ms,
            "env": hook.env,
            "onError": str(hook.on_error),
            # Left out where they are not given, or hooks trusted before there were such options would need trust again.
            **({"final": True} if hook.final else {}),
            **particulars(hook),
            **(hook.limits.to_dict() if hook.limits else {}),
        }
    )
    return plain


def _take(
    definition: Mapping[str, Any], contents: Sequence[tuple[str, str, str]], found: FoundFiles, project: str
) -> Fingerprint:
    unread = (name.removeprefix(f"{project}/") for name, _, digest in contents if digest.startswith(_UNREADABLE))
    # ASCII, so that a lone surrogate in a command has a hash as well.
    text = json.dumps(definition, sort_keys=True, ensure_ascii=True) + json.dumps(contents)
    return Fingerprint(
        digest=hashlib.sha256(text.encode()).hexdigest(),
        definition=definition,
        hashes={resolved: digest for _, resolved, digest in contents if digest != _FOREIGN_BINARY},
        unresolved=tuple(dict.fromkeys((*found.unresolved, *unread))),
        given_up=found.given_up,
    )


def _place_of(file: int) -> str | None:
    """The path of an open file without links, by the kernel; None where it does not say.

    `os.path.realpath` asks for each part of each link on the way: that takes ten times as long, in every event.
    """
    try:
        path = os.readlink(f"/proc/self/fd/{file}")
    except OSError:
        return None
    return None if path.endswith(" (deleted)") or not path.startswith("/") else path


def _hash(file: int, resolved: str, status: os.stat_result, project: str, most: int) -> tuple[str, int]:
    """The hash of a file's content, and how many bytes were read for it."""
    size = 0
    # Files in /proc and pipes may block; their bytes are then missing, and they count as unreadable.
    with suppress(OSError):
        # Not a whole chunk, which takes longer to allocate than a script takes to read.
        chunk = os.read(file, min(status.st_size + 1, _CHUNK))
        # These change with every update of the system and are not the repository's to change.
        if chunk.startswith(_BINARY_MAGIC) and not resolved.startswith(f"{project}/"):
            return _FOREIGN_BINARY, 0
        digest = hashlib.sha256()
        while status.st_size <= most and size <= most:
            digest.update(chunk)
            size += len(chunk)
            if not chunk or 0 < len(chunk) == status.st_size:  # one more byte was asked for: this is all
                return digest.hexdigest(), size
            chunk = os.read(file, _CHUNK)
    return _unread(status), size


def _unread(status: os.stat_result) -> str:
    """For a file that can't be read, or not to its end as some in /proc, but can perhaps be run: its times and size."""
    return _UNREADABLE + ":".join(map(str, signature(status)))
