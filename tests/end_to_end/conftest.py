"""A project with hooks, in which the installed command and an embedding program run."""

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests import warm

from hookline import Config
from hookline.testing import Answer


def command_of(answer: object) -> str:
    """A command that prints this answer as JSON."""
    return f"printf %s {shlex.quote(json.dumps(answer))}"


class Bench:
    """Collects hooks for some events, and gives them to the command line or to a program."""

    def __init__(self, folder: Path, project: Path) -> None:
        self.project = project
        self._folder = folder
        self._hooks: dict[str, list[dict[str, Any]]] = {}

    def hook(self, event: str, command: str, *, name: str | None = None, **group: Any) -> None:
        """Adds a hook with this command; further options are those of its group (`matcher`, `sequential`)."""
        entry = {"type": "command", "command": command} | ({"name": name} if name else {})
        self._hooks.setdefault(event, []).append({**group, "hooks": [entry]})

    def answers(self, event: str, *answers: object, **group: Any) -> None:
        """Adds one hook per answer that always gives it."""
        for answer in answers:
            self.hook(event, command_of(answer), **group)

    def settings(self, **options: Any) -> dict[str, Any]:
        """The settings with the hooks so far."""
        return {"enableHooks": True, "hooks": self._hooks, "hooksConfig": options}

    def config(self, **given: Any) -> Config:
        """A program's config with the hooks so far; the log goes to the file that `log` reads."""
        return Config(self.project, settings=self.settings(), **given)

    def fire(self, event: str, fields: object) -> tuple[int, dict[str, Any]]:
        """Fires an event by hand: the exit code, and the JSON for programs."""
        done = self._fire(event, fields, "--json")
        assert done.returncode in (0, 2), done.stderr
        return done.returncode, json.loads(done.stdout)

    def fire_for_people(self, event: str, fields: object) -> str:
        """Fires an event by hand: the words for people."""
        return self._fire(event, fields).stdout

    def agent(
        self, *answers: Answer, prompt: str | None = "go", options: tuple[str, ...] = ("--session-id", "s1")
    ) -> subprocess.CompletedProcess[str]:
        """One prompt, by option or (with None) by stdin, for an agent whose model gives these answers in turn."""
        replay = self._folder / "replay.jsonl"
        lines = [json.dumps({"method": "generateContentStream", "response": answer}) for answer in answers]
        replay.write_text("\n".join(lines))
        words = ["agent", "--settings", self._settings_file(), "--model", f"replay:{replay}", "--yes", *options]
        words += [] if prompt is None else ["--prompt", prompt]
        done = self.hookline(*words, stdin="go" if prompt is None else "")
        assert done.returncode == 0, done.stderr
        return done

    def transcript(self) -> list[dict[str, Any]]:
        """The records of the agent's session."""
        return _lines(self._folder / "state" / "sessions" / "s1.jsonl")

    def log(self) -> list[dict[str, Any]]:
        """The records of the hooks' log."""
        return _lines(self._folder / "state" / "hooks.jsonl")

    def hookline(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Runs the command with these words in the project."""
        return warm.run(words, cwd=self.project, stdin=stdin)

    def _fire(self, event: str, fields: object, *options: str) -> subprocess.CompletedProcess[str]:
        given = ["--settings", self._settings_file(), "--project", str(self.project), "--input", json.dumps(fields)]
        return self.hookline("fire", event, *given, *options)

    def _settings_file(self) -> str:
        path = self._folder / "settings.json"
        path.write_text(json.dumps(self.settings()))
        return str(path)


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture
def bench(tmp_path: Path, project: Path) -> Bench:
    """A project without hooks yet."""
    return Bench(tmp_path, project)
