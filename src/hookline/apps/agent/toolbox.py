"""The agent's tools by name: their declarations for the model, and the check of a call's arguments."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import referencing
import referencing.exceptions
from jsonschema import ValidationError
from jsonschema.exceptions import SchemaError
from jsonschema.protocols import Validator
from jsonschema.validators import Draft202012Validator, validator_for

from hookline.apps.agent.tool import AgentTool
from hookline.apps.agent.tools.files import FILE_TOOLS
from hookline.apps.agent.tools.search import SEARCH_TOOLS
from hookline.apps.agent.tools.shell import RUN_SHELL_COMMAND
from hookline.errors import HooklineError
from hookline.protocol.text.strings import nearest

_MAX_FAULTS = 5
_MAX_MESSAGE_CHARS = 300


class UnusableToolError(HooklineError):
    """A tool can't be added: its name is taken, or its schema is not valid."""


class ToolBox:
    """The tools by name, in the order in which they were added."""

    def __init__(self, tools: Iterable[AgentTool] = ()) -> None:
        self._tools: dict[str, AgentTool] = {}
        for tool in tools:
            self.add(tool)

    def add(self, tool: AgentTool) -> None:
        """Add a tool. Raises UnusableToolError if that is not possible."""
        if tool.name in self._tools:
            raise UnusableToolError(f"there is a tool named {tool.name} already")
        schema = dict(tool.parameters)
        try:
            _validator_class(schema).check_schema(schema)
        except SchemaError as error:
            raise UnusableToolError(f"the schema of {tool.name} is not valid: {_cut(error.message)}") from error
        self._tools[tool.name] = tool

    def remove(self, name: str) -> None:
        """Remove a tool if it exists."""
        self._tools.pop(name, None)

    def get(self, name: str) -> AgentTool | None:
        """Return the tool with this name, or None."""
        return self._tools.get(name)

    def names(self) -> tuple[str, ...]:
        """Return the names of all tools, in order."""
        return tuple(self._tools)

    def __iter__(self) -> Iterator[AgentTool]:
        return iter(tuple(self._tools.values()))

    def declarations(self) -> list[dict[str, Any]]:
        """Return the declarations of the tools for the model."""
        return [
            {"name": tool.name, "description": tool.description, "parameters_json_schema": dict(tool.parameters)}
            for tool in self
        ]

    def unknown(self, name: str, offered: Collection[str] | None = None) -> str:
        """Return the message for a model that calls an unknown tool."""
        names = [known for known in self._tools if offered is None or known in offered]
        likely = nearest(name, names)
        advice = f"did you mean {likely}?" if likely else f"the tools are {', '.join(names) or 'none'}."
        return f"There is no tool named {name}; {advice}"

    def fault(self, tool: AgentTool, arguments: Mapping[str, Any]) -> str | None:
        """Return what is wrong with the arguments and how to call the tool, or None."""
        schema = dict(tool.parameters)
        properties, required = schema.get("properties", {}), schema.get("required", ())
        # An empty registry: the default one would fetch references in a third-party schema from the network.
        validator = _validator_class(schema)(schema, registry=referencing.Registry())
        # Models send null for an argument that they leave out; for an MCP server, null may have a meaning.
        drops_null = tool.mcp_context is None
        checked = {
            name: value for name, value in arguments.items() if value is not None or name in required or not drops_null
        }
        try:
            errors = sorted(validator.iter_errors(checked), key=lambda error: error.json_path)
        except (referencing.exceptions.Unresolvable, RecursionError) as error:
            return f"the schema of {tool.name} can't be applied ({error}), so its arguments can't be checked"
        if not errors:
            return None
        takes = ", ".join(name if name in required else f"{name} (optional)" for name in properties)
        faults = "; ".join(map(_describe, errors[:_MAX_FAULTS]))
        return f"{faults}. {tool.name} takes {takes or 'no arguments'}."


def default_toolbox() -> ToolBox:
    """Return the built-in tools."""
    return ToolBox((*FILE_TOOLS, *SEARCH_TOOLS, RUN_SHELL_COMMAND))


def _validator_class(schema: dict[str, Any]) -> type[Validator]:
    return validator_for(schema, default=Draft202012Validator)


def _describe(error: ValidationError) -> str:
    where = ".".join(map(str, error.absolute_path))
    return f"{where}: {_cut(error.message)}" if where else _cut(error.message)


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_MESSAGE_CHARS else f"{text[:_MAX_MESSAGE_CHARS]}…"
