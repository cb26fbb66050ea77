"""The base of the built-in tools: a function with its description."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from hookline.apps.agent.tool import AgentTool, ToolContext, failure
from hookline.apps.agent.tools.paths import leaves_project, locate, missing, with_short_paths
from hookline.client.triggers.results import ToolResult
from hookline.extensions import lazy_module

if TYPE_CHECKING:
    from hookline.runners.process import batch
    from hookline.runners.process.batch import ChildOutcome
else:
    batch = lazy_module("hookline.runners.process.batch")

Arguments = Mapping[str, Any]
Run = Callable[[Arguments, ToolContext], Awaitable[ToolResult]]
Work = Callable[[Arguments, ToolContext, threading.Event], ToolResult]

OUTPUT_BYTES = 1024 * 1024

# Other names that models use for an argument; hooks and the tool see only the canonical one.
_ALIASES: Mapping[str, tuple[str, ...]] = {
    "file_path": ("path", "absolute_path"),
    "path": ("dir_path", "absolute_path"),
    "directory": ("dir_path", "path"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltInTool(AgentTool):
    """A built-in tool. Read-only ones need approval only outside the project."""

    question: Callable[[Arguments], str]
    """Returns the effect of a call, as the end of a sentence."""
    run: Run
    must_exist: str = ""
    """The advice if the file is missing, for a tool that needs it; empty for others."""

    def normalize(self, arguments: Arguments) -> dict[str, Any]:
        """Return the arguments under their canonical names, which win over other names."""
        canonical = {alias: name for name in self.parameters["properties"] for alias in _ALIASES.get(name, ())}
        renamed = {canonical[name]: value for name, value in arguments.items() if name in canonical}
        return renamed | {name: value for name, value in arguments.items() if name not in canonical}

    def fault(self, arguments: Arguments, context: ToolContext) -> str | None:
        """Return that a file is missing; outside the project, the user must approve even that information."""
        if not self.must_exist or leaves_project(arguments, context):
            return None
        path = locate(arguments["file_path"], context)
        try:
            is_missing = not path.exists()
        except (OSError, ValueError):
            return None  # the tool reports it
        return f"{missing(path, context)} {self.must_exist}" if is_missing else None

    def needs_approval(self, arguments: Arguments, context: ToolContext) -> str | None:
        """Return what the user must approve, or None."""
        is_outside = leaves_project(arguments, context)
        if self.is_read_only and not is_outside:
            return None
        return self.question(with_short_paths(arguments, context)) + (
            ", which is outside the project" if is_outside else ""
        )

    async def execute(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        """Run the tool; OSError and ValueError become messages."""
        try:
            return await self.run(arguments, context)
        except OSError as error:
            where = f" ({error.filename})" if error.filename else ""
            return failure(f"{self.name} failed: {error.strerror or error}{where}.")
        except ValueError as error:  # a path with a NUL, or text that is not valid UTF-8
            return failure(f"{self.name} failed: {error}.")


def parameters(required: tuple[str, ...], **properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of an object with these properties; others are ignored."""
    return {"type": "object", "properties": properties, "required": list(required)}


def string(description: str, **rules: Any) -> dict[str, Any]:
    """Return the schema of a string."""
    return {"type": "string", "description": description, **rules}


def integer(description: str, **rules: Any) -> dict[str, Any]:
    """Return the schema of an integer."""
    return {"type": "integer", "description": description, **rules}


def counted(number: int, word: str) -> str:
    """Return `1 line`, `2 lines`."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def in_thread(work: Work) -> Run:
    """Run blocking work in a thread; cancelling sets its stop event and waits, so that no file changes afterwards."""

    async def run(arguments: Arguments, context: ToolContext) -> ToolResult:
        stop = threading.Event()
        task = asyncio.ensure_future(asyncio.to_thread(work, arguments, context, stop))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            stop.set()
            await asyncio.wait([task])
            raise

    return run


async def run_child(
    command: str, *, stdin: bytes = b"", directory: Path, context: ToolContext, timeout_ms: float
) -> "ChildOutcome":
    """Run a command like a hook; cancelling this ends its whole process group first."""
    # A copy: the environment may change while the command is waiting to start.
    environ = dict(context.environ)
    job = batch.ChildJob(command=command, stdin=stdin, cwd=str(directory), env=environ, timeout_ms=timeout_ms)
    (outcome,) = await batch.run_children([job], limits=batch.ChildLimits(output_bytes=OUTPUT_BYTES))
    if outcome.error is not None:
        error = outcome.error.replace("the hook", "the command")
        return replace(outcome, error=error if error.startswith("the command") else f"the command {error}")
    return outcome
