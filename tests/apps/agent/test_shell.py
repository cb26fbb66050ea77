import asyncio
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest
from tests.patience import with_enough_time

from hookline.apps.agent.tool import ToolContext
from hookline.apps.agent.tools.shell import HEAD_CHARS, RUN_SHELL_COMMAND, TAIL_CHARS
from hookline.client.triggers.results import ToolResult


@pytest.fixture
def context(project: Path) -> ToolContext:
    return ToolContext(project=project, environ={**os.environ, "GREETING": "hello"})


def do(context: ToolContext, command: str, **arguments: Any) -> ToolResult:
    return asyncio.run(RUN_SHELL_COMMAND.execute({"command": command, **arguments}, context))


def is_gone(pid: int) -> bool:
    """True when no such process runs; one that ended and nobody has waited for runs no more either."""
    deadline = time.monotonic() + 45
    while time.monotonic() < deadline:
        try:
            status = Path(f"/proc/{pid}/stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return True
        if status.rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize(
    ("command", "text", "error"),
    [
        pytest.param("echo $GREETING", "hello\nExit code: 0", None, id="environment"),
        pytest.param("echo a; echo b >&2; echo c", "a\nb\nc\nExit code: 0", None, id="both-streams-in-order"),
        pytest.param("[[ x == x ]] && exit 3", "(no output)\nExit code: 3", "Exit code: 3", id="bash-and-code"),
        pytest.param("cat", "(no output)\nExit code: 0", None, id="no-input"),
        pytest.param(
            "kill -9 $$", "(no output)\nThe command was ended by SIGKILL.", "The command was ended by SIGKILL."
        ),
        pytest.param("printf '\\xff'", "\ufffd\nExit code: 0", None, id="no-text"),
        pytest.param("# nothing\necho $LINENO", "2\nExit code: 0", None, id="lines"),
        pytest.param("cat <<E\nhere\nE", "here\nExit code: 0", None, id="here-document"),
    ],
)
def test_what_is_told_of_a_command(context: ToolContext, command: str, text: str, error: str | None) -> None:
    """Its output and how it ended, to the model and the person."""
    assert do(context, command) == ToolResult(llm_content=text, return_display=text, error=error)


def test_where_a_command_runs(context: ToolContext) -> None:
    """In the project, or in a directory from there on."""
    (context.project / "sub").mkdir()
    assert do(context, "pwd").llm_content == f"{context.project}\nExit code: 0"
    assert do(context, "pwd", directory="sub").llm_content == f"{context.project}/sub\nExit code: 0"
    assert do(context, "pwd", directory="no").error == "no is not a directory, so the command was not run."


def test_a_command_that_cannot_be_started(context: ToolContext) -> None:
    """Said about the command, not about a hook."""
    assert do(context, "echo \0").error == "The command could not be started: embedded null byte."


def test_much_output_is_cut_in_the_middle(context: ToolContext) -> None:
    """The beginning and the end are kept, and how much is missing is said."""
    content = do(context, "echo first; seq 100000; echo last").llm_content
    assert content.startswith("first\n1\n2\n")
    assert content.endswith("100000\nlast\nExit code: 0")
    assert "characters omitted]" in content
    assert len(content) < HEAD_CHARS + TAIL_CHARS + 200


def test_endless_output_is_bounded(context: ToolContext) -> None:
    """What is past the bound is read and dropped, so the command can end."""
    content = do(context, "head -c 30000000 /dev/zero | tr '\\0' x").llm_content
    assert "[The output was too long, and its end was dropped. Write it to a file, or filter it.]" in content
    assert content.endswith("Exit code: 0")
    assert len(content) < HEAD_CHARS + TAIL_CHARS + 300


def test_a_timeout_ends_the_whole_group(context: ToolContext) -> None:
    """The command, what it started in the background, and all that in bounded time."""
    began = time.monotonic()
    ready = context.project / "ready"
    result = with_enough_time(
        400, ready, lambda ms: do(context, "sleep 60 & echo $!; echo $$; touch ready; sleep 60", timeout=int(ms))
    )
    assert re.fullmatch(r"The command was ended because it took longer than [\d.]+ seconds\.", result.error or "")
    assert time.monotonic() - began < 45
    child, shell = (int(line) for line in result.llm_content.splitlines()[:2])
    assert is_gone(child)
    assert is_gone(shell)


def test_cancelling_ends_the_whole_group(context: ToolContext) -> None:
    """Nothing runs on when the call is given up, and nobody is left to be waited for."""
    pids = context.project / "pids"

    async def cancel_when_ready() -> None:
        command = f"sleep 60 & echo $! $$ > {pids}.part && mv {pids}.part {pids}; wait"
        task = asyncio.create_task(RUN_SHELL_COMMAND.execute({"command": command}, context))
        while not pids.exists():  # noqa: ASYNC110 - a file tells it, from another process
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel_when_ready())
    child, shell = (int(word) for word in pids.read_text().split())
    assert is_gone(child)
    with pytest.raises(ChildProcessError):
        os.waitpid(shell, os.WNOHANG)


def test_a_background_process_does_not_hold_the_call(context: ToolContext) -> None:
    """The command has ended when its own process has."""
    began = time.monotonic()
    result = do(context, "sleep 30 & echo $!")
    pid = int(result.llm_content.splitlines()[0])
    assert time.monotonic() - began < 25
    assert result.error is None
    os.kill(pid, 9)


def test_running_a_command_needs_approval(context: ToolContext) -> None:
    """Always, with the command in the question."""
    assert RUN_SHELL_COMMAND.needs_approval({"command": "ls -l"}, context) == "run ls -l"
    assert RUN_SHELL_COMMAND.needs_approval({"command": "ls", "directory": "sub"}, context) == "run ls in sub"
    assert RUN_SHELL_COMMAND.needs_approval({"command": "ls", "directory": "/etc"}, context) == (
        "run ls in /etc, which is outside the project"
    )
