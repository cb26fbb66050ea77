"""The common form of our own tools: a function with its description."""

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
    """Other names that models use for an argument; hooks and the tool see only its proper name."""
    mcp_context: None = None

    def normalize(self, arguments: Arguments) -> dict[str, Any]:
        """The arguments under their proper names; if both names are given, the proper one wins."""
        proper = {self.aliases[name]: value for name, value in arguments.items() if name in self.aliases}
        return proper | {name: value for name, value in arguments.items() if name not in self.aliases}

    def needs_approval(self, arguments: Arguments, context: ToolContext) -> str | None:
        """What the user has to allow, or None."""
        return self.approval(arguments, context)

    async def execute(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        """Runs the tool; an error of the operating system becomes a message."""
        try:
            return await self.run(arguments, context)
        except OSError as error:
            where = f" ({error.filename})" if error.filename else ""
            return failure(f"{self.name} failed: {error.strerror or error}{where}.")
        except ValueError as error:  # a path with a NUL, or text that is not valid UTF-8
            return failure(f"{self.name} failed: {error}.")


def parameters(required: tuple[str, ...], **properties: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON Schema of an object with these properties; other properties are allowed and ignored."""
    return {"type": "object", "properties": properties, "required": list(required)}


def string(description: str, **rules: Any) -> dict[str, Any]:
    """The schema of a text."""
    return {"type": "string", "description": description, **rules}


def integer(description: str, **rules: Any) -> dict[str, Any]:
    """The schema of a whole number."""
    return {"type": "integer", "description": description, **rules}


def in_thread(work: Work) -> Run:
    """Runs blocking work in a thread; cancelling sets the work's stop event and waits until it has ended.

    A cancelled call must not change a file afterwards.
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
    """Reading needs approval only outside the project."""

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
