"""A company's operator, account and users with JWTs, as `nsc` makes them: signed by nkeys, nothing else."""

import base64
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nkeys  # type: ignore[import-untyped]

_NO_LIMIT = -1
_LIMITS = {
    **dict.fromkeys(("subs", "data", "payload", "imports", "exports", "conn", "leaf"), _NO_LIMIT),
    "wildcards": True,
}
# The system's own account must not have these.
_STORAGE = dict.fromkeys(("mem_storage", "disk_storage", "streams", "consumer"), _NO_LIMIT)
_CREDS = """\
-----BEGIN NATS USER JWT-----
{jwt}
------END NATS USER JWT------

-----BEGIN USER NKEY SEED-----
{seed}
------END USER NKEY SEED------
"""


class Keys:
    """One pair of keys, and what it signs."""

    def __init__(self, prefix: int) -> None:
        self.seed = nkeys.encode_seed(os.urandom(32), prefix)
        self._pair = nkeys.from_seed(bytearray(self.seed))
        self.public = self._pair.public_key.decode()

    def signs(self, about: "Keys", name: str, claims: dict[str, Any], expires: int | None = None) -> str:
        """Return a JWT about these keys; `expires` is in seconds since the epoch."""
        payload: dict[str, Any] = {"jti": os.urandom(8).hex(), "iat": int(time.time()), "iss": self.public}
        payload |= {"name": name, "sub": about.public, "nats": {**claims, "version": 2}}
        if expires is not None:
            payload["exp"] = expires
        text = f"{_encoded({'typ': 'JWT', 'alg': 'ed25519-nkey'})}.{_encoded(payload)}"
        return f"{text}.{_base64(self._pair.sign(text.encode()))}"


class Operator:
    """Knows one account with JetStream, one of a machine that imports these subjects of it, and the system's."""

    def __init__(self, imports: Sequence[str] = ()) -> None:
        self._operator = Keys(nkeys.PREFIX_BYTE_OPERATOR)
        self._account = Keys(nkeys.PREFIX_BYTE_ACCOUNT)
        self._machine = Keys(nkeys.PREFIX_BYTE_ACCOUNT)
        self._system = Keys(nkeys.PREFIX_BYTE_ACCOUNT)
        self._imports = imports

    def config(self, store: Path) -> str:
        """The server's configuration, with the accounts in it."""
        service = {"type": "service"}
        exports = [{**service, "name": subject, "subject": subject} for subject in self._imports]
        imports = [{**each, "account": self._account.public} for each in exports]
        accounts: tuple[tuple[Keys, str, dict[str, Any]], ...] = (
            (self._account, "company", {"limits": {**_LIMITS, **_STORAGE}, "exports": exports}),
            (self._machine, "machine", {"limits": _LIMITS, "imports": imports}),
            (self._system, "SYS", {"limits": _LIMITS}),
        )
        known = {
            keys.public: self._operator.signs(keys, name, {"type": "account", **claims})
            for keys, name, claims in accounts
        }
        operator = self._operator.signs(self._operator, "company", {"type": "operator"})
        preloaded = "\n".join(f"  {public}: {jwt}" for public, jwt in known.items())
        return (
            f"operator: {operator}\nsystem_account: {self._system.public}\nresolver: MEMORY\n"
            f'resolver_preload: {{\n{preloaded}\n}}\njetstream {{ store_dir: "{store}" }}\n'
        )

    def user(self, file: Path, permissions: dict[str, Any] | None = None, expires: int | None = None) -> Path:
        """Writes the credentials of a new user: of the machine, or without permissions of one who may do everything."""
        keys = Keys(nkeys.PREFIX_BYTE_USER)
        limits = dict.fromkeys(("subs", "data", "payload"), _NO_LIMIT)
        claims = {"type": "user", **limits, **(permissions or {})}
        account = self._account if permissions is None else self._machine
        jwt = account.signs(keys, file.stem, claims, expires)
        file.write_text(_CREDS.format(jwt=jwt, seed=keys.seed.decode()))
        file.chmod(0o600)
        return file


def _encoded(value: Any) -> str:
    return _base64(json.dumps(value, separators=(",", ":")).encode())


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
