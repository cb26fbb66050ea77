from collections.abc import Mapping
from typing import Any

import pytest

from hookline.engine.registry import HookRegistry
from hookline.errors import HookRegistryNotInitializedError
from hookline.log.write.logger import HookLogger, MemorySink
from hookline.protocol.constants import ConfigSource
from hookline.protocol.events import HookEventName
from hookline.settings.decode.settings import decode_settings
from hookline.settings.read.files import Layer


def hook(command: str, **options: Any) -> dict[str, Any]:
    return {"type": "command", "command": command, **options}


def before_tool(*hooks: Any, matcher: Any = None) -> dict[str, Any]:
    return {"hooks": {"BeforeTool": [{"hooks": list(hooks), "matcher": matcher}]}}


def layer(source: ConfigSource, values: Mapping[str, Any]) -> Layer:
    return Layer(source=source, origin=f"{source}.json", values={"enableHooks": True, **values})


class Registered:
    """A registry on some layers, and what it said."""

    def __init__(self, *layers: Layer) -> None:
        self.sink = MemorySink()
        self.registry = HookRegistry(lambda: decode_settings(layers), HookLogger([self.sink]))

    def commands(self, event: HookEventName = HookEventName.BEFORE_TOOL) -> list[str | None]:
        """Return the hooks that are registered for an event."""
        return [entry.command for entry in self.registry.get_hooks_for_event(event)]

    def said(self) -> list[tuple[str, str]]:
        """Return the log, with levels."""
        return [(record.level.value, record.message) for record in self.sink.records]


@pytest.mark.req("HOOK-148")
def test_an_uninitialized_registry_says_so() -> None:
    """Asking before `initialize()` is an error that names the remedy."""
    registry = Registered().registry
    for ask in (registry.get_all_hooks, lambda: registry.set_hook_enabled("x", enabled=True)):
        with pytest.raises(HookRegistryNotInitializedError, match=r"call `registry\.initialize\(\)` first"):
            ask()


@pytest.mark.req("HOOK-085", "HOOK-086", "HOOK-187")
def test_hooks_are_ordered_by_source() -> None:
    """Project, user, system, extensions, whatever the order of the layers; equals keep their order."""
    extension = {"extensions": [{"name": "e", **before_tool(hook("e"))}]}
    registered = Registered(
        layer(ConfigSource.SYSTEM, before_tool(hook("s"))),
        layer(ConfigSource.USER, {**before_tool(hook("u1"), hook("u2")), **extension}),
        layer(ConfigSource.PROJECT, before_tool(hook("p"))),
    )
    registered.registry.initialize()
    assert registered.commands() == ["p", "u1", "u2", "s", "e"]
    assert registered.commands(HookEventName.AFTER_TOOL) == []
    assert [entry.command for entry in registered.registry.get_all_hooks()] == registered.commands()
    hooks = registered.registry.get_hooks_for_event(HookEventName.BEFORE_TOOL)
    assert registered.registry.get_hooks_for_event(HookEventName.BEFORE_TOOL) is hooks


@pytest.mark.req("HOOK-191")
def test_bad_entries_are_logged_and_the_rest_counts() -> None:
    """A hook that can't be used, and a field that was replaced by its default, are warnings, each with its place."""
    registered = Registered(
        layer(ConfigSource.USER, before_tool({"type": "comand", "command": "x"}, hook("good", timeout=-1)))
    )
    registered.registry.initialize()
    assert registered.commands() == ["good"]
    assert [(level, message.partition(" ")[0]) for level, message in registered.said()] == [
        ("warn", "user.json:"),
        ("warn", "user.json:"),
    ]
    given = [record.to_dict() for record in registered.sink.records]
    assert [(record["kind"], record["origin"], record["location"]) for record in given] == [
        ("settings", "user.json", "hooks.BeforeTool[0].hooks[0]"),
        ("settings", "user.json", "hooks.BeforeTool[0].hooks[1].timeout"),
    ]


@pytest.mark.req("HOOK-088")
@pytest.mark.parametrize(
    ("event", "matcher", "warned"),
    [
        ("BeforeTool", "*_file", True),
        ("AfterTool", "(", True),
        ("BeforeTool", "^write_", False),
        ("BeforeTool", "*", False),
        ("BeforeTool", None, False),
        ("SessionStart", "*_x", False),
        ("BeforeModel", "(", False),
    ],
)
def test_a_matcher_that_is_no_pattern_is_warned_of(event: str, matcher: str | None, warned: bool) -> None:
    """A glob in place of a pattern matches next to nothing, so the log explains it."""
    registered = Registered(layer(ConfigSource.USER, {"hooks": {event: [{"hooks": [hook("x")], "matcher": matcher}]}}))
    registered.registry.initialize()
    expected = (
        f"user.json: hooks.{event}[0].hooks[0]: matcher {matcher!r} is not a regular expression, so it matches only a"
        " tool of exactly that name; for a prefix write ^write_, for a suffix _file$"
    )
    assert registered.said() == ([("warn", expected)] if warned else [])


@pytest.mark.req("DELTA-HSYS-002")
def test_hooks_can_be_switched_by_name() -> None:
    """Every hook of a name is switched on or off, a re-read keeps that, and an unknown name changes nothing."""
    registered = Registered(
        layer(ConfigSource.USER, before_tool(hook("a", name="guard"), hook("b", enabled=False), hook("guard")))
    )
    registry = registered.registry
    registry.initialize()

    def enabled() -> list[bool]:
        return [entry.enabled for entry in registry.get_all_hooks()]

    assert enabled() == [True, False, True]
    assert registry.set_hook_enabled("guard", enabled=False)
    assert registry.set_hook_enabled("b", enabled=True)
    assert not registry.set_hook_enabled("a", enabled=False)
    assert enabled() == [False, True, False]
    assert registry.get_all_hooks()[0].disabled_by == "set_hook_enabled"
    registry.initialize()
    assert enabled() == [False, True, False]
    assert registry.set_hook_enabled("guard", enabled=True)
    assert enabled() == [True, True, True]


@pytest.mark.req("HOOK-001")
def test_disabled_hooks_are_no_hooks() -> None:
    """Where hooks are not enabled, the registry has none, and what is wrong with the settings is known all the same."""
    registered = Registered(layer(ConfigSource.USER, {**before_tool(hook("a"), {"type": "x"}), "enableHooks": False}))
    registered.registry.initialize()
    assert registered.commands() == []
    assert len(registered.said()) == 1


def test_settings_are_swapped_whole() -> None:
    """After `initialize()` the registry has the hooks of the settings as they are now."""
    given: list[Layer] = [layer(ConfigSource.USER, before_tool(hook("a"), {"type": "x"}))]
    registry = HookRegistry(lambda: decode_settings(given), HookLogger())
    registry.initialize()
    before = registry.get_hooks_for_event(HookEventName.BEFORE_TOOL)
    given[:] = [layer(ConfigSource.USER, before_tool(hook("b")))]
    assert registry.get_hooks_for_event(HookEventName.BEFORE_TOOL) is before
    registry.initialize()
    assert [entry.command for entry in registry.get_hooks_for_event(HookEventName.BEFORE_TOOL)] == ["b"]
