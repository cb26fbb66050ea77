"""The keys that sign policies, as files and as texts, and the signatures of documents."""

import base64
import os
import re
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hookline.errors import HooklineError
from hookline.files import read_private
from hookline.fleet.keys import SEED_BYTES, is_signed_by, signing_key
from hookline.fleet.policy.documents import PolicyError, Signature, SignedDocument

if TYPE_CHECKING:
    from nacl.signing import SigningKey

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
