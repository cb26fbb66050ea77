"""The transcript of a session, as JSON Lines, from which the session can be resumed."""

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hookline.apps.agent.conversation.contents import content_from_json, content_text, function_calls
from hookline.client.triggers.results import LifecycleHookResult
from hookline.errors import UsageError
from hookline.files import make_private_directory, open_regular, state_path
from hookline.log.redact.redactor import Redactor
from hookline.protocol.text.json_text import stringify_json, utc_timestamp
from hookline.protocol.text.secret_names import SECRET_NAMES
from hookline.stderr import warn_user

if TYPE_CHECKING:
    from hookline.formats.genai.sdk import Content

_SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_MESSAGES = ("user", "model", "tool_results")


class TranscriptWriter:
    """Appends to a session's private file; the first failed write is reported, and nothing is written after it."""

    def __init__(self, path: Path, redactor: Redactor | None = None) -> None:
        self.path = path
        self._redactor = redactor or Redactor(SECRET_NAMES, os.environ)
        self._is_broken = False

    @property
    def is_complete(self) -> bool:
        """True if the session can be resumed from its file."""
        return not self._is_broken and self.path.exists()

    def write(self, kind: str, **fields: Any) -> None:
        """Append a record: session, message, note of a hook, tool call, compression or end."""
        if self._is_broken:
            return
        line = stringify_json({"type": kind, "timestamp": utc_timestamp(), **fields})
        if kind != "session":  # its facts are needed to find the session
            self._redactor.look()
            line = self._redactor.clean_json(line)
        try:
            make_private_directory(self.path.parent)
            with os.fdopen(open_regular(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT), "ab") as file:
                file.write(line + b"\n")
        except OSError as error:
            self._is_broken = True
            warn_user(f"the session is not recorded: {self.path}: {error.strerror}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PastSession:
    """A session that can be resumed."""

    session_id: str
    history: "list[Content]"
    notes: list[str]
    """Hooks' messages to the model that were not sent yet."""
    prompt: str = ""
    """The last prompt."""
    answer: str | None = ""
    """The model's last text; None if hooks hid it."""


def transcript_path(session_id: str) -> Path:
    """Return the file of a session. Raises UsageError for an id that is not safe as a file name."""
    if not _SAFE_ID.fullmatch(session_id):
        raise UsageError(f"{session_id!r} can't be a session id; use letters, digits, dots, dashes and underscores")
    return _folder() / f"{session_id}.jsonl"


def find_session(session_id: str | None, project: str) -> PastSession:
    """Return the session with this id, or the project's latest one. Raises UsageError if there is none."""
    path = transcript_path(session_id) if session_id else _latest(project)
    if path is None or not path.is_file():
        which = f"no session {session_id}" if session_id else f"no session of {project}"
        raise UsageError(f"there is {which} to resume; sessions are kept in {_folder()}")
    return read_session(path)


def read_session(path: Path) -> PastSession:
    """Return the session at the end of its transcript. Raises UsageError if that can't be read."""
    history: list[Content] = []
    notes: list[str] = []
    prompt = ""
    answer: str | None = ""
    for number, record in _records(path):
        try:
            kind = record.get("type")
            if kind in _MESSAGES:
                history.append(content_from_json(record["content"]))
                notes = notes if kind == "model" else []
                prompt, answer = _exchange(kind, record, history[-1], (prompt, answer))
            elif kind == "note":
                notes.append(str(record["text"]))
            elif kind == "compression":
                history = [content_from_json(content) for content in record["history"]]
            elif kind == "session" and record.get("source") != "resume":
                history, notes, prompt, answer = [], [], "", ""
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(f"{path}:{number} is not a message, so the session can't be resumed") from error
    if history and function_calls(history[-1], "open"):
        # The program was killed while its tools ran; the API rejects calls without results.
        history.pop()
    return PastSession(session_id=path.stem, history=history, notes=notes, prompt=prompt, answer=answer)


def _exchange(
    kind: str, record: dict[str, Any], content: "Content", before: tuple[str, str | None]
) -> tuple[str, str | None]:
    """Return the last prompt and the last text of the model after one more message."""
    prompt, answer = before
    if kind == "user":
        # The other parts are texts of hooks.
        return next((part.text for part in content.parts or () if part.text), ""), ""
    if kind == "model":
        text = content_text(content)
        return prompt, None if record.get("hidden") else text or answer
    return before


def _records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        descriptor = open_regular(path, os.O_RDONLY)
    except OSError as error:
        raise UsageError(f"the session {path} can't be read: {error.strerror}") from error
    with os.fdopen(descriptor, "rb") as file:
        for number, line in enumerate(file, 1):
            try:
                record = json.loads(line)
            except ValueError as error:
                # A program that is killed while it writes leaves an incomplete last line.
                if not line.endswith(b"\n"):
                    return
                raise UsageError(f"{path}:{number} is not JSON, so the session can't be resumed") from error
            if isinstance(record, dict):
                yield number, record


def _latest(project: str) -> Path | None:
    paths = sorted(_folder().glob("*.jsonl"), key=lambda path: path.stat().st_mtime, reverse=True)
    return next((path for path in paths if _project_of(path) == project), None)


def _project_of(path: Path) -> str | None:
    try:
        return next((record.get("project") for _, record in _records(path)), None)
    except UsageError:
        return None


def _folder() -> Path:
    return state_path("sessions")


class PendingTexts:
    """Hooks' context and notes that wait for the next message; notes survive in the transcript."""

    def __init__(self, transcript: TranscriptWriter, notes: Sequence[str] = ()) -> None:
        self._transcript = transcript
        self._contexts: list[str] = []
        self._notes = list(notes)

    def keep(self, result: LifecycleHookResult) -> None:
        """Add the context and the message of lifecycle hooks."""
        if result.context:
            self._contexts.append(result.context)
        self.keep_note(result.system_message)

    def keep_note(self, note: str | None) -> None:
        """Add a hook's message to the model, if there is one."""
        if note:
            self._notes.append(note)
            self._transcript.write("note", text=note)

    def take(self) -> list[str]:
        """Return and clear the texts: context unchanged, and notes marked as `[System]`."""
        texts = [*self._contexts, *(f"[System] {note}" for note in self._notes)]
        self._contexts, self._notes = [], []
        return texts
