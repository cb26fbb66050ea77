"""The canary of `hookline doctor --prove`: while its file exists, one more guard denies one secret text.

The file is in the directory of the user's settings, and holds three values, never a command: a program that writes it
can only make calls fail that contain a certain text. The file does not enable hooks, because the proof must hold for
the settings as they are.
"""

import hashlib
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from hookline.dialects.transcripts.tool_call import MadeCall
from hookline.errors import UsageError
from hookline.files import make_private_directory, open_regular, write_atomically
from hookline.protocol.constants import CANARY_HOOK, ConfigSource
from hookline.protocol.events import HookEventName
from hookline.protocol.text.json_text import parse_json, stringify_json
from hookline.settings.read.files import Layer

_HEX = re.compile(r"[0-9a-f]{32}")
_LONGEST_FILE = 4096
_ECHO = re.compile(rf"echo {CANARY_HOOK}-[0-9a-f]{{32}}")
_GRACE_S = 30.0
_TIMEOUT_MS = 10_000
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


class Canary(NamedTuple):
    """The secret values of one canary."""

    nonce: str
    secret: str
    expires: float
    """Seconds since the epoch."""

    @property
    def text(self) -> str:
        """The text that a call must contain to be denied."""
        return f"{CANARY_HOOK}-{self.nonce}"

    @property
    def command(self) -> str:
        """The shell command of the call, which does no harm where nothing denies it."""
        return f"echo {self.text}"

    @property
    def word(self) -> str:
        """A token in the deny reason that only a reader of the file can produce."""
        return hashlib.sha256(f"{self.nonce}{self.secret}".encode()).hexdigest()[:16]


def new_canary(seconds: float) -> Canary:
    """Return a new canary with random values."""
    return Canary(secrets.token_hex(16), secrets.token_hex(16), time.time() + seconds)


def write_canary(path: Path, canary: Canary) -> None:
    """Write the file: every hook system that reads the settings in its directory then has the guard."""
    make_private_directory(path.parent)
    write_atomically(path, stringify_json(canary._asdict()))
    path.chmod(0o600)


@contextmanager
def canary_at(path: Path, seconds: float) -> Iterator[Canary]:
    """Provide a canary whose guard is active until the end of the block, or until it expires."""
    canary = new_canary(seconds + _GRACE_S)
    try:
        write_canary(path, canary)
    except OSError as error:
        message = f"{path} can't be written: {error.strerror}; without it no canary can fly; try --no-canary"
        raise UsageError(message) from error
    try:
        yield canary
    finally:
        with suppress(OSError):
            path.unlink()


def is_canary(call: MadeCall) -> bool:
    """Return True for the call of a canary, whose result was reported when it ran."""
    return any(_ECHO.fullmatch(value) is not None for value in call.arguments.values() if isinstance(value, str))


def canary_layers(path: Path) -> tuple[Layer, ...]:
    """Return the guard as a layer of settings; nothing if the file is not a valid canary, or has expired."""
    canary = _read(path)
    if canary is None or canary.expires < time.time():
        return ()
    # A process, as nearly all hooks are: the proof is about the whole way.
    command = f"case \"$(cat)\" in *{canary.text}*) echo 'hookline doctor --prove: {canary.word}' >&2; exit 2;; esac"
    hook = {"type": "command", "name": CANARY_HOOK, "command": command, "timeout": _TIMEOUT_MS, "final": True}
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
