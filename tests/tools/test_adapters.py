"""The program behind `make adapters`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hookline.adapters.table import ADAPTERS

TOOL = Path(__file__).parents[2] / "tools" / "adapters.py"


def run(*words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Return the output of the program."""
    env = {**os.environ, **environ}
    return subprocess.run(
        [sys.executable, TOOL, *words], capture_output=True, text=True, check=False, timeout=150, env=env
    )


def test_an_adapter_that_does_not_exist_is_an_error() -> None:
    """The names that there are are listed."""
    done = run("langchian")
    assert done.returncode == 2
    assert "no such adapter: langchian; there are " in done.stderr


@pytest.mark.timeout(180)  # it makes a virtual environment
def test_an_install_that_fails_is_a_failure_and_says_so(tmp_path: Path) -> None:
    """A framework that could not be installed proves nothing about its adapter."""
    name = ADAPTERS[0].name
    done = run(name, "--environments", str(tmp_path), PIP_RETRIES="nonsense")
    assert done.returncode == 1
    assert f"--- {name}: FAILED\nhookline[{ADAPTERS[0].extra}] could not be installed" in done.stdout
    assert done.stdout.endswith(f"adapters: 0 passed, 1 failed {name}\n")
