"""Signed heads outside the stream: in a file or a git repository that the stream's administrator can't change."""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from hookline.errors import UsageError
from hookline.files import open_regular
from hookline.fleet.names import token_of
from hookline.fleet.record.keys import Opened, open_signed
from hookline.fleet.record.source import Source
from hookline.fleet.record.statement import Statement

_GIT_S = 60.0
_LONGEST_LINE = 16 * 1024
# The directory is an administrator's, but what is in its `.git` may have come from the machines that write to it.
_NO_PROGRAMS = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.attributesFile=/dev/null")


class Anchors:
    """Appends signed heads, one per line; in a git repository each is a commit.

    The path is a file, or a directory in which every machine and user has a file.
    """

    def __init__(self, path: Path, source: Source, tell: Callable[[str], None] = lambda _words: None) -> None:
        self._path = path.expanduser()
        self._name = f"{token_of(source.machine)}.{token_of(source.user)}.anchors"
        self._tell = tell

    def add(self, signed: bytes) -> None:
        """Append a head; reports an error without raising it."""
        file = self._path / self._name if self._path.is_dir() else self._path
        try:
            descriptor = open_regular(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            try:
                os.write(descriptor, signed + b"\n")
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            self._tell(f"the anchors can't be written to {file}: {error.strerror}")
            return
        if (self._path / ".git").exists():
            self._commit(file)

    def _commit(self, file: Path) -> None:
        for words in (["add", "--", file.name], ["commit", "--quiet", "-m", f"anchor {self._name}", "--", file.name]):
            with suppress(subprocess.TimeoutExpired):
                try:
                    done = subprocess.run(  # noqa: S603 - the words are ours
                        ["git", "-C", str(self._path), *_NO_PROGRAMS, *words],  # noqa: S607 - git is on the user's PATH
                        capture_output=True,
                        timeout=_GIT_S,
                        check=False,
                        stdin=subprocess.DEVNULL,
                    )
                except OSError as error:
                    self._tell(f"git can't be run for the anchors: {error.strerror}")
                    return
                if done.returncode:
                    detail = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
                    self._tell(f"git {words[0]} failed in {self._path}: {detail}")
                    return


def read_anchors(path: Path) -> Iterator[tuple[int, Opened[Statement] | None]]:
    """The statements in a file, with the numbers of their lines; None for a line that is not a statement."""
    files = sorted(path.glob("*.anchors")) if path.is_dir() else [path]
    for file in files:
        try:
            data = file.read_bytes()
        except OSError as error:
            raise UsageError(f"the anchors in {file} can't be read: {error.strerror}") from error
        for number, line in enumerate(data.split(b"\n"), 1):
            if line.strip():
                yield number, open_signed(line, Statement) if len(line) <= _LONGEST_LINE else None
