"""The source of a worker: its directory and its files, as values that differ after a change."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from hookline.protocol.hook_entry import HookEntry
from hookline.settings.read.provider import layer_provider
from hookline.settings.trust.fingerprint import Fingerprinter, Signature

_MOST_KNOWN = 8
# Files that programs write to. A worker that writes to one which its command names must not be replaced for that.
_WRITTEN = (".log", ".jsonl", ".db", ".sqlite", ".sqlite3", "-wal", "-shm", "-journal", ".pid", ".lock")


# A name, and whatever else is known of the file.
_File = TypeVar("_File", bound=tuple[Any, ...])


class _Place(NamedTuple):
    """A directory without links, and which one it is: another may get its name."""

    path: str
    identity: tuple[int, int] | None


class SourceFiles(NamedTuple):
    """The source of a worker, at one moment."""

    place: _Place
    files: Sequence[tuple[str, str, str | Signature]]
    """The name of each, where it is, and its content."""
    policy_fault: str | None

    def change(self, earlier: "SourceFiles") -> str:
        """Return the first path that differs from an earlier snapshot, for messages."""
        before, now = set(earlier.files), set(self.files)
        changed = sorted({name for name, _, _ in before ^ now})
        return changed[0] if changed else self.place.path


class WorkerSources:
    """Looks at the programs of hooks. Can be used by several threads."""

    def __init__(self) -> None:
        self._places: dict[str, _Place] = {}
        # By the PATH of the hook, where names in a command are looked for.
        self._fingerprinters: dict[str | None, Fingerprinter] = {}

    def signatures(self, hook: HookEntry, cwd: str, env: Mapping[str, str]) -> object | None:
        """Return values that differ after a change of the directory or a file, without reading it; None if unknown."""
        place = self._place(cwd)
        signatures = self._fingerprinter(env).signatures(hook, place.path)
        return None if signatures is None else (place, _program_files(hook, signatures))

    def snapshot(self, hook: HookEntry, cwd: str, env: Mapping[str, str]) -> SourceFiles:
        """Return the program as it would be started now, with the content of every file."""
        place = self._place(cwd)
        files = _program_files(hook, self._fingerprinter(env).program(hook, place.path))
        return SourceFiles(place, files, _policy_fault(hook))

    def _fingerprinter(self, env: Mapping[str, str]) -> Fingerprinter:
        search_path = env.get("PATH")
        known = self._fingerprinters.get(search_path)
        if known is None:
            if len(self._fingerprinters) >= _MOST_KNOWN:
                self._fingerprinters.clear()
            known = self._fingerprinters[search_path] = Fingerprinter(search_path)
        return known

    def _place(self, directory: str) -> _Place:
        """Where a directory is now. At every event, and `realpath` takes many times as long as a look at one name."""
        known, identity = self._places.get(directory), _identity(directory)
        # The target of a link may have been moved together with the link.
        if known and known.identity == identity and (known.path == directory or _identity(known.path) == identity):
            return known
        if len(self._places) >= _MOST_KNOWN:
            self._places.clear()
        known = self._places[directory] = _Place(os.path.realpath(directory), identity)
        return known


def _identity(directory: str) -> tuple[int, int] | None:
    try:
        status = os.stat(directory)
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


def _program_files(hook: HookEntry, files: Sequence[_File]) -> list[_File]:
    """The files of a hook that are its program: all of them if the hook needs trust."""
    return [file for file in files if hook.verify_each_event or not file[0].endswith(_WRITTEN)]


def _policy_fault(hook: HookEntry) -> str | None:
    """Return why any script of a policy is not as it was signed, or None."""
    if hook.policy is None or not hook.policy.files:
        return None
    return layer_provider().scripts_fault(hook.policy)
