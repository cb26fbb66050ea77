"""Tools, calls and their results."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from hookline.client.triggers.results import ToolResult

if TYPE_CHECKING:
    from hookline.client.config import Config


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """The environment of a tool call."""

    project: Path
    environ: Mapping[str, str]
    session_id: str = ""
    real_paths: dict[str, str] = field(default_factory=dict, repr=False, compare=False)
    """The real path of each path argument, resolved once.

    Every check and the tool use this path, so a link that changes in between is not followed.
    """

    @classmethod
    def of(cls, config: "Config", call: "AgentCall | None" = None) -> Self:
        """Return the context for a session, and for a call with its resolved paths."""
        project, environ = Path(config.get_working_dir()), config.get_environ()
        real_paths = {} if call is None else call.real_paths
        return cls(project=project, environ=environ, session_id=config.get_session_id(), real_paths=real_paths)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTool(ABC):
    """A tool that the model can call. Only `apps/agent/scheduler.py` runs tools, between their hooks."""

    name: str
    """The name for the model and for matchers."""
    description: str
    """The description for the model."""
    parameters: Mapping[str, Any]
    """The JSON Schema of its arguments."""
    is_read_only: bool
    """True if calls may run in parallel."""
    mcp_context: Mapping[str, Any] | None = None
    """The MCP server of the tool, as hooks see it; None for built-in tools."""

    def normalize(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments under their canonical names (`file_path` for `path`)."""
        return dict(arguments)

    def fault(self, _arguments: Mapping[str, Any], _context: ToolContext) -> str | None:
        """Return why the call would fail even with approval, or None; the user is not asked about such a call."""
        return None

    @abstractmethod
    def needs_approval(self, arguments: Mapping[str, Any], context: ToolContext) -> str | None:
        """Return what the user must approve, as the end of a sentence; None if no approval is needed."""

    @abstractmethod
    async def execute(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Run the tool; a failure is a result with `error`, not an exception."""


class CallStatus(StrEnum):
    """The state of a tool call; `idle` means blocked by a hook."""

    VALIDATING = "validating"
    SCHEDULED = "scheduled"
    AWAITING_APPROVAL = "awaiting_approval"
    EXECUTING = "executing"
    SUCCESS = "success"
    ERROR = "error"
    CANCELLED = "cancelled"
    IDLE = "idle"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCall:
    """One tool call of the model, in its current state."""

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """The model's arguments; after the call, the arguments that the tool received."""
    status: CallStatus = CallStatus.VALIDATING
    result: ToolResult | None = None
    real_paths: dict[str, str] = field(default_factory=dict, repr=False, compare=False)
    """See `ToolContext.real_paths`."""


def success(content: str, display: str | None = None) -> ToolResult:
    """Return the result of a successful call; `display` defaults to the content for the model."""
    return ToolResult(llm_content=content, return_display=content if display is None else display)


def failure(message: str) -> ToolResult:
    """Return the result of a failed call."""
    return ToolResult(llm_content=message, return_display=message, error=message)
