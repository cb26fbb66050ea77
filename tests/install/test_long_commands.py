"""The commands of the documentation that last until they are interrupted, ask the user, or need a server or seconds."""

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.apps.agent.model_server import Reply, model_server
from tests.conftest import Person
from tests.fleet.server import free_port
from tests.test_docs import shown_commands

from hookline.apps.cli.main import main

pytestmark = [pytest.mark.install, pytest.mark.timeout(200)]
ROOT = Path(__file__).parents[2]

# The output of each when it is ready; after that it is interrupted.
LASTING = {
    "test --watch": "passed",
    "replay --follow --save live.hooks.toml": "Ctrl-C ends it",
    "doctor --prove claude": "claude",
    "ui": "http://127.0.0.1",
}
# Only a user at a terminal may do this; the last one also asks.
AT_A_TERMINAL = (
    "disable guard-secrets",
    "enable guard-secrets",
    "trust --revoke guard-secrets",
    "trust --dialect claude",
)
QUESTION = {
    "session_id": "s1",
    "transcript_path": "/none",
    "cwd": ".",
    "hook_event_name": "PreToolUse",
    "tool_name": "Read",
    "tool_input": {"file_path": ".env"},
}
AGENTS = ("claude", "codex", "copilot", "cursor", "gemini")
BY_NAME = tuple(f"bridge status {agent}" for agent in AGENTS)
SHORT = ("bridge status", *BY_NAME, "init --from claude --write", "test --mutate")
COOKBOOK = "test --project examples/cookbook/lock_files --settings examples/cookbook/lock_files/settings.json"
AGENT = "agent --model openai:qwen3 --base-url http://localhost:11434/v1"
PROMPT = "agent --prompt TEXT"


def test_they_are_shown() -> None:
    """Each is in the documentation as it is run here; `ui` is in the tutorial."""
    shown = {shlex.join(words) for _, words in shown_commands()}
    here = {*LASTING, *AT_A_TERMINAL, *SHORT, COOKBOOK, AGENT, PROMPT, "hook claude"}
    assert here - shown == set()


@pytest.fixture
def site(project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """A project with the guard of `init`, trusted, its cases, and a hook of Claude Code."""
    monkeypatch.chdir(project)
    assert [main(["init"]), main(["trust", "--all", "--yes"])] == [0, 0]
    (project / ".claude").mkdir()
    hooks = {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}]}]}
    (project / ".claude" / "settings.json").write_text(json.dumps({"hooks": hooks}))
    capsys.readouterr()
    return project


def options(site: Path, **environ: str) -> dict[str, Any]:
    """How a command is started: in the project, with its output in one pipe."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return {"cwd": site, "text": True, "env": {**os.environ, "NO_PROXY": "127.0.0.1,localhost", **environ}, **pipes}


def words(command: str) -> list[str]:
    """The command of this environment with its words."""
    return [sys.executable, "-m", "hookline", *shlex.split(command)]


def run(command: str, site: Path, stdin: str = "", **environ: str) -> tuple[int, str]:
    """The exit code, and what is printed."""
    done = subprocess.run(words(command), input=stdin, **options(site, **environ), check=False, timeout=150)
    return done.returncode, done.stdout


@pytest.mark.parametrize("command", LASTING)
def test_it_goes_on_until_it_is_interrupted(command: str, site: Path) -> None:
    """It says that it is at work, and ends at Ctrl-C."""
    real = command.replace("8765", str(free_port())) + (" --no-open" if command == "ui" else "")
    process = subprocess.Popen(words(real), **options(site))
    assert process.stdout is not None
    try:
        shown = ""
        while not shown or LASTING[command] not in shown:
            line = process.stdout.readline()
            assert line, shown
            shown += line
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=100)
    finally:
        process.kill()
        process.wait()
    assert process.returncode in (0, 1, 130), shown + rest
    assert "Traceback" not in shown + rest


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize("command", AT_A_TERMINAL)
def test_it_needs_a_person(command: str, person: Callable[..., Person]) -> None:
    """At a terminal it follows the user's answer."""
    if command.startswith("enable"):
        assert main(["disable", "guard-secrets", "--yes"]) == 0
    somebody = person(*shlex.split(command))
    if command.startswith("trust") and "--revoke" not in command:
        somebody.expect("?", within_s=60)
        somebody.type("y\r")
    assert somebody.leaves_with(60) == 0, somebody.shown


@pytest.mark.parametrize("command", SHORT)
def test_it_runs(command: str, site: Path) -> None:
    """In seconds."""
    code, shown = run(command, site)
    assert "Traceback" not in shown
    # An agent that is asked about by its name, and has no bridge.
    assert code == int(command in BY_NAME), shown


def test_it_answers_an_agent(site: Path) -> None:
    """With the question of Claude Code on stdin."""
    code, shown = run("hook claude", site, json.dumps({**QUESTION, "cwd": str(site)}))
    assert code == 0
    assert '"permissionDecision":"deny"' in shown.replace(" ", "")


def test_the_cookbook_is_tested_in_the_sources() -> None:
    """From the repository's root."""
    code, shown = run(COOKBOOK, ROOT)
    assert code == 0, shown


def test_the_agent_talks_to_a_server_of_ones_own(site: Path) -> None:
    """The prompt comes from a pipe, because there is no terminal here."""
    chunks = [
        {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": [choice]}
        for choice in (
            {"index": 0, "delta": {"content": "Hello."}, "finish_reason": None},
            {"index": 0, "delta": {}, "finish_reason": "stop"},
        )
    ]
    with model_server([Reply(chunks=[*chunks, "[DONE]"])]) as server:
        command = AGENT.replace("http://localhost:11434", server.url)
        code, shown = run(command, site, "Hi", OPENAI_API_KEY="none")
    assert (code, "Hello." in shown) == (0, True), shown


def test_the_agent_answers_one_prompt(site: Path) -> None:
    """With a server in Gemini's place."""
    part = {"content": {"role": "model", "parts": [{"text": "Hello."}]}, "finishReason": "STOP"}
    with model_server([Reply(chunks=[{"candidates": [part]}])]) as server:
        code, shown = run(PROMPT, site, GEMINI_API_KEY="a-key", GOOGLE_GEMINI_BASE_URL=server.url)
    assert (code, "Hello." in shown) == (0, True), shown
