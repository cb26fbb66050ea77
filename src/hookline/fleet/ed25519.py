"""Ed25519 signatures by PyNaCl, which only this module loads, and only where something is signed or checked."""

from typing import TYPE_CHECKING

from hookline.extensions import lazy_module

if TYPE_CHECKING:
    from nacl import exceptions as nacl_errors
    from nacl import signing
    from nacl.signing import SigningKey
else:
    signing = lazy_module("nacl.signing", extra="fleet", distribution="pynacl")
    nacl_errors = lazy_module("nacl.exceptions", extra="fleet", distribution="pynacl")

SEED_BYTES = 32


def signing_key(seed: bytes) -> "SigningKey":
    """The private key of a seed of `SEED_BYTES`."""
    return signing.SigningKey(seed)


def is_signed_by(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether the owner of this key signed the message."""
    try:
        signing.VerifyKey(public_key).verify(message, signature)
    except (nacl_errors.CryptoError, TypeError, ValueError):  # the last two: a key or a signature of another length
        return False
    return True
