"""A guard that was written for Claude Code, in a hookline project: before and after the remedy of `check`."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HOOKLINE = Path(sys.executable).parent / "hookline"
GUARD = '''#!/usr/bin/env python3
"""Keeps the model from deleting things with Bash."""
import json, sys

event = json.load(sys.stdin)
if event["tool_name"] not in ("Bash",):
    sys.exit(0)
if "rm -rf" in event["tool_input"].get("command", ""):
    print("Deleting is off limits.", file=sys.stderr)
    sys.exit(2)
'''
DELETION = {"tool_name": "run_shell_command", "tool_input": {"command": "rm -rf build"}}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A project with that guard."""
    site = tmp_path / "site"
    site.mkdir()
    guard = site / "guard.py"
    guard.write_text(GUARD)
    guard.chmod(0o755)
    return site


def configure(site: Path, **more: Any) -> None:
    hook = {"type": "command", "command": "./guard.py", **more}
    settings = {"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": [hook]}]}}
    (site / "hooks.json").write_text(json.dumps(settings, indent=2))


def run(site: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [str(HOOKLINE), *words, "--settings", "hooks.json"]
    return subprocess.run(
        command, cwd=site, capture_output=True, text=True, check=False, timeout=45, env={**os.environ}
    )


def test_before_and_after_the_remedy(site: Path) -> None:
    """Before, nothing is blocked and `check` says why; after, the guard blocks and `check` has nothing to say."""
    configure(site)
    assert run(site, "fire", "BeforeTool", "--input", json.dumps(DELETION)).returncode == 0
    before = run(site, "check", "--strict", "--run")
    assert before.returncode == 1
    assert "guard.py:6:32: warning [other-agent]\n    reads tool_name and has Bash, " in before.stdout
    assert "hooks.json:9:24: warning [run-dialect]\n" in before.stdout
    assert (
        "blocks `rm -rf / --no-preserve-root` when told Claude Code's words, and reacts to no sample" in before.stdout
    )
    assert 'add "dialect": "claude" to this hook' in before.stdout

    configure(site, dialect="claude", onError="block")
    after = run(site, "fire", "BeforeTool", "--input", json.dumps(DELETION))
    assert (after.returncode, "Deleting is off limits." in after.stdout) == (2, True)
    checked = run(site, "check", "--strict", "--run")
    assert checked.returncode == 0
    assert "blocks `rm -rf / --no-preserve-root`; lets pass 10 others" in checked.stdout
    assert checked.stdout.endswith("Nothing wrong with 1 hook in 1 file.\n")
