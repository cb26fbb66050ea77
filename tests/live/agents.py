"""The agents that are run for real: how each one is set up offline, started, and given its stand-in model."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.live.models import Anthropic, Call, Gemini, Responses, Words

HOOKLINE = str(Path(sys.executable).with_name("hookline"))
# Nothing listens there: whatever an agent wants from the network fails at once, also where there is a network.
NOWHERE = "http://127.0.0.1:9"
LOOPBACK = "127.0.0.1,localhost"
_LONGEST_S = 60.0


@dataclass(frozen=True, slots=True)
class Place:
    """A scratch home and project."""

    root: Path

    @property
    def home(self) -> Path:
        """The user's home."""
        return self.root / "home"

    @property
    def project(self) -> Path:
        """Where the agent works."""
        return self.root / "project"

    def write(self, name: str, text: str) -> Path:
        """A file below the root."""
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def environ(self, **more: str) -> dict[str, str]:
        """The only variables that an agent, the bridge and the hooks get."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "SHELL": "/bin/bash",
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "NO_COLOR": "1",
            "HOOKLINE_STATE_DIR": str(self.root / "state"),
            "HOOKLINE_SYSTEM_SETTINGS": str(self.root / "etc" / "settings.json"),
            **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"), NOWHERE),
            **dict.fromkeys(("NO_PROXY", "no_proxy"), LOOPBACK),
            **more,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """One agent: its program, its model's protocol, its tools, its settings."""

    name: str
    program: str
    """Below the directory that `make bridge-live` installs into."""
    words: Words
    shell_call: Callable[[str], Call]
    """A call of its shell tool, with this command."""
    write_call: Callable[[str, str], Call]
    """A call that writes a file."""
    prepare: Callable[[Place, str, bool], None]
    """Writes the settings that have nothing to do with hooks; the last argument says whether tools may run unasked."""
    command: Callable[[str, bool], list[str]]
    """The words behind the program: the prompt, and whether tools may run without a question."""
    environ: Callable[[str], Mapping[str, str]]
    """Its own variables, with the address of the model."""


def _nothing(_place: Place, _url: str, _allowed: bool) -> None:
    pass


def _patch(path: str, text: str) -> Call:
    lines = "".join(f"+{line}\n" for line in text.splitlines())
    return Call("apply_patch", text=f"*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n")


def _prepare_codex(place: Place, url: str, allowed: bool) -> None:
    sandbox = "danger-full-access" if allowed else "read-only"
    place.write(
        "home/.codex/config.toml",
        f'model = "gpt-5.5"\nmodel_provider = "stand-in"\napproval_policy = "never"\nsandbox_mode = "{sandbox}"\n'
        f'[model_providers.stand-in]\nname = "stand-in"\nbase_url = "{url}/v1"\nwire_api = "responses"\n'
        f'env_key = "STAND_IN_KEY"\nrequest_max_retries = 0\nstream_max_retries = 0\nsupports_websockets = false\n'
        f'[projects."{place.project}"]\ntrust_level = "trusted"\n',
    )


_GEMINI_SETTINGS = """\
{
  // The person's own settings.
  "security": {"auth": {"selectedType": "gemini-api-key"}},
  "privacy": {"usageStatisticsEnabled": false},
  "telemetry": {"enabled": false},
  "general": {"enableAutoUpdate": false}
}
"""

AGENTS = {
    agent.name: agent
    for agent in (
        Agent(
            name="claude",
            program="claude/claude_agent_sdk/_bundled/claude",
            words=Anthropic(),
            shell_call=lambda command: Call("Bash", {"command": command, "description": "d"}),
            write_call=lambda path, text: Call("Write", {"file_path": path, "content": text}),
            prepare=_nothing,
            command=lambda prompt, allowed: ["-p", prompt, *(["--allowedTools", "Bash,Write"] if allowed else [])],
            environ=lambda url: {
                "ANTHROPIC_BASE_URL": url,
                "ANTHROPIC_API_KEY": "x",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "DISABLE_TELEMETRY": "1",
                "DISABLE_AUTOUPDATER": "1",
            },
        ),
        Agent(
            name="codex",
            program="codex/node_modules/.bin/codex",
            words=Responses(),
            shell_call=lambda command: Call("exec_command", {"cmd": command}),
            write_call=_patch,
            prepare=_prepare_codex,
            command=lambda prompt, _: ["exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", prompt],
            environ=lambda _: {"STAND_IN_KEY": "x"},
        ),
        Agent(
            name="gemini",
            program="gemini/node_modules/.bin/gemini",
            words=Gemini(),
            shell_call=lambda command: Call("run_shell_command", {"command": command, "description": "d"}),
            write_call=lambda path, text: Call("write_file", {"file_path": path, "content": text}),
            prepare=lambda place, _url, _allowed: (place.write("home/.gemini/settings.json", _GEMINI_SETTINGS), None)[
                1
            ],
            command=lambda prompt, allowed: [
                *("-m", "gemini-2.5-flash", "-p", prompt),
                *(["--approval-mode", "yolo"] if allowed else []),
            ],
            environ=lambda url: {
                "GEMINI_API_KEY": "x",
                "GOOGLE_GEMINI_BASE_URL": url,
                "GEMINI_CLI_TRUST_WORKSPACE": "true",
            },
        ),
        Agent(
            name="copilot",
            program="copilot/node_modules/.bin/copilot",
            words=Anthropic(),
            shell_call=lambda command: Call("bash", {"command": command, "description": "d"}),
            write_call=lambda path, text: Call("create", {"path": path, "file_text": text}),
            prepare=_nothing,
            command=lambda prompt, allowed: ["-p", prompt, *(["--allow-all-tools"] if allowed else [])],
            environ=lambda url: {
                "COPILOT_OFFLINE": "true",
                "COPILOT_PROVIDER_BASE_URL": url,
                "COPILOT_PROVIDER_TYPE": "anthropic",
                "COPILOT_PROVIDER_API_KEY": "x",
                "COPILOT_MODEL": "claude-sonnet-4.5",
                "COPILOT_AUTO_UPDATE": "false",
            },
        ),
    )
}


def program_of(agent: Agent) -> Path | None:
    """The installed program; None when it could not be installed."""
    folder = os.environ.get("HOOKLINE_LIVE")
    program = Path(folder, agent.program) if folder else None
    return program if program is not None and shutil.which(program) else None


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended."""

    exit_code: int
    stdout: str
    stderr: str


def run(words: list[str], place: Place, environ: Mapping[str, str]) -> Ended:
    """Runs a program in the project; one that hangs is ended with all its children, and fails the test."""
    process = subprocess.Popen(
        words,
        cwd=place.project,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        stdout, stderr = process.communicate(timeout=_LONGEST_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        stdout, stderr = process.communicate()
        raise AssertionError(f"{words[0]} hung:\n{stdout}\n{stderr}") from None
    return Ended(process.returncode, stdout, stderr)
