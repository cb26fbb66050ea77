import os
import pty
import subprocess
import sys
from collections.abc import Callable

import pytest


@pytest.fixture
def on_terminal() -> Callable[..., str]:
    """Runs `hookline` with these words on a pseudo-terminal, and returns what it shows."""

    def run(*words: str, **environ: str) -> str:
        ours, theirs = pty.openpty()
        env = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        command = [sys.executable, "-m", "hookline", *words]
        child = subprocess.Popen(
            command, stdout=theirs, stdin=subprocess.DEVNULL, env={**env, "TERM": "xterm", **environ}
        )
        os.close(theirs)
        shown = b""
        try:
            while chunk := os.read(ours, 65536):
                shown += chunk
        except OSError:  # the terminal's other side is closed
            pass
        os.close(ours)
        child.wait(timeout=20)
        return shown.decode().replace("\r", "")

    return run
