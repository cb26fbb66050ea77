"""The tool that runs a command."""

import signal
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hookline.apps.agent.tool import ToolContext, failure
from hookline.apps.agent.tools.builtin import Arguments, BuiltInTool, integer, parameters, run_child, string
from hookline.apps.agent.tools.paths import locate, real_path, shown
from hookline.client.triggers.results import ToolResult
from hookline.extensions import lazy_module

if TYPE_CHECKING:
    from hookline.runners import dialect_files
    from hookline.runners.process.batch import ChildOutcome
else:
    dialect_files = lazy_module("hookline.runners.dialect_files")

DEFAULT_TIMEOUT_MS = 120_000
MAX_TIMEOUT_MS = 600_000
# Of a long output, the model gets the beginning and a larger part of the end, where results usually are.
HEAD_CHARS = 10_000
TAIL_CHARS = 20_000


async def _run_shell_command(arguments: Arguments, context: ToolContext) -> ToolResult:
    directory = locate(arguments.get("directory") or ".", context)
    if not directory.is_dir():
        return failure(f"{shown(directory, context)} is not a directory, so the command was not run.")
    timeout_ms = min(arguments.get("timeout") or DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS)
    # One stream keeps errors in order; on one line, so that line numbers in error messages are right.
    command, more = dialect_files.with_session_env(f"exec 2>&1; {arguments['command']}", context.session_id)
    if more:
        context = replace(context, environ={**context.environ, **more})
    outcome = await run_child(
        command,
        directory=Path(real_path(arguments.get("directory") or ".", context)),
        context=context,
        timeout_ms=timeout_ms,
    )
    if outcome.error is not None:
        return failure(f"{outcome.error[:1].upper()}{outcome.error[1:]}.")
    ending = _ending(outcome, timeout_ms)
    content = f"{_output(outcome) or '(no output)'}\n{ending}"
    failed = outcome.timed_out or outcome.exit_code != 0
    return ToolResult(llm_content=content, return_display=content, error=ending if failed else None)


def _output(outcome: "ChildOutcome") -> str:
    text = (outcome.stdout + outcome.stderr).decode("utf-8", "replace").rstrip("\n")
    dropped = len(text) - HEAD_CHARS - TAIL_CHARS
    if dropped > 0:
        text = f"{text[:HEAD_CHARS]}\n[{dropped} characters omitted]\n{text[-TAIL_CHARS:]}"
    if outcome.stdout_truncated:
        text += "\n[The output was too long, and its end was dropped. Write it to a file, or filter it.]"
    return text


def _ending(outcome: "ChildOutcome", timeout_ms: float) -> str:
    if outcome.timed_out:
        return f"The command was ended because it took longer than {timeout_ms / 1000:g} seconds."
    if outcome.signal is not None:
        return f"The command was ended by {signal.Signals(outcome.signal).name}."
    return f"Exit code: {outcome.exit_code}"


def _question(arguments: Arguments) -> str:
    directory = arguments.get("directory")
    return f"run {arguments['command']}" + (f" in {directory}" if directory else "")


RUN_SHELL_COMMAND = BuiltInTool(
    name="run_shell_command",
    description=(
        "Runs a command with bash and returns its output (stdout and stderr together) and its exit code. stdin is "
        "empty, so a command can't ask anything. A background process must redirect its output."
    ),
    parameters=parameters(
        ("command",),
        command=string("The command, as for bash -c.", minLength=1),
        description=string("What the command does, in a few words for the user."),
        directory=string("Where to run it; in the project's directory if not given."),
        timeout=integer(
            f"Time limit in milliseconds; {DEFAULT_TIMEOUT_MS} if not given, at most {MAX_TIMEOUT_MS}.", minimum=1
        ),
    ),
    is_read_only=False,
    question=_question,
    run=_run_shell_command,
)
