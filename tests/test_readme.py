"""What the README promises is tried, as a reader would."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hookline.cli.main import main

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent


def example(name: str) -> str:
    found = re.search(rf"<!-- example: {name} -->\n```\w+\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert found, name
    return found[1]


def test_the_first_hook_works_as_shown(own_home: Path) -> None:
    """Somebody who follows "A hook in a minute" gets what is printed there."""
    subprocess.run(["bash", "-ec", example("hook")], check=True, timeout=20)
    (own_home / ".llxprt" / "settings.json").write_text(example("settings"))
    command, *shown = example("fire").splitlines()
    done = subprocess.run(
        ["bash", "-c", command.removeprefix("$ ")],
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
        env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"},
    )
    assert done.returncode == 2, done.stderr
    assert re.sub(r"exit 2  [\d.]+ ms", "exit 2  …", done.stdout).splitlines() == shown
    (own_home / ".llxprt" / "no-rm.hooks.toml").write_text(example("cases"))
    assert main(["test"]) == 0


def test_the_demo_blocks_one_call_and_rewrites_the_other() -> None:
    """`make demo` shows both effects and the log of both."""
    done = subprocess.run(
        [sys.executable, "examples/demo.py"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=20
    )
    for text in (
        "guard-secrets blocks it: Files with secrets are off limits",
        "on disk: nothing",
        "a hook rewrites it: 'two trailing spaces\\nno newline\\n'",
        "on disk: 'two trailing spaces\\nno newline\\n'",
        "The model says: I wrote your notes",
        "BeforeTool write_file: blocked: Files with secrets",
        "BeforeTool write_file: goes on with another tool_input",
    ):
        assert text in done.stdout


@pytest.mark.parametrize("path", [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"], ids=lambda p: p.name)
def test_links_lead_somewhere(path: Path) -> None:
    """Every relative link in the documentation names a file that is there."""
    prose = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", prose)
    assert [link for link in links if not (path.parent / link).exists()] == []
