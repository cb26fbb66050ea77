import hashlib
import json
import os
import shlex
import stat
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from hookline.contract.hooks import HookEntry
from hookline.contract.wire import parse_json, utc_timestamp
from hookline.errors import HooklineError
from hookline.files import locked, make_private_directory, write_atomically
from hookline.settings.fingerprint import Fingerprint, Fingerprinter, Signature, fingerprint, is_settled, signature

__all__ = ["Fingerprint", "TrustRecord", "TrustState", "TrustStore", "default_trust_path", "fingerprint"]

MAX_TEXT_BYTES = 256 * 1024

_VERSION = 1
_HASH_LENGTH = 64


class TrustState(StrEnum):
    """What a person has said about a project's hook."""

    TRUSTED = "trusted"
    NEW = "new"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustRecord:
    """One hook as a person has accepted it."""

    project_dir: str
    digest: str
    trusted_at: str
    definition: Mapping[str, Any]
    files: Mapping[str, str]
    """The script files that were covered, by resolved path, with the SHA-256 of their content at that time."""

    def is_about(self, hook: HookEntry) -> bool:
        """True if this was said about an earlier or the present form of the hook."""
        if self.definition.get("event") != hook.event:
            return False
        return self.definition.get("command") == hook.command or (
            hook.name is not None and self.definition.get("name") == hook.name
        )


def default_trust_path() -> Path:
    """The file that keeps what a person has trusted: below HOOKLINE_STATE_DIR, or else the user's state directory."""
    if directory := os.environ.get("HOOKLINE_STATE_DIR"):
        return Path(directory) / "trust.json"
    from platformdirs import user_state_path  # noqa: PLC0415 - not needed where the path is given

    return user_state_path("hookline") / "trust.json"


class TrustStore:
    """Remembers which hooks of which projects a person has accepted, by what they say and what their scripts hold."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fingerprinter = Fingerprinter()
        self._kept: tuple[Signature | None, _Ledger] | None = None

    @property
    def problem(self) -> str | None:
        """Why nothing in the trust file is believed and what to do about it, or None."""
        return self._ledger().problem

    def state_of(self, hook: HookEntry, project_dir: str) -> TrustState:
        """Whether the hook, as it and its scripts are at this moment, has been accepted."""
        project = os.path.realpath(project_dir)
        records = self._ledger().by_project.get(project)
        if not records:
            return TrustState.NEW
        # The files are looked at only for a command that somebody has accepted: a stranger's could name endless ones.
        definition = self._fingerprinter.definition(hook, project)
        accepted = [record.digest for record in records if record.definition == definition]
        if accepted and self._fingerprinter.fingerprint(hook, project).digest in accepted:
            return TrustState.TRUSTED
        return TrustState.CHANGED if any(record.is_about(hook) for record in records) else TrustState.NEW

    def why_untrusted(self, hook: HookEntry, project_dir: str) -> str | None:
        """Why the hook may not run and what to do about it, or None when it is trusted or needs no trust."""
        state = self.state_of(hook, project_dir) if hook.needs_trust else TrustState.TRUSTED
        if state is TrustState.TRUSTED:
            return None
        if self.problem is not None:
            return self.problem
        if state is TrustState.CHANGED:
            return "it changed since it was trusted; look at it and run: hookline trust"
        return "hooks of a project need trust; look at it and run: hookline trust"

    def trust(
        self,
        hooks: Iterable[HookEntry],
        project_dir: str,
        *,
        shown: Collection[str] | None = None,
        beside: Iterable[HookEntry] = (),
    ) -> None:
        """Accept the hooks as they are now, in place of what was accepted of them before.

        With `shown`, the digests that a person has looked at, a hook that has changed since is refused. What was
        accepted of those `beside` them stays, also of one that has the same name.
        """
        wanted, others = tuple(hooks), tuple(beside)
        project = os.path.realpath(project_dir)

        def accept(records: list[Any]) -> list[Any]:
            prints = [self._fingerprinter.fingerprint(hook, project) for hook in wanted]
            for hook, print_ in zip(wanted, prints, strict=True):
                if shown is not None and print_.digest not in shown:
                    raise HooklineError(f"{hook.label} has changed while you were looking at it; look again")
                self._keep_texts(print_)
            slots = [_slot(print_.definition) for print_ in prints]
            new = {print_.digest for print_ in prints}
            staying = {self._fingerprinter.fingerprint(hook, project).digest for hook in others} - new
            kept = [
                record
                for record in records
                if _slot(_definition_in(record)) not in slots or _digest_in(record) in staying
            ]
            return kept + [_to_json(print_) for print_ in prints]

        self._change(project, accept)

    def untrust(self, hooks: Iterable[HookEntry], project_dir: str) -> None:
        """Forget what was said about the hooks, in any form of theirs."""
        wanted = tuple(hooks)
        project = os.path.realpath(project_dir)

        def forget(records: list[Any]) -> list[Any]:
            return [
                record
                for record in records
                if (known := _to_record(project, record)) is None or not any(known.is_about(hook) for hook in wanted)
            ]

        self._change(project, forget)

    def trusted_text(self, hook: HookEntry, project_dir: str, file: Path) -> str | None:
        """The script's text at the time it was trusted, or None if that is not known or was too long to keep."""
        project = os.path.realpath(project_dir)
        resolved = os.path.realpath(Path(project) / file)
        for record in reversed(self._ledger().by_project.get(project, ())):
            if record.is_about(hook) and resolved in record.files:
                return self._kept_text(record.files[resolved])
        return None

    def records(self) -> tuple[TrustRecord, ...]:
        """Everything that is trusted, oldest first within each project."""
        return tuple(record for records in self._ledger().by_project.values() for record in records)

    def _ledger(self) -> "_Ledger":
        try:
            status = self._path.stat()
        except OSError:
            return _read_ledger(self._path)
        if self._kept is not None and self._kept[0] == signature(status):
            return self._kept[1]
        ledger = _read_ledger(self._path)
        self._kept = (signature(status), ledger) if is_settled(status) else None
        return ledger

    def _change(self, project: str, change: Callable[[list[Any]], list[Any]]) -> None:
        try:
            make_private_directory(self._path.parent)
            with locked(self._path):
                ledger = _read_ledger(self._path)
                if ledger.problem:
                    raise HooklineError(ledger.problem)
                document = ledger.document
                _change_records(document, project, change)
                write_atomically(self._path, json.dumps(document, indent=2).encode() + b"\n")
                self._drop_unused_texts(document)
        except OSError as error:
            raise HooklineError(f"{self._path} could not be written: {error.strerror}") from error

    @property
    def _texts(self) -> Path:
        return self._path.with_name(f"{self._path.stem}-texts")

    def _keep_texts(self, print_: Fingerprint) -> None:
        for name, digest in print_.hashes.items():
            if len(digest) != _HASH_LENGTH:
                continue
            with Path(name).open("rb") as file:
                data = file.read(MAX_TEXT_BYTES + 1)
            if len(data) > MAX_TEXT_BYTES:
                continue
            if hashlib.sha256(data).hexdigest() != digest:
                raise HooklineError(f"{name} has changed while it was being trusted; look at it again")
            make_private_directory(self._texts)
            write_atomically(self._texts / digest, data)

    def _kept_text(self, digest: str) -> str | None:
        try:
            data = (self._texts / digest).read_bytes() if len(digest) == _HASH_LENGTH and digest.isalnum() else None
        except OSError:
            return None
        if data is None or hashlib.sha256(data).hexdigest() != digest:
            return None
        return data.decode("utf-8", "replace")

    def _drop_unused_texts(self, document: Mapping[str, Any]) -> None:
        used = {digest for record in _records_of(document) for digest in record.files.values()}
        with suppress(FileNotFoundError):
            for text in self._texts.iterdir():
                if text.name not in used:
                    text.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ledger:
    """The trust file as it was read; nothing in it counts when there is a problem."""

    document: dict[str, Any] = field(default_factory=dict)
    by_project: Mapping[str, tuple[TrustRecord, ...]] = field(default_factory=dict)
    problem: str | None = None


def _read_ledger(path: Path) -> _Ledger:
    try:
        # Not to wait for a writer, should it be a pipe.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return _Ledger(document={"version": _VERSION, "projects": {}})
    except OSError as error:
        return _Ledger(problem=f"{path} cannot be read ({error.strerror}), so nothing is trusted; mend or move it")
    if danger := _danger(path, os.fstat(descriptor)):
        os.close(descriptor)
        return _Ledger(problem=danger)
    with os.fdopen(descriptor, "rb") as file:
        return _decode(path, file.read())


def _danger(path: Path, status: os.stat_result) -> str | None:
    if not stat.S_ISREG(status.st_mode):
        return f"{path} is not a regular file, so nothing is trusted; move it away"
    if status.st_uid != os.geteuid():
        return (
            f"{path} belongs to another user (uid {status.st_uid}), so nothing is trusted; "
            f"move it away, or run: chown {os.geteuid()} {shlex.quote(str(path))}"
        )
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return (
            f"{path} can be written by other users, so nothing is trusted; "
            f"look through it and run: chmod 600 {shlex.quote(str(path))}"
        )
    return None


def _decode(path: Path, data: bytes) -> _Ledger:
    try:
        document = parse_json(data.decode())
    except ValueError as error:
        return _Ledger(problem=f"{path} is not JSON ({error}), so nothing is trusted; mend it or move it away")
    if not isinstance(document, dict) or not _has_shape(document):
        return _Ledger(problem=f"{path} is not a trust file of hookline, so nothing is trusted; move it away")
    if document["version"] != _VERSION:
        return _Ledger(
            problem=f"{path} was written by another version of hookline (format {document['version']!r}), "
            "so nothing is trusted; use that version, or move it away"
        )
    by_project: dict[str, tuple[TrustRecord, ...]] = {}
    for record in _records_of(document):
        by_project[record.project_dir] = (*by_project.get(record.project_dir, ()), record)
    return _Ledger(document=document, by_project=by_project)


def _has_shape(document: Mapping[str, Any]) -> bool:
    projects = document.get("projects")
    return (
        "version" in document
        and isinstance(projects, dict)
        and all(isinstance(project, dict) for project in projects.values())
        and all(isinstance(project.get("hooks", []), list) for project in projects.values())
    )


def _records_of(document: Mapping[str, Any]) -> Iterable[TrustRecord]:
    for project, known in document["projects"].items():
        for data in known.get("hooks", []):
            if record := _to_record(project, data):
                yield record


def _to_record(project: str, data: Any) -> TrustRecord | None:
    match data:
        case {
            "digest": str(digest),
            "trustedAt": str(trusted_at),
            "definition": dict(definition),
            "files": dict(files),
        }:
            hashes = {name: value for name, value in files.items() if isinstance(value, str)}
            return TrustRecord(
                project_dir=project, digest=digest, trusted_at=trusted_at, definition=definition, files=hashes
            )
        case _:
            return None


def _to_json(print_: Fingerprint) -> dict[str, Any]:
    return {
        "digest": print_.digest,
        "trustedAt": utc_timestamp(),
        "definition": dict(print_.definition),
        "files": dict(print_.hashes),
    }


def _change_records(document: dict[str, Any], project: str, change: Callable[[list[Any]], list[Any]]) -> None:
    known = document["projects"].setdefault(project, {})
    known["hooks"] = change(known.get("hooks", []))
    if known == {"hooks": []}:
        del document["projects"][project]


def _definition_in(data: Any) -> Mapping[str, Any]:
    match data:
        case {"definition": dict(definition)}:
            return definition
        case _:
            return {}


def _digest_in(data: Any) -> Any:
    return data.get("digest") if isinstance(data, dict) else None


def _slot(definition: Mapping[str, Any]) -> tuple[Any, ...]:
    """What stays the same when a hook is merely edited: accepting its new form ends the trust in the old one."""
    return (definition.get("event"), definition.get("matcher"), definition.get("name") or definition.get("command"))
