"""The store of the project hooks that the user has accepted."""

import hashlib
import json
import os
import re
import shlex
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec

from hookline.errors import HooklineError
from hookline.files import locked, make_private_directory, state_path, write_atomically
from hookline.protocol.constants import OWN_DIALECT, TrustLevel
from hookline.protocol.hook_entry import HookEntry
from hookline.protocol.text.json_text import parse_json, utc_timestamp
from hookline.settings.read.files import open_without_waiting
from hookline.settings.trust.fingerprint import Fingerprint, Fingerprinter, Signature, is_settled, signature

MAX_TEXT_BYTES = 256 * 1024

_VERSION = 1
_SHA256 = re.compile("[0-9a-f]{64}")


class TrustState(StrEnum):
    """The user's decision about a project's hook."""

    TRUSTED = "trusted"
    NEW = "new"
    CHANGED = "changed"


class TrustRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One hook as the user has accepted it."""

    project_dir: str
    digest: str
    trusted_at: str
    definition: Mapping[str, Any]
    files: Mapping[str, str]
    """The script files that were covered, by resolved path, with the SHA-256 of their content at that time."""

    def is_form_of(self, hook: HookEntry) -> bool:
        """Return True for a hook of the same name, or of the same command if neither has a name."""
        if self.definition.get("event") != hook.event or self.definition.get("name") != hook.name:
            return False
        return hook.name is not None or self.definition.get("command") == hook.command

    def is_about(self, hook: HookEntry) -> bool:
        """Return True for every hook that has the event and either the name or the command of this one."""
        has_command = (self.definition.get("event"), self.definition.get("command")) == (hook.event, hook.command)
        return has_command or self.is_form_of(hook)


def show_uncovered(words: Iterable[str]) -> str:
    """Return the files that trust does not cover, as the end of a sentence."""
    return f"trust covers the command alone, not the files that these words may lead to: {', '.join(words)}"


def default_trust_path() -> Path:
    """The trust file."""
    return state_path("trust.json")


class TrustStore:
    """Remembers the hooks that the user has accepted, by their definitions and the content of their scripts."""

    def __init__(self, path: Path, *, search_path: str | None = None) -> None:
        """Takes the trust file, and the PATH with which hooks run, if it is not this program's own."""
        self._path = path
        self._texts = path.with_name(f"{path.stem}-texts")
        self._fingerprinter = Fingerprinter(search_path)
        self._misplaced: dict[str, str | None] = {}
        self._cached: tuple[Signature, _Ledger] | None = None

    def problem_in(self, project_dir: str) -> str | None:
        """Why nothing at all is trusted in a project and what to do about it, or None."""
        return self._why_misplaced(os.path.realpath(project_dir)) or self._ledger().problem

    def knows(self, project_dir: str) -> bool:
        """Whether any hook of a project has been accepted."""
        return bool(self._ledger().of_project(os.path.realpath(project_dir)))

    def state_of(self, hook: HookEntry, project_dir: str) -> TrustState:
        """Whether the hook, as it and its scripts are at this moment, has been accepted."""
        project = os.path.realpath(project_dir)
        records = self._ledger().of_project(project)
        if not records or self._why_misplaced(project):
            return TrustState.NEW
        # Look at files only if the command was accepted before: a new one could name endless files.
        definition = self._fingerprinter.definition(hook, project)
        accepted = [record.digest for record in records if record.definition == definition]
        if accepted and self._fingerprinter.fingerprint(hook, project).digest in accepted:
            return TrustState.TRUSTED
        return TrustState.CHANGED if any(record.is_form_of(hook) for record in records) else TrustState.NEW

    def why_untrusted(self, hook: HookEntry, project_dir: str, level: TrustLevel) -> str | None:
        """Why the hook may not run and what to do about it, or None when it is trusted or needs no trust."""
        if not hook.needs_trust:
            return None
        match self.state_of(hook, project_dir):
            case TrustState.NEW:
                why = f"hooks of a project need trust; look at it and run: {_command(hook)}"
                return self.problem_in(project_dir) or why
            case TrustState.CHANGED:
                return f"it changed since it was trusted; look at it and run: {_command(hook)}"
            case TrustState.TRUSTED:
                return self.why_refused(hook, project_dir, level)

    def why_refused(self, hook: HookEntry, project_dir: str, level: TrustLevel) -> str | None:
        """Why the hook would not run even if it were trusted, or None.

        With strict trust, every word of its command must be resolved to files.
        """
        if level is not TrustLevel.STRICT or not (words := self.uncovered(hook, project_dir)):
            return None
        return f"hooksConfig.trust is strict, and trust can't cover {', '.join(words)}; name its files plainly"

    def uncovered(self, hook: HookEntry, project_dir: str) -> tuple[str, ...]:
        """The words of the hook's command that may lead to files which trust does not cover, for people."""
        project = os.path.realpath(project_dir)
        definition = self._fingerprinter.definition(hook, project)
        if any(record.definition == definition for record in self._ledger().of_project(project)):
            return self._fingerprinter.fingerprint(hook, project).uncovered
        # As above: a new command could name endless files. Words that match too many are shown in the review.
        return self._fingerprinter.unresolved(hook, project)

    def trust(
        self,
        hooks: Iterable[HookEntry],
        project_dir: str,
        *,
        shown: Collection[str] | None = None,
        beside: Iterable[HookEntry] = (),
    ) -> None:
        """Accept the hooks as they are now, in place of their earlier forms.

        With `shown`, the digests that the user has looked at, a hook that has changed since is refused. The hooks in
        `beside` stay accepted, even one with the same name.
        """
        project = os.path.realpath(project_dir)
        with self._records_to_change(project) as records:
            prints = []
            for hook in hooks:
                prints.append(self._fingerprinter.fingerprint(hook, project))
                if shown is not None and prints[-1].digest not in shown:
                    raise HooklineError(f"{hook.label} has changed while you were looking at it; look again")
                self._keep_texts(prints[-1])
            staying = {self._fingerprinter.fingerprint(hook, project).digest for hook in beside}
            staying -= {print_.digest for print_ in prints}
            replaced = [_slot(print_.definition) for print_ in prints]
            _drop(records, project, lambda known: known.digest not in staying and _slot(known.definition) in replaced)
            records.extend(map(_to_json, prints))

    def untrust(self, hooks: Iterable[HookEntry], project_dir: str) -> None:
        """Forget the hooks in all their forms."""
        project = os.path.realpath(project_dir)
        unwanted = tuple(hooks)
        with self._records_to_change(project) as records:
            _drop(records, project, lambda known: any(map(known.is_about, unwanted)))

    def trusted_text(self, hook: HookEntry, project_dir: str, file: Path) -> str | None:
        """The script's text at the time it was trusted, or None if that is not known or was too long to keep."""
        project = os.path.realpath(project_dir)
        resolved = os.path.realpath(Path(project) / file)
        for record in reversed(self._ledger().of_project(project)):
            if record.is_about(hook) and resolved in record.files:
                return self._kept_text(record.files[resolved])
        return None

    def records(self) -> tuple[TrustRecord, ...]:
        """Everything that is trusted, oldest first within each project."""
        return self._ledger().records

    def _why_misplaced(self, project: str) -> str | None:
        if project not in self._misplaced:
            self._misplaced[project] = _why_misplaced(self._path, project)
        return self._misplaced[project]

    def _ledger(self) -> "_Ledger":
        with suppress(OSError):
            status = self._path.stat()
            if self._cached is None or self._cached[0] != signature(status):
                ledger = _read_ledger(self._path)
                self._cached = (signature(status), ledger) if is_settled(status) else None
                return ledger
            return self._cached[1]
        return _read_ledger(self._path)

    @contextmanager
    def _records_to_change(self, project: str) -> Iterator[list[Any]]:
        """The JSON records of a project, in a list whose changes are written at the end."""
        if misplaced := self._why_misplaced(project):
            raise HooklineError(misplaced)
        try:
            make_private_directory(self._path.parent)
            with locked(self._path):
                document = _read_document(self._path)
                known = document["projects"].setdefault(project, {})
                yield known.setdefault("hooks", [])
                if known == {"hooks": []}:
                    del document["projects"][project]
                write_atomically(self._path, json.dumps(document, indent=2).encode() + b"\n")
                self._drop_unused_texts(_records_in(document))
        except OSError as error:
            raise HooklineError(f"{self._path} could not be written: {error.strerror}") from error

    def _keep_texts(self, print_: Fingerprint) -> None:
        for name, digest in print_.hashes.items():
            if not _SHA256.fullmatch(digest):
                continue
            with open_without_waiting(Path(name)) as file:
                data = file.read(MAX_TEXT_BYTES + 1)
            if len(data) > MAX_TEXT_BYTES:
                continue
            if hashlib.sha256(data).hexdigest() != digest:
                raise HooklineError(f"{name} has changed while it was being trusted; look at it again")
            make_private_directory(self._texts)
            write_atomically(self._texts / digest, data)

    def _kept_text(self, digest: str) -> str | None:
        if not _SHA256.fullmatch(digest):
            return None
        try:
            data = (self._texts / digest).read_bytes()
        except OSError:
            return None
        return data.decode("utf-8", "replace") if hashlib.sha256(data).hexdigest() == digest else None

    def _drop_unused_texts(self, records: Iterable[TrustRecord]) -> None:
        used = {digest for record in records for digest in record.files.values()}
        with suppress(FileNotFoundError):
            for text in self._texts.iterdir():
                if text.name not in used:
                    text.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class _Ledger:
    """The records of the trust file; none when there is a problem."""

    records: tuple[TrustRecord, ...] = ()
    problem: str | None = None

    def of_project(self, project: str) -> list[TrustRecord]:
        return [record for record in self.records if record.project_dir == project]


def _read_ledger(path: Path) -> _Ledger:
    try:
        return _Ledger(tuple(_records_in(_read_document(path))))
    except HooklineError as error:
        return _Ledger(problem=str(error))


class _Project(msgspec.Struct):
    hooks: list[Any] = []


class _TrustFile(msgspec.Struct):
    version: Any
    projects: dict[str, _Project]


def _read_document(path: Path) -> dict[str, Any]:
    """The JSON of the trust file; HooklineError when it can't be believed."""
    try:
        with open_without_waiting(path) as file:
            _check_owner(path, os.fstat(file.fileno()))
            document = parse_json(file.read().decode())
        version = msgspec.convert(document, _TrustFile).version
    except FileNotFoundError:
        return {"version": _VERSION, "projects": {}}
    except OSError as error:
        raise _not_believed(path, f"cannot be read ({error.strerror})", "fix or move it") from error
    except msgspec.ValidationError as error:
        raise _not_believed(path, "is not a trust file of hookline", "move it away") from error
    except ValueError as error:
        raise _not_believed(path, f"is not JSON ({error})", "fix it or move it away") from error
    if version != _VERSION:
        what = f"was written by another version of hookline (format {version!r})"
        raise _not_believed(path, what, "use that version, or move it away")
    return dict(document)


def _check_owner(path: Path, status: os.stat_result) -> None:
    quoted = shlex.quote(str(path))
    if not stat.S_ISREG(status.st_mode):
        raise _not_believed(path, "is not a regular file", "move it away")
    if status.st_uid != os.geteuid():
        what = f"belongs to another user (uid {status.st_uid})"
        raise _not_believed(path, what, f"move it away, or run: chown {os.geteuid()} {quoted}")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise _not_believed(path, "can be written by other users", f"look through it and run: chmod 600 {quoted}")


def _why_misplaced(path: Path, project: str) -> str | None:
    """Why a project can't be asked about itself: its repository could bring the trust file along."""
    if not is_below(path, project) or contains_home(project):
        return None
    return str(_not_believed(path, "is inside the project", "set HOOKLINE_STATE_DIR to a directory outside of it"))


def is_below(path: Path, project: str) -> bool:
    """Whether a path leads into the project, links followed."""
    return Path(os.path.realpath(path)).is_relative_to(project)


def contains_home(project: str) -> bool:
    """Whether a project is the home directory or above it; such a project has the user's own files in it."""
    return is_below(Path(os.path.expanduser("~")), project)


def _not_believed(path: Path, what: str, advice: str) -> HooklineError:
    return HooklineError(f"{path} {what}, so nothing is trusted; {advice}")


def _records_in(document: Mapping[str, Any]) -> Iterator[TrustRecord]:
    for project, known in document["projects"].items():
        for data in known.get("hooks", []):
            if record := _to_record(project, data):
                yield record


def _to_record(project: str, data: Any) -> TrustRecord | None:
    """The record, or None for one that another version of hookline wrote."""
    try:
        return msgspec.convert({**data, "projectDir": project}, TrustRecord)
    except (TypeError, msgspec.ValidationError):
        return None


def _drop(records: list[Any], project: str, is_unwanted: Callable[[TrustRecord], bool]) -> None:
    """Remove records of a project; those that another version of hookline wrote stay."""
    read = [(data, _to_record(project, data)) for data in records]
    records[:] = [data for data, record in read if record is None or not is_unwanted(record)]


def _to_json(print_: Fingerprint) -> dict[str, Any]:
    return {
        "digest": print_.digest,
        "trustedAt": utc_timestamp(),
        "definition": dict(print_.definition),
        "files": dict(print_.hashes),
    }


def _slot(definition: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the part that an edit of a hook does not change: accepting the new form ends trust in the old one."""
    return (definition.get("event"), definition.get("matcher"), definition.get("name") or definition.get("command"))


def _command(hook: HookEntry) -> str:
    """The command that trusts a hook: another agent's file is read there only if that is asked for."""
    return "hookline trust" if hook.dialect == OWN_DIALECT else f"hookline trust --dialect {hook.dialect}"
