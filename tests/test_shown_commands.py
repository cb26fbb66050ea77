"""Every command that the documentation shows is run: here, by the test of its page, or not, for a reason."""

import io
import os
import re
import shlex
import sys
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

import pytest
from tests.command_site import make_site
from tests.test_docs import shown_commands

from hookline.apps.cli.main import main

ROOT = Path(__file__).parents[1]
MAKEFILE = (ROOT / "Makefile").read_text()

# By the beginning of a command: the test that runs it, because it lasts, asks the user, or needs a server or seconds.
RUN_BY = {
    "agent": "tests/install/test_long_commands.py",
    "fleet verify": "tests/fleet/test_shown_commands.py",
    "fleet": "tests/fleet/test_shown_commands.py",
    "fleet policy": "tests/fleet/test_shown_commands.py",
    "fleet worker": "tests/fleet/test_shown_commands.py",
    "ui --fleet": "tests/fleet/test_shown_commands.py",
    "doctor --prove claude": "tests/install/test_long_commands.py",
    "test --watch": "tests/install/test_long_commands.py",
    "replay --follow": "tests/install/test_long_commands.py",
    "disable": "tests/install/test_long_commands.py",
    "enable": "tests/install/test_long_commands.py",
    "trust --revoke": "tests/install/test_long_commands.py",
    "trust --dialect": "tests/install/test_long_commands.py",
    "hook gemini": "tests/bridge/test_selections.py",
    "hook claude": "tests/install/test_long_commands.py",
    "bridge status": "tests/install/test_long_commands.py",
    "init --from claude --write": "tests/install/test_long_commands.py",
    "test --project examples": "tests/install/test_long_commands.py",
    "test --mutate": "tests/install/test_long_commands.py",
    "test .llxprt/no-force": "tests/test_tutorial.py",
    "replay --hook hookline:shell": "tests/test_tutorial.py",
    "mcp --name": "tests/gateway/conftest.py",
}
# Lines that install, build or measure, by their beginning: what runs them, or why nothing can here.
OTHER_PROGRAMS = {
    "pipx install": "tests/install/test_install.py",
    "uvx --from": "tests/install/test_install.py",
    "pip install .": "tests/install/test_install.py",
    "pip wheel": "tests/install/test_install.py",
    "pip install": "tools/adapters.py",
    "docker build": "nothing: no daemon runs here; it was built once, and tests/test_packaging.py reads the file",
    "docker run": "nothing: no daemon runs here; test_packaging.py runs the same commands for action.yml",
    "python examples": "tests/test_examples.py",
    "python -m benchmarks": "nothing: a measurement takes minutes, and its figures are in the page",
    "python benchmarks": "nothing: a measurement takes minutes, and its figures are in the page",
    "export GEMINI_API_KEY": "nothing: it needs a user's key",
}
# Targets of `make` that .ci/run does not make.
MADE_BY = {
    "setup": "every other target",
    "demo": "tests/install/test_install.py",
    "fleet-demo": "tests/fleet/test_demo.py",
    "faults": "nothing in CI: it takes many minutes; the faults that are quick are in make test",
    "fuzz": "nothing in CI: it takes as long as one likes; tests/fuzz has the examples that it found",
    "mutants": "nothing in CI: it takes half an hour; tests/tools/test_mutate.py tries the tool",
    "bench": "nothing in CI: it needs a quiet machine, and writes docs/performance.md",
    "schema": "tests/tools/test_schema.py",
    "trace-event": "tests/tools/test_trace_event.py",
    "pages": "make docs",
}
# Part of a command, in a sentence about an option.
PARTS = (
    *("bridge install", "fire --plan", "trust --revoke", "list --packs", "fire --json", "fire --settings FILE"),
    *("COMMAND --help", "replay --save FILE"),
    "init --from 'claude|codex|gemini'",
)
PLACEHOLDERS = {
    "25d6b4ee53-0": "{run}",
    "EVENT": "BeforeTool",
    "AGENT": "claude",
    "NAME": "guard-secrets",
    "FILE…": "real.hooks.toml",
    "TEXT": "secrets",
    "ID": "{run}",
    "FILE": "heads",
    "20": "2",
}
FIRE = "fire BeforeTool --input"
CODES = {
    f"""{FIRE} '{{"tool_name": "read_file", "tool_input": {{"file_path": ".env"}}}}'""": 2,
    "fire BeforeTool": 2,
    "replay --from claude --from codex --all-projects": 1,
    "serve --status": 1,
    "doctor --prove --no-canary": 1,
    "doctor --prove codex --no-canary --since 30d": 1,
}
"""Where something is refused, or there is nothing."""


def commands() -> list[str]:
    """The commands to run, each once; a name alone stands for its command in a sentence."""
    found = dict.fromkeys(shlex.join(words) for _, words in shown_commands())
    starts = tuple(f"{start} " if " " not in start else start for start in RUN_BY)
    return [one for one in found if " " in one and one not in PARTS and not one.startswith((*starts, PARTS[-1]))]


def words_of(command: str, run: str) -> list[str]:
    """The command with real values in place of those that stand for them."""
    words = shlex.split(command)
    for placeholder, real in PLACEHOLDERS.items():
        words = [re.sub(rf"^{placeholder}$", real.format(run=run), word) for word in words]
    return [
        "1d" if word == "…" and before == "--since" else "{}" if word == "…" else word
        for before, word in pairwise(["", *words])
    ]


@pytest.fixture
def site(own_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """The project, with hooks of the page in hooks.json; the id of a run."""
    run = make_site(own_home, monkeypatch, capsys, guard="guard-secrets")
    Path("hooks.json").write_text(Path(".llxprt/settings.json").read_text())
    return run


@pytest.mark.timeout(120)
def test_every_command_that_is_shown_runs(
    site: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a project with a guard, as a reader would have it."""
    failed, here = {}, Path.cwd()
    for command in commands():
        monkeypatch.setattr(sys, "stdin", io.StringIO(""))
        monkeypatch.chdir(here)
        new = Path("new", command)
        if (
            command.startswith("init ") and "--from" not in command
        ):  # a project for each of them, because nothing is overwritten
            (new / ".git").mkdir(parents=True)
            monkeypatch.chdir(new)
        user = {"HOOKLINE_USER_SETTINGS": str(new.absolute() / "user.json")} if "--scope user" in command else {}
        try:
            with patch.dict(os.environ, user):
                code = main(words_of(command, site))
        except SystemExit as error:
            code = int(str(error.code))
        shown = "".join(capsys.readouterr())
        if code != CODES.get(command, 0) or "this is a bug" in shown:
            failed[command] = (code, shown[-500:])
    assert failed == {}


def test_what_another_test_runs_is_shown() -> None:
    """A row for something that no page has any more is removed, and the test that is named is there."""
    shown = [shlex.join(words) for _, words in shown_commands()]
    assert [start for start in RUN_BY if not any(one.startswith(start) for one in shown)] == []
    named = {*RUN_BY.values(), *OTHER_PROGRAMS.values(), *MADE_BY.values()}
    files = [one for one in named if re.match(r"(tests|tools)/\S+$", one)]
    assert [one for one in files if not (ROOT / one).exists()] == []


def test_lines_for_other_programs_are_run_or_have_a_reason() -> None:
    """Each line or sentence with pip, pipx, uvx, docker, make or python has a row; each row is about some."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "Dockerfile", *(ROOT / "docs").glob("*.md")]
    text = "\n".join(page.read_text() for page in pages)
    starts = (
        r"(?:pipx? (?:install|wheel)|uvx|docker (?:build|run)|python (?:-m bench|bench|exam)|export GEMINI|make [a-z])"
    )
    found = set(re.findall(rf"^(?:    |\$ |#   )({starts}.*)$", text, re.MULTILINE))
    found |= set(re.findall(rf"`({starts}[^`\n]*)`", text))
    found -= {"make deploy"}  # what an agent does in the cookbook
    ci = (ROOT / ".ci" / "run").read_text() + "".join(re.findall(r"^check: .*", MAKEFILE, re.MULTILINE))
    unknown = [
        line
        for line in found
        if not line.startswith(tuple(OTHER_PROGRAMS))
        and not (line.startswith("make ") and (_target(line) in MADE_BY or re.search(rf"\b{_target(line)}\b", ci)))
    ]
    assert unknown == []
    assert [start for start in OTHER_PROGRAMS if not any(line.startswith(start) for line in found)] == []
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
    assert {_target(line) for line in found if line.startswith("make ")} <= targets


def _target(line: str) -> str:
    return line.split()[1]
