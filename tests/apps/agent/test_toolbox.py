from collections.abc import Mapping
from typing import Any

import pytest

from hookline.apps.agent.tool import AgentTool
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
def test_every_argument_is_described(found: AgentTool) -> None:
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
        pytest.param({"file_path": "a"}, None, id="valid"),
        pytest.param({"file_path": "a", "offset": 2.0}, None, id="integral-float"),
        pytest.param({"file_path": "a", "limit": None}, None, id="null-means-absent"),
        pytest.param({"file_path": "a", "reason": "curious"}, None, id="unknown-is-ignored"),
        pytest.param({}, "'file_path' is a required property", id="missing"),
        pytest.param({"file_path": None}, "file_path: None is not of type 'string'", id="required-null"),
        pytest.param({"file_path": "a", "limit": 0}, "limit: 0 is less than the minimum of 1", id="range"),
        pytest.param({"limit": "x" * 1000}, f"'file_path' is a required property; limit: '{'x' * 299}…", id="long"),
    ],
)
def test_faults_of_arguments(arguments: dict[str, Any], fault: str | None) -> None:
    """The model reads each fault and how to call the tool."""
    expected = None if fault is None else f"{fault}. {READ_USAGE}"
    assert default_toolbox().fault(READ_FILE, arguments) == expected


def test_a_tool_that_there_is_not() -> None:
    """A likely name is suggested; else the names are given, those that may be called."""
    box = default_toolbox()
    assert box.unknown("readfile") == "There is no tool named readfile; did you mean read_file?"
    assert box.unknown("zzz", {"glob"}) == "There is no tool named zzz; the tools are glob."
    assert ToolBox().unknown("zzz") == "There is no tool named zzz; the tools are none."
