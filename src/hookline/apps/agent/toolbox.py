"""The tools of an agent: finds them by name, describes them to the model, checks their arguments."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import referencing
import referencing.exceptions
from jsonschema import ValidationError
from jsonschema.exceptions import SchemaError
from jsonschema.protocols import Validator
from jsonschema.validators import Draft202012Validator, validator_for

from hookline.apps.agent.tool import Tool
from hookline.apps.agent.tools.files import FILE_TOOLS
from hookline.apps.agent.tools.search import SEARCH_TOOLS
from hookline.apps.agent.tools.shell import RUN_SHELL_COMMAND
from hookline.errors import HooklineError
from hookline.protocol.text.strings import nearest

_MAX_FAULTS = 5
_MAX_VALUE_CHARS = 80
_MAX_MESSAGE_CHARS = 300
_RULES = {"type": "{}", "minimum": "at least {}", "maximum": "at most {}", "enum": "one of {}"}


class UnusableToolError(HooklineError):
    """A tool can't be added: its name is taken, or its schema is not valid."""


class ToolBox:
    """The tools by name, in the order in which they were added."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            self.add(tool)

    def add(self, tool: Tool) -> None:
        """Adds a tool. Raises UnusableToolError when that is not possible."""
        if tool.name in self._tools:
            raise UnusableToolError(f"there is a tool named {tool.name} already")
        schema = dict(tool.parameters)
        try:
            _validator_class(schema).check_schema(schema)
        except SchemaError as error:
            raise UnusableToolError(f"the schema of {tool.name} is not valid: {_cut(error.message)}") from error
        self._tools[tool.name] = tool

    def remove(self, name: str) -> None:
        """Removes a tool, if it is there."""
        self._tools.pop(name, None)

    def get(self, name: str) -> Tool | None:
        """The tool of that name, or None."""
        return self._tools.get(name)

    def names(self) -> tuple[str, ...]:
        """The names of all tools, in order."""
        return tuple(self._tools)

    def __iter__(self) -> Iterator[Tool]:
        return iter(tuple(self._tools.values()))

    def declarations(self) -> list[dict[str, Any]]:
        """The tools as they are described to the model."""
        return [
            {"name": tool.name, "description": tool.description, "parameters_json_schema": dict(tool.parameters)}
            for tool in self
        ]

    def unknown(self, name: str, offered: Collection[str] | None = None) -> str:
        """The message for a model that calls an unknown tool."""
        names = [known for known in self._tools if offered is None or known in offered]
        likely = nearest(name, names)
        advice = f"did you mean {likely}?" if likely else f"the tools are {', '.join(names) or 'none'}."
        return f"There is no tool named {name}; {advice}"

    def fault(self, tool: Tool, arguments: Mapping[str, Any]) -> str | None:
        """What is wrong with the arguments, in words that a model can act on, or None."""
        schema, given = dict(tool.parameters), dict(arguments)
        # An empty registry: the default one would fetch references in a foreign schema from the network.
        validator = _validator_class(schema)(schema, registry=referencing.Registry())
        if tool.mcp_context is None:
            # Models send null for "not given"; for an MCP server, null may have a meaning.
            required = schema.get("required", ())
            given = {name: value for name, value in given.items() if value is not None or name in required}
        try:
            found = sorted(validator.iter_errors(given), key=lambda error: [str(step) for step in error.absolute_path])
        except (referencing.exceptions.Unresolvable, RecursionError) as error:
            return f"the schema of {tool.name} can't be applied ({error}), so its arguments can't be checked"
        if not found:
            return None
        faults = "; ".join(map(_describe, found[:_MAX_FAULTS]))
        return f"{faults}. {_usage(tool)}"


def default_toolbox() -> ToolBox:
    """Our own tools."""
    return ToolBox((*FILE_TOOLS, *SEARCH_TOOLS, RUN_SHELL_COMMAND))


def _validator_class(schema: dict[str, Any]) -> type[Validator]:
    return validator_for(schema, default=Draft202012Validator)


def _describe(error: ValidationError) -> str:
    where = ".".join(str(step) for step in error.absolute_path)
    if error.validator == "required":
        name = error.message.split("'")[1]
        return f"{where}.{name} is missing" if where else f"{name} is missing"
    if error.validator == "minLength" and error.instance == "":
        return f"{where} is empty"
    if error.validator in _RULES:
        expected = _a(error.validator_value) if error.validator == "type" else _show(error.validator_value)
        rule = _RULES[error.validator].format(expected)
        return f"{where or 'the arguments'} must be {rule}, but is {_show(error.instance)}"
    return f"{where}: {_cut(error.message)}" if where else _cut(error.message)


def _a(kinds: Any) -> str:
    names = [kinds] if isinstance(kinds, str) else [str(kind) for kind in kinds]
    return " or ".join(f"an {name}" if name[0] in "aio" else f"a {name}" for name in names)


def _show(value: Any) -> str:
    return _cut(json.dumps(value, default=str, ensure_ascii=False), _MAX_VALUE_CHARS)


def _cut(text: str, most: int = _MAX_MESSAGE_CHARS) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


def _usage(tool: Tool) -> str:
    properties = tool.parameters.get("properties", {})
    required = tool.parameters.get("required", ())
    takes = ", ".join(f"{name} (optional)" if name not in required else name for name in properties)
    return f"{tool.name} takes {takes or 'no arguments'}."
