"""Variables that hooks set for the rest of a session, in private files that the agent's shell sources."""

import hashlib
import os
from pathlib import Path

from hookline.files import make_private_directory, open_regular, state_path

FOLDER_VARIABLE = "HOOKLINE_SESSION_ENV"


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
