"""The directory of a machine's policy: what is in force there, and how a new document gets in.

    current.json       the signed bundle in force; replaced in one step
    versions/DIGEST/   its scripts, unpacked before that
    switches.TEAM.json the signed switches for a team, and those for all
    seen.json          the highest versions that were ever in force
    clock.json         when a part of each document in force was last seen to expire

Whoever reads these files checks them again: nothing here is believed because of where it is.
"""

import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from hookline.errors import HooklineError
from hookline.files import locked, make_private_directory, open_regular, state_path, write_atomically
from hookline.fleet.names import token_of
from hookline.fleet.policy.documents import (
    ALL_TEAMS,
    MOST_BYTES,
    Bundle,
    Document,
    LessSpecificError,
    PolicyError,
    SignedDocument,
    channel_of,
    now,
    read_signed,
    show_moment,
    signer_of,
)
from hookline.fleet.policy.scripts import remove, scripts_fault, unpack
from hookline.protocol.hook_entry import PolicyMark

Decoded = TypeVar("Decoded")

DEFAULT_DIRECTORY = "/var/lib/hookline/policy"
# Events that are under way use the scripts of the version before.
_KEPT_VERSIONS = 3


class DocumentKind(StrEnum):
    """The two kinds of documents, as seen.json calls them."""

    BUNDLE = "bundle"
    SWITCHES = "switches"

    @classmethod
    def of(cls, document: Document) -> "DocumentKind":
        """Return the kind of a document."""
        return cls.BUNDLE if isinstance(document, Bundle) else cls.SWITCHES


class Verified(NamedTuple):
    """A document with a signature of an accepted key."""

    envelope: SignedDocument
    document: Document
    key: str


class Taken(NamedTuple):
    """A document that is in force now, and its file."""

    verified: Verified
    channel: str
    file: Path
    is_new: bool
    """False for one that was in force already."""


class PolicyStore:
    """One machine's directory."""

    def __init__(self, directory: Path, keys: Collection[str], team: str) -> None:
        """Take the directory, the accepted public keys, and the team of this machine."""
        self.directory = directory
        self.keys = keys
        self.team = team
        self.current = directory / "current.json"
        self.seen_file = directory / "seen.json"
        self._versions = directory / "versions"

    def switches_of(self, team: str) -> Path:
        """The switches for a team."""
        return self.directory / f"switches.{token_of(team)}.json"

    @property
    def switch_files(self) -> tuple[Path, ...]:
        """The files of the switches for this machine."""
        return tuple(self.switches_of(team) for team in dict.fromkeys((ALL_TEAMS, self.team)))

    def verify(self, data: bytes) -> Verified:
        """The document, if it is signed by one of the keys; PolicyError otherwise."""
        envelope = read_signed(data)
        key = signer_of(envelope, self.keys)
        return Verified(envelope, envelope.document, key)

    def read(self, file: Path) -> Verified | None:
        """Return the document of a file, with signature, team and version checked; None without a file."""
        # First: a document is put in force before its version is remembered, perhaps at this moment.
        seen = self.seen()
        data = read_data(file)
        if data is None:
            self._check_absent(file, seen)
            return None
        verified = self.verify(data)
        kind, document = DocumentKind.of(verified.document), verified.document
        if (kind is DocumentKind.BUNDLE) is not (file == self.current):
            raise PolicyError("is a document of another kind")
        channel = self._channel(document)
        if kind is DocumentKind.SWITCHES and file != self.switches_of(channel):
            raise PolicyError(f"has the switches for {channel}, which belong into another file")
        highest = seen.get(kind, {}).get(channel, 0)
        if document.version < highest:
            raise PolicyError(f"has version {document.version}, and version {highest} was in force here before")
        return verified

    def is_whole(self, expected: Collection[Path] = ()) -> bool:
        """Whether something was put in force here, and all of it is still there and as it was signed.

        The expected files must be there whatever seen.json says: that file may have been deleted with them.
        """
        if not self.seen():
            return False
        try:
            found = {file: self.read(file) for file in (self.current, *self.switch_files)}
        except HooklineError:
            return False
        verified = found[self.current]
        has_scripts = verified is None or scripts_fault(self.mark(verified)) is None
        return has_scripts and all(found.get(file) is not None for file in expected)

    def take(self, data: bytes, *, at: datetime | None = None) -> Taken:
        """Puts a document in force, in one step; PolicyError, and nothing changes, if it must not be."""
        verified = self.verify(data)
        document = verified.document
        channel = self._channel(document)
        check_unexpired(document, at)
        try:
            _make_directory(self.directory)
            with locked(self.current):
                file = self.current if isinstance(document, Bundle) else self.switches_of(channel)
                is_new = self._check_newer(verified, channel, file)
                if isinstance(document, Bundle):
                    self._unpack(verified, document)
                if not self.seen_file.exists():  # a bundle without it means that it was removed
                    write_atomically(self.seen_file, b"{}", mode=0o644)
                if is_new:
                    write_atomically(file, data, mode=0o644)
                # Afterwards: a version that is known and not in force would look like one that was taken back.
                self._remember(DocumentKind.of(document), channel, document.version)
                if isinstance(document, Bundle):
                    self._remove_old_versions(verified.envelope)
        except OSError as error:
            raise HooklineError(
                f"{self.directory} can't be written: {error.strerror}; is this user allowed to?"
            ) from error
        return Taken(verified, channel, file, is_new)

    def mark(self, verified: Verified) -> PolicyMark:
        """Where the scripts of a bundle are, and what they have to be."""
        document = verified.document
        files = document.files if isinstance(document, Bundle) else {}
        return PolicyMark(
            version=document.version,
            directory=str(self._versions / verified.envelope.digest[:32]),
            files={name: file.sha256 for name, file in files.items()},
        )

    def seen(self) -> Mapping[str, Mapping[str, int]]:
        """Return the highest version of each kind and channel; empty if the file can't be read."""
        return self._remembered() or {}

    def _remembered(self) -> dict[str, dict[str, int]] | None:
        return _decoded(self.seen_file, dict[str, dict[str, int]])

    def memory_fault(self) -> str | None:
        """Return why earlier documents are unknown, or None: switches may have been removed as well."""
        if self._remembered() is not None:
            return None
        problem = f"{self.seen_file}, which remembers what was in force here, is gone or damaged"
        return f"{problem}; run: hookline fleet policy pull"

    def clock(self) -> dict[str, float]:
        """When a part of each document was last seen to expire, in seconds since the epoch."""
        machine, user = (_decoded(file, dict[str, float]) or {} for file in self._clock_files)
        return {each: max(machine.get(each, 0.0), user.get(each, 0.0)) for each in machine.keys() | user.keys()}

    def remember_clock(self, latest: Mapping[str, float]) -> None:
        """Remember what has expired of each document, where this user may write; a newer document ends that."""
        for file in self._clock_files:
            with suppress(OSError, HooklineError):
                if file.parent != self.directory:
                    make_private_directory(file.parent)
                write_atomically(file, msgspec.json.encode(latest), mode=0o644)
                return

    @property
    def _clock_files(self) -> tuple[Path, Path]:
        """The machine's, and one for users who can't write that."""
        return self.directory / "clock.json", state_path("policy-clock.json")

    def _check_absent(self, file: Path, seen: Mapping[str, Mapping[str, int]]) -> None:
        """PolicyError if a document was in force here whose file is gone: that must not look like none at all."""
        if file == self.current:
            versions = dict(seen.get(DocumentKind.BUNDLE, {}))
        else:
            highest = seen.get(DocumentKind.SWITCHES, {})
            versions = {team: version for team, version in highest.items() if self.switches_of(team) == file}
        if versions:
            raise PolicyError(f"is gone, and version {max(versions.values())} was in force here before")

    def _channel(self, document: Document) -> str:
        channel = channel_of(document, self.team)
        if channel is None:
            raise PolicyError(
                f"is for {', '.join(document.teams)}, and the team of this machine is {self.team};"
                " sign one for it, or for all"
            )
        return channel

    def _check_newer(self, verified: Verified, channel: str, file: Path) -> bool:
        """Whether the document is new; PolicyError if it would lead back."""
        document = verified.document
        try:
            before = self.read(file)
        except HooklineError:  # it is damaged: a valid document replaces it
            before = None
        if before is not None and before.envelope.signed == verified.envelope.signed:
            return False
        highest = self.seen().get(DocumentKind.of(document), {}).get(channel, 0)
        if before is not None:
            own = channel_of(before.document, self.team)
            if own != channel == ALL_TEAMS:
                raise LessSpecificError(
                    f"version {document.version} is for all, and this machine has one for its team {self.team};"
                    f" to replace that, sign one for {self.team} and all"
                )
            highest = max(highest, before.document.version) if own == channel else highest
        elif document.version == highest:
            return True  # its file was damaged or deleted, and this brings it back
        if document.version <= highest:
            raise PolicyError(
                f"version {document.version} is not newer than {highest}, which this machine has seen;"
                " hookline fleet policy rollback brings old content under a new version"
            )
        return True

    def _unpack(self, verified: Verified, bundle: Bundle) -> None:
        mark = self.mark(verified)
        directory = Path(mark.directory)
        if scripts_fault(mark) is not None:
            _make_directory(directory.parent)
            unpack(bundle, directory)
        os.utime(directory)

    def _remember(self, kind: DocumentKind, channel: str, version: int) -> None:
        seen = self._remembered() or {}
        own = seen.setdefault(kind, {})
        own[channel] = max(version, own.get(channel, 0))
        write_atomically(self.seen_file, msgspec.json.encode(seen), mode=0o644)

    def _remove_old_versions(self, envelope: SignedDocument) -> None:
        with suppress(OSError):
            kept = sorted(self._versions.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
            for directory in kept[_KEPT_VERSIONS:]:
                if directory.name != envelope.digest[:32]:
                    remove(directory)


def check_unexpired(document: Document, at: datetime | None = None) -> None:
    """PolicyError for a bundle that no machine would put in force any more."""
    if isinstance(document, Bundle) and document.expires <= (at or now()):
        raise PolicyError(
            f"version {document.version} expired on {show_moment(document.expires)}; sign one with a later --expires"
        )


def read_data(file: Path) -> bytes | None:
    """Return the bytes of a document; None without a file. Raises HooklineError if it can't be read."""
    try:
        descriptor = open_regular(file, os.O_RDONLY)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise PolicyError(f"can't be read ({error.strerror})") from error
    with os.fdopen(descriptor, "rb") as opened:
        data = opened.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise PolicyError(f"has more than {MOST_BYTES >> 20} MiB")
    return data


def _decoded(file: Path, kind: type[Decoded]) -> Decoded | None:
    """Return the content of a file of the machine's own; None if it is gone or damaged."""
    with suppress(HooklineError, msgspec.MsgspecError, ValueError):
        data = read_data(file)
        return None if data is None else msgspec.json.decode(data, type=kind)
    return None


def _make_directory(directory: Path) -> None:
    """All users may read its files, and only its owner may write: agents of other users follow the policy as well."""
    if not directory.is_dir():
        if not directory.parent.is_dir():
            _make_directory(directory.parent)
        directory.mkdir(mode=0o755, exist_ok=True)
        directory.chmod(0o755)
