import sys
from pathlib import Path

import pytest
from tests.inspect.lint.conftest import MakeSetup

from hookline.inspect.lint.checks import run_checks


def on(command: str, **more: str) -> dict[str, object]:
    return {"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": command, **more}]}]}}


def findings(make_setup: MakeSetup, command: str, **more: str) -> list[str]:
    return [one.problem.message for one in run_checks(make_setup(on(command, **more))) if one.rule == "script-syntax"]


@pytest.fixture
def script(project: Path) -> Path:
    """An executable Python script with a syntax error in its second line."""
    path = project / "guard.py"
    path.write_text("#!/usr/bin/env python3\ndef f(:\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    "command", ["./guard.py", "python3 guard.py", "python3 -u guard.py --x", f"{sys.executable} guard.py"]
)
@pytest.mark.usefixtures("script")
def test_a_script_that_python_refuses_is_found(command: str, make_setup: MakeSetup) -> None:
    """However it is started; the message has the line, and what follows."""
    (message,) = findings(make_setup, command)
    name = "./guard.py" if command == "./guard.py" else "guard.py"
    effect = "so it fails at each event, which blocks nothing; fix that line"
    assert message == f"names {name}, which is not valid Python (line 2: invalid syntax), {effect}"


@pytest.mark.usefixtures("script")
def test_what_a_strict_guard_then_does_is_said(make_setup: MakeSetup) -> None:
    (message,) = findings(make_setup, "./guard.py", onError="block")
    assert "so it fails at each event, which blocks; fix that line" in message


def test_nothing_of_a_script_is_run(script: Path, project: Path, make_setup: MakeSetup) -> None:
    """Neither of one that can be compiled, nor of one that can't."""
    for text in ("open('ran', 'w')\n", "open('ran', 'w')\n)\n"):
        script.write_text(f"#!/usr/bin/env python3\n{text}")
        assert len(findings(make_setup, "./guard.py")) == text.count("\n)")
    assert not (project / "ran").exists()


def test_the_interpreter_of_the_hook_decides(script: Path, project: Path, make_setup: MakeSetup) -> None:
    """A newer Python may know words that ours does not; here a program stands for it that accepts everything."""
    python = project / "python3.99"
    python.write_text("#!/bin/sh\ncat >/dev/null\n")
    python.chmod(0o755)
    assert findings(make_setup, f"{python} {script}") == []


@pytest.mark.parametrize(
    "command", ["python3 -c 'def'", "sh guard.py", "cat guard.py", "python3 missing.py", "echo 'x"]
)
@pytest.mark.usefixtures("script")
def test_other_commands_are_left_alone(command: str, make_setup: MakeSetup) -> None:
    assert findings(make_setup, command) == []
