import gc
import os
import pty
import re
import select
import shutil
import signal
import stat
import sys
import termios
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import hypothesis
import pytest
from tests import warm
from tests.authority import Authority

from hookline.runners.process.features import FEATURES
from hookline.testing.plugin import hookline_home  # noqa: F401 - also where the plugin is not installed yet

# A shell that starts the tests in the background may ignore SIGINT, which programs under test would inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Ten thousand tests are a million objects that stay: looking through them again and again takes seconds of each worker.
gc.disable()
# Hooks run `python3`, and a version manager may put a slow script in front of it: a hook with half a second
# Hooks say `python3`, which a version manager may put a slow script of its own in front of: a hook with half a second
# of time must not spend it there.
os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))

# A slow machine is not a fault of the code: each test has its own time limit anyway. CI tries the same examples every
# time, so that a change is judged by itself; at home they are new in every run. `make properties` tries many more.
hypothesis.settings.register_profile(
    "hookline",
    deadline=None,
    max_examples=int(os.environ.get("HOOKLINE_EXAMPLES", "30")),
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    print_blob=True,
)
hypothesis.settings.load_profile("hookline")

HookScript = Callable[..., Path]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Start the process that commands are forked from before a test needs it: no test's time includes its loading."""
    gc.freeze()
    gc.enable()
    items = [item for item in session.items if isinstance(item, pytest.Function)]
    uses_it = any("warm" in vars(item.module) or {"person", "bench"} & {*item.fixturenames} for item in items)
    if uses_it and not session.config.option.collectonly:
        warm.start()


@pytest.fixture(autouse=True)
def own_home(hookline_home: Path) -> Path:  # noqa: F811 - the fixture of hookline's plugin
    """Every test has a separate home, state directory and settings files; the real ones are out of reach."""
    return hookline_home


@pytest.fixture(autouse=True)
def no_parked_interpreters() -> Iterator[None]:
    """Engines that a test does not close would leave theirs for minutes; tests about them switch them on."""
    with patch.dict(vars(FEATURES), {"warm": False}):
        yield


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Signs certificates; needs openssl."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl here, which makes the certificates")
    return Authority(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def usual_signals() -> Iterator[None]:
    """As usual, even if these tests were started in the background: a shell or nohup has some ignored there."""
    previous = {number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGQUIT, signal.SIGHUP)}
    yield
    for number, handler in previous.items():
        signal.signal(number, handler)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An empty project directory."""
    path = tmp_path / "project"
    path.mkdir()
    return path


@pytest.fixture
def hook_script(tmp_path: Path) -> HookScript:
    """Writes an executable script: a shell script from its lines, or any text that starts with `#!`."""

    def write(body: str, name: str = "hook.sh") -> Path:
        path = tmp_path / "hooks" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(body if body.startswith("#!") else f"#!/bin/sh\n{body}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    return write


PROMPT = "\n>"


class Person:
    """Somebody at a terminal: types, and reads what it shows until something expected appears."""

    def __init__(self, words: Sequence[str], *, cwd: Path, columns: int = 100, **environ: str) -> None:
        self._ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (40, columns))
        env = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "LINES")}
        env |= {"TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", **environ}
        self.process = warm.start_at_terminal(words, cwd=cwd, env=env, terminal=theirs)
        self._theirs = theirs
        self.shown = ""
        """Everything so far, without colours and movements of the cursor."""
        self.raw = b""
        """Everything so far, byte by byte."""
        self._read_to = 0

    def type(self, text: str) -> None:
        """Presses these keys."""
        os.write(self._ours, text.encode())

    def paste(self, text: str) -> None:
        """Pastes a text as a terminal does it: with marks around it if the program asked for that."""
        self._read(time.monotonic())
        is_marked = self.raw.rfind(b"\x1b[?2004h") > self.raw.rfind(b"\x1b[?2004l")
        keys = text.replace("\n", "\r")
        self.type(f"\x1b[200~{keys}\x1b[201~" if is_marked else keys)

    def say(self, line: str) -> None:
        """Waits to be asked, types a line and sends it."""
        self.expect(PROMPT)
        self.type(f"{line}\r")
        self.expect(line)

    def expect(self, text: str, within_s: float = 45) -> str:
        """Waits for a text after the one expected before, and returns what was shown until then."""
        deadline = time.monotonic() + within_s
        while (found := self.shown.find(text, self._read_to)) < 0:
            if not self._read(deadline):
                raise AssertionError(f"{text!r} did not appear:\n{self.shown[self._read_to :]}\n--- in\n{self.shown}")
        before, self._read_to = self.shown[self._read_to : found], found + len(text)
        return before

    def leaves_with(self, within_s: float = 45) -> int:
        """Waits for the program to end, and returns its exit code."""
        deadline = time.monotonic() + within_s
        while self.process.poll() is None and time.monotonic() < deadline:
            self._read(time.monotonic() + 0.05)
        while self._read(time.monotonic()):
            pass
        code = self.process.poll()
        assert code is not None, f"it does not end:\n{self.shown}"
        return code

    def close(self) -> None:
        """Ends what is still running, gently at first, so that it can take its own processes along."""
        self.process.terminate()
        with suppress(AssertionError):
            self.leaves_with(5)
        self.process.kill()
        self.process.wait()
        os.close(self._ours)
        os.close(self._theirs)

    def _read(self, deadline: float) -> bool:
        ready, _, _ = select.select([self._ours], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return False
        self.raw += os.read(self._ours, 65536)
        self.shown = _ESCAPES.sub("", self.raw.decode(errors="replace")).replace("\r", "")
        return True


_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07]*\x07|[=>]|\([A-B])")


@pytest.fixture
def person(project: Path) -> Iterator[Callable[..., Person]]:
    """Start `hookline` with these words on a terminal, in the project."""
    seated: list[Person] = []

    def seat(*words: str, **options: Any) -> Person:
        seated.append(Person(words, cwd=project, **options))
        return seated[-1]

    yield seat
    for one in seated:
        one.close()
