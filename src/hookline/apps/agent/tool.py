"""Tools, and calls of them."""

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
    """Where a tool works."""

    project: Path
    environ: Mapping[str, str]
    session_id: str = ""
    real_paths: dict[str, str] = field(default_factory=dict, repr=False, compare=False)
    """The real path of each path of a call, as it was when the call was first looked at.

    Every check and the tool itself use the same one: a link that changes in between is not followed.
    """

    @classmethod
    def of(cls, config: "Config", call: "ToolCall | None" = None) -> Self:
        """Where the tools of a session work, and what the paths of a call stand for."""
        project, environ = Path(config.get_working_dir()), config.get_environ()
        real_paths = {} if call is None else call.real_paths
        return cls(project=project, environ=environ, session_id=config.get_session_id(), real_paths=real_paths)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(ABC):
    """A tool that the model can call. Only `apps/agent/scheduler.py` runs tools, between their hooks."""

    name: str
    """Its name for the model and for matchers."""
    description: str
    """What it does, for the model."""
    parameters: Mapping[str, Any]
    """The JSON Schema of its arguments."""
    is_read_only: bool
    """True when its calls may run at the same time as others."""
    mcp_context: Mapping[str, Any] | None = None
    """The origin of an MCP server's tool, as hooks see it; None for our own tools."""

    def normalize(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments under their proper names (`path` where `file_path` is meant)."""
        return dict(arguments)

    def fault(self, arguments: Mapping[str, Any], context: ToolContext) -> str | None:  # noqa: ARG002 - for tools that check more
        """Why the call would fail whatever the user says, so that nobody is asked; None when it may succeed."""
        return None

    @abstractmethod
    def needs_approval(self, arguments: Mapping[str, Any], context: ToolContext) -> str | None:
        """What the user has to allow, as the end of a sentence; None when no approval is needed."""

    @abstractmethod
    async def execute(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Runs the tool; a failure is a result with `error`, not an exception."""


class CallStatus(StrEnum):
    """The state of a tool call; `idle` means that a hook blocked it."""

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
    """One tool call of the model, in its current state."""

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """The model's arguments; after the call has run, the arguments that the tool got."""
    status: CallStatus = CallStatus.VALIDATING
    result: ToolResult | None = None
    real_paths: dict[str, str] = field(default_factory=dict, repr=False, compare=False)
    """The real path of each path among the arguments; see `ToolContext.real_paths`."""


def success(content: str, display: str | None = None) -> ToolResult:
    """The result of a successful call; the user is shown the model's content unless `display` is given."""
    return ToolResult(llm_content=content, return_display=content if display is None else display)


def failure(message: str) -> ToolResult:
    """The result of a failed call, with the same message for the model, the user and programs."""
    return ToolResult(llm_content=message, return_display=message, error=message)
