import json
import os
import pty
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hookline.apps.cli.main import main


@dataclass(frozen=True, slots=True)
class Workbench:
    """A project as the current directory, with hooks of its file and of the user's, and the command to work on them."""

    project: Path
    home: Path
    capsys: pytest.CaptureFixture[str]

    @property
    def project_file(self) -> Path:
        """The project's settings file."""
        return self.project / ".llxprt" / "settings.json"

    @property
    def user_file(self) -> Path:
        """The user's settings file."""
        return self.home / ".llxprt" / "settings.json"

    def write(self, file: Path, settings: dict[str, Any] | str) -> None:
        """Writes a settings file: a text as it is, or values with hooks enabled."""
        file.parent.mkdir(parents=True, exist_ok=True)
        text = settings if isinstance(settings, str) else json.dumps({"enableHooks": True, **settings}, indent=2)
        file.write_text(text)

    def script(self, body: str, name: str = "guard.sh") -> Path:
        """Writes an executable shell script of the project."""
        path = self.project / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def run(self, *words: str, code: int = 0) -> str:
        """Runs `hookline` with these words, expects the exit code, and returns what was printed."""
        self.capsys.readouterr()
        ended = main(words)
        printed = self.capsys.readouterr()
        assert ended == code, printed.err
        return printed.out if code == 0 else printed.out + printed.err

    def json(self, *words: str, code: int = 0) -> Any:
        """The same with `--json`, and what stdout says as values."""
        self.capsys.readouterr()
        assert main([*words, "--json"]) == code
        return json.loads(self.capsys.readouterr().out)

    def fire(self, tool: str = "ls", event: str = "BeforeTool", **tool_input: Any) -> None:
        """Fires a tool event; what the hooks answer does not matter."""
        fields = {"tool_name": tool, "tool_input": tool_input, "tool_response": {}}
        main(["fire", event, "--input", json.dumps(fields)])
        self.capsys.readouterr()


@pytest.fixture
def workbench(
    project: Path, own_home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Workbench:
    """The current directory is a project without settings, of a user without settings."""
    monkeypatch.chdir(project)
    return Workbench(project, own_home, capsys)


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
        child.wait(timeout=45)
        return shown.decode().replace("\r", "")

    return run
