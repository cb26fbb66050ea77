"""Files for hooks of other agents: copies of transcripts, and variables that hooks set for the rest of a session."""

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from hookline.files import make_private_directory, open_regular, state_path
from hookline.protocol.text.json_text import stringify_json

FOLDER_VARIABLE = "HOOKLINE_SESSION_ENV"

# A record, the session's first record and the number of the record → the other agent's record, or None.
Convert = Callable[[Mapping[str, Any], Mapping[str, Any], int], dict[str, Any] | None]


class _Copy:
    """The state of one copy; not a dataclass, which every command would load."""

    def __init__(self) -> None:
        self.offset = 0
        """The number of bytes of the transcript that have been copied."""
        self.number = 0
        """How many records the copy has."""
        self.facts: Mapping[str, Any] = {}


class TranscriptCopies:
    """Keeps a copy beside each transcript that a hook asks for; only what is new is copied."""

    def __init__(self) -> None:
        self._copies: dict[tuple[str, str], _Copy] = {}
        self._lock = threading.Lock()

    def copy_of(self, path: str, dialect: str, convert: Convert) -> str:
        """The path of the copy as it is now, or the path itself where the transcript is not ours or can't be read."""
        if not path:
            return path
        try:
            with self._lock:
                return self._update(Path(path), dialect, convert)
        except Exception:  # noqa: BLE001 - whatever is wrong with a transcript, the guard runs
            return path

    def _update(self, path: Path, dialect: str, convert: Convert) -> str:
        copy = self._copies.get((str(path), dialect)) or _Copy()
        with os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
            if os.fstat(file.fileno()).st_size < copy.offset:
                copy = _Copy()  # it was replaced
            file.seek(copy.offset)
            # A line without its end is still being written.
            lines = [line for line in file if line.endswith(b"\n")]
        records = list(_records(lines))
        if not copy.offset and not (records and _is_ours(records[0])):
            return str(path)
        copy.facts = copy.facts or records[0]
        converted: list[bytes] = []
        for record in records:
            try:
                theirs = convert(record, copy.facts, copy.number)
            except Exception:  # noqa: BLE001 - one odd record must not cost the guard all others
                theirs = None
            if theirs is not None:
                converted.append(stringify_json(theirs) + b"\n")
                copy.number += 1
        target = path.parent / dialect / path.name
        make_private_directory(target.parent)
        how = os.O_APPEND if copy.offset else os.O_TRUNC
        with os.fdopen(open_regular(target, os.O_WRONLY | os.O_CREAT | how), "ab") as file:
            file.write(b"".join(converted))
        copy.offset += sum(map(len, converted))
        self._copies[str(path), dialect] = copy
        return str(target)


def _records(lines: Iterable[bytes]) -> Iterator[Mapping[str, Any]]:
    """The records in these lines, without those that are none: a crash may have cut a line in the middle."""
    for line in lines:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, Mapping):
            yield record


def _is_ours(record: Any) -> bool:
    return isinstance(record, Mapping) and record.get("type") == "session" and "project" in record


def new_env_file(session_id: str, hook: str) -> str | None:
    """An empty file for one hook of a session, which only this user can read; None where none can be made."""
    folder = _folder(session_id)
    path = folder / f"{_digest(hook)}.sh"
    try:
        make_private_directory(folder.parent)
        make_private_directory(folder)
        os.close(open_regular(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC))
    except OSError:
        return None
    return str(path)


def with_session_env(command: str, session_id: str) -> tuple[str, dict[str, str]]:
    """A command for bash that first takes over what the session's hooks exported, and the variables that it needs.

    Their values never become part of the command's text.
    """
    folder = _folder(session_id)
    try:
        names = sorted(
            entry.name for entry in os.scandir(folder) if entry.is_file(follow_symlinks=False) and _has(entry)
        )
    except OSError:
        return command, {}
    if not names:
        return command, {}
    sources = "".join(f'. "${FOLDER_VARIABLE}/{name}"; ' for name in names)
    return sources + command, {FOLDER_VARIABLE: str(folder)}


def _has(entry: "os.DirEntry[str]") -> bool:
    # The names that we give, so that none can be anything else to a shell.
    return entry.name.removesuffix(".sh").isalnum() and entry.stat(follow_symlinks=False).st_size > 0


def _folder(session_id: str) -> Path:
    return state_path("session-env") / _digest(session_id)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


COPIES = TranscriptCopies()
