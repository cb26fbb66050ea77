"""Runs a command for a tool the way hooks are run: a session of its own, bounded output, nothing left behind."""

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hookline.agent.tool import ToolContext

if TYPE_CHECKING:
    from hookline.child.batch import ChildOutcome

OUTPUT_BYTES = 1024 * 1024


async def run_child(
    command: str, *, stdin: bytes = b"", directory: Path, context: ToolContext, timeout_ms: float
) -> "ChildOutcome":
    """What became of the command; when this is cancelled, its whole group is ended first."""
    # Not before a command is really run: an agent without hooks loads nothing of the engine.
    from hookline.child.batch import ChildJob, ChildLimits, run_children  # noqa: PLC0415

    # A copy, because the program's environment may change before the next command, and a job's must not.
    environ = dict(context.environ)
    job = ChildJob(command=command, stdin=stdin, cwd=str(directory), env=environ, timeout_ms=timeout_ms)
    (outcome,) = await run_children([job], limits=ChildLimits(output_bytes=OUTPUT_BYTES))
    if outcome.error is not None:
        return replace(outcome, error=outcome.error.replace("the hook", "the command"))
    return outcome
