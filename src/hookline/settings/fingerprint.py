"""What a hook is and runs, as one hash: its definition and the content of the files that its command names."""

import hashlib
import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from hookline.contract.hooks import HookEntry
from hookline.contract.wire import to_plain
from hookline.shell.files import FoundFiles, existing_files
from hookline.shell.names import PossiblePaths, possible_paths

Signature = tuple[int, ...]

_FOREIGN_BINARY = "binary"
# ELF and the kinds of Mach-O.
_BINARY_MAGIC = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe")

# Longer than the coarsest clock of a file system: within it, a second change may leave no trace in the times.
_SETTLING_NS = 2_000_000_000

_CHUNK = 1024 * 1024
_MOST_CHUNKS = 1024
_MAX_PREPARED = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """What a hook is and runs, at one moment."""

    digest: str
    definition: Mapping[str, Any]
    """The part of the configuration that decides what runs and when."""
    hashes: Mapping[str, str]
    """The files that the command names, by their resolved paths, with the SHA-256 of their content."""
    unresolved: tuple[str, ...] = ()
    """The words of the command that may lead to files which are not covered."""

    @property
    def files(self) -> tuple[Path, ...]:
        """The script files that are covered, resolved."""
        return tuple(map(Path, self.hashes))


def fingerprint(hook: HookEntry, project_dir: str) -> Fingerprint:
    """The fingerprint of a hook, with every file that its command names read now."""
    return Fingerprinter().fingerprint(hook, os.path.realpath(project_dir))


def signature(status: os.stat_result) -> Signature:
    """What differs between two states of a file, without reading it."""
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def is_settled(status: os.stat_result) -> bool:
    """True if the file's next change is sure to change its signature."""
    return time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) > _SETTLING_NS


class Fingerprinter:
    """Takes fingerprints, and reads the files of a hook again only when one of them has changed."""

    def __init__(self, search_path: str | None = None) -> None:
        self._search_path = search_path
        self._prepared: dict[tuple[int, str], _Prepared] = {}

    def fingerprint(self, hook: HookEntry, project: str) -> Fingerprint:
        """The fingerprint of a hook as it and its files are now, in a project directory that is resolved."""
        prepared = self._prepare(hook, project)
        found = existing_files(prepared.paths, project)
        state = (found.unresolved, *((name, signature(status)) for name, status in found.files.items()))
        if prepared.latest is not None and prepared.latest[0] == state:
            return prepared.latest[1]
        taken = _take(prepared.definition, found, project)
        if all(map(is_settled, found.files.values())):
            prepared.latest = (state, taken)
        return taken

    def definition(self, hook: HookEntry, project: str) -> Mapping[str, Any]:
        """The part of a fingerprint that does not depend on files."""
        return self._prepare(hook, project).definition

    def _prepare(self, hook: HookEntry, project: str) -> "_Prepared":
        key = (id(hook), project)
        prepared = self._prepared.get(key)
        if prepared is None or prepared.hook is not hook:
            if len(self._prepared) >= _MAX_PREPARED:
                self._prepared.clear()
            prepared = self._prepared[key] = _Prepared(hook, project, self._search_path)
        return prepared


class _Prepared:
    """What is known of a hook without looking at its files, and its latest fingerprint with the files' state then."""

    def __init__(self, hook: HookEntry, project: str, search_path: str | None) -> None:
        self.hook = hook
        self._search_path = search_path
        self._project = project
        self.definition = _definition(hook)
        self.latest: tuple[tuple[object, ...], Fingerprint] | None = None

    @cached_property
    def paths(self) -> PossiblePaths:
        """What in its command could be files."""
        return possible_paths(self.hook.command or "", self.hook.env, self._project, search_path=self._search_path)


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
            # Left out where it is false, or hooks trusted before there were final ones would need trust again.
            **({"final": True} if hook.final else {}),
        }
    )
    return plain


def _take(definition: Mapping[str, Any], found: FoundFiles, project: str) -> Fingerprint:
    contents = [(name, *_read(name, status, project)) for name, status in sorted(found.files.items())]
    # ASCII, so that a lone surrogate in a command has a hash as well.
    text = json.dumps(definition, sort_keys=True, ensure_ascii=True) + json.dumps(contents)
    return Fingerprint(
        digest=hashlib.sha256(text.encode()).hexdigest(),
        definition=definition,
        hashes={resolved: digest for _, resolved, digest in contents if digest != _FOREIGN_BINARY},
        unresolved=found.unresolved,
    )


def _read(name: str, status: os.stat_result, project: str) -> tuple[str, str]:
    """The resolved path of a file and the hash of its content."""
    resolved = os.path.realpath(name)
    with suppress(OSError), Path(resolved).open("rb", buffering=0) as file:
        head = file.read(_CHUNK)
        # These change with every update of the system and are not the repository's to change.
        if head.startswith(_BINARY_MAGIC) and not resolved.startswith(f"{project}/"):
            return resolved, _FOREIGN_BINARY
        digest = hashlib.sha256(head)
        for _ in range(_MOST_CHUNKS):
            chunk = file.read(_CHUNK)
            if not chunk:
                return resolved, digest.hexdigest()
            digest.update(chunk)
    # A file that can't be read, or not to its end as some in /proc, can perhaps be run: use its times and size instead.
    return resolved, "unreadable:" + ":".join(map(str, signature(status)))
