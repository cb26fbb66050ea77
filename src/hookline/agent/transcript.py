"""The record of a session, one JSON object per line, from which it can be gone on with."""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hookline.agent.contents import content_from_json, function_calls, to_json
from hookline.agent.tool import ToolCall
from hookline.contract.text import tell
from hookline.contract.wire import stringify_json, utc_timestamp
from hookline.errors import UsageError
from hookline.settings.files import make_private_directory

if TYPE_CHECKING:
    from hookline.formats.genai.sdk import Content

_SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_MESSAGES = ("user", "model", "tool_results")


class Transcript:
    """Appends to a session's file, readable by its owner alone; what cannot be written is said once and dropped."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._is_broken = False

    def session(self, *, session_id: str, project: str, model: str, source: str) -> None:
        """A session begins, or is gone on with."""
        self._write("session", id=session_id, project=project, model=model, source=source)

    def message(self, kind: str, content: "Content") -> None:
        """A message was added to the history: the user's, the model's, or the results of tool calls."""
        self._write(kind, content=to_json(content))

    def tool_call(self, call: ToolCall) -> None:
        """A tool call has ended."""
        result = None if call.result is None else call.result.to_tool_response()
        self._write("tool", id=call.id, name=call.name, input=call.arguments, status=call.status.value, result=result)

    def compression(self, *, trigger: str, history: "list[Content]") -> None:
        """The history was replaced by a shorter one."""
        self._write("compression", trigger=trigger, history=[to_json(content) for content in history])

    def end(self, reason: str) -> None:
        """The session ended."""
        self._write("end", reason=reason)

    def _write(self, kind: str, **fields: Any) -> None:
        if self._is_broken:
            return
        line = stringify_json({"type": kind, "timestamp": utc_timestamp(), **fields}) + b"\n"
        try:
            make_private_directory(self.path.parent)
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            with open(self.path, "ab", opener=lambda path, _: os.open(path, flags, 0o600)) as file:
                file.write(line)
        except OSError as error:
            self._is_broken = True
            tell(f"the session is not recorded: {self.path}: {error.strerror}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PastSession:
    """A session that can be gone on with."""

    session_id: str
    path: Path
    history: "list[Content]"


def transcript_path(session_id: str) -> Path:
    """Where a session is recorded; UsageError for an identifier that is no safe name of a file."""
    if not _SAFE_ID.fullmatch(session_id):
        raise UsageError(f"{session_id!r} cannot be a session's id; use letters, digits, dots, dashes and underscores")
    return _folder() / f"{session_id}.jsonl"


def find_session(session_id: str | None, project: str) -> PastSession:
    """The session of this identifier, or the project's latest one; UsageError when there is none."""
    path = transcript_path(session_id) if session_id else _latest(project)
    if path is None or not path.is_file():
        which = f"no session {session_id}" if session_id else f"no session of {project}"
        raise UsageError(f"there is {which} to go on with; sessions are kept in {_folder()}")
    return PastSession(session_id=path.stem, path=path, history=read_history(path))


def read_history(path: Path) -> "list[Content]":
    """The conversation of a session as it stood at the end of its record; UsageError when it cannot be read."""
    history: list[Content] = []
    for number, record in _records(path):
        try:
            kind = record.get("type")
            if kind in _MESSAGES:
                history.append(content_from_json(record["content"]))
            elif kind == "compression":
                history = [content_from_json(content) for content in record["history"]]
            elif kind == "session" and record.get("source") != "resume":
                history = []
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(f"{path}:{number} is no message, so the session cannot be gone on with") from error
    if history and function_calls(history[-1], "open"):
        # A program that was killed while its tools ran; the model takes no calls without their results.
        history.pop()
    return history


def _records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                record = json.loads(line)
            except ValueError as error:
                # A program that was killed while it wrote leaves half a line, which can only be the last one.
                if not line.endswith(b"\n"):
                    return
                raise UsageError(f"{path}:{number} is not JSON, so the session cannot be gone on with") from error
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
    if directory := os.environ.get("HOOKLINE_STATE_DIR"):
        return Path(directory) / "sessions"
    from platformdirs import user_state_path  # noqa: PLC0415 - needed where nothing is said, and slow to load

    return user_state_path("hookline") / "sessions"
