"""Ed25519 signatures by PyNaCl, which only this module loads, and only where something is signed or checked."""

from typing import TYPE_CHECKING

from hookline.errors import MissingExtraError

if TYPE_CHECKING:
    from nacl.signing import SigningKey

SEED_BYTES = 32


def signing_key(seed: bytes) -> "SigningKey":
    """The private key of a seed of `SEED_BYTES`."""
    try:
        from nacl.signing import SigningKey  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise MissingExtraError("pynacl", "fleet") from error
    return SigningKey(seed)


def is_signed_by(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether the owner of this key signed the message."""
    try:
        from nacl.exceptions import CryptoError  # noqa: PLC0415 - an extra
        from nacl.signing import VerifyKey  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise MissingExtraError("pynacl", "fleet") from error
    try:
        VerifyKey(public_key).verify(message, signature)
    except (CryptoError, TypeError, ValueError):  # the last two: a key or a signature of another length
        return False
    return True
