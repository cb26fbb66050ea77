"""Properties of settings files with any content."""

import json
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from hookline.engine.plan import HookPlanner
from hookline.engine.registry import HookRegistry
from hookline.log.write.logger import HookLogger
from hookline.protocol.constants import ConfigSource
from hookline.protocol.events import HookEventName
from hookline.settings.decode.schema import SettingsFile
from hookline.settings.decode.settings import decode_settings
from hookline.settings.read.files import Layer
from hookline.settings.read.jsonc import parse, plain_json
from hookline.settings.read.merge import hooks_enabled

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)
OPTIONS = ("type", "command", "timeout", "name", "description", "enabled", "env", "onError", "budget")
HOOK = st.fixed_dictionaries({}, optional={**dict.fromkeys(OPTIONS, JSON), "type": st.just("command") | JSON}) | JSON
GROUP = (
    st.fixed_dictionaries(
        {}, optional={"hooks": st.lists(HOOK, max_size=3) | JSON, "matcher": JSON, "sequential": JSON}
    )
    | JSON
)
EVENTS = (
    st.dictionaries(st.sampled_from([*HookEventName, "PreToolUse", ""]), st.lists(GROUP, max_size=3) | JSON, max_size=3)
    | JSON
)
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "enableHooks": JSON,
        "tools": JSON,
        "hooks": EVENTS,
        "hooksConfig": st.dictionaries(
            st.sampled_from(["disabled", "outputLimit", "maxConcurrent", "redact", "log", "environment", "x"]), JSON
        )
        | JSON,
        "extensions": st.lists(
            st.fixed_dictionaries({}, optional={"name": JSON, "isActive": JSON, "hooks": EVENTS}) | JSON, max_size=2
        )
        | JSON,
    },
)
GUARD = {"type": "command", "command": "guard"}


def layer(values: dict[str, Any], source: ConfigSource = ConfigSource.USER) -> Layer:
    return Layer(source=source, origin="f", values=values, text=json.dumps(values))


@given(SETTINGS, SETTINGS)
def test_any_settings_are_read(one: dict[str, Any], other: dict[str, Any]) -> None:
    """Any JSON in any place gives hooks that can be planned and problems that can be shown, never an exception."""
    layers = [layer(one), layer(other, ConfigSource.SYSTEM)]
    decoded = decode_settings(layers)
    assert all(isinstance(str(problem), str) for problem in (*decoded.problems, *hooks_enabled(layers)[1]))
    assert all(entry.timeout_ms >= 0 for entry in decoded.hooks)
    assert decode_settings(layers).options.output_limit >= 1
    settings = decode_settings(layers)
    assert (settings.hooks, settings.problems) == (decoded.hooks, decoded.problems)
    registry = HookRegistry(lambda: settings, HookLogger())
    registry.initialize()
    planner = HookPlanner(registry.get_hooks_for_event)
    for event in HookEventName:
        made = planner.explain(event, "subject")
        assert len(made.hooks) + len(made.skipped) == len(registry.get_hooks_for_event(event))
        assert {hook.event for hook in made.hooks} <= {event}


@given(st.lists(GROUP, max_size=4), st.data())
def test_no_neighbour_costs_a_guard(groups: list[Any], data: st.DataObject) -> None:
    """A good hook runs with any content before, after and beside it in its file."""
    beside = data.draw(st.lists(HOOK, max_size=3))
    beside.insert(data.draw(st.integers(0, len(beside))), GUARD)
    groups.insert(data.draw(st.integers(0, len(groups))), {"hooks": beside})
    commands = [entry.command for entry in decode_settings([layer({"hooks": {"BeforeTool": groups}})]).hooks]
    assert "guard" in commands


@given(SETTINGS)
def test_what_the_types_accept_has_no_problems(settings: dict[str, Any]) -> None:
    """Settings that the schema's types accept lose no hook and are not complained of as wrong types."""
    try:
        accepted = msgspec.convert(settings, SettingsFile)
    except msgspec.ValidationError:
        return
    decoded = decode_settings([layer(settings)])
    wrong = [str(problem) for problem in decoded.problems if "expected" in problem.message]
    assert wrong == []
    assert isinstance(accepted, SettingsFile)


@given(JSON, st.text(st.sampled_from(" \n\t"), max_size=3), st.booleans())
def test_comments_and_commas_change_nothing(value: Any, space: str, trailing: bool) -> None:
    """A JSON value with comments around and within it, and with a comma too many, is the same value."""
    text = json.dumps([value], indent=1, default=str)
    text = text.replace("NaN", "0").replace("-Infinity", "0").replace("Infinity", "0")
    commented = f"/* [ */{space}{text[:-1]}{',' if trailing else ''} // ]\n{text[-1:]}{space}// end"
    assert parse(commented) == json.loads(text)
    assert len(plain_json(commented)) == len(commented)


@given(st.text(st.sampled_from('{}[]",:/*\\ \na1')))
def test_any_text_is_json_or_a_value_error(text: str) -> None:
    """Blanking comments keeps the length of any text, and reading raises nothing but ValueError."""
    assert len(plain_json(text)) == len(text)
    try:
        parse(text)
    except ValueError:
        return
