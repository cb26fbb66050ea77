"""What a tool is, and what becomes of a call to one."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from hookline.triggers.results import ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """What every tool may know about the place it works in."""

    project: Path
    environ: Mapping[str, str]


class Tool(Protocol):
    """Something that the model can call. Only `agent/scheduler.py` runs one, between its hooks."""

    @property
    def name(self) -> str:
        """The name under which the model and matchers know it."""

    @property
    def description(self) -> str:
        """What it does, for the model."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The JSON Schema of its arguments."""

    @property
    def is_read_only(self) -> bool:
        """True when calls of it may run at the same time as others."""

    @property
    def mcp_context(self) -> Mapping[str, Any] | None:
        """Where a tool of an MCP server comes from, as hooks are told it; None for our own."""

    def normalize(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments under their proper names (`path` where `file_path` is meant)."""

    def needs_approval(self, arguments: Mapping[str, Any], context: ToolContext) -> str | None:
        """What a person would have to allow, in a sentence; None when nobody need be asked."""

    async def execute(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Does it; a failure is a result with `error`, never an exception."""


class CallStatus(StrEnum):
    """Where a tool call stands; `idle` is one that a hook blocked."""

    VALIDATING = "validating"
    SCHEDULED = "scheduled"
    AWAITING_APPROVAL = "awaiting_approval"
    EXECUTING = "executing"
    SUCCESS = "success"
    ERROR = "error"
    CANCELLED = "cancelled"
    IDLE = "idle"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call of a tool by the model, as it stands."""

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """As the model asked for it; after it ran, what the tool really ran with."""
    status: CallStatus = CallStatus.VALIDATING
    result: ToolResult | None = None


def failure(message: str) -> ToolResult:
    """The result of a call that did not work out: the model, the person and the program are told the same."""
    return ToolResult(llm_content=message, return_display=message, error=message)
