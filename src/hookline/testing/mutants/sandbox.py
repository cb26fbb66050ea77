"""Whether two commands run the same programs with the same arguments: found out by running both on stand-ins.

In a directory that is thrown away every program is a stand-in that only notes how it was called. The shell is a
restricted one: it starts nothing by a path and writes to no file. A command that names a program by its path, or that
writes to a file, is not run at all.
"""

import os
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from shutil import which
from typing import Self

from hookline.packs.reading.calls import Call
from hookline.packs.reading.commands import Commands

_PATIENCE_S = 5
# They run what they are given, so they are real, or what they start would not be seen.
_PASSING_ON = ("base64", "cat", "printf", "xargs")
_RUNNING = {
    "env": 'while [ $# -gt 0 ]; do case "$1" in -*|*=*) shift;; *) break;; esac; done; [ $# -eq 0 ] || exec "$@"',
    "nohup": 'exec "$@"',
    "nice": 'exec "$@"',
    "sudo": 'exec "$@"',
    "timeout": 'shift; exec "$@"',
}
_NOTING = """#!/bin/sh
{ printf '%s' "${0##*/}"; for word in "$@"; do printf '\\037%s' "$word"; done; printf '\\036'; } >> "$HOOKLINE_NOTES"
"""


class Sandbox:
    """Runs commands on stand-ins; a context manager that removes what it made."""

    def __init__(self) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="hookline-sandbox-")
        self._root = Path(self._directory.name)
        self._programs = self._root / "programs"
        self._shell = which("bash")

    def __enter__(self) -> Self:
        self._programs.mkdir()
        for name in _PASSING_ON:
            if (real := which(name)) is not None:
                (self._programs / name).symlink_to(real)
        for name, text in _RUNNING.items():
            self._write(name, f"#!/bin/sh\n{text}\n")
        for name in ("bash", "sh"):
            self._write(name, f'#!/bin/sh\nexec {self._shell} --restricted "$@"\n')
        return self

    def __exit__(self, *_: object) -> None:
        self._directory.cleanup()

    def is_same(self, one: str, other: str) -> bool | None:
        """Whether both run the same programs; None where that was not tried, because it could do harm."""
        if self._shell is None or not (is_safe(one) and is_safe(other)):
            return None
        first, second = self._notes(one), self._notes(other)
        return None if first is None or second is None else first == second

    def _write(self, name: str, text: str) -> None:
        file = self._programs / name
        file.write_text(text, encoding="utf-8")
        file.chmod(0o755)

    def _notes(self, command: str) -> list[str] | None:
        """How programs were called, in order; None if the command did not end."""
        for name in _programs_in(command):
            if not (self._programs / name).exists():
                self._write(name, _NOTING)
        notes = self._root / "notes"
        notes.write_bytes(b"")
        work = self._root / "work"
        work.mkdir(exist_ok=True)
        env = {"PATH": str(self._programs), "HOME": str(work), "HOOKLINE_NOTES": str(notes), "LC_ALL": "C.UTF-8"}
        try:
            subprocess.run(  # noqa: S603 - restricted, and only of commands that is_safe has looked at
                [self._shell or "bash", "--restricted", "-c", command],
                cwd=work,
                env=env,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_PATIENCE_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None
        return notes.read_text("utf-8", "replace").split("\036")


def is_safe(command: str) -> bool:
    """Whether a command may be run on stand-ins: it can't get past them."""
    calls = _calls(command)
    return calls is not None and all(_is_tame(call) for call in calls)


def _is_tame(call: Call) -> bool:
    if not call.words or os.sep in call.words[0] or call.program in _OWN_EFFECTS:
        return False
    return all(path == os.devnull for path in call.writes)


# Programs of the shell itself, which have no stand-in, and interpreters, whose code would run.
_OWN_EFFECTS = frozenset(
    ("kill", "ulimit", "umask", "exec", "source", ".", "enable", "hash", "fork-bomb", "reverse-shell", "run-download")
)


def _calls(command: str) -> list[Call] | None:
    commands = Commands(cwd="/", home="/")
    commands.read(command)
    return None if commands.doubts else commands.calls


def _programs_in(command: str) -> Iterable[str]:
    return {call.program for call in _calls(command) or () if call.program.isprintable() and os.sep not in call.program}
