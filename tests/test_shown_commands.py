"""Every command that the documentation shows is run: here, by the test of its page, or not, for a reason."""

import io
import json
import re
import shlex
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from tests.test_docs import shown_commands

from hookline.cli.main import main

# By the beginning of a command: what it needs that is not here. Another test runs each, as far as it can be.
NOT_RUN = {
    "agent": "a model, or a person: tests/cli/commands/test_agent.py, tests/test_tutorial.py",
    "audit": "a NATS server: make fleet",
    "fleet": "a NATS server: make fleet",
    "policy": "a policy with its keys, or a NATS server: tests/fleet",
    "ui": "it serves until it is interrupted: make ui-test",
    "serve --http": "it serves until it is interrupted: tests/bridge",
    "mcp-gateway": "an MCP server: tests/gateway",
    "prove claude": "Claude Code, and a person: tests/proof",
    "test --watch": "it goes on until it is interrupted: tests/cli/commands/test_test.py",
    "record --follow": "it goes on until it is interrupted: tests/cli/commands/test_record.py",
    "trust --dialect": "a person at a terminal: tests/cli/commands/test_other_agents.py",
    "disable": "a person at a terminal: tests/test_docs.py runs it with --yes",
    "enable": "a person at a terminal: tests/test_docs.py runs it with --yes",
    "untrust": "a person at a terminal: tests/test_docs.py runs it with --yes",
    "bridge claude": "the question of an agent on stdin: tests/bridge",
    "bridge status": "a second for each agent: tests/bridge/test_state.py",
    "import claude --write": "it changes the settings that the others need: tests/cli/commands/test_import.py",
    "test --project examples": "the sources: tests/test_cookbook.py",
    "test --mutate": "some seconds: tests/testing/mutants, tests/test_tutorial.py",
    "test .llxprt/no-force": "the tutorial: tests/test_tutorial.py",
    "record --hook hookline:shell": "the tutorial: tests/test_tutorial.py",
}
# Part of a command, in a sentence about an option.
PARTS = ("bridge install", "fire --json", "fire --settings FILE", "import 'claude|codex|gemini'")
PLACEHOLDERS = {
    "25d6b4ee53-0": "{run}",
    "EVENT": "BeforeTool",
    "AGENT": "claude",
    "NAME": "guard-secrets",
    "FILE…": "real.hooks.toml",
    "TEXT": "secrets",
    "ID": "{run}",
    "FILE": "head",
    "20": "2",
}
FIRE = "fire BeforeTool --input"
CODES = {
    f"""{FIRE} '{{"tool_name": "read_file", "tool_input": {{"file_path": ".env"}}}}'""": 2,
    "fire BeforeTool": 2,
    "fire EVENT --times 20": 2,
    "backtest --from claude --from codex --all-projects": 2,
    "serve --status": 1,
    "prove --no-canary": 2,
    "prove codex --no-canary --since 30d": 2,
}
"""Where something is refused, or there is nothing."""


def commands() -> list[str]:
    """The commands to run, each once; a name alone stands for its command in a sentence."""
    found = dict.fromkeys(shlex.join(words) for _, words in shown_commands())
    starts = tuple(f"{start} " if " " not in start else start for start in NOT_RUN)
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
    """A project with a trusted guard, case files, settings of other agents, a log, and git; the id of a run."""
    place = own_home / "site"
    place.mkdir()
    monkeypatch.chdir(place)
    assert main(["init"]) == 0
    for words in (["git", "init", "-q", "-b", "main"], ["git", "add", "."]):
        subprocess.run(words, check=True)
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", *identity, "commit", "-qm", "x"], check=True)
    assert main(["trust", "--all", "--yes"]) == 0
    for file in (".env", "notes.txt"):
        main(
            ["fire", "BeforeTool", "--input", json.dumps({"tool_name": "read_file", "tool_input": {"file_path": file}})]
        )
    case = '[[case]]\nname = "secrets"\ntool = "read_file"\narguments.file_path = ".env"\nexpect = "blocked"\n'
    for name in (".llxprt/guard.hooks.toml", "real.hooks.toml"):
        Path(name).write_text(case)
    for name in ("hooks.json", "new.json", "old-settings.json"):
        Path(name).write_text(Path(".llxprt/settings.json").read_text())
    capsys.readouterr()
    main(["log", "--json", "--decision", "deny"])
    run = str(json.loads(capsys.readouterr().out.splitlines()[-1])["id"])
    main(["log", "head"])
    Path("head").write_text(capsys.readouterr().out)
    hooks = {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}]}]}
    Path(".claude").mkdir()
    Path(".claude/settings.json").write_text(json.dumps({"hooks": hooks}))
    log = own_home.parent / "state" / "hooks.jsonl"
    Path("session.jsonl").write_bytes(log.read_bytes())
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
        if command.startswith("init "):
            Path("new/.git").mkdir(parents=True, exist_ok=True)
            monkeypatch.chdir("new")
        try:
            code = main(words_of(command, site))
        except SystemExit as error:
            code = int(str(error.code))
        shown = "".join(capsys.readouterr())
        if code != CODES.get(command, 0) or "this is a bug" in shown:
            failed[command] = (code, shown[-500:])
    assert failed == {}


def test_what_is_not_run_is_shown() -> None:
    """A reason for something that no page has any more is removed."""
    shown = [shlex.join(words) for _, words in shown_commands()]
    assert [start for start in NOT_RUN if not any(one.startswith(start) for one in shown)] == []
