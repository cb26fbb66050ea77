from collections import UserDict
from collections.abc import Iterator
from typing import Any

from hookline.protocol.arguments import ToolArguments, own_copy


class Unreadable(UserDict[str, Any]):
    """A mapping whose own code fails."""

    def __iter__(self) -> Iterator[str]:
        raise OSError("gone")


def test_an_unreadable_normal_form_is_a_fault() -> None:
    """It must not be read as empty arguments: guards would judge those, and the tool would run with them."""
    rules = ToolArguments.of(lambda _: Unreadable(path="/etc"), None)
    assert rules is not None
    assert rules.normal({"path": "x"}) == {"path": "x"}
    assert rules.fault is not None
    assert "can't be read" in rules.fault


def test_an_unreadable_mapping_has_no_copy() -> None:
    """None is not an empty mapping: the caller refuses the call."""
    assert own_copy(Unreadable(path="x")) is None
    assert own_copy(["x"]) is None
    assert own_copy({"x": [1, {"y": 2}]}) == {"x": [1, {"y": 2}]}
