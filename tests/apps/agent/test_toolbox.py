from collections.abc import Mapping
from typing import Any

import pytest

from hookline.apps.agent.tool import Tool
from hookline.apps.agent.toolbox import ToolBox, UnusableToolError, default_toolbox
from hookline.apps.agent.tools.builtin import BuiltInTool
from hookline.apps.agent.tools.files import READ_FILE
from hookline.client.triggers.results import ToolResult

NAMES = (
    "read_file",
    "write_file",
    "replace",
    "list_directory",
    "glob",
    "search_file_content",
    "run_shell_command",
)


async def nothing(_arguments: Mapping[str, Any], _context: Any) -> ToolResult:
    return ToolResult(llm_content="done")


def tool(name: str = "probe", **schema: Any) -> BuiltInTool:
    return BuiltInTool(
        name=name,
        description="A probe.",
        parameters={"type": "object", **schema},
        is_read_only=True,
        question=lambda _arguments: "probe",
        run=nothing,
    )


def test_our_own_tools() -> None:
    """These are there, in this order."""
    assert default_toolbox().names() == NAMES


def test_what_a_model_is_told() -> None:
    """Plain dictionaries: name, description, JSON Schema."""
    assert ToolBox([tool(properties={"a": {"type": "string"}})]).declarations() == [
        {
            "name": "probe",
            "description": "A probe.",
            "parameters_json_schema": {"type": "object", "properties": {"a": {"type": "string"}}},
        }
    ]


@pytest.mark.parametrize("found", list(default_toolbox()), ids=lambda found: found.name)
def test_every_argument_is_described(found: Tool) -> None:
    """A model knows of an argument what the schema says about it."""
    assert found.description
    assert all(rules["description"] for rules in found.parameters["properties"].values())


def test_tools_come_and_go() -> None:
    """A toolbox can be changed at any time."""
    toolbox = default_toolbox()
    toolbox.add(tool())
    assert toolbox.names() == (*NAMES, "probe")
    assert toolbox.get("probe") is not None
    toolbox.remove("probe")
    toolbox.remove("probe")
    assert toolbox.get("probe") is None
    assert len(toolbox.names()) == len(NAMES)


def test_a_name_is_used_once() -> None:
    """Nobody takes the place of a tool that is there."""
    with pytest.raises(UnusableToolError, match="there is a tool named read_file already"):
        default_toolbox().add(tool("read_file"))


def test_a_schema_that_is_none() -> None:
    """It is refused when the tool is added, not when it is called."""
    with pytest.raises(UnusableToolError, match="the schema of probe is not valid: 'text' is not valid"):
        ToolBox([tool(properties={"a": {"type": "text"}})])


def test_a_schema_is_never_fetched() -> None:
    """A reference to somewhere else is not followed: the arguments can't be checked, and that is said."""
    box = ToolBox([found := tool(properties={"a": {"$ref": "http://127.0.0.1:9/schema.json"}})])
    fault = box.fault(found, {"a": 1})
    assert fault is not None
    assert fault.startswith("the schema of probe can't be applied (Unresolvable")


READ_USAGE = "read_file takes file_path, offset (optional), limit (optional)."


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        pytest.param({"file_path": "a"}, None, id="right"),
        pytest.param({"file_path": "a", "offset": 2.0}, None, id="whole-float"),
        pytest.param({"file_path": "a", "limit": None}, None, id="null-means-absent"),
        pytest.param({"file_path": "a", "reason": "curious"}, None, id="unknown-is-ignored"),
        pytest.param({}, f"file_path is missing. {READ_USAGE}", id="missing"),
        pytest.param({"file_path": None}, f"file_path must be a string, but is null. {READ_USAGE}", id="required-null"),
        pytest.param({"file_path": ""}, f"file_path is empty. {READ_USAGE}", id="empty"),
        pytest.param({"file_path": "a", "limit": 0}, f"limit must be at least 1, but is 0. {READ_USAGE}", id="range"),
        pytest.param(
            {"file_path": "a", "offset": True}, f"offset must be an integer, but is true. {READ_USAGE}", id="boolean"
        ),
        pytest.param(
            {"limit": "x" * 1000},
            f'file_path is missing; limit must be an integer, but is "{"x" * 79}…. {READ_USAGE}',
            id="several-and-long",
        ),
    ],
)
def test_what_is_wrong_with_arguments(arguments: dict[str, Any], fault: str | None) -> None:
    """A model is told each fault, and what the tool takes."""
    assert default_toolbox().fault(READ_FILE, arguments) == fault


@pytest.mark.parametrize(
    ("schema", "arguments", "fault"),
    [
        pytest.param(
            {"properties": {"a": {"enum": ["x", "y"]}}},
            {"a": "z"},
            'a must be one of ["x", "y"], but is "z"',
            id="enum",
        ),
        pytest.param({"properties": {"a": {"maximum": 3}}}, {"a": 4}, "a must be at most 3, but is 4", id="maximum"),
        pytest.param({"properties": {"a": {"pattern": "^x"}}}, {"a": "y"}, "a: 'y' does not match '^x'", id="pattern"),
        pytest.param(
            {"properties": {"a": {"type": "object", "required": ["b"]}}}, {"a": {}}, "a.b is missing", id="nested"
        ),
        pytest.param(
            {"properties": {"a": {"type": ["array", "null"]}}}, {"a": 1}, "a must be an array or a null, but is 1"
        ),
    ],
)
def test_other_rules(schema: dict[str, Any], arguments: dict[str, Any], fault: str) -> None:
    """What a foreign schema demands is told, too."""
    box = ToolBox([found := tool(**schema)])
    assert box.fault(found, arguments) == f"{fault}. probe takes a (optional)."


def test_a_tool_that_there_is_not() -> None:
    """A likely name is suggested; else the names are given, those that may be called."""
    box = default_toolbox()
    assert box.unknown("readfile") == "There is no tool named readfile; did you mean read_file?"
    assert box.unknown("zzz", {"glob"}) == "There is no tool named zzz; the tools are glob."
    assert ToolBox().unknown("zzz") == "There is no tool named zzz; the tools are none."
