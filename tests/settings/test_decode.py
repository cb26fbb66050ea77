import json
import math
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hookline.client.config import Config
from hookline.protocol.constants import ConfigSource, HookType, OnError, TrustLevel
from hookline.protocol.events import LIFECYCLE_EVENTS, HookEventName
from hookline.protocol.hook_entry import CommandLine, HookEntry, ResourceLimits, Unsupported
from hookline.settings.decode.schema import HooksConfigSettings, LogSettings
from hookline.settings.decode.settings import decode_settings
from hookline.settings.read.files import Layer, Problem
from hookline.settings.read.jsonc import parse

PROJECT, USER, SYSTEM = ConfigSource.PROJECT, ConfigSource.USER, ConfigSource.SYSTEM
TIME = "a number of at least 0"
GOOD = {"type": "command", "command": "good"}
GOOD_ENTRY = HookEntry(
    event=HookEventName.BEFORE_TOOL,
    source=ConfigSource.USER,
    origin="user.json",
    location="hooks.BeforeTool[0].hooks[0]",
    run=CommandLine("good"),
    rank=2,
)


def layer(values: dict[str, Any], source: ConfigSource = ConfigSource.USER, *, is_guest: bool = False) -> Layer:
    return Layer(source=source, origin=f"{source}.json", values=values, is_guest=is_guest)


def before_tool(*hooks: Any, **group: Any) -> dict[str, Any]:
    return {"hooks": {"BeforeTool": [{"hooks": list(hooks), **group}]}}


def decode(*layers: Layer) -> tuple[list[HookEntry], list[str]]:
    decoded = decode_settings(layers)
    return list(decoded.hooks), [str(problem) for problem in decoded.problems]


@pytest.mark.req("HOOK-080", "HOOK-082", "HOOK-083")
def test_a_hook_with_everything() -> None:
    """Every option of a hook and of its group arrives in the entry."""
    hook = {
        **GOOD,
        "timeout": 1500,
        "name": "n",
        "description": "d",
        "env": {"A": "b"},
        "onError": "block",
        "budget": 20,
    }
    assert decode(layer(before_tool(hook, matcher="write", sequential=True))) == (
        [
            replace(
                GOOD_ENTRY,
                timeout_ms=1500.0,
                name="n",
                description="d",
                matcher="write",
                sequential=True,
                env={"A": "b"},
                on_error=OnError.BLOCK,
                budget_ms=20.0,
            )
        ],
        [],
    )


@pytest.mark.req("HOOK-081")
def test_all_eleven_events_are_known() -> None:
    """Every event name is accepted, and every hook knows its event and its place."""
    entries, problems = decode(layer({"hooks": {event.value: [{"hooks": [GOOD]}] for event in HookEventName}}))
    assert [(entry.event, entry.location) for entry in entries] == [
        (event, f"hooks.{event}[0].hooks[0]") for event in HookEventName
    ]
    assert problems == []


@pytest.mark.req("HOOK-191")
@pytest.mark.parametrize(
    ("bad", "fault"),
    [
        (
            {"command": "x"},
            'has no type; add "type": "command"',
        ),
        (
            {"type": "Command", "command": "x"},
            'has the type "Command"; write "type": "command", or "http", "plugin" or "remote", in small letters',
        ),
        (
            {"type": ["command"], "command": "x"},
            'has a type that is an array; write "type": "command", or "http", "plugin" or "remote", in small letters',
        ),
        ({"type": "command"}, "has no command; give a command or remove the entry"),
        ({"url": "http://127.0.0.1/"}, 'has no type; add "type": "http"'),
        ({"url": "http://127.0.0.1/", "command": "true"}, 'has no type; add "type": "command"'),
        (
            {"type": "command", "url": "http://127.0.0.1/"},
            'has a url and no command; write "type": "http"',
        ),
        ({"type": "command", "command": None}, "has no command; give a command or remove the entry"),
        ({"type": "command", "command": " \n"}, "has an empty command; give a command or remove the entry"),
        (
            {"type": "command", "command": ["rm", "x"]},
            "has a command that is not a string; write the whole command line as one string",
        ),
        (
            {"type": "command", "command": "bash", "args": ["./guard.sh"]},
            "has args, which are not passed to commands here; write the whole command line as one string",
        ),
        (
            {"type": "plugin", "command": 5},
            "has a command that is not a string; write the whole command line as one string",
        ),
        ("guard.sh", 'is a string, expected a hook such as {"type": "command", "command": "…"}'),
        (None, 'is null, expected a hook such as {"type": "command", "command": "…"}'),
    ],
)
def test_one_bad_hook_costs_one_hook(bad: Any, fault: str) -> None:
    """A hook that can't run is reported with file, place and remedy, and the next hook still runs."""
    entries, problems = decode(layer(before_tool(bad, GOOD)))
    assert entries == [replace(GOOD_ENTRY, location="hooks.BeforeTool[0].hooks[1]")]
    assert problems == [f"user.json: hooks.BeforeTool[0].hooks[0] {fault}; it does not run"]


@pytest.mark.req("HOOK-082")
@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (5, 'hooks.BeforeTool[0] is a number, expected a group such as {"matcher": "…", "hooks": […]}'),
        (
            GOOD,
            'hooks.BeforeTool[0] is a hook where a group of hooks is expected; write {"hooks": [ … ]} around it',
        ),
        ({"matcher": "x"}, "hooks.BeforeTool[0] has no hooks; give it an array of hooks"),
        ({"hooks": GOOD}, "hooks.BeforeTool[0] has hooks that are an object; give it an array of hooks"),
    ],
    ids=["number", "hook-in-place-of-group", "no-hooks", "one-hook-without-array"],
)
def test_one_bad_group_costs_one_group(bad: Any, problem: str) -> None:
    """A group that can't be read is reported, and the next group is still used."""
    entries, problems = decode(layer({"hooks": {"BeforeTool": [bad, {"hooks": [GOOD]}]}}))
    assert entries == [replace(GOOD_ENTRY, location="hooks.BeforeTool[1].hooks[0]")]
    assert problems == [f"user.json: {problem}; it does not run"]


@pytest.mark.parametrize(
    ("group", "fault", "typo", "meant"),
    [
        (
            {"hooks": [{"type": "command", "comand": "x"}]},
            "[0].hooks[0] has no command",
            "[0].hooks[0].comand",
            "command",
        ),
        ({"matcher": "x", "hook": [GOOD]}, "[0] has no hooks", "[0].hook", "hooks"),
    ],
)
def test_the_key_that_was_misspelled_is_named(group: Any, fault: str, typo: str, meant: str) -> None:
    """Where something is missing, the reader sees what was probably meant."""
    _, problems = decode(layer({"hooks": {"BeforeTool": [group]}}))
    assert problems[1].startswith(f"user.json: hooks.BeforeTool{fault}; give ")
    assert problems[0] == (f"user.json: hooks.BeforeTool{typo} is not an option and is ignored; did you mean {meant}?")


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"hooks": []}, "hooks is an array, expected an object that maps event names to groups of hooks"),
        (
            {"hooks": {"BeforeTool": {"hooks": [GOOD]}}},
            "hooks.BeforeTool is an object, expected an array; write [ … ] around it",
        ),
        ({"extensions": {"name": "x"}}, "extensions is an object, expected an array"),
    ],
)
def test_a_wrong_container_is_told(values: dict[str, Any], problem: str) -> None:
    """A wrong type where hooks are expected is an error that names its place."""
    assert decode(layer(values)) == ([], [f"user.json: {problem}; it does not run"])
    assert decode_settings([layer(values)]).problems[0].is_error


THEIRS = "is an event of {}, so its hooks do not run here; write {}, or mark the hook with dialect {}"


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("PreToolUse", THEIRS.format("Claude Code and Codex", "BeforeTool", 'claude or codex: "dialect": "claude"')),
        ("PostToolUseFailure", THEIRS.format("Claude Code", "AfterTool", 'claude: "dialect": "claude"')),
        ("beforetool", "is not an event, so its hooks do not run; did you mean BeforeTool?"),
        ("BeforeTools", "is not an event, so its hooks do not run; did you mean BeforeTool?"),
        (
            "SubagentStart",
            "is an event of Claude Code that has no counterpart here, so its hooks do not run; remove it",
        ),
        (
            "x",
            f"is not an event, so its hooks do not run; the events are {', '.join(HookEventName)}",
        ),
        (
            5,
            f"is not an event, so its hooks do not run; the events are {', '.join(HookEventName)}",
        ),
    ],
)
def test_an_unknown_event_is_told_with_the_likely_one(name: Any, advice: str) -> None:
    """A misspelt or foreign name is an error, since its hooks do not run, and costs no other event."""
    decoded = decode_settings([layer({"hooks": {name: [{"hooks": [GOOD]}], "BeforeTool": [{"hooks": [GOOD]}]}})])
    assert decoded.hooks == (GOOD_ENTRY,)
    assert decoded.problems == (Problem(origin="user.json", path=f"hooks.{name}", message=advice, is_error=True),)


@pytest.mark.parametrize("nothing", [None, [], {}])
def test_an_unknown_event_without_hooks_is_only_warned_of(nothing: Any) -> None:
    """If there is nothing under the name, no hook is lost."""
    (problem,) = decode_settings([layer({"hooks": {"PreToolUse": nothing}})]).problems
    assert (problem.path, problem.is_error) == ("hooks.PreToolUse", False)


@pytest.mark.parametrize(
    ("name", "value", "advice"),
    [
        ("enabled", True, 'is not an event; to switch hooks on, write "enableHooks": true at the top level'),
        ("disabled", ["good"], "is not an event; write it inside hooksConfig"),
        ("notifications", True, "is neither an event nor an option here; remove it"),
    ],
)
def test_an_option_among_the_events_is_told_where_it_belongs(name: str, value: Any, advice: str) -> None:
    """Options of other systems beside the events are a warning, and the hooks run."""
    decoded = decode_settings([layer({"hooks": {name: value, "BeforeTool": [{"hooks": [GOOD]}]}})])
    assert decoded.hooks == (GOOD_ENTRY,)
    assert decoded.problems == (Problem(origin="user.json", path=f"hooks.{name}", message=advice),)


@pytest.mark.req("HOOK-083", "HOOK-120")
@pytest.mark.parametrize(
    ("timeout", "limit", "wrong"),
    [
        pytest.param(None, 60_000, None, id="null"),
        pytest.param(0, 0, None, id="at-once"),
        pytest.param(0.5, 0.5, None, id="fraction"),
        pytest.param(10**30, 1e30, None, id="huge"),
        pytest.param(math.inf, math.inf, None, id="endless"),
        pytest.param(-1, 60_000, TIME, id="negative"),
        pytest.param("700", 60_000, TIME, id="string"),
        pytest.param("\ud800", 60_000, TIME, id="half-a-character"),
        pytest.param(True, 60_000, TIME, id="bool"),
        pytest.param(math.nan, 60_000, TIME, id="not-a-number"),
        pytest.param([5], 60_000, TIME, id="array"),
    ],
)
def test_a_timeout_of_any_kind(timeout: Any, limit: float, wrong: str | None) -> None:
    """A timeout of any size is used; an invalid one is a warning, and the hook runs with the default."""
    assert decode(layer(before_tool({**GOOD, "timeout": timeout}))) == (
        [replace(GOOD_ENTRY, timeout_ms=limit)],
        [f"user.json: hooks.BeforeTool[0].hooks[0].timeout {ignored(wrong, '60000')}"] if wrong else [],
    )


@pytest.mark.req("HOOK-082", "HOOK-089")
@pytest.mark.parametrize("matcher", [5, ["write_file"], {"tool": "x"}, True])
def test_an_unusable_matcher_guards_everything(matcher: Any) -> None:
    """A matcher that is not a string makes its hooks run for every tool, and is reported once."""
    entries, problems = decode(layer(before_tool(GOOD, matcher=matcher)))
    assert entries == [GOOD_ENTRY]
    assert len(problems) == 1
    assert problems[0].endswith("expected a string, so these hooks run for every tool; write a pattern")


@pytest.mark.req("HOOK-082")
@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("name", 5, "is ignored (expected a string); fix or remove it"),
        ("description", [], "is ignored (expected a string); fix or remove it"),
        ("enabled", "false", "is ignored (expected true or false); true is used until you fix or remove it"),
        (
            "env",
            {"A": 1},
            "is ignored (expected an object whose values are strings); fix or remove it",
        ),
        ("budget", -1, "is ignored (expected a number of at least 0); fix or remove it"),
    ],
)
def test_a_wrong_option_costs_that_option(option: str, value: Any, said: str) -> None:
    """The hook runs with the option's default, and the warning names the place, the right values and what counts."""
    assert decode(layer(before_tool({**GOOD, option: value}))) == (
        [GOOD_ENTRY],
        [f"user.json: hooks.BeforeTool[0].hooks[0].{option} {said}"],
    )


@pytest.mark.req("HOOK-082")
@pytest.mark.parametrize(
    ("option", "value", "used", "entry"),
    [
        pytest.param("onError", "deny", '"block"', {"on_error": OnError.BLOCK}, id="on-error"),
        pytest.param("onError", "\ud800", '"block"', {"on_error": OnError.BLOCK}, id="on-error-surrogate"),
        pytest.param("onError", None, '"allow"', {}, id="on-error-null"),
        pytest.param("final", "yes", "true", {"final": True}, id="final"),
        pytest.param("network", "no", "false", {"limits": ResourceLimits(network=False)}, id="network"),
    ],
)
def test_a_wrong_security_option_is_read_strictly(option: str, value: Any, used: str, entry: dict[str, Any]) -> None:
    """A typo must not make a guard weaker than it was meant to be; null means that nothing was given."""
    entries, problems = decode(layer(before_tool({**GOOD, option: value})))
    assert entries == [replace(GOOD_ENTRY, **entry)]
    stricter = "the stricter " if entry else ""
    assert [said.partition("; ")[2] for said in problems] == [f"{stricter}{used} is used until you fix or remove it"]


@pytest.mark.parametrize(
    ("option", "value", "options", "said"),
    [
        ("onFault", "block", {"on_fault": OnError.BLOCK}, None),
        ("trust", "strict", {"trust": TrustLevel.STRICT}, None),
        ("lifecycle", "all", {}, '(expected "watch" or "apply"); "watch" is used'),
        ("onFault", "deny", {"on_fault": OnError.BLOCK}, '(expected "allow" or "block"); the stricter "block" is used'),
        (
            "trust",
            True,
            {"trust": TrustLevel.STRICT},
            '(expected "standard" or "strict"); the stricter "strict" is used',
        ),
        ("trust", None, {}, '(expected "standard" or "strict"); "standard" is used'),
    ],
)
def test_options_of_the_whole_system(option: str, value: Any, options: dict[str, Any], said: str | None) -> None:
    """The words of each option are read; of an unknown word the default is used, or the stricter value for security."""
    settings = decode_settings([layer({"hooksConfig": {option: value}})])
    assert settings.options == HooksConfigSettings(**options)
    expected = [f"user.json: hooksConfig.{option} is ignored {said} until you fix or remove it"] if said else []
    assert [str(problem) for problem in settings.problems] == expected


def test_a_final_hook() -> None:
    """A BeforeTool hook can be final; on another event that has no effect, and is reported."""
    final = [{"hooks": [{**GOOD, "final": True}]}]
    entries, problems = decode(layer({"hooks": {"BeforeTool": final, "AfterTool": final}}))
    assert [(entry.event.value, entry.final) for entry in entries] == [("BeforeTool", True), ("AfterTool", False)]
    said = "has no effect on AfterTool; only a BeforeTool hook can be final"
    assert problems == [f"user.json: hooks.AfterTool[0].hooks[0].final {said}"]


def test_hooks_have_the_rank_of_the_file_that_names_them() -> None:
    """The system's rank is above the user's, and the user's above a project's; extensions have that of their file."""
    values = {**before_tool(GOOD), "extensions": [{"name": "e", "hooks": before_tool(GOOD)["hooks"]}]}
    entries, _ = decode(*(layer(values, source) for source in (SYSTEM, USER, PROJECT)))
    ranks = [(entry.origin, entry.rank) for entry in entries]
    assert ranks == [
        ("project.json", 1),
        ("user.json", 2),
        ("system.json", 3),
        ("extension e (system.json)", 3),
        ("extension e (user.json)", 2),
        ("extension e (project.json)", 1),
    ]


@pytest.mark.req("HOOK-082", "HOOK-089")
@pytest.mark.parametrize("matcher", ["a|" * 50_000 + "b", "(" * 100, "(?:(?:a?)*)*b"])
def test_a_matcher_that_could_crash_the_engine_is_an_error_of_its_group(matcher: str) -> None:
    """Its hooks run for every tool, as with any unusable matcher, and those of other groups as ever."""
    values = before_tool(GOOD, matcher=matcher)
    values["hooks"]["BeforeTool"].append({"matcher": "x", "hooks": [GOOD]})
    settings = decode_settings([layer(values)])
    assert [entry.matcher for entry in settings.hooks] == [None, "x"]
    (problem,) = settings.problems
    assert problem.is_error
    assert problem.path == "hooks.BeforeTool[0].matcher"
    assert problem.message.endswith(", so these hooks run for every tool; simplify it")


@pytest.mark.req("HOOK-082")
def test_a_wrong_sequential_costs_that_option() -> None:
    """Something that is neither true nor false leaves the group parallel."""
    assert decode(layer(before_tool(GOOD, sequential="yes"))) == (
        [GOOD_ENTRY],
        [f"user.json: hooks.BeforeTool[0].sequential {ignored('true or false', 'false')}"],
    )


@pytest.mark.parametrize(
    ("hook", "group", "place", "meant"),
    [
        ({"onerror": "block"}, {}, "hooks.BeforeTool[0].hooks[0].onerror", "onError"),
        ({"timout": 5}, {}, "hooks.BeforeTool[0].hooks[0].timout", "timeout"),
        ({}, {"matchers": "x"}, "hooks.BeforeTool[0].matchers", "matcher"),
    ],
)
def test_a_misspelt_option_is_told(hook: dict[str, Any], group: dict[str, Any], place: str, meant: str) -> None:
    """A misspelt option has no effect, and is reported."""
    assert decode(layer(before_tool({**GOOD, **hook}, **group))) == (
        [GOOD_ENTRY],
        [f"user.json: {place} is not an option and is ignored; did you mean {meant}?"],
    )


def test_other_keys_belong_to_others() -> None:
    """A key that resembles no option is not a problem."""
    values = {**before_tool({**GOOD, "x-owner": "ops"}, comment="y"), "theme": "dark", "hooksConfig": {"notes": 1}}
    assert decode(layer(values)) == ([GOOD_ENTRY], [])


@pytest.mark.req("HOOK-195")
def test_a_plugin_is_kept_without_a_command() -> None:
    """A plugin is planned without a command, so that it never replaces a hook that runs the same command."""
    entries, problems = decode(layer(before_tool({"type": "plugin", "command": "good"})))
    assert entries == [replace(GOOD_ENTRY, run=Unsupported(HookType.PLUGIN))]
    assert problems == []


@pytest.mark.req("HOOK-084", "HOOK-085", "HOOK-086")
def test_layers_add_up() -> None:
    """The hooks of all layers are there, in the order of their sources; only guests need trust."""
    extension = {"name": "ext", "isActive": True, "hooks": before_tool(GOOD)["hooks"]}
    entries, _ = decode(
        layer(before_tool(GOOD), ConfigSource.PROJECT, is_guest=True),
        layer({**before_tool(GOOD), "extensions": [extension]}),
        layer(before_tool(GOOD), ConfigSource.SYSTEM),
    )
    assert [(entry.source, entry.origin, entry.location, entry.needs_trust) for entry in entries] == [
        (ConfigSource.PROJECT, "project.json", "hooks.BeforeTool[0].hooks[0]", True),
        (ConfigSource.USER, "user.json", "hooks.BeforeTool[0].hooks[0]", False),
        (ConfigSource.SYSTEM, "system.json", "hooks.BeforeTool[0].hooks[0]", False),
        (
            ConfigSource.EXTENSIONS,
            "extension ext (user.json)",
            "extensions[0].hooks.BeforeTool[0].hooks[0]",
            False,
        ),
    ]


@pytest.mark.req("HOOK-085")
@pytest.mark.parametrize(
    ("extension", "origins", "problems"),
    [
        ({"isActive": False}, [], []),
        ({"isActive": True}, ["extension 0 (user.json)"], []),
        (
            {"name": "e", "isActive": "false"},
            ["extension e (user.json)"],
            ["user.json: extensions[0].isActive is a string, expected true or false; its hooks run"],
        ),
        ({"name": 5}, ["extension 0 (user.json)"], []),
    ],
    ids=["inactive", "without-name", "wrong-flag", "wrong-name"],
)
def test_extensions(extension: dict[str, Any], origins: list[str], problems: list[str]) -> None:
    """An extension brings hooks unless it is plainly inactive."""
    values = {"extensions": [{**extension, "hooks": before_tool(GOOD)["hooks"]}]}
    entries, said = decode(layer(values))
    assert ([entry.origin for entry in entries], said) == (origins, problems)


def test_a_projects_extension_needs_trust_too() -> None:
    """A project cannot bring hooks past the trust check in an extension's name."""
    values = {"extensions": [5, {"name": "e", "hooks": before_tool(GOOD)["hooks"]}]}
    entries, problems = decode(layer(values, ConfigSource.PROJECT, is_guest=True))
    assert [entry.needs_trust for entry in entries] == [True]
    said = "is a number, expected an object with name and hooks; it does not run"
    assert problems == [f"project.json: extensions[0] {said}"]


@pytest.mark.parametrize(
    "hook",
    [
        {"type": "command", "command": "guard"},
        {"type": "http", "url": "http://127.0.0.1/"},
        {"type": "plugin", "plugin": "a:b"},
        {"type": "remote", "subject": "dlp"},
        {"type": "prompt"},
    ],
    ids=lambda hook: hook["type"],
)
def test_a_hook_without_a_name_is_disabled_by_the_name_that_is_shown(hook: dict[str, Any]) -> None:
    """`hookline disable` writes that name into the settings."""
    (shown,) = decode_settings([layer(before_tool(hook))]).hooks
    (entry,) = decode_settings([layer({**before_tool(hook), "hooksConfig": {"disabled": [shown.label]}})]).hooks
    assert (shown.enabled, entry.enabled) == (True, False)


@pytest.mark.parametrize(
    ("disabling", "guarded", "disabled_by"),
    [
        (ConfigSource.USER, ConfigSource.USER, "user.json"),
        (ConfigSource.USER, ConfigSource.PROJECT, "user.json"),
        (ConfigSource.SYSTEM, ConfigSource.USER, "system.json"),
        (ConfigSource.PROJECT, ConfigSource.PROJECT, "project.json"),
        (ConfigSource.PROJECT, ConfigSource.USER, None),
        (ConfigSource.USER, ConfigSource.SYSTEM, None),
    ],
)
def test_who_may_disable_whose_hooks(disabling: ConfigSource, guarded: ConfigSource, disabled_by: str | None) -> None:
    """A layer disables its own hooks and those of less trusted layers, never a guard above it."""
    layers: dict[ConfigSource, dict[str, Any]] = {source: {"hooks": {}} for source in (disabling, guarded)}
    layers[guarded] |= before_tool(GOOD)
    layers[disabling] |= {"hooksConfig": {"disabled": ["good"]}}
    entries, problems = decode(*(layer(values, source) for source, values in layers.items()))
    assert ([entry.disabled_by for entry in entries], problems) == ([disabled_by], [])


@pytest.mark.parametrize(
    ("disabled", "hook", "disabled_by"),
    [
        (["n"], {**GOOD, "name": "n"}, "user.json"),
        (["good"], {**GOOD, "name": "n"}, None),
        ([], {**GOOD, "enabled": False}, "user.json: hooks.BeforeTool[0].hooks[0].enabled"),
    ],
    ids=["by-name", "a-named-hook-not-by-its-command", "in-place"],
)
def test_disabled_hooks_are_kept_with_the_reason(
    disabled: list[str], hook: dict[str, Any], disabled_by: str | None
) -> None:
    """A disabled hook stays in the list and knows who disabled it."""
    entries, _ = decode(layer({**before_tool(hook), "hooksConfig": {"disabled": disabled}}))
    assert [entry.disabled_by for entry in entries] == [disabled_by]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"disabled": "good"}, "hooksConfig.disabled {ignored}"),
        ({"disabled": "\ud800"}, "hooksConfig.disabled {ignored}"),
        ([], "hooksConfig is an array, expected an object; its options are not used"),
    ],
)
def test_options_of_the_wrong_type_disable_nothing(options: Any, problem: str) -> None:
    """A wrong type in place of a list of names leaves all guards on, with a warning."""
    entries, problems = decode(layer({**before_tool(GOOD), "hooksConfig": options}))
    assert entries == [GOOD_ENTRY]
    assert problems == [f"user.json: {problem.format(ignored=ignored('an array of strings'))}"]


@pytest.mark.parametrize(
    ("options", "place", "said", "counts"),
    [
        ({"maxConcurrent": 0}, "maxConcurrent", "a whole number of at least 1", "128"),
        ({"log": 5}, "log", "an object", None),
        (
            {"log": {"maxBytes": "\ud800"}},
            "log.maxBytes",
            "a whole number of at least 1",
            "10485760",
        ),
        ({"environment": {"deny": [5]}}, "environment.deny", "an array of strings", None),
    ],
)
def test_one_bad_option_costs_that_option(options: dict[str, Any], place: str, said: str, counts: str) -> None:
    """An option of the wrong type is reported in plain words, also one level below."""
    assert decode(layer({"hooksConfig": options})) == (
        [],
        [f"user.json: hooksConfig.{place} {ignored(said, counts)}"],
    )
    assert decode_settings([layer({"hooksConfig": options})]).options == HooksConfigSettings()


def test_a_bad_option_does_not_cost_its_neighbour() -> None:
    """A log that is switched off stays off whatever its other options are, even half characters."""
    log = {"enabled": False, "maxBytes": -1, "\ud800": 1}
    assert decode_settings([layer({"hooksConfig": {"log": log}})]).options.log == LogSettings(enabled=False)


class Broken(dict[str, Any]):
    """Settings of unforeseen types."""

    def __contains__(self, key: object) -> bool:
        raise RuntimeError("boom")

    def items(self) -> Any:
        """Fails, too."""
        raise RuntimeError("boom")


def test_what_nobody_foresaw_costs_one_layer() -> None:
    """The hooks that were read before it and those of all other layers still run, and an error is reported."""
    hooks = {"BeforeTool": [{"hooks": [GOOD]}], "AfterTool": [{"hooks": [GOOD, Broken(GOOD)]}]}
    other = layer(before_tool(GOOD), ConfigSource.SYSTEM)
    broken = layer({"hooks": Broken(x=1)}, ConfigSource.PROJECT)
    decoded = decode_settings([layer({"hooks": hooks}), broken, other])
    assert [(entry.origin, entry.event.value) for entry in decoded.hooks] == [
        ("user.json", "BeforeTool"),
        ("user.json", "AfterTool"),
        ("system.json", "BeforeTool"),
    ]
    said = "can't be read (RuntimeError: boom), so some of its hooks may be missing; remove what is unusual in it"
    assert decoded.problems == tuple(
        Problem(origin=origin, path="hooks", message=said, is_error=True) for origin in ("user.json", "project.json")
    )


def test_options_that_nobody_foresaw_cost_one_layer() -> None:
    """The options of other layers count, the hooks of the same layer run, and an error is reported."""
    broken = layer({**before_tool(GOOD), "hooksConfig": Broken(x=1)}, ConfigSource.SYSTEM)
    decoded = decode_settings([broken])
    assert [entry.command for entry in decoded.hooks] == ["good"]
    said = "can't be read (RuntimeError: boom), so its options are not used; remove what is unusual in it"
    assert decoded.problems == (Problem(origin="system.json", path="hooksConfig", message=said, is_error=True),)
    assert decode_settings([layer({"hooksConfig": {"outputLimit": 5}}), broken]).options == HooksConfigSettings(
        output_limit=5
    )


def test_half_a_character_in_a_projects_file_costs_no_guard(project: Path, own_home: Path) -> None:
    """An untrusted file can't prevent the user's hooks from being read."""
    (project / ".llxprt").mkdir()
    (project / ".llxprt" / "settings.json").write_text('{"hooksConfig": {"disabled": "\\ud800"}}')
    (own_home / ".llxprt").mkdir()
    (own_home / ".llxprt" / "settings.json").write_text(json.dumps({"enableHooks": True, **before_tool(GOOD)}))
    layers = Config(project).get_layers()
    assert [entry.command for entry in decode_settings(layers).hooks] == ["good"]


def test_a_projects_file_cannot_set_options() -> None:
    """Options of a project's file are not used, and each is reported; it may disable its own hooks."""
    guest = layer({"hooksConfig": {"disabled": [], "outputLimit": 1}}, ConfigSource.PROJECT, is_guest=True)
    assert decode_settings([guest]).options == HooksConfigSettings()
    assert decode(guest) == (
        [],
        ["project.json: hooksConfig.outputLimit is only used in the user's or the system's settings; move it there"],
    )


def test_a_wrong_option_in_a_projects_file_is_reported_once() -> None:
    """As one that is not used there; what would be used in its place does not matter."""
    guest = layer({"hooksConfig": {"warm": "no"}}, ConfigSource.PROJECT, is_guest=True)
    assert decode(guest) == (
        [],
        ["project.json: hooksConfig.warm is only used in the user's or the system's settings; move it there"],
    )


def test_each_option_is_decided_by_the_most_trusted_layer_that_gives_it() -> None:
    """Options of several layers add up; where two give the same one, the system's counts."""
    settings = decode_settings(
        [
            layer({"hooksConfig": {"outputLimit": 5, "maxConcurrent": 2, "log": {"enabled": False}}}),
            layer({"hooksConfig": {"outputLimit": 7, "disabled": ["x"]}}, ConfigSource.SYSTEM),
            layer({"hooksConfig": 5}),
            layer({}),
        ]
    )
    assert settings.options == HooksConfigSettings(
        output_limit=7, max_concurrent=2, disabled=("x",), log=LogSettings(enabled=False)
    )


def test_problems_of_files_come_first() -> None:
    """Problems of a file are listed together with those of its hooks."""
    broken = Problem(origin="p", path="", message="is not JSON", is_error=True)
    unusable = Layer(source=ConfigSource.PROJECT, origin="p", problems=(broken,))
    decoded = decode_settings([unusable, layer(before_tool(5, GOOD))])
    assert decoded.problems[0] == broken
    assert len(decoded.hooks) == 1


def test_problems_have_line_and_column() -> None:
    """A problem in a file points at the place to fix."""
    text = json.dumps(before_tool(GOOD, {"type": "command"}), indent=1)
    problems = decode_settings([layer(json.loads(text))._replace(text=text)]).problems
    line = text.splitlines()[problems[0].line - 1] if problems[0].line else ""
    assert line[(problems[0].column or 0) - 1 :] == "{"
    assert str(problems[0]).startswith(f"user.json:{text[: text.rindex('{')].count(chr(10)) + 1}:")


def test_settings_in_code_may_use_pythons_own_types() -> None:
    """Tuples and enumeration members in settings given in code mean what they say."""
    values = {"hooks": {HookEventName.BEFORE_TOOL: ({"hooks": ({"type": HookType.COMMAND, "command": "good"},)},)}}
    assert decode(layer(values)) == ([GOOD_ENTRY], [])


def ignored(expected: str, used: str | None = None) -> str:
    return f"is ignored (expected {expected}); {f'{used} is used until you ' if used else ''}fix or remove it"


MANY = 10_000
HOSTILE = [
    pytest.param({"hooks": {"BeforeTool": [1] * MANY}}, id="numbers"),
    pytest.param(before_tool(*[{"command": "x"}] * MANY), id="hooks-without-type"),
    pytest.param(before_tool(*[{**GOOD, "timeout": "5"}] * MANY), id="wrong-options"),
    pytest.param(before_tool(*({**GOOD, f"timeou{number}": 5} for number in range(MANY))), id="typos"),
    pytest.param({"hooks": {f"BeforeTool{number}": [1] for number in range(MANY)}}, id="unknown-events"),
    pytest.param(before_tool(*[GOOD] * MANY), id="hooks"),
]


@pytest.mark.parametrize("values", HOSTILE)
def test_reading_is_linear(values: dict[str, Any]) -> None:
    """An untrusted file with ten thousand problems, or hooks, must not delay a command."""
    text = json.dumps(values, indent=1)
    began = time.process_time()
    settings = decode_settings([layer(parse(text))._replace(text=text)])
    assert time.process_time() - began < 2
    assert len(settings.problems) <= 20
    assert all(problem.line for problem in settings.problems[:19])


def test_many_problems_of_one_file_are_counted() -> None:
    """Of more than 20 problems 19 are given, errors first, and the last line counts the others; other files as ever."""
    hooks = [{**GOOD, "timeout": "5"}] * 30 + [5] * 8
    settings = decode_settings([layer(before_tool(*hooks)), layer(before_tool(5), ConfigSource.SYSTEM)])
    own = [problem for problem in settings.problems if problem.origin == "user.json"]
    assert [problem.is_error for problem in own] == [True] * 8 + [False] * 12
    assert str(own[-1]) == "user.json: and 19 more problems in this file"
    assert len(settings.problems) == 21


def test_twenty_problems_are_all_given() -> None:
    """Nothing is counted as long as all can be shown."""
    paths = [problem.path for problem in decode_settings([layer(before_tool(*range(20)))]).problems]
    assert paths == [f"hooks.BeforeTool[0].hooks[{index}]" for index in range(20)]


@pytest.mark.parametrize(
    ("values", "usable"),
    [
        pytest.param(before_tool(*[GOOD] * 1001), 1000, id="hooks"),
        pytest.param({"hooks": {"BeforeTool": [{"hooks": [GOOD]}] * 1001}}, 1000, id="groups"),
        pytest.param({"extensions": [{"name": "e", **before_tool(GOOD)}] * 1001}, 1000, id="extensions"),
        pytest.param({"hooks": {"BeforeTool": [1] * 600 + [{"hooks": []}] * 400 + [{"hooks": [GOOD]}]}}, 0, id="empty"),
        pytest.param({"extensions": [{"isActive": False}] * 1000 + [{**before_tool(GOOD)}]}, 0, id="inactive"),
        pytest.param({"hooks": {**{f"x{n}": 1 for n in range(1000)}, **before_tool(GOOD)["hooks"]}}, 0, id="events"),
    ],
)
def test_a_thousand_hooks_of_a_guest_are_looked_at(values: dict[str, Any], usable: int) -> None:
    """The rest of an untrusted file is one problem, which is shown before all others; a user's file has no limit."""
    guest = decode_settings([layer(values, ConfigSource.PROJECT, is_guest=True)])
    assert len(guest.hooks) == usable
    said = "has more than 1,000 entries; only the first 1,000 of a project's file are used; remove some"
    assert str(guest.problems[0]) == f"project.json: hooks {said}"
    assert len(decode_settings([layer(values)]).hooks) == max(usable, 1) + bool(usable)


def test_settings_say_whether_hooks_are_enabled_and_each_problem_once() -> None:
    """One value has everything: enabling, options, hooks, and the problems of all of them."""
    broken = Problem(origin="user.json", path="", message="is odd")
    values = {**before_tool(GOOD), "enableHooks": 1, "hooksConfig": {"trust": "strict", "log": 5}}
    settings = decode_settings([layer(values)._replace(problems=(broken, broken))])
    assert (settings.enabled, settings.options, settings.hooks) == (
        True,
        HooksConfigSettings(trust=TrustLevel.STRICT),
        (GOOD_ENTRY,),
    )
    assert [problem.path for problem in settings.problems] == ["", "enableHooks", "hooksConfig.log"]


@pytest.mark.req("HOOK-203")
@pytest.mark.parametrize(
    ("options", "applies_lifecycle", "is_applied"),
    [
        pytest.param({}, False, False, id="default"),
        pytest.param({"lifecycle": "watch"}, False, False, id="watch"),
        pytest.param({"lifecycle": "apply"}, False, True, id="apply"),
        pytest.param({"lifecycle": "odd"}, False, False, id="odd"),
        pytest.param({}, True, True, id="another-agent-asks"),
    ],
)
def test_which_hooks_are_applied(options: dict[str, Any], applies_lifecycle: bool, is_applied: bool) -> None:
    """Answers to lifecycle events apply if the options allow it; those to other events always do."""
    hooks = {event.value: [{"hooks": [GOOD]}] for event in HookEventName}
    settings = decode_settings([layer({"hooks": hooks, "hooksConfig": options})], applies_lifecycle=applies_lifecycle)
    applied = {hook.event for hook in settings.hooks if hook.is_applied}
    assert applied == {event for event in HookEventName if is_applied or event not in LIFECYCLE_EVENTS}


@pytest.mark.parametrize(
    ("user", "project", "applied"),
    [
        pytest.param({}, {"lifecycle": "apply"}, {"project"}, id="for-its-own-hooks"),
        pytest.param({"lifecycle": "watch"}, {"lifecycle": "apply"}, set(), id="not-against-the-user"),
        pytest.param({"lifecycle": "apply"}, {"lifecycle": "watch"}, {"project", "user"}, id="the-user-decides"),
        pytest.param({"lifecycle": "apply"}, {}, {"project", "user"}, id="the-user-for-all"),
    ],
)
def test_what_a_project_says_about_its_lifecycle_hooks(
    user: dict[str, str], project: dict[str, str], applied: set[str]
) -> None:
    """A project's file applies its own hooks where the user says nothing, and changes nothing for the others."""
    hooks = {"BeforeAgent": [{"hooks": [GOOD]}]}
    settings = decode_settings(
        [
            layer({"hooks": hooks, "hooksConfig": project}, ConfigSource.PROJECT, is_guest=True),
            layer({"hooks": hooks, "hooksConfig": user}),
        ]
    )
    assert {hook.source.value for hook in settings.hooks if hook.is_applied} == applied
    assert settings.problems == ()
