from collections.abc import Callable
from typing import Any

import pytest

from hookline.contract.events import HookEventName
from hookline.contract.hooks import ConfigSource, HookEntry, OnError
from hookline.contract.results import HookExecutionPlan
from hookline.engine._matcher import compile_matcher
from hookline.engine.planner import HookPlanner
from hookline.engine.registry import HookRegistry
from hookline.log import HookLogger
from hookline.settings.load import Layer

BEFORE_TOOL = HookEventName.BEFORE_TOOL


class Planned:
    """A planner on some settings, with a trust that can be changed and the plans that were made."""

    def __init__(self, *layers: Layer) -> None:
        self.layers = layers
        self.distrust: str | None = None
        self.made: list[HookExecutionPlan] = []
        self.registry = HookRegistry(lambda: self.layers, HookLogger())
        self.registry.initialize()
        self.planner = HookPlanner(self.registry, distrust=self._distrust, on_plan=self.made.append)

    def _distrust(self, _hook: HookEntry) -> str | None:
        return self.distrust

    def commands(self, subject: str | None = None, event: HookEventName = BEFORE_TOOL) -> list[str | None]:
        """What would run."""
        plan = self.planner.create_execution_plan(event, subject)
        return [hook.command for hook in plan.hooks] if plan else []

    def reasons(self, subject: str | None = None, event: HookEventName = BEFORE_TOOL) -> dict[str | None, str]:
        """Why the others would not."""
        return {skip.hook.command: skip.reason for skip in self.planner.explain(event, subject).skipped}


def group(*commands: str, **options: Any) -> dict[str, Any]:
    return {"hooks": [{"type": "command", "command": command} for command in commands], **options}


def layer(
    *groups: dict[str, Any],
    source: ConfigSource = ConfigSource.USER,
    event: HookEventName = BEFORE_TOOL,
    is_guest: bool = False,
    **values: Any,
) -> Layer:
    values = {"hooks": {event.value: list(groups)}, **values}
    return Layer(source=source, origin=f"{source}.json", values=values, is_guest=is_guest)


@pytest.mark.req("HOOK-011", "HOOK-012", "HOOK-021", "HOOK-022", "HOOK-087")
@pytest.mark.parametrize(
    ("subject", "commands"),
    [("write_file", ["w", "all"]), ("read_file", ["all"]), (None, ["w", "all", "never"])],
    ids=["matched", "unmatched", "nothing-to-compare"],
)
def test_matchers_choose(subject: str | None, commands: list[str]) -> None:
    """Only hooks whose matcher finds something run; with nothing to compare, all guards do."""
    planned = Planned(layer(group("w", matcher="^write"), group("all"), group("never", matcher="^x$")))
    assert planned.commands(subject) == commands


@pytest.mark.req("HOOK-012")
def test_no_plan_when_nothing_has_to_run() -> None:
    """An event without hooks, or whose hooks are all ruled out, has no plan; an explanation is there all the same."""
    planned = Planned(layer(group("w", matcher="^write")))
    assert planned.planner.create_execution_plan(HookEventName.AFTER_TOOL, "x") is None
    assert planned.planner.create_execution_plan(BEFORE_TOOL, "read_file") is None
    assert planned.planner.explain(HookEventName.AFTER_TOOL, "x").hooks == ()
    assert planned.reasons("read_file") == {"w": "matcher: '^write' does not match 'read_file'"}


@pytest.mark.req("HOOK-041", "HOOK-051", "HOOK-059", "HOOK-163")
@pytest.mark.parametrize(
    "event",
    [
        HookEventName.BEFORE_MODEL,
        HookEventName.AFTER_MODEL,
        HookEventName.BEFORE_TOOL_SELECTION,
        HookEventName.BEFORE_AGENT,
        HookEventName.AFTER_AGENT,
    ],
)
def test_some_events_ignore_matchers(event: HookEventName) -> None:
    """A matcher on a model event rules nothing out."""
    assert Planned(layer(group("a", matcher="^never$"), event=event)).commands("gemini", event) == ["a"]


@pytest.mark.req("HOOK-087")
@pytest.mark.parametrize(
    ("event", "matcher", "subject", "runs"),
    [
        (HookEventName.SESSION_START, "startup", "startup", True),
        (HookEventName.SESSION_START, " startup ", "startup", True),
        (HookEventName.SESSION_START, "start", "startup", False),
        (HookEventName.SESSION_START, "start.*", "startup", False),
        (HookEventName.SESSION_END, "*", "exit", True),
        (HookEventName.PRE_COMPRESS, "auto", "manual", False),
        (HookEventName.NOTIFICATION, "ToolPermission", "ToolPermission", True),
    ],
)
def test_triggers_are_compared_by_equality(event: HookEventName, matcher: str, subject: str, runs: bool) -> None:
    """On events without a tool a matcher is the trigger's own word."""
    planned = Planned(layer(group("a", matcher=matcher), event=event))
    assert planned.commands(subject, event) == (["a"] if runs else [])


@pytest.mark.req("HOOK-090", "HOOK-091", "HOOK-109")
def test_a_command_runs_once_as_its_first_entry_says() -> None:
    """Duplicates are told by the command alone, after matching, and the most specific source is kept."""
    planned = Planned(
        layer(group("same", "own", matcher="^write", sequential=True), source=ConfigSource.USER),
        layer(group("same", matcher="file"), source=ConfigSource.SYSTEM),
    )
    first = planned.planner.create_execution_plan(BEFORE_TOOL, "write_file")
    assert first is not None
    assert [(hook.command, hook.source) for hook in first.hooks] == [
        ("same", ConfigSource.USER),
        ("own", ConfigSource.USER),
    ]
    assert first.sequential
    said = "duplicate: the same command already runs from user.json: hooks.BeforeTool[0].hooks[0]"
    assert [(skip.hook.source, skip.reason) for skip in first.skipped] == [(ConfigSource.SYSTEM, said)]
    other = planned.planner.create_execution_plan(BEFORE_TOOL, "read_file")
    assert other is not None
    assert [hook.source for hook in other.hooks] == [ConfigSource.SYSTEM]
    assert not other.sequential


@pytest.mark.req("HOOK-103", "HOOK-108", "HOOK-109")
@pytest.mark.parametrize(
    ("groups", "sequential"),
    [
        ([group("a"), group("b")], False),
        ([group("a"), group("b", sequential=True)], True),
        ([group("a"), group("b", sequential=True, matcher="^never$")], False),
    ],
    ids=["none", "one-of-two", "one-that-does-not-run"],
)
def test_one_sequential_hook_makes_the_plan_sequential(groups: list[dict[str, Any]], sequential: bool) -> None:
    """Only hooks that run have a say in how the plan runs."""
    plan = Planned(layer(*groups)).planner.create_execution_plan(BEFORE_TOOL, "x")
    assert plan is not None
    assert plan.sequential is sequential


@pytest.mark.parametrize(
    ("off", "reason"),
    [
        pytest.param({"hooksConfig": {"disabled": ["a"]}}, "disabled: by project.json", id="disabled"),
        pytest.param({"is_guest": True}, "untrusted: never seen", id="untrusted"),
    ],
)
def test_a_hook_that_is_off_shadows_nobody(off: dict[str, Any], reason: str) -> None:
    """A disabled or untrusted hook is skipped with its reason, and the same command of the user still runs."""
    planned = Planned(layer(group("a"), source=ConfigSource.PROJECT, **off), layer(group("a")))
    planned.distrust = "never seen"
    plan = planned.planner.explain(BEFORE_TOOL, "x")
    assert [(skip.hook.source, skip.reason) for skip in plan.skipped] == [(ConfigSource.PROJECT, reason)]
    assert [hook.source for hook in plan.hooks] == [ConfigSource.USER]


@pytest.mark.req("HOOK-195")
def test_a_plugin_shadows_no_command() -> None:
    """A plugin that names a command does not keep the command hook from running."""
    plugin = {"hooks": [{"type": "plugin", "command": "guard"}]}
    assert Planned(layer(plugin, group("guard"))).commands("x") == [None, "guard"]


def test_plans_are_kept_while_nothing_changes() -> None:
    """The same question has the same plan, until the hooks change."""
    planned = Planned(layer(group("a")))
    first = planned.planner.create_execution_plan(BEFORE_TOOL, "x")
    assert planned.planner.create_execution_plan(BEFORE_TOOL, "x") is first
    assert len(planned.made) == 1
    planned.registry.set_hook_enabled("a", enabled=False)
    assert planned.planner.create_execution_plan(BEFORE_TOOL, "x") is None
    planned.layers = (layer(group("a", "b", matcher="y")),)
    planned.registry.initialize()
    assert planned.commands("xy") == ["b"]


def test_trust_is_asked_at_every_event() -> None:
    """A script that changed since the last event does not run any more, and runs again when it is trusted again."""
    planned = Planned(layer(group("a"), is_guest=True))
    assert planned.commands("x") == ["a"]
    planned.distrust = "it changed"
    assert planned.commands("x") == []
    assert planned.reasons("x") == {"a": "untrusted: it changed"}
    planned.distrust = None
    assert planned.commands("x") == ["a"]
    assert planned.commands("x") == ["a"]
    assert len(planned.made) == 3


def test_many_subjects_do_not_fill_the_memory() -> None:
    """Plans for more subjects than are kept are made anew, and are right."""
    planned = Planned(layer(group("a", matcher="7$")))
    for number in range(1100):
        assert planned.commands(f"tool_{number}") == (["a"] if number % 10 == 7 else [])
    assert planned.commands("tool_7") == ["a"]


def test_explaining_tells_nobody() -> None:
    """Who only asks what would run leaves no word of hooks that are not run; the event that follows does."""
    planned = Planned(layer(group("a", "b", matcher="y")))
    planned.planner.explain(BEFORE_TOOL, "x")
    assert planned.made == []
    planned.planner.create_execution_plan(BEFORE_TOOL, "x")
    planned.planner.create_execution_plan(BEFORE_TOOL, "x")
    assert [plan.event for plan in planned.made] == [BEFORE_TOOL]


def test_what_cannot_be_decided_runs() -> None:
    """A hook whose matcher takes too long runs, once, and is named; one that is not trusted is not even asked."""
    name = "z" * 60 + "!"
    planned = Planned(layer(group("a", matcher="^(z+)+$"), group("a"), group("b", matcher="q")))
    plan = planned.planner.explain(BEFORE_TOOL, name)
    assert [hook.command for hook in plan.hooks] == [hook.command for hook in plan.undecided] == ["a"]
    assert planned.planner.explain(BEFORE_TOOL, "zz!").undecided == ()
    guest = Planned(layer(group("a", matcher="^(zz*)+$"), is_guest=True))
    guest.distrust = "nobody knows it"
    assert guest.planner.explain(BEFORE_TOOL, name).undecided == ()


def test_hooks_that_change_while_trust_is_asked_for_are_not_mixed() -> None:
    """Another thread may read the settings anew in the middle of planning: what nobody trusts does not slip through."""
    planned = Planned(layer(group("theirs"), is_guest=True))
    asked: list[str | None] = []

    def distrust(hook: HookEntry) -> str:
        if not asked:
            planned.registry.initialize()
        asked.append(hook.command)
        return "nobody knows it"

    planner = HookPlanner(planned.registry, distrust=distrust, on_plan=planned.made.append)
    assert [planner.create_execution_plan(BEFORE_TOOL, "x") for _ in range(3)] == [None, None, None]


def test_hooks_that_change_while_matchers_are_compiled_are_not_mixed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A guard that comes in the middle of planning runs from the next event on."""
    planned = Planned(layer(group("old", matcher="^never$")))

    def compile_late(matcher: str) -> Callable[[str], bool | None]:
        monkeypatch.undo()
        planned.layers = (layer(group("guard")),)
        planned.registry.initialize()
        return compile_matcher(matcher)

    monkeypatch.setattr("hookline.engine.planner.compile_matcher", compile_late)
    assert planned.commands("x") == []
    assert planned.commands("x") == ["guard"]
    assert planned.commands("y") == ["guard"]


def test_a_question_of_trust_that_fails_costs_that_hook_only() -> None:
    """Others' guards are planned, and it is said why this one does not run."""
    planned = Planned(layer(group("theirs"), is_guest=True), layer(group("guard")))

    def distrust(_hook: HookEntry) -> None:
        raise ValueError("embedded null byte")

    planner = HookPlanner(planned.registry, distrust=distrust, on_plan=planned.made.append)
    plan = planner.create_execution_plan(BEFORE_TOOL, "x")
    assert plan is not None
    assert [hook.command for hook in plan.hooks] == ["guard"]
    assert [skip.reason for skip in plan.skipped] == [
        "untrusted: whether it is trusted can't be told (embedded null byte)"
    ]


def test_a_duplicate_loses_no_strictness() -> None:
    """A project's copy of a guard that runs in its place blocks on failure, and has its time, as that one would."""
    strict = {"type": "command", "command": "guard", "onError": "block", "timeout": 9000}
    weak = {"type": "command", "command": "guard", "timeout": 1}
    planned = Planned(layer({"hooks": [weak]}, is_guest=True, source=ConfigSource.PROJECT), layer({"hooks": [strict]}))
    plan = planned.planner.explain(BEFORE_TOOL, "x")
    assert [(hook.source, hook.on_error, hook.timeout_ms) for hook in plan.hooks] == [
        (ConfigSource.PROJECT, OnError.BLOCK, 9000)
    ]
    planned = Planned(layer({"hooks": [weak, strict]}))
    plan = planned.planner.explain(BEFORE_TOOL, "x")
    assert [(hook.on_error, hook.timeout_ms) for hook in plan.hooks] == [(OnError.BLOCK, 1)]
