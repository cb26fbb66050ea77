"""A machine's key: it signs statements and heartbeats, so that no other machine can forge them."""

import os
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from hookline.errors import HooklineError
from hookline.files import locked, make_private_directory, read_private, state_path, write_atomically
from hookline.fleet.ed25519 import SEED_BYTES, is_signed_by, signing_key

# So that nothing that is signed for another purpose counts as a statement.
_PURPOSE = b"hookline statement 1\n"
_LONGEST = 512 * 1024

Stated = TypeVar("Stated")


class SignedStatement(msgspec.Struct, frozen=True):
    """A statement as it travels: its JSON as a text, because a signature covers bytes."""

    statement: str
    key: str
    signature: str


class Opened(msgspec.Struct, Generic[Stated], frozen=True):
    """A statement with its signer, and whether that is really who signed it."""

    statement: Stated
    key: str
    is_genuine: bool


class MachineKey:
    """The key of one user on one machine."""

    def __init__(self, seed: bytes) -> None:
        self._key = signing_key(seed)
        self.public: str = self._key.verify_key.encode().hex()
        """The public half, in hex."""

    def sign(self, statement: object) -> bytes:
        """The statement, signed, as it travels."""
        text = msgspec.json.encode(statement)
        signature = self._key.sign(_PURPOSE + text).signature
        return msgspec.json.encode(SignedStatement(text.decode(), self.public, signature.hex()))


def default_key_path() -> Path:
    """Where this user's key is."""
    return state_path("fleet/machine.key")


def machine_key(path: Path | None = None) -> MachineKey:
    """The key in this file, made on first use."""
    path = path or default_key_path()
    if not path.exists():
        make_private_directory(path.parent)
        with locked(path):
            if not path.exists():
                write_atomically(path, os.urandom(SEED_BYTES))
    seed = read_private(path, SEED_BYTES + 1)
    if len(seed) != SEED_BYTES:
        raise HooklineError(f"{path} is not a machine's key; remove it, and hookline makes another")
    return MachineKey(seed)


def open_signed(data: bytes, kind: type[Stated]) -> Opened[Stated] | None:
    """The statement in a message, with whether its signature is right; None for anything that is not a statement."""
    try:
        signed = msgspec.json.decode(data[:_LONGEST], type=SignedStatement)
        statement = msgspec.json.decode(signed.statement, type=kind)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return Opened(statement, signed.key, _is_genuine(signed))


def _is_genuine(signed: SignedStatement) -> bool:
    try:
        key, signature = bytes.fromhex(signed.key), bytes.fromhex(signed.signature)
        message = _PURPOSE + signed.statement.encode()
    except ValueError:  # no hex, or a lone surrogate
        return False
    return is_signed_by(key, message, signature)
