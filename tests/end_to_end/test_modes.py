"""The same settings, script and replay file do the same in every mode of `hookline agent`."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookline.protocol.events import HookEventName
from hookline.testing import calls, says

if TYPE_CHECKING:
    from tests.conftest import Person

HookScript = Callable[..., Path]
Seat = Callable[..., "Person"]

PROMPT = "Tidy up, please."
# The answers of an event's hooks; the others answer nothing.
ANSWERS: dict[str, str] = {
    "BeforeTool": """case $input in
*'"file_path":".env"'*) echo 'Not this one.' >&2; exit 2 ;;
*'"file_path":"notes.txt"'*) echo '{"hookSpecificOutput": {"tool_input": {"content": "tidy"}}}' ;;
esac""",
    "AfterTool": """echo '{"hookSpecificOutput": {"additionalContext": "All tests pass."}, "suppressOutput": true}'""",
    "BeforeModel": """echo '{"systemMessage": "Be brief."}'""",
    "AfterModel": """echo '{"systemMessage": "Still brief."}'""",
    "BeforeToolSelection": """echo '{"hookSpecificOutput": {"toolConfig":
  {"mode": "ANY", "allowedFunctionNames": ["write_file", "run_shell_command"]}}}'""",
}
REPLAY = (
    calls(
        ("write_file", {"file_path": ".env", "content": "x"}),
        ("write_file", {"file_path": "notes.txt", "content": "untidy"}),
    ),
    calls(("run_shell_command", {"command": "echo hello"}), ("read_file", {"file_path": "notes.txt"})),
    says("All is tidy."),
)


class Stage:
    """A project with hooks on every event, in which the agent can be run again and again from the same start."""

    def __init__(self, tmp_path: Path, project: Path, hook_script: HookScript, person: Seat) -> None:
        self._project = project
        self._state = tmp_path / "state"
        self._told = tmp_path / "told"
        self._person = person
        hooks = {}
        for event in HookEventName:
            body = f"""input=$(cat)
printf '%s\\n' "$input" >> {self._told}/{event}
(: </dev/tty) 2>/dev/null && touch {self._told}/terminal
{ANSWERS.get(event, "")}
true"""
            hooks[event.value] = [{"hooks": [{"type": "command", "command": str(hook_script(body, f"{event}.sh"))}]}]
        settings, replay = tmp_path / "settings.json", tmp_path / "replay.jsonl"
        settings.write_text(json.dumps({"enableHooks": True, "hooks": hooks}))
        lines = ({"method": "generateContentStream", "response": [chunk]} for chunk in REPLAY)
        replay.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        self._words = ["agent", "--settings", str(settings), "--model", f"replay:{replay}", "--yes"]

    def play(self, mode: str) -> dict[str, Any]:
        """The inputs of hooks and their effects, without ids, times and the transcript's path."""
        for folder in (self._told, self._state, self._project):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        MODES[mode](self)
        (transcript,) = (self._state / "sessions").iterdir()
        told = {path.name: [_timeless(json.loads(line)) for line in _lines(path)] for path in self._told.iterdir()}
        return {
            "told": told,
            "files": {path.name: path.read_text() for path in self._project.iterdir()},
            "transcript": [_timeless(json.loads(line)) for line in _lines(transcript)],
        }

    def at_a_terminal(self) -> None:
        """Talks to it."""
        person = self._person(*self._words)
        person.say(PROMPT)
        person.expect("All is tidy.")
        person.say("/quit")
        assert person.leaves_with() == 0

    def with_words(self, *words: str, stdin: str | None = None) -> None:
        """Runs it without a terminal."""
        done = subprocess.run(
            [sys.executable, "-m", "hookline", *self._words, *words],
            cwd=self._project,
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            check=True,
            timeout=45,
        )
        assert done.stdout == "All is tidy.\n"


MODES: dict[str, Callable[[Stage], None]] = {
    "interactive": Stage.at_a_terminal,
    "prompt": lambda stage: stage.with_words("--prompt", PROMPT),
    "headless": lambda stage: stage.with_words("--headless", "--prompt", PROMPT),
    "piped": lambda stage: stage.with_words(stdin=PROMPT),
}


@pytest.mark.req("HOOK-125", "HOOK-134", "HOOK-203")
@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "prompt"])
def test_hooks_are_told_and_do_the_same(
    mode: str, tmp_path: Path, project: Path, hook_script: HookScript, person: Seat
) -> None:
    """Hook inputs, files, and the record of the session do not depend on the mode, and no hook has a terminal."""
    stage = Stage(tmp_path, project, hook_script, person)
    reference = stage.play("prompt")
    assert stage.play(mode) == reference
    assert {event: len(told) for event, told in reference["told"].items()} == {
        "SessionStart": 1,
        "BeforeAgent": 1,
        "BeforeToolSelection": 3,
        "BeforeModel": 3,
        "AfterModel": 3,
        "BeforeTool": 3,
        "AfterTool": 2,
        "AfterAgent": 1,
        "SessionEnd": 1,
    }
    assert reference["files"] == {"notes.txt": "tidy"}


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


def _timeless(value: Any) -> Any:
    """The value without what differs from run to run."""
    if isinstance(value, list):
        return [_timeless(item) for item in value]
    if isinstance(value, dict):
        run = ("session_id", "timestamp", "transcript_path", "id")
        return {key: _timeless(item) for key, item in value.items() if key not in run}
    return re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "ID", value) if isinstance(value, str) else value
