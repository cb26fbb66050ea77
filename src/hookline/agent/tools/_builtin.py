"""What our own tools have in common: a function with a description around it."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hookline.agent.tool import ToolContext, failure
from hookline.agent.tools.paths import is_outside
from hookline.triggers.results import ToolResult

Arguments = Mapping[str, Any]
Run = Callable[[Arguments, ToolContext], Awaitable[ToolResult]]
Work = Callable[[Arguments, ToolContext, threading.Event], ToolResult]
Approval = Callable[[Arguments, ToolContext], str | None]

FILE_ALIASES: Mapping[str, str] = {"path": "file_path", "absolute_path": "file_path"}
DIRECTORY_ALIASES: Mapping[str, str] = {"dir_path": "path", "absolute_path": "path"}


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltInTool:
    """One of our own tools."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    is_read_only: bool
    approval: Approval
    run: Run
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Other names of arguments, for which hooks and the tool itself know only one."""
    mcp_context: None = None

    def normalize(self, arguments: Arguments) -> dict[str, Any]:
        """The arguments under their proper names; where both are given, the proper one counts."""
        proper = {self.aliases[name]: value for name, value in arguments.items() if name in self.aliases}
        return proper | {name: value for name, value in arguments.items() if name not in self.aliases}

    def needs_approval(self, arguments: Arguments, context: ToolContext) -> str | None:
        """What a person would have to allow, or None."""
        return self.approval(arguments, context)

    async def execute(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        """Does it; what the system refuses is told in words."""
        try:
            return await self.run(arguments, context)
        except OSError as error:
            where = f" ({error.filename})" if error.filename else ""
            return failure(f"{self.name} failed: {error.strerror or error}{where}.")
        except ValueError as error:  # a path with a NUL, text that UTF-8 cannot hold
            return failure(f"{self.name} failed: {error}.")


def parameters(required: tuple[str, ...], **properties: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON Schema of an object with these properties; what else a model sends is ignored."""
    return {"type": "object", "properties": properties, "required": list(required)}


def string(description: str, **rules: Any) -> dict[str, Any]:
    """The schema of a text."""
    return {"type": "string", "description": description, **rules}


def integer(description: str, **rules: Any) -> dict[str, Any]:
    """The schema of a whole number."""
    return {"type": "integer", "description": description, **rules}


def in_thread(work: Work) -> Run:
    """Runs blocking work beside the loop; when cancelled, the work is told so and is waited for.

    A call that was given up must not change a file afterwards, so nobody goes on before the work has ended.
    """

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


def reading(name: str, what: str) -> Approval:
    """Reading needs approval outside the project only."""

    def approval(arguments: Arguments, context: ToolContext) -> str | None:
        path = arguments.get(name) or "."
        return f"{what} {path}, which is outside the project" if is_outside(path, context) else None

    return approval


def writing(what: str) -> Approval:
    """Writing always needs approval."""

    def approval(arguments: Arguments, context: ToolContext) -> str:
        path = arguments["file_path"]
        return f"{what} {path}" + (", which is outside the project" if is_outside(path, context) else "")

    return approval
