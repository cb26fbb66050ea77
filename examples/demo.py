"""A guided tour: the agent calls a tool twice, one hook blocks, another rewrites, and the log says what happened."""

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PROMPT = "Keep my token and some notes."
SETTINGS = {
    "enableHooks": True,
    "hooks": {
        "BeforeTool": [
            {
                "matcher": "write_file|replace",
                "hooks": [{"type": "command", "name": "guard-secrets", "command": f"'{HERE}/hooks/guard-secrets.sh'"}],
            },
            {
                "matcher": "^write_file$",
                "hooks": [{"type": "command", "name": "tidy-text", "command": f"python3 '{HERE}/hooks/tidy-text.py'"}],
            },
        ]
    },
}


def command() -> list[str]:
    """The command that is run, in the folder of the demo."""
    agent = [sys.executable, "-m", "hookline", "agent", "--model", f"replay:{HERE}/demo.jsonl", "--prompt", PROMPT]
    return [*agent, "--yes", "--project", "project", "--settings", "settings.json", "--output", "stream-json"]


def run_agent(folder: Path) -> Iterator[dict[str, Any]]:
    """What the agent tells while it works, as `--output stream-json` prints it."""
    (folder / "settings.json").write_text(json.dumps(SETTINGS))
    # The demo leaves no trace in your own log.
    env = {**os.environ, "HOOKLINE_STATE_DIR": str(folder / "state")}
    done = subprocess.run(command(), cwd=folder, env=env, check=True, stdout=subprocess.PIPE)  # noqa: S603 - our own command
    yield from map(json.loads, done.stdout.splitlines())


def tell(event: dict[str, Any], project: Path) -> None:
    """Tells a person what happened."""
    match event:
        case {"type": "tool_call", "status": "scheduled", "name": name, "input": given}:
            print(f"\nThe model calls {name}({given['file_path']!r}, {given['content']!r})")
        case {"type": "hook_decision", "blocked": True, "decidedBy": hooks, "reason": reason}:
            print(f"  {' and '.join(hooks)} blocks it: {reason}")
        case {"type": "hook_decision", "effect": {"tool_input": {"content": content}}}:
            print(f"  a hook rewrites it: {content!r}")
        case {"type": "tool_call", "status": "idle" | "success", "input": given}:
            path = project / given["file_path"]
            print(f"  on disk: {repr(path.read_text()) if path.exists() else 'nothing'}")
        case {"type": "result", "response": response}:
            print(f"\nThe model says: {response}")


def main(folder: Path) -> None:
    """Two tool calls, and the log of both."""
    project = folder / "project"
    project.mkdir()
    print("Two hooks are configured for BeforeTool: guard-secrets (a shell script) and tidy-text (Python).")
    print("The model's answers come from a file, so there is no key and no network. This is run, in a directory")
    print("that is removed at the end:\n")
    print(f"  $ cd {shlex.quote(str(folder))}")
    print(f"  $ export HOOKLINE_STATE_DIR={shlex.quote(str(folder / 'state'))}")
    print(f"  $ {shlex.join(command())}")
    for event in run_agent(folder):
        tell(event, project)
    print("\nWhat the log says about both calls:")
    for line in (folder / "state" / "hooks.jsonl").read_text().splitlines():
        record = json.loads(line)
        print(f"  {record['level']:5} {record['message']}")
    print("\nNext: write a hook of your own; README.md shows how in a minute.")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        main(Path(temporary))
