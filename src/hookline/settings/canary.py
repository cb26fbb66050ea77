"""The canary of `hookline prove`: while its file exists, there is one more guard, which denies one secret text.

The file stands beside the user's settings, and holds three values, never a command: whoever writes it can have calls
denied that contain a text of his own choice, and nothing else. It does not enable hooks, because a canary that did
would prove something that does not hold without it.
"""

import hashlib
import os
import re
import secrets
import stat
import time
from pathlib import Path
from typing import NamedTuple

from hookline.contract.events import HookEventName
from hookline.contract.vocabulary import CANARY_HOOK, ConfigSource
from hookline.contract.wire import parse_json, stringify_json
from hookline.files import make_private_directory, open_regular, write_atomically
from hookline.settings.read import Layer

CANARY = CANARY_HOOK

_HEX = re.compile(r"[0-9a-f]{32}")
_LONGEST_FILE = 4096
_TIMEOUT_MS = 10_000
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


class Canary(NamedTuple):
    """What one proof is made with."""

    nonce: str
    secret: str
    expires: float
    """Seconds since the epoch."""

    @property
    def text(self) -> str:
        """What a call has to contain to be denied."""
        return f"{CANARY}-{self.nonce}"

    @property
    def word(self) -> str:
        """What the reason of the deny contains, and nobody can know who has not read the file."""
        return hashlib.sha256(f"{self.nonce}{self.secret}".encode()).hexdigest()[:16]


def new_canary(seconds: float) -> Canary:
    """A canary that nobody has seen before."""
    return Canary(secrets.token_hex(16), secrets.token_hex(16), time.time() + seconds)


def write_canary(path: Path, canary: Canary) -> None:
    """Lets every hook system that reads the settings beside this file have the guard."""
    make_private_directory(path.parent)
    write_atomically(path, stringify_json(canary._asdict()))
    path.chmod(0o600)


def canary_layers(path: Path) -> tuple[Layer, ...]:
    """The guard as a layer of settings; nothing if the file is not one of ours, or has expired."""
    canary = _read(path)
    if canary is None or canary.expires < time.time():
        return ()
    # A process, as nearly all hooks are: the proof is about the whole way.
    command = f"case \"$(cat)\" in *{canary.text}*) echo 'hookline prove: {canary.word}' >&2; exit 2;; esac"
    hook = {"type": "command", "name": CANARY, "command": command, "timeout": _TIMEOUT_MS, "final": True}
    values = {"hooks": {HookEventName.BEFORE_TOOL.value: [{"hooks": [hook]}]}}
    return (Layer(source=ConfigSource.SYSTEM, origin=str(path), values=values, is_canary=True),)


def _read(path: Path) -> Canary | None:
    try:
        descriptor = open_regular(path, os.O_RDONLY | os.O_NOFOLLOW)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if status.st_uid not in (os.geteuid(), 0) or status.st_mode & _OTHERS_MAY_WRITE:
                return None
            given = parse_json(file.read(_LONGEST_FILE).decode())
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(given, dict):
        return None
    nonce, secret, expires = (given.get(name) for name in Canary._fields)
    if not all(isinstance(each, str) and _HEX.fullmatch(each) for each in (nonce, secret)):
        return None
    return Canary(str(nonce), str(secret), float(expires)) if isinstance(expires, int | float) else None
