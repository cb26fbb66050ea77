"""The tutorial, from an empty directory to the end: every command of it is run, and prints what is shown."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "tutorial.md"
BIN = Path(sys.executable).parent

_STEP = re.compile(r"(?:<!-- file: (\S+) -->\n)?^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def steps() -> Iterator[tuple[str, str]]:
    """The reader's steps, in order: ("file PATH", its text), or ("run COMMAND", its output)."""
    for path, language, text in _STEP.findall(PAGE.read_text()):
        if path:
            yield f"file {path}", text
            continue
        assert language == "console", text
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            yield f"run {command}", shown


class Reader:
    """Somebody at a shell in the home directory."""

    def __init__(self, home: Path) -> None:
        self.home = self.place = home
        self._environ = {**os.environ, "PATH": f"{BIN}:/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
        self._environ.pop("COLUMNS", None)

    def run(self, command: str) -> str:
        """Return the output of a command, with the home directory as ~."""
        if command.startswith("mkdir"):
            self.place /= "shop"
            self.place.mkdir()
            return ""
        if command == "hookline ui":
            return self._interrupt("hookline ui --no-open")
        if command == "hookline trust":
            command += " --all --yes"  # there is no terminal here
        done = subprocess.run(["bash", "-c", command], **self._options(), timeout=60, check=False)
        return self._neutral(done.stdout)

    def _interrupt(self, command: str) -> str:
        with subprocess.Popen(command.split(), **self._options()) as process:
            assert process.stdout is not None
            lines = [process.stdout.readline(), process.stdout.readline()]
            process.send_signal(signal.SIGINT)
            return self._neutral("".join(lines))

    def _options(self) -> dict[str, Any]:
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return {"cwd": self.place, "env": self._environ, "text": True, **pipes}

    def _neutral(self, text: str) -> str:
        return re.sub(r" +", " ", text.replace(str(self.home), "~"))


def pattern_of(shown: str) -> re.Pattern[str]:
    """Match a text like the shown one: `…` stands for anything, on a separate line for any lines."""
    lines = [r"(?:.*\n)*?" if line == "…" else f"{_line(line)}\n" for line in shown.splitlines()]
    return re.compile("".join(lines))


def _line(shown: str) -> str:
    return ".*".join(re.escape(part) for part in re.sub(r" +", " ", shown).split("…"))


@pytest.mark.timeout(240)  # some twenty commands, one after another
def test_every_command_of_the_tutorial_prints_what_is_shown(own_home: Path) -> None:
    """A reader who follows the page ends with a guard that is tested, trusted, enforced and watched."""
    reader = Reader(own_home)
    count = 0
    for step, text in steps():
        kind, _, what = step.partition(" ")
        if kind == "file":
            (reader.place / what).write_text(text)
            continue
        count += 1
        printed = reader.run(what)
        assert pattern_of(text).fullmatch(printed), f"{what}\nprints\n{printed}\nbut the page shows\n{text}"
    assert count >= 15
