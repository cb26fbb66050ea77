"""What one bridge call leaves for the next: sessions that a hook has stopped, and when each agent last asked."""

import hashlib
import os
import time
from contextlib import suppress
from pathlib import Path

from hookline.contract.wire import parse_json, stringify_json
from hookline.files import make_private_directory, state_path, write_atomically

_KEPT_S = 24 * 3600.0
_MOST_KEPT = 1000
_STAMP_S = 1.0


class StoppedSessions:
    """Sessions of agents that can't be told to stop at a tool event, one small file each, for a day."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or state_path("stopped")

    def stop(self, agent: str, session: str, reason: str) -> None:
        """Remembers that a hook stopped the session."""
        make_private_directory(self._folder)
        self._forget_old()
        write_atomically(self._file(agent, session), stringify_json({"agent": agent, "reason": reason}))

    def why(self, agent: str, session: str) -> str | None:
        """Why the session was stopped, or None if it was not, or more than a day ago."""
        file = self._file(agent, session)
        try:
            if time.time() - file.stat().st_mtime > _KEPT_S:
                return None
            record = parse_json(file.read_bytes().decode("utf-8", "replace"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            return "a hook stopped this session"
        reason = record.get("reason") if isinstance(record, dict) else None
        return reason if isinstance(reason, str) and reason else "a hook stopped this session"

    def forget(self, agent: str, session: str) -> None:
        """Lets the session go on."""
        with suppress(OSError):
            self._file(agent, session).unlink()

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


class LastAsked:
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
