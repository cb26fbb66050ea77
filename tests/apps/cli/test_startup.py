"""The modules that commands load at their start, which takes most of a short run."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SETTINGS = {"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "true"}]}]}}

# Beside the name of a command: the most modules of hookline, and what it must not load.
SLOW = {"http", "email", "shutil", "tempfile", "regress", "sqlite3", "multiprocessing"}
OF_LARGE_LOGS = {"hookline.log.read.verify"}
OF_EVENTS = {
    "asyncio",
    "logging",
    "dataclasses",
    "socket",
    "subprocess",
    "hookline.engine.system",
    "hookline.runners",
}
LIMITS = {
    "log": (71, SLOW | OF_EVENTS | OF_LARGE_LOGS | {"hookline.engine", "hookline.formats"}),
    # With all that it takes to say truly whether a hook can run.
    "list": (110, SLOW | (OF_EVENTS - {"hookline.runners", "subprocess"}) | OF_LARGE_LOGS | {"hookline.engine.run"}),
    "fire BeforeTool": (
        145,
        SLOW | OF_LARGE_LOGS | {"hookline.log.read.reader", "hookline.runners.http.http"},
    ),
}


def loaded(words: str, settings: object, folder: Path) -> set[str]:
    """The modules that are there when a command has ended."""
    file = folder / "settings.json"
    file.write_text(json.dumps(settings))
    program = (
        "import sys; from hookline.apps.cli.main import main\n"
        f"main([*{words.split()!r}, '--settings', {str(file)!r}, '--project', {str(folder)!r}])\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=45)
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.req("WARM-042")
@pytest.mark.parametrize("words", LIMITS)
def test_a_command_loads_what_it_needs(words: str, tmp_path: Path) -> None:
    """Each module takes a tenth of a millisecond and more, and some take ten."""
    most, unwanted = LIMITS[words]
    modules = loaded(words, SETTINGS, tmp_path)
    assert unwanted & modules == set()
    assert sum(name.startswith("hookline") for name in modules) <= most
