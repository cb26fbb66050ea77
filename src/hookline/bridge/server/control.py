"""Starts, asks and stops the server of this user's state directory."""

import os
import subprocess
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from hookline.bridge import client
from hookline.files import make_private_directory, state_path
from hookline.protocol.text.json_text import parse_json
from hookline.runners.process.own_process import own_command

_START_S = 10.0


def start_server() -> None:
    """Starts a server in the background, unless one was started a moment ago; whatever goes wrong costs speed only."""
    folder = state_path("").absolute()
    with suppress(OSError):
        make_private_directory(folder)
        mark = folder / "serve.starting"
        with suppress(FileNotFoundError):
            if time.time() - mark.stat().st_mtime > _START_S:
                mark.unlink()
        # Of many calls at once, one starts it.
        os.close(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        log = os.open(folder / "serve.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            subprocess.Popen(
                own_command("serve"),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                cwd="/",
                env={**os.environ, "HOOKLINE_STATE_DIR": str(folder)},
                start_new_session=True,
            )
        finally:
            os.close(log)


def has_started(folder: Path) -> None:
    """Lets the next server be started at once."""
    (folder / "serve.starting").unlink(missing_ok=True)


def ask_server(word: str) -> dict[str, Any] | None:
    """Send STATUS or STOP and return the server's status; None if no server runs."""
    try:
        with closing(client.connect(os.fsencode(state_path("")))) as connection:
            connection.sendall(client.request([word.encode()], {}, b""))
            if connection.recv(1) != client.ACCEPTED:
                return None
            _, stdout, _ = client.read_reply(connection)
    except OSError:
        return None
    status = parse_json(stdout.decode())
    return status if isinstance(status, dict) else None
