"""Signed documents: a bundle of settings and scripts, or switches. Each is one JSON document with bounded parts.

Without an archive there are no paths, links or compression to attack: a bundle has names of a narrow
form, each with its content in base64. What is signed is the exact text that is decoded afterwards.
"""

import base64
import binascii
import hashlib
import os
import re
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from hookline.errors import HooklineError
from hookline.files import read_private
from hookline.fleet.keys import SEED_BYTES, is_signed_by, signing_key
from hookline.settings.read.policy_state import show_time

if TYPE_CHECKING:
    from nacl.signing import SigningKey


FORMAT = "hookline-policy/1"
ALL_TEAMS = "all"
"""The team that every machine is in."""
MOST_BYTES = 16 * 1024 * 1024
"""Of a whole document."""
MOST_FILES = 500
MOST_FILE_BYTES = 4 * 1024 * 1024

# No name begins with a dot, so there is neither `..` nor a hidden file.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}(?:/[A-Za-z0-9_][A-Za-z0-9._-]{0,99}){0,8}")
_LONGEST_REASON = 1000

Version = Annotated[int, Meta(ge=1, le=2**53)]
Moment = Annotated[datetime, Meta(tz=True)]
Teams = Annotated[tuple[Annotated[str, Meta(min_length=1, max_length=200)], ...], Meta(min_length=1, max_length=1000)]


class PolicyError(HooklineError):
    """A document of a policy that can't be used."""


class LessSpecificError(PolicyError):
    """A bundle for all teams, on a machine that has one for its own team."""


class PackedFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A script of a bundle."""

    sha256: str
    content: str
    """In base64."""
    executable: bool = False

    @property
    def data(self) -> bytes:
        """The content itself; PolicyError if it is not what the hash says."""
        try:
            data = base64.b64decode(self.content, validate=True)
        except (binascii.Error, ValueError) as error:
            raise PolicyError("has a file whose content is not base64") from error
        if len(data) > MOST_FILE_BYTES:
            raise PolicyError(f"has a file of more than {MOST_FILE_BYTES >> 20} MiB")
        if hashlib.sha256(data).hexdigest() != self.sha256:
            raise PolicyError("has a file whose content does not have its hash")
        return data


class Bundle(msgspec.Struct, tag_field="kind", tag="bundle", frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings and the scripts that they name, for some teams and until some day."""

    version: Version
    issued: Moment
    expires: Moment
    teams: Teams
    settings: dict[str, Any]
    files: dict[str, PackedFile] = {}


class Switch(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One switch: its subject is off until it is switched on, or the switch expires."""

    what: Literal["agents", "hook"]
    hook: str | None = None
    """The hook's name, or its command where it has none."""
    reason: Annotated[str, Meta(min_length=1, max_length=_LONGEST_REASON)]
    expires: Moment

    @property
    def shown(self) -> str:
        """The switched-off subject, for display."""
        return "agents" if self.what == "agents" else f"hook {self.hook}"


class Switches(msgspec.Struct, tag_field="kind", tag="switches", frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The switches of some teams; everything that it does not list is on."""

    version: Version
    issued: Moment
    teams: Teams
    switches: Annotated[tuple[Switch, ...], Meta(max_length=1000)] = ()


Document = Bundle | Switches


class Signature(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The public key of the signer, and the signature in base64."""

    key: str
    signature: str


class SignedDocument(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A document as it travels: its exact text, and the signatures of that text."""

    format: Literal["hookline-policy/1"] = FORMAT  # type: ignore[assignment]  # the constant is that text
    signatures: Annotated[tuple[Signature, ...], Meta(max_length=16)] = ()
    signed: str

    @property
    def message(self) -> bytes:
        """The bytes that signatures are about."""
        return f"{self.format}\n{self.signed}".encode()

    @property
    def digest(self) -> str:
        """The digest of the text, which identifies it."""
        return hashlib.sha256(self.message).hexdigest()

    @property
    def document(self) -> Document:
        """Return the checked content; raises PolicyError if it is invalid. It does not verify signatures."""
        try:
            document: Document = _DOCUMENTS.decode(self.signed)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise PolicyError(f"is not a policy ({error})") from error
        if isinstance(document, Bundle):
            _check_files(document)
        return document

    def to_bytes(self) -> bytes:
        """The document as a file."""
        return msgspec.json.encode(self) + b"\n"


_ENVELOPES = msgspec.json.Decoder(SignedDocument)
_DOCUMENTS: msgspec.json.Decoder[Document] = msgspec.json.Decoder(Document)
_CANONICAL = msgspec.json.Encoder(order="deterministic")


def read_signed(data: bytes) -> SignedDocument:
    """The envelope; PolicyError for whatever else it is."""
    if len(data) > MOST_BYTES:
        raise PolicyError(f"has more than {MOST_BYTES >> 20} MiB")
    try:
        envelope = _ENVELOPES.decode(data)
        envelope.message  # noqa: B018 - a lone surrogate has no bytes
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise PolicyError(f"is not a signed document of hookline, or was cut off ({error})") from error
    return envelope


def unsigned(document: Document) -> SignedDocument:
    """Return the document in its envelope, without a signature."""
    return SignedDocument(signed=_CANONICAL.encode(document).decode())


def now() -> datetime:
    """Return the current time to the second, as in documents."""
    return datetime.now(UTC).replace(microsecond=0)


def show_moment(moment: datetime) -> str:
    """Format a moment for display."""
    return show_time(moment.timestamp())


def packed(data: bytes, *, executable: bool) -> PackedFile:
    """Return a file in the form of a bundle."""
    content = base64.b64encode(data).decode()
    return PackedFile(sha256=hashlib.sha256(data).hexdigest(), content=content, executable=executable)


def channel_of(document: Document, team: str) -> str | None:
    """Return the name under which a document addresses this team: its own, or all; None if it does not."""
    return next((name for name in (team, ALL_TEAMS) if name in document.teams), None)


def name_fault(name: str) -> str | None:
    """Return why a file of a bundle can't have this name, or None."""
    if _NAME.fullmatch(name):
        return None
    return f"{name!r} is not a valid name in a policy: letters, digits, . _ - and /, no part begins with a dot"


def _check_files(bundle: Bundle) -> None:
    if len(bundle.files) > MOST_FILES:
        raise PolicyError(f"has more than {MOST_FILES} files")
    taken = {name.casefold() for name in bundle.files}
    if len(taken) != len(bundle.files):
        raise PolicyError("has two files whose names differ in capital letters only")
    for name, file in bundle.files.items():
        if fault := name_fault(name):
            raise PolicyError(f"has a file that can't be unpacked: {fault}")
        above = name.casefold().split("/")[:-1]
        if any("/".join(above[: depth + 1]) in taken for depth in range(len(above))):
            raise PolicyError(f"has a file below another file: {name!r}")
        file.data  # noqa: B018 - its hash is checked


_PUBLIC = re.compile(r"ed25519:[A-Za-z0-9+/]{43}=")
_PRIVATE = re.compile(r"hookline-policy-private-key:([A-Za-z0-9+/]{43}=)\s*")
_LONGEST_FILE = 1000


def new_key(path: Path) -> str:
    """Writes a new private key for its owner alone, and returns the public one; an existing file is never replaced."""
    key = signing_key(os.urandom(SEED_BYTES))
    text = f"hookline-policy-private-key:{base64.b64encode(bytes(key)).decode()}\n"
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        raise HooklineError(f"{path} exists already, and a key is never overwritten; name another file") from None
    except OSError as error:
        raise HooklineError(f"{path} can't be written: {error.strerror}") from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, 0o600)
            file.write(text.encode())
            file.flush()
            os.fsync(descriptor)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return _public_text(key)


def public_key(path: Path) -> str:
    """The public key that belongs to a private one."""
    return _public_text(_read_key(path))


def sign(envelope: SignedDocument, path: Path) -> SignedDocument:
    """The document with one more signature; one of the same key is replaced."""
    key = _read_key(path)
    own = _public_text(key)
    signature = Signature(key=own, signature=base64.b64encode(key.sign(envelope.message).signature).decode())
    others = tuple(each for each in envelope.signatures if each.key != own)
    return replace(envelope, signatures=(*others, signature))


def signer_of(envelope: SignedDocument, keys: Collection[str]) -> str:
    """Which of these public keys signed the document; PolicyError if none did."""
    if not envelope.signatures:
        raise PolicyError("is not signed; run: hookline fleet policy sign")
    for each in envelope.signatures:
        if each.key in keys and is_public_key(each.key) and _is_genuine(each, envelope.message):
            return each.key
    raise PolicyError("is not signed by a key of hooksConfig.policy.publicKeys, or was changed since")


def is_public_key(text: str) -> bool:
    """Whether a text has the form of a public key."""
    return bool(_PUBLIC.fullmatch(text))


def _is_genuine(signature: Signature, message: bytes) -> bool:
    try:
        public = base64.b64decode(signature.key.partition(":")[2], validate=True)
        own = base64.b64decode(signature.signature, validate=True)
    except ValueError:
        return False
    return is_signed_by(public, message, own)


def _public_text(key: "SigningKey") -> str:
    return f"ed25519:{base64.b64encode(bytes(key.verify_key)).decode()}"


def _read_key(path: Path) -> "SigningKey":
    found = _PRIVATE.fullmatch(read_private(path, _LONGEST_FILE).decode("ascii", "replace"))
    if found is None:
        raise HooklineError(f"{path} is not a private key of hookline; hookline fleet policy keygen makes one")
    return signing_key(base64.b64decode(found[1]))
