"""Runs a command for a tool as hooks are run: in its own session, with bounded output, leaving no process behind."""

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
    """Runs the command and returns its outcome; cancelling this ends its whole process group first."""
    # Imported here, so that an agent without hooks and commands loads nothing of the engine.
    from hookline.child.batch import ChildJob, ChildLimits, run_children  # noqa: PLC0415

    # A copy: the environment may change while the command is waiting to start.
    environ = dict(context.environ)
    job = ChildJob(command=command, stdin=stdin, cwd=str(directory), env=environ, timeout_ms=timeout_ms)
    (outcome,) = await run_children([job], limits=ChildLimits(output_bytes=OUTPUT_BYTES))
    if outcome.error is not None:
        return replace(outcome, error=outcome.error.replace("the hook", "the command"))
    return outcome
