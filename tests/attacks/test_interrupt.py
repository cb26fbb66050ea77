"""Ctrl-C at random moments: no traceback, exit code 130, and nothing is left of what the command started or wrote."""

import json
import os
import pty
import random
import re
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.patience import until

import hookline
from hookline.testing import calls, says

if TYPE_CHECKING:
    from tests.conftest import Person

QUICK = 3
"""How often each command is interrupted in the suite; `-m slow` does it more often."""
MANY = 40

ENDLESS = "trap '' INT; sleep 60 & wait"
COMMANDS = ("fire", "check", "trust", "log", "agent-hook", "agent-tool", "agent-model", "list")

_FRAME = re.compile(rf'File "{re.escape(str(Path(hookline.__file__).parent))}/([^"]+)", line (\d+)')
_MARK = "HOOKLINE_TEST_MARK"


@dataclass
class Target:
    """A project with a hook that never ends, in which commands are started and interrupted."""

    folder: Path
    project: Path
    server: str
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __post_init__(self) -> None:
        (self.folder / "tmp").mkdir()
        hooks = {"BeforeTool": [{"hooks": [{"type": "command", "command": ENDLESS, "name": "endless"}]}]}
        self._write("hooks.json", json.dumps({"enableHooks": True, "hooks": hooks}))
        self._write("none.json", "{}")
        self._write("tool.jsonl", _replay([calls(("run_shell_command", {"command": ENDLESS}))]))
        (self.project / ".llxprt").mkdir()
        (self.project / ".llxprt" / "settings.json").write_text(json.dumps({"enableHooks": True, "hooks": hooks}))
        log = self.folder / "state" / "hooks.jsonl"
        log.parent.mkdir(exist_ok=True)
        log.write_text("")

    def words(self, command: str) -> list[str]:
        """The words of a command that does not end by itself, except `list`."""
        hooks, none = (["--settings", str(self.folder / name)] for name in ("hooks.json", "none.json"))
        agent = ["agent", "--yes", "--prompt", "go"]
        return {
            "fire": ["fire", "BeforeTool", "--input", '{"tool_name": "x", "tool_input": {}}', *hooks],
            "check": ["check", "--run", *hooks],
            "trust": ["trust"],
            "log": ["log", "--follow"],
            "agent-hook": [*agent, *hooks, "--model", f"replay:{self.folder}/tool.jsonl"],
            "agent-tool": [*agent, *none, "--model", f"replay:{self.folder}/tool.jsonl"],
            "agent-model": [*agent, *none, "--model", "gemini:x"],
            "list": ["list"],
        }[command]

    def environ(self) -> dict[str, str]:
        """The environment that everything inherits which the command starts."""
        own = {_MARK: self.mark, "TMPDIR": str(self.folder / "tmp"), "PYTHONDONTWRITEBYTECODE": "1"}
        return {**os.environ, **own, "GEMINI_API_KEY": "x", "GOOGLE_GEMINI_BASE_URL": self.server}

    def interrupt(self, command: str, *delays: float) -> None:
        """Starts the command, interrupts it after these times, and checks that nothing is left."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "hookline", *self.words(command)],
            cwd=self.project,
            env=self.environ(),
            # `trust` asks on a terminal; the others read nothing.
            stdin=theirs,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            # Before Python has set its handler, an interrupt can't be handled.
            until(lambda: _catches_interrupts(process.pid) or process.poll() is not None, "the start of Python")
            for delay in delays:
                time.sleep(delay)
                process.send_signal(signal.SIGINT)
            _, stderr = process.communicate(timeout=45)
        finally:
            process.kill()
            os.close(ours)
            os.close(theirs)
        self.check(command, delays, process.returncode, stderr.decode(errors="replace"))

    def check(self, command: str, delays: tuple[float, ...], code: int, stderr: str) -> None:
        """Nothing is printed that frightens, and nothing is left."""
        what = f"{command} after {delays}: exit code {code}\n{stderr}"
        if not _is_pythons(stderr):
            assert "Traceback" not in stderr, what
            assert "Exception ignored" not in stderr, what
            # At its very end, when all is done, Python gives the signal its usual meaning again.
            assert code in ((130, 0, -signal.SIGINT) if command == "list" else (130,)), what
        deadline = time.monotonic() + 45
        while left := self.left():
            assert time.monotonic() < deadline, f"{what}left behind: {left}"
            time.sleep(0.05)

    def left(self) -> list[str]:
        """The processes and temporary files that are still there."""
        mark = f"{_MARK}={self.mark}".encode()
        found = [str(path) for path in Path("/proc").iterdir() if path.name.isdigit() and mark in _environ(path)]
        found += [str(path) for path in (self.folder / "tmp").rglob("*")]
        return found + [str(path) for path in self.folder.rglob("*") if path.suffix in (".tmp", ".lock")]

    def _write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)


def _replay(*answers: list[dict[str, Any]]) -> str:
    return "\n".join(json.dumps({"method": "generateContentStream", "response": answer}) for answer in answers)


def _catches_interrupts(pid: int) -> bool:
    with suppress(OSError):
        caught = re.search(r"^SigCgt:\s*(\w+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
        return caught is not None and bool(int(caught[1], 16) >> (signal.SIGINT - 1) & 1)
    return False


def _environ(process: Path) -> bytes:
    with suppress(OSError):
        return (process / "environ").read_bytes()
    return b""


def _is_pythons(stderr: str) -> bool:
    """True when Python was interrupted before the first lines of hookline had set a handler."""
    frames = [(file, int(line)) for file, line in _FRAME.findall(stderr)]
    return "Traceback" in stderr and all(
        file == "__init__.py" or (file == "__main__.py" and line < 20) for file, line in frames
    )


@pytest.fixture
def target(tmp_path: Path, project: Path) -> Iterator[Target]:
    """A project, and a model server that never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield Target(tmp_path, project, f"http://127.0.0.1:{server.getsockname()[1]}")


def _delays(seed: str, count: int) -> Iterator[tuple[float, ...]]:
    """Moments while modules are loaded, while the command works, and two in short succession."""
    chance = random.Random(seed)  # noqa: S311 - the same moments in every run
    for number in range(count):
        first = chance.uniform(0.02, 0.15) if number % 3 == 0 else chance.uniform(0.15, 1.5)
        yield (first, chance.choice([0, 0.001, 0.02, 0.3])) if number % 3 == 2 else (first,)


@pytest.mark.parametrize("command", COMMANDS)
def test_ctrl_c_leaves_nothing(target: Target, command: str) -> None:
    """At some moments."""
    for delays in _delays(f"quick {command}", QUICK):
        target.interrupt(command, *delays)


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize("command", COMMANDS)
def test_ctrl_c_leaves_nothing_at_any_moment(target: Target, command: str) -> None:
    """At many moments."""
    for delays in _delays(f"slow {command}", MANY):
        target.interrupt(command, *delays)


def _interrupt_conversation(target: Target, person: "Callable[..., Person]", delay: float, typed: str) -> None:
    settings, replay = target.folder / "none.json", target.folder / "talk.jsonl"
    replay.write_text(_replay([calls(("run_shell_command", {"command": ENDLESS}))], [says("Hello.")]))
    words = ["agent", "--yes", "--settings", str(settings), "--model", f"replay:{replay}"]
    here = person(*words, **{_MARK: target.mark, "TMPDIR": str(target.folder / "tmp")})
    here.type(typed)
    time.sleep(delay)
    # Ctrl-C cancels what is running; on an empty line the second one leaves.
    deadline = time.monotonic() + 45
    while here.process.poll() is None and time.monotonic() < deadline:
        here.process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            here.process.wait(0.2)
    code = here.leaves_with()
    target.check("list" if code == 0 else "agent", (delay,), code, here.shown)


@pytest.mark.parametrize(("delay", "typed"), [(0.08, ""), (0.6, ""), (2.0, "go\r")])
def test_ctrl_c_in_a_conversation_leaves_nothing(
    target: Target, person: "Callable[..., Person]", delay: float, typed: str
) -> None:
    """While it starts, at its prompt, and while a command runs."""
    _interrupt_conversation(target, person, delay, typed)


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_ctrl_c_in_a_conversation_leaves_nothing_at_any_moment(target: Target, person: "Callable[..., Person]") -> None:
    """At many moments."""
    chance = random.Random("conversation")  # noqa: S311 - the same moments in every run
    for _ in range(MANY):
        _interrupt_conversation(target, person, chance.uniform(0.02, 2.5), chance.choice(["", "go\r"]))
