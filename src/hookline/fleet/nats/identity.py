"""The identity of this machine on a NATS server: files with a JWT, an nkey or certificates."""

import base64
import json
import re
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hookline.extensions import lazy_module
from hookline.fleet.names import ServerAddress, UnreachableError

if TYPE_CHECKING:
    import nkeys  # type: ignore[import-untyped]  # it has no types
    from nats import errors as nats_errors
else:
    nkeys = lazy_module("nkeys")
    nats_errors = lazy_module("nats.errors")

_JWT = re.compile(rb"BEGIN NATS USER JWT-+\s+([\w.-]+)\s+-+END")
_SEED = re.compile(rb"BEGIN USER NKEY SEED-+\s+(\w+)\s+-+END")


class _Credentials(NamedTuple):
    jwt: bytes
    seed: bytes


def identity(server: ServerAddress) -> dict[str, Any]:
    """The client's options for it; UnreachableError names the file that can't be used."""
    options: dict[str, Any] = {}
    if server.credentials:
        file = _existing(server.credentials, "credentials")
        _read_credentials(file)
        # Not the client's own reader, which never ends in a file without a JWT. They are read each time that it
        # connects, because they may have been renewed.
        options |= {"user_jwt_cb": _while_connecting(lambda: bytearray(_read_credentials(file).jwt))}
        options |= {"signature_cb": _while_connecting(lambda nonce: _signature(_read_credentials(file).seed, nonce))}
    if server.nkey:
        options["nkeys_seed_str"] = _read_seed(_existing(server.nkey, "nkey"))
    if server.ca or server.cert or any(address.startswith("tls://") for address in server.addresses):
        options["tls"] = _tls(server)
    return options


def why_refused(server: ServerAddress) -> str:
    """Return the likely cause of a refused identity, with the remedy."""
    if server.credentials:
        file = Path(server.credentials).expanduser()
        expiry = _expiry(file)
        if expiry is not None and expiry <= time.time():
            until = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(expiry))
            return f"the credentials in {file} expired on {until}; get new ones from the server's administrator"
        return f"check that {file} (hooksConfig.fleet.credentials) is this machine's, and that the server knows it"
    if server.nkey:
        return f"check that {server.nkey} (hooksConfig.fleet.nkey) is this machine's, and that the server knows it"
    return "it wants to know who connects: name this machine's credentials or nkey in hooksConfig.fleet"


def _read_credentials(file: Path) -> _Credentials:
    data = _read(file, "credentials")
    jwt, seed = _JWT.search(data), _SEED.search(data)
    if jwt is None or seed is None:
        missing = "JWT" if jwt is None else "seed of an nkey"
        raise UnreachableError(f"hooksConfig.fleet.credentials names {file}, which has no {missing} as nsc writes it")
    _check_seed(seed[1], f"hooksConfig.fleet.credentials names {file}")
    return _Credentials(jwt[1], seed[1])


def _read_seed(file: Path) -> str:
    data = _read(file, "nkey").strip()
    _check_seed(data, f"hooksConfig.fleet.nkey names {file}")
    return data.decode()


def _read(file: Path, option: str) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise UnreachableError(
            f"hooksConfig.fleet.{option} names {file}, which can't be read: {error.strerror}"
        ) from error


def _check_seed(seed: bytes, named: str) -> None:
    try:
        nkeys.from_seed(bytearray(seed))
    except Exception as error:
        raise UnreachableError(f"{named}, which has no seed of an nkey that can be used") from error


def _signature(seed: bytes, nonce: str) -> bytes:
    return base64.b64encode(nkeys.from_seed(bytearray(seed)).sign(nonce.encode()))


def _while_connecting(read: Callable[..., Any]) -> Callable[..., Any]:
    """The same with an error that the client expects, after which it tries again."""

    def called(*given: Any) -> Any:
        try:
            return read(*given)
        except UnreachableError as error:
            raise nats_errors.Error(str(error)) from error

    return called


def _expiry(file: Path) -> float | None:
    """When the JWT in a file expires, in seconds since the epoch; None if it never does, or says nothing of it."""
    try:
        body = _read_credentials(file).jwt.split(b".")[1]
        expiry = json.loads(base64.urlsafe_b64decode(body + b"=" * (-len(body) % 4))).get("exp")
    except (UnreachableError, IndexError, ValueError, AttributeError):
        return None
    return expiry if isinstance(expiry, int | float) and not isinstance(expiry, bool) and expiry > 0 else None


def _tls(server: ServerAddress) -> ssl.SSLContext:
    authority = None if server.ca is None else _existing(server.ca, "tls.ca")
    try:
        context = ssl.create_default_context(cafile=authority)
    except OSError as error:
        why = f"which has no certificate that can be used ({error})"
        raise UnreachableError(f"hooksConfig.fleet.tls.ca names {authority}, {why}") from error
    if server.cert:
        cert = _existing(server.cert, "tls.cert")
        key = None if server.key is None else _existing(server.key, "tls.key")
        try:
            # Without a passphrase: the library would ask for one at the terminal, and wait.
            context.load_cert_chain(cert, key, password=lambda: b"")
        except OSError as error:
            files = f"hooksConfig.fleet.tls.cert and key name {cert} and {key or 'the same file'}"
            why = f"which can't be used together ({error}); they have to be PEM, without a passphrase"
            raise UnreachableError(f"{files}, {why}") from error
    return context


def _existing(path: str, option: str) -> Path:
    file = Path(path).expanduser()
    if not file.is_file():
        raise UnreachableError(
            f"hooksConfig.fleet.{option} names {path}, which is not a file; fix the path, or put the file there"
        )
    return file
