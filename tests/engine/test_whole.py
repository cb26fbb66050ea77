"""Arguments that hooks can't be shown completely are refused."""

import asyncio
import dataclasses
import datetime as dt
import json
import pathlib
import re
import uuid
from decimal import Decimal
from enum import Enum
from typing import Any

import pydantic
import pytest

from hookline import Config, ToolResult, execute_tool_with_hooks
from hookline.engine.whole import why_not_whole


class Colour(Enum):
    """A value with a name."""

    RED = "red"


class Shown(pydantic.BaseModel):
    """A model that shows everything."""

    path: str = "a"
    more: list[Any] = []


class Excluded(Shown):
    """A model that leaves a field out."""

    secret: str = pydantic.Field(default="x", exclude=True)


class Private(Shown):
    """A model with one field."""

    _secret: str = pydantic.PrivateAttr("x")


class Dumped(Shown):
    """A model that writes something else."""

    @pydantic.model_serializer
    def dump(self) -> dict[str, Any]:
        """Writes less."""
        return {"path": "harmless"}


@dataclasses.dataclass
class Record:
    """An object with fields."""

    value: Any = None


def nested(levels: int, inner: Any = "x") -> Any:
    """A value below so many objects."""
    for _ in range(levels):
        inner = {"a": inner}
    return inner


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(["a", 1, 1.5, None, True, {"b": ("c", {"d"})}], id="json"),
        pytest.param([pathlib.PurePath("a"), uuid.uuid4(), dt.datetime.now(dt.UTC)], id="texts"),
        pytest.param([Decimal("1.5"), Colour.RED, range(3)], id="numbers"),
        pytest.param([Shown(), Record(Shown())], id="objects"),
        pytest.param(nested(90), id="nested"),
    ],
)
def test_values_that_hooks_can_see(value: Any) -> None:
    """Every value that JSON can represent is shown."""
    assert why_not_whole({"value": value}) is None


UNSHOWN: list[Any] = [
    pytest.param(nested(150), "nested deeper", id="deep"),
    pytest.param(nested(2000), "nested deeper", id="very-deep"),
    pytest.param([[b"rm"]], "is of the type bytes", id="bytes"),
    pytest.param(bytearray(b"rm"), "is of the type bytearray", id="bytearray"),
    pytest.param(object(), "is an object of the type object", id="object"),
    pytest.param(Record(object()), "value.value is an object", id="object-in-a-record"),
    pytest.param(10**400, "too large a number", id="number"),
    pytest.param(float("nan"), "is nan, which hooks would read as null", id="nan"),
    pytest.param([{"amount": float("-inf")}], "is -inf", id="infinity"),
    pytest.param(Decimal("NaN"), "is NaN", id="decimal"),
    pytest.param({"1": "rm", 1: "ls"}, "two keys that are the same", id="equal-keys"),
    pytest.param([{None: "ls", "null": "rm"}], "two keys that are the same", id="equal-keys-below"),
    pytest.param(Excluded(), r"does not show \(secret\)", id="excluded-field"),
    pytest.param([Private()], r"does not show \(_secret\)", id="private-field"),
    pytest.param(Dumped(more=[1]), r"does not show \(more\)", id="other-dump"),
]


@pytest.mark.req("DELTA-GUARD-007")
@pytest.mark.attack("30.F18", "two arguments of which a guard is shown one, because their names are the same in JSON")
def test_names_that_are_the_same_in_json_are_refused(project: pathlib.Path) -> None:
    """The guard would see the last of them, and the tool gets both."""
    hook = {"type": "command", "command": "touch asked"}
    config = Config(project, settings={"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": [hook]}]}})

    async def run(_arguments: dict[str, Any]) -> ToolResult:
        return ToolResult(llm_content="ran")

    async def content(arguments: Any) -> str:
        return str((await execute_tool_with_hooks(config, "t", arguments, run)).llm_content)

    assert "two keys" in asyncio.run(content({"true": "rm", True: "ls"}))
    assert asyncio.run(content({1: "ls", "2": "ls"})) == "ran"


@pytest.mark.req("DELTA-GUARD-007")
@pytest.mark.attack("30.F18", "arguments that a guard is shown in part")
@pytest.mark.parametrize(("value", "why"), UNSHOWN)
def test_what_hooks_can_not_see_whole_is_refused(project: pathlib.Path, value: Any, why: str) -> None:
    """No hook runs for it, and neither does the tool; without hooks nothing is refused."""
    hook = {"type": "command", "command": "touch asked"}
    settings = {"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": [hook]}]}}
    ran: list[Any] = []

    async def run(arguments: dict[str, Any]) -> ToolResult:
        ran.append(arguments)
        return ToolResult(llm_content="ran")

    refused = asyncio.run(execute_tool_with_hooks(Config(project, settings=settings), "t", {"value": value}, run))
    assert re.search(why, str(refused.llm_content))
    assert (ran, (project / "asked").exists()) == ([], False)
    unguarded = Config(project, settings=json.loads('{"enableHooks": true}'))
    assert asyncio.run(execute_tool_with_hooks(unguarded, "t", {"value": value}, run)).llm_content == "ran"
