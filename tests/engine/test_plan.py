from typing import Any

import pytest
from msgspec.structs import replace

from hookline.engine.plan import HookPlanner, plan
from hookline.engine.registry import HookRegistry
from hookline.log.write.logger import HookLogger
from hookline.protocol.constants import ConfigSource, OnError
from hookline.protocol.events import HookEventName
from hookline.protocol.hook_entry import CommandLine, HookEntry
from hookline.protocol.verdict import HookExecutionPlan, SkipKind
from hookline.settings.decode.settings import decode_settings
from hookline.settings.read.files import Layer

BEFORE_TOOL = HookEventName.BEFORE_TOOL


class Planned:
    """A planner on some settings, with a trust that can be changed and the plans that were made."""

    def __init__(self, *layers: Layer) -> None:
        self.layers = layers
        self.why_untrusted: str | None = None
        self.made: list[HookExecutionPlan] = []
        self.registry = HookRegistry(lambda: decode_settings(self.layers), HookLogger())
        self.registry.initialize()
        self.planner = HookPlanner(
            self.registry.get_hooks_for_event, why_untrusted=lambda _: self.why_untrusted, on_plan=self.made.append
        )

    def commands(self, subject: str | None = None, event: HookEventName = BEFORE_TOOL) -> list[str | None]:
        """Return the hooks that would run."""
        made = self.planner.create_execution_plan(event, subject)
        return [hook.command for hook in made.hooks] if made else []

    def reasons(self, subject: str | None = None, event: HookEventName = BEFORE_TOOL) -> dict[str | None, str]:
        """Why the others would not."""
        return {skip.hook.command: skip.reason for skip in self.planner.explain(event, subject).skipped}


def group(*commands: str, **options: Any) -> dict[str, Any]:
    return {"hooks": [{"type": "command", "command": command} for command in commands], **options}


def at(*groups: dict[str, Any]) -> dict[str, Any]:
    return {BEFORE_TOOL.value: list(groups)}


def layer(
    *groups: dict[str, Any],
    source: ConfigSource = ConfigSource.USER,
    event: HookEventName = BEFORE_TOOL,
    is_guest: bool = False,
    **values: Any,
) -> Layer:
    values = {"enableHooks": True, "hooks": {event.value: list(groups)}, **values}
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
    """Duplicates are found by their command and environment, after matching, and the first of a layer is kept."""
    planned = Planned(layer(group("same", "own", matcher="^write", sequential=True), group("same", matcher="file")))
    first = planned.planner.create_execution_plan(BEFORE_TOOL, "write_file")
    assert first is not None
    places = [(hook.command, hook.location) for hook in first.hooks]
    assert places == [("same", "hooks.BeforeTool[0].hooks[0]"), ("own", "hooks.BeforeTool[0].hooks[1]")]
    assert first.sequential
    said = "duplicate: the same command already runs from user.json: hooks.BeforeTool[0].hooks[0]"
    assert [(skip.hook.location, skip.kind, skip.reason) for skip in first.skipped] == [
        ("hooks.BeforeTool[1].hooks[0]", SkipKind.DUPLICATE, said)
    ]
    other = planned.planner.create_execution_plan(BEFORE_TOOL, "read_file")
    assert other is not None
    assert [hook.location for hook in other.hooks] == ["hooks.BeforeTool[1].hooks[0]"]
    assert not other.sequential


@pytest.mark.req("HOOK-090", "HOOK-091")
def test_the_same_command_of_two_files_is_one_hook() -> None:
    """Which file an entry is from makes no other hook of it; the one of the most trusted file runs."""
    layers = layer(group("same"), source=ConfigSource.PROJECT), layer(group("same", "own"))
    made = Planned(*layers).planner.explain(BEFORE_TOOL, "x")
    assert [(hook.command, hook.source) for hook in made.hooks] == [
        ("same", ConfigSource.USER),
        ("own", ConfigSource.USER),
    ]
    assert [(skip.hook.source, skip.kind) for skip in made.skipped] == [(ConfigSource.PROJECT, SkipKind.DUPLICATE)]


@pytest.mark.req("HOOK-090", "HOOK-091")
@pytest.mark.parametrize(
    ("environments", "count"),
    [
        pytest.param([{}, {}], 1, id="none"),
        pytest.param([{"A": "1", "B": "2"}, {"B": "2", "A": "1"}], 1, id="the-same"),
        pytest.param([{"LEVEL": "high"}, {"LEVEL": "low"}], 2, id="other-values"),
        pytest.param([{"LEVEL": "high"}, {}], 2, id="one-without"),
    ],
)
def test_the_same_command_with_another_environment_is_another_guard(
    environments: list[dict[str, str]], count: int
) -> None:
    """A project's copy of a user's guard with other variables does not take its place."""
    entries = [{"type": "command", "command": "guard", "env": env} for env in environments]
    made = Planned(layer({"hooks": entries})).planner.explain(BEFORE_TOOL, "x")
    assert (len(made.hooks), len(made.skipped)) == (count, 2 - count)


@pytest.mark.parametrize(
    "own",
    [
        pytest.param({"limits": {"memory": 1}}, id="too little memory"),
        pytest.param({"limits": {"memory": "little"}}, id="limits that make it fail"),
        pytest.param({"network": False}, id="no network"),
    ],
)
def test_the_same_command_with_other_limits_is_another_guard(own: dict[str, Any]) -> None:
    """A project's copy of a user's guard that can't do its work does not take its place."""
    guard = {"type": "command", "command": "guard"}
    layers = layer({"hooks": [{**guard, **own}]}, source=ConfigSource.PROJECT), layer({"hooks": [guard]})
    made = Planned(*layers).planner.explain(BEFORE_TOOL, "x")
    assert [hook.source for hook in made.hooks] == [ConfigSource.PROJECT, ConfigSource.USER]


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
    made = Planned(layer(*groups)).planner.create_execution_plan(BEFORE_TOOL, "x")
    assert made is not None
    assert made.sequential is sequential


@pytest.mark.parametrize(
    ("off", "kind", "reason"),
    [
        pytest.param(
            {"hooksConfig": {"disabled": ["a"]}}, SkipKind.DISABLED, "disabled: by project.json", id="disabled"
        ),
        pytest.param({"is_guest": True}, SkipKind.UNTRUSTED, "untrusted: never seen", id="untrusted"),
    ],
)
def test_a_hook_that_is_off_shadows_nobody(off: dict[str, Any], kind: SkipKind, reason: str) -> None:
    """A disabled or untrusted hook is skipped with its reason, and the same command of the user still runs."""
    planned = Planned(layer(group("a"), source=ConfigSource.PROJECT, **off), layer(group("a")))
    planned.why_untrusted = "never seen"
    made = planned.planner.explain(BEFORE_TOOL, "x")
    assert [(skip.hook.source, skip.kind, skip.reason) for skip in made.skipped] == [
        (ConfigSource.PROJECT, kind, reason)
    ]
    assert [hook.source for hook in made.hooks] == [ConfigSource.USER]


def test_a_hook_on_trial_shadows_no_guard() -> None:
    """A more trusted file tries a command out that another one enforces: both run, and the guard counts."""
    trial = {"hooks": [{"type": "command", "command": "guard", "mode": "shadow"}]}
    planned = Planned(layer(group("guard"), source=ConfigSource.USER), layer(trial, source=ConfigSource.SYSTEM))
    assert planned.commands("x") == ["guard", "guard"]


@pytest.mark.req("HOOK-195")
def test_a_plugin_shadows_no_command() -> None:
    """A plugin that names a command does not replace the command hook."""
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
    planned.why_untrusted = "it changed"
    assert planned.commands("x") == []
    assert planned.reasons("x") == {"a": "untrusted: it changed"}
    planned.why_untrusted = None
    assert planned.commands("x") == ["a"]
    assert planned.commands("x") == ["a"]
    assert len(planned.made) == 3


def test_many_subjects_do_not_fill_the_memory() -> None:
    """Plans for more subjects than are cached are made again, and are right."""
    planned = Planned(layer(group("a", matcher="7$")))
    for number in range(1100):
        assert planned.commands(f"tool_{number}") == (["a"] if number % 10 == 7 else [])
    assert planned.commands("tool_7") == ["a"]


def test_explaining_tells_nobody() -> None:
    """A question about hooks that would run logs nothing about those that are skipped; the event that follows does."""
    planned = Planned(layer(group("a", "b", matcher="y")))
    planned.planner.explain(BEFORE_TOOL, "x")
    assert planned.made == []
    planned.planner.create_execution_plan(BEFORE_TOOL, "x")
    planned.planner.create_execution_plan(BEFORE_TOOL, "x")
    assert [plan.event for plan in planned.made] == [BEFORE_TOOL]


def test_a_matcher_that_could_take_too_long_runs_for_everything() -> None:
    """Its hook runs, once; that of an untrusted hook is not even looked at."""
    name = "z" * 60 + "!"
    hooks = decode_settings([layer(group("a", matcher="^(z+)+$"), group("a"), group("b", matcher="q"))]).hooks
    assert [hook.command for hook in plan(hooks, BEFORE_TOOL, name).hooks] == ["a"]
    guests = decode_settings([layer(group("a", matcher="^(zz*)+$"), is_guest=True)]).hooks
    made = plan(guests, BEFORE_TOOL, name, why_untrusted=lambda _: "it is unknown")
    assert (made.hooks, [skip.kind for skip in made.skipped]) == ((), [SkipKind.UNTRUSTED])


def test_hooks_that_change_while_trust_is_asked_for_are_not_mixed() -> None:
    """Another thread may read the settings during planning: an untrusted hook does not slip through."""
    planned = Planned(layer(group("theirs"), is_guest=True))
    asked: list[str | None] = []

    def why_untrusted(hook: HookEntry) -> str:
        if not asked:
            planned.registry.initialize()
        asked.append(hook.command)
        return "it is unknown"

    planner = HookPlanner(planned.registry.get_hooks_for_event, why_untrusted=why_untrusted)
    assert [planner.create_execution_plan(BEFORE_TOOL, "x") for _ in range(3)] == [None, None, None]


def test_hooks_that_change_while_a_plan_is_made_are_not_mixed() -> None:
    """A guard that comes in the middle of planning runs from the next event on."""
    planned = Planned(layer(group("old", matcher="^never$"), is_guest=True))
    asked: list[HookEntry] = []

    def why_untrusted(hook: HookEntry) -> None:
        if not asked:
            asked.append(hook)
            planned.layers = (layer(group("guard")),)
            planned.registry.initialize()

    planner = HookPlanner(planned.registry.get_hooks_for_event, why_untrusted=why_untrusted)
    assert planner.create_execution_plan(BEFORE_TOOL, "x") is None
    for subject in ("x", "y"):
        made = planner.create_execution_plan(BEFORE_TOOL, subject)
        assert made is not None
        assert [hook.command for hook in made.hooks] == ["guard"]


def test_a_question_of_trust_that_fails_costs_that_hook_only() -> None:
    """The guards of other hooks are planned, and the reason for which this one does not run is reported."""
    planned = Planned(layer(group("theirs"), is_guest=True), layer(group("guard")))

    def why_untrusted(_hook: HookEntry) -> None:
        raise ValueError("embedded null byte")

    planner = HookPlanner(planned.registry.get_hooks_for_event, why_untrusted=why_untrusted)
    made = planner.create_execution_plan(BEFORE_TOOL, "x")
    assert made is not None
    assert [hook.command for hook in made.hooks] == ["guard"]
    assert [skip.reason for skip in made.skipped] == [
        "untrusted: whether it is trusted can't be determined (embedded null byte)"
    ]


@pytest.mark.req("HOOK-090")
def test_of_two_layers_the_more_trusted_ones_copy_runs() -> None:
    """It runs at its own place, with its own options; only an onError of block is taken over from the other."""
    own = {"type": "command", "command": "guard", "timeout": 9000}
    copies = [{**own, "timeout": 1, "onError": "block"}, {"type": "command", "command": "theirs"}]
    hooks = decode_settings(
        [
            layer({"hooks": copies, "sequential": True}, source=ConfigSource.PROJECT, is_guest=True),
            layer({"hooks": [{"type": "command", "command": "first"}, own]}),
            layer(extensions=[{"name": "e", "hooks": at({"hooks": [own]})}], source=ConfigSource.PROJECT),
        ]
    ).hooks
    made = plan(hooks, BEFORE_TOOL, "x")
    assert [(hook.command, hook.source) for hook in made.hooks] == [
        ("theirs", ConfigSource.PROJECT),
        ("first", ConfigSource.USER),
        ("guard", ConfigSource.USER),
    ]
    guard = made.hooks[-1]
    assert (guard.timeout_ms, guard.on_error, guard.sequential) == (9000, OnError.BLOCK, False)
    place = "the same command already runs from user.json: hooks.BeforeTool[0].hooks[1]"
    assert [(skip.hook.source, skip.detail) for skip in made.skipped] == [
        (ConfigSource.PROJECT, place),
        (ConfigSource.EXTENSIONS, place),
    ]


def test_of_one_layer_the_first_copy_runs() -> None:
    """With its own options; only an onError of block is taken over from the other."""
    strict = {"type": "command", "command": "guard", "onError": "block", "timeout": 9000}
    weak = {"type": "command", "command": "guard", "timeout": 1}
    for given in ([weak, strict], [{**weak, "onError": "block"}, strict]):
        made = Planned(layer({"hooks": given})).planner.explain(BEFORE_TOOL, "x")
        assert [(hook.on_error, hook.timeout_ms) for hook in made.hooks] == [(OnError.BLOCK, 1)]


def test_a_final_copy_is_another_guard() -> None:
    """A final hook can't rewrite, and another one does not judge last: neither can stand for the other."""
    own = {"type": "command", "command": "guard"}
    made = Planned(layer({"hooks": [{**own, "final": True}, own]})).planner.explain(BEFORE_TOOL, "x")
    assert [hook.final for hook in made.hooks] == [False, True]


@pytest.mark.parametrize(
    ("other", "count"),
    [
        ({"dialect": "claude"}, 1),
        ({"dialect": "claude", "async": True}, 2),
        ({"dialect": "claude", "if": "Bash(git *)"}, 2),
        ({"dialect": "gemini"}, 2),
        ({}, 2),
        ({"dialect": "claud"}, 2),
    ],
)
@pytest.mark.parametrize("is_first", [True, False])
def test_the_same_command_for_another_agent_is_another_guard(other: dict[str, Any], count: int, is_first: bool) -> None:
    """It has another input, or is not waited for, or only fails: whichever comes first, both run."""
    own = {"type": "command", "command": "guard", "dialect": "claude"}
    copy = {"type": "command", "command": "guard", **other}
    hooks = [copy, own] if is_first else [own, copy]
    made = Planned(layer({"hooks": hooks})).planner.explain(BEFORE_TOOL, "x")
    assert len(made.hooks) == count


@pytest.mark.req("HOOK-187")
def test_less_trusted_layers_come_first() -> None:
    """An extension stands with the file that names it; final guards come after all others."""
    entry = {"type": "command", "final": True}
    hooks = decode_settings(
        [
            layer(group("p"), source=ConfigSource.PROJECT, extensions=[{"name": "e", "hooks": at(group("p-ext"))}]),
            layer(
                {"hooks": [{**entry, "command": "u-final"}]},
                group("u"),
                extensions=[{"name": "e", "hooks": at(group("u-ext"))}],
            ),
            layer(group("s"), source=ConfigSource.SYSTEM),
        ]
    ).hooks
    assert [hook.command for hook in hooks] == ["p", "u-final", "u", "s", "p-ext", "u-ext"]
    made = plan(hooks, BEFORE_TOOL, "x")
    assert [hook.command for hook in made.hooks] == ["p", "p-ext", "u", "u-ext", "s", "u-final"]


def test_a_plan_is_a_function_of_hooks_event_subject_and_trust() -> None:
    """Every hook of the event is in the plan or skipped with its kind; nothing but the arguments is looked at."""
    hooks = decode_settings(
        [
            layer(group("theirs"), group("both"), source=ConfigSource.PROJECT, is_guest=True),
            layer(
                group("off", "both", "on"),
                group("other", matcher="^write"),
                group("first", sequential=True),
                hooksConfig={"disabled": ["off"]},
            ),
            layer(group("elsewhere"), event=HookEventName.AFTER_TOOL),
        ]
    ).hooks
    made = plan(hooks, BEFORE_TOOL, "ls", why_untrusted=lambda hook: "new" if hook.command == "theirs" else None)
    assert (made.event, made.subject, made.sequential) == (BEFORE_TOOL, "ls", True)
    assert [hook.command for hook in made.hooks] == ["both", "on", "first"]
    place = "user.json: hooks.BeforeTool[0].hooks[1]"
    assert [(skip.hook.command, skip.kind, skip.detail) for skip in made.skipped] == [
        ("theirs", SkipKind.UNTRUSTED, "new"),
        ("off", SkipKind.DISABLED, "by user.json"),
        ("both", SkipKind.DUPLICATE, f"the same command already runs from {place}"),
        ("other", SkipKind.UNMATCHED, "'^write' does not match 'ls'"),
    ]
    assert plan(hooks, BEFORE_TOOL, "ls").hooks[0].command == "theirs"
    assert plan((), BEFORE_TOOL) == HookExecutionPlan(event=BEFORE_TOOL, hooks=(), sequential=False)


def test_only_hooks_that_need_it_are_asked_for_trust() -> None:
    """A user's own hooks are not looked up, and a disabled one of the project is not either."""
    mine, theirs = decode_settings(
        [layer(group("mine")), layer(group("theirs"), source=ConfigSource.PROJECT, is_guest=True)]
    ).hooks
    asked: list[str | None] = []

    def why_untrusted(hook: HookEntry) -> None:
        asked.append(hook.command)

    off = replace(theirs, run=CommandLine("off"), disabled_by="a person")
    assert len(plan([mine, theirs, off], BEFORE_TOOL, why_untrusted=why_untrusted).hooks) == 2
    assert asked == ["theirs"]
