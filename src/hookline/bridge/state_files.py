"""The state between bridge calls: stopped sessions, their choice of tools, and when each agent last asked."""

import hashlib
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

import msgspec

from hookline.engine.selection import KeptSelection
from hookline.errors import HooklineError
from hookline.files import make_private_directory, state_path, write_atomically
from hookline.protocol.text.json_text import parse_json, stringify_json

_KEPT_S = 24 * 3600.0
_MOST_KEPT = 1000
_STAMP_S = 1.0


class _SessionFiles:
    """One small file for each session, for a day, and no more than a thousand."""

    folder_name: ClassVar[str]

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or state_path(self.folder_name)

    def forget(self, agent: str, session: str) -> None:
        """Removes the session's file."""
        with suppress(OSError):
            self._file(agent, session).unlink()

    def _write(self, agent: str, session: str, content: bytes) -> None:
        make_private_directory(self._folder)
        self._forget_old()
        write_atomically(self._file(agent, session), content)

    def _read(self, agent: str, session: str) -> bytes | None:
        """The content of the session's file; None without one, or if it is more than a day old."""
        file = self._file(agent, session)
        try:
            return None if time.time() - file.stat().st_mtime > _KEPT_S else file.read_bytes()
        except FileNotFoundError:
            return None

    def _file(self, agent: str, session: str) -> Path:
        # A session's id is foreign text, and may be anything but a file name.
        return self._folder / hashlib.sha256(f"{agent}\0{session}".encode("utf-8", "replace")).hexdigest()[:32]

    def _forget_old(self) -> None:
        found: list[tuple[float, Path]] = []
        for file in self._folder.iterdir():
            with suppress(OSError):
                found.append((file.stat().st_mtime, file))
        found.sort()
        too_many = found[: max(0, len(found) - _MOST_KEPT + 1)]
        for _, file in {*too_many, *(one for one in found if time.time() - one[0] > _KEPT_S)}:
            with suppress(OSError):
                file.unlink()


class StoppedSessions(_SessionFiles):
    """Stopped sessions of agents that can't stop at a tool event."""

    folder_name = "stopped"

    def stop(self, agent: str, session: str, reason: str) -> None:
        """Remembers that a hook stopped the session."""
        self._write(agent, session, stringify_json({"agent": agent, "reason": reason}))

    def why(self, agent: str, session: str) -> str | None:
        """Why the session was stopped, or None if it was not, or more than a day ago."""
        try:
            content = self._read(agent, session)
            if content is None:
                return None
            record = parse_json(content.decode("utf-8", "replace"))
        except (OSError, ValueError):
            return "a hook stopped this session"
        reason = record.get("reason") if isinstance(record, dict) else None
        return reason if isinstance(reason, str) and reason else "a hook stopped this session"


class KeptSelections(_SessionFiles):
    """The choice of tools that hooks made in each session, because each event of an agent is a separate call."""

    folder_name = "selections"

    def keep(self, agent: str, session: str, selection: KeptSelection) -> None:
        """Replaces the session's choice; one that rules nothing out needs no file."""
        if selection == KeptSelection():
            self.forget(agent, session)
        else:
            self._write(agent, session, msgspec.json.encode(selection))

    def get(self, agent: str, session: str) -> KeptSelection:
        """The session's choice; HooklineError when it can't be read, because it may rule the tool out."""
        try:
            content = self._read(agent, session)
            return KeptSelection() if content is None else msgspec.json.decode(content, type=KeptSelection)
        except (OSError, msgspec.MsgspecError) as error:
            file = self._file(agent, session)
            raise HooklineError(f"the choice of tools in {file} can't be read: {error}; remove the file") from error


class LastRequests:
    """When each agent last asked: the time of an empty file of its name."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or state_path("asked")
        self._stamped: dict[str, float] = {}

    def note(self, agent: str) -> None:
        """Stamps the agent's file, at most once a second; a state directory that can't be written costs the stamp."""
        now = time.monotonic()
        if now - self._stamped.get(agent, -_STAMP_S) < _STAMP_S:
            return
        self._stamped[agent] = now
        with suppress(OSError):
            make_private_directory(self._folder)
            (self._folder / agent).touch(mode=0o600)
            os.utime(self._folder / agent)

    def when(self, agent: str) -> float | None:
        """Seconds since the epoch, or None if it never asked."""
        try:
            return (self._folder / agent).stat().st_mtime
        except OSError:
            return None
