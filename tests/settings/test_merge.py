from typing import Any

import pytest

from hookline.protocol.constants import ConfigSource, OnError
from hookline.settings.decode.settings import decode_settings
from hookline.settings.read.files import Layer
from hookline.settings.read.merge import authority, blocks_on_fault, by_authority, hooks_enabled

PROJECT, USER, SYSTEM = ConfigSource.PROJECT, ConfigSource.USER, ConfigSource.SYSTEM


def layer(source: ConfigSource, values: dict[str, Any] | None = None) -> Layer:
    return Layer(source=source, origin=f"{source}.json", values=values or {})


@pytest.mark.req("HOOK-084")
@pytest.mark.parametrize(
    ("said", "enabled"),
    [
        ({}, False),
        ({PROJECT: True}, True),
        ({PROJECT: True, USER: False}, False),
        ({PROJECT: False, USER: True}, True),
        ({USER: False, SYSTEM: True}, True),
        ({USER: True, SYSTEM: False}, False),
        ({PROJECT: True, USER: None, SYSTEM: None}, True),
    ],
)
def test_the_more_trusted_layer_decides(said: dict[ConfigSource, bool | None], enabled: bool) -> None:
    """A project cannot switch off its user's guards, nor a user the system's; who says nothing has no say."""
    layers = [layer(source, {"enableHooks": value}) for source, value in said.items()]
    assert hooks_enabled(layers) == (enabled, ())


@pytest.mark.req("HOOK-001")
@pytest.mark.parametrize(
    ("values", "enabled", "problems"),
    [
        ({"tools": {"enableHooks": True}}, True, []),
        ({"enableHooks": True, "tools": {"enableHooks": True}}, True, []),
        (
            {"enableHooks": False, "tools": {"enableHooks": True}},
            False,
            ["user.json: tools.enableHooks is true but enableHooks is false and is used; remove the older one"],
        ),
        ({"enableHooks": True, "tools": []}, True, []),
        (
            {"enableHooks": "yes"},
            True,
            ["user.json: enableHooks is neither true nor false and is read as true; write true or false"],
        ),
        (
            {"enableHooks": " OFF "},
            False,
            ["user.json: enableHooks is neither true nor false and is read as false; write true or false"],
        ),
        (
            {"tools": {"enableHooks": 0}},
            False,
            ["user.json: tools.enableHooks is neither true nor false and is read as false; write true or false"],
        ),
    ],
)
def test_spellings_of_enabling(values: dict[str, Any], enabled: bool, problems: list[str]) -> None:
    """The older spelling is read, the newer one wins, and what is neither is guessed towards running guards."""
    found, said = hooks_enabled([layer(USER, values)])
    assert (found, [str(problem) for problem in said]) == (enabled, problems)


def test_every_layer_is_heard_even_when_another_decides() -> None:
    """A wrong value is reported even where it is not used."""
    layers = [layer(PROJECT, {"enableHooks": 1}), layer(SYSTEM, {"enableHooks": True})]
    assert [problem.origin for problem in hooks_enabled(layers)[1]] == ["project.json"]


def test_layers_by_authority() -> None:
    """The system has the last word, then the user; equals keep their order."""
    layers = [layer(PROJECT), layer(USER), layer(PROJECT), layer(SYSTEM)]
    assert by_authority(layers) == [layers[3], layers[1], layers[0], layers[2]]
    assert authority(layers[0]) == authority(layers[2])
    assert by_authority(layers)[2] is layers[0]


@pytest.mark.parametrize(
    ("given", "blocks"),
    [
        pytest.param([("user", "block")], True, id="block"),
        pytest.param([("user", "allow")], False, id="allow"),
        pytest.param([("user", None)], False, id="null"),
        pytest.param([("user", 5)], True, id="a-wrong-value-is-the-stricter-one"),
        pytest.param([("project", "block")], False, id="a-project-sets-nothing"),
        pytest.param([("user", "block"), ("system", "allow")], False, id="the-more-trusted-decides"),
        pytest.param([("user", "allow"), ("system", "block")], True, id="the-more-trusted-decides-2"),
    ],
)
def test_whether_a_fault_blocks_is_read_as_the_decoder_does(given: list[tuple[str, Any]], blocks: bool) -> None:
    """Decoding may be what fails, so the door reads the raw settings, and comes to the same."""
    layers = [
        Layer(
            source=ConfigSource(name),
            origin=name,
            values={"hooksConfig": {"onFault": word}},
            is_guest=name == "project",
        )
        for name, word in given
    ]
    assert blocks_on_fault(layers) is blocks
    assert decode_settings(layers).options.on_fault is (OnError.BLOCK if blocks else OnError.ALLOW)
