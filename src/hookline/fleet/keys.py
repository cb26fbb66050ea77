"""Ed25519 keys: machines sign statements and heartbeats with theirs, and auditors know which key is whose.

Only this module loads PyNaCl, and only where something is signed or checked.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec

from hookline.errors import HooklineError, UsageError
from hookline.extensions import lazy_module
from hookline.files import locked, make_private_directory, read_private, state_path, write_atomically

if TYPE_CHECKING:
    from nacl import exceptions as nacl_errors
    from nacl import signing
    from nacl.signing import SigningKey
else:
    signing = lazy_module("nacl.signing", extra="fleet", distribution="pynacl")
    nacl_errors = lazy_module("nacl.exceptions", extra="fleet", distribution="pynacl")

SEED_BYTES = 32
# So that nothing that is signed for another purpose counts as a statement.
_PURPOSE = b"hookline statement 1\n"
_LONGEST = 512 * 1024

Stated = TypeVar("Stated")
Person = tuple[str, str]
"""A machine and a user."""


def signing_key(seed: bytes) -> "SigningKey":
    """Return the private key of a seed of `SEED_BYTES`."""
    return signing.SigningKey(seed)


def is_signed_by(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """True if the owner of this key signed the message."""
    try:
        signing.VerifyKey(public_key).verify(message, signature)
    except (nacl_errors.CryptoError, TypeError, ValueError):  # the last two: a key or a signature of another length
        return False
    return True


class SignedStatement(msgspec.Struct, frozen=True):
    """A statement as it is sent: its JSON as a text, because a signature covers bytes."""

    statement: str
    key: str
    signature: str

    @property
    def is_genuine(self) -> bool:
        """True if the owner of the key signed the statement."""
        try:
            key, signature = bytes.fromhex(self.key), bytes.fromhex(self.signature)
            message = _PURPOSE + self.statement.encode()
        except ValueError:  # no hex, or a lone surrogate
            return False
        return is_signed_by(key, message, signature)


class Opened(msgspec.Struct, Generic[Stated], frozen=True):
    """A statement with the public key of its signer, and whether the signature is valid."""

    statement: Stated
    key: str
    is_genuine: bool


class MachineKey:
    """The key of one user on one machine."""

    def __init__(self, seed: bytes) -> None:
        self._key = signing_key(seed)
        self.public: str = self._key.verify_key.encode().hex()

    def sign(self, statement: object) -> bytes:
        """Return the statement as it is sent."""
        text = msgspec.json.encode(statement)
        signature = self._key.sign(_PURPOSE + text).signature
        return msgspec.json.encode(SignedStatement(text.decode(), self.public, signature.hex()))


def machine_key(path: Path | None = None) -> MachineKey:
    """Return the key in this file, or in this user's state directory; it is made on first use."""
    path = path or state_path("fleet/machine.key")
    if not path.exists():
        make_private_directory(path.parent)
        with locked(path):
            if not path.exists():
                write_atomically(path, os.urandom(SEED_BYTES))
    seed = read_private(path, SEED_BYTES + 1)
    if len(seed) != SEED_BYTES:
        raise HooklineError(f"{path} is not the key of a machine; remove it, and hookline makes a new one")
    return MachineKey(seed)


def open_signed(data: bytes, kind: type[Stated]) -> Opened[Stated] | None:
    """Return the statement in a message, and whether its signature is valid; None if it is not a statement."""
    try:
        signed = msgspec.json.decode(data[:_LONGEST], type=SignedStatement)
        statement = msgspec.json.decode(signed.statement, type=kind)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return Opened(statement, signed.key, signed.is_genuine)


def pins_path() -> Path:
    """Return the file of the keys that this auditor saw first."""
    return state_path("fleet/pins.json")


def read_pins() -> dict[Person, str]:
    """Return the pinned keys. Raises HooklineError if they can't be read: no other file has them."""
    try:
        rows = msgspec.json.decode(pins_path().read_bytes(), type=list[tuple[str, str, str]])
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.MsgspecError) as error:
        raise HooklineError(
            f"the pinned keys in {pins_path()} can't be read ({error}); restore the file, or remove it"
        ) from error
    return {(machine, user): key for machine, user, key in rows}


def add_pins(seen: Mapping[Person, str]) -> None:
    """Pin the keys of machines that have none yet."""
    make_private_directory(pins_path().parent)
    with suppress(OSError), locked(pins_path()):
        pinned = read_pins()
        if not seen.keys() <= pinned.keys():
            rows = [(*person, key) for person, key in sorted({**seen, **pinned}.items())]
            write_atomically(pins_path(), msgspec.json.encode(rows))


def read_listed(file: Path) -> dict[Person, str]:
    """Return the company's own list: a machine, a user and a key on each line."""
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise UsageError(f"the keys in {file} can't be read: {error.strerror}") from error
    found: dict[Person, str] = {}
    for number, line in enumerate(lines, 1):
        match line.split("#")[0].split():
            case []:
                pass
            case [machine, user, key] if len(key) == 2 * SEED_BYTES:
                found[machine, user] = key
            case _:
                raise UsageError(
                    f"{file}:{number} is not a machine, a user and a key; hookline fleet status --json shows them"
                )
    return found
