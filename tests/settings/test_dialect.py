"""Hooks of other agents in settings: whose words they use, when they run, and what of them is refused."""

from typing import Any

import pytest

from hookline.protocol.constants import ConfigSource, HookType, OnError
from hookline.protocol.events import HookEventName
from hookline.protocol.hook_entry import CommandLine, HookEntry, HttpTarget
from hookline.settings.decode.settings import Settings, decode_settings
from hookline.settings.read.files import Layer

HOOK = {"type": "command", "command": "guard"}


def decode(values: dict[str, Any], **options: Any) -> Settings:
    return decode_settings([Layer(source=ConfigSource.USER, origin="user.json", values=values, **options)])


def read(values: dict[str, Any], **options: Any) -> tuple[list[HookEntry], list[str]]:
    settings = decode(values, **options)
    return list(settings.hooks), [str(problem) for problem in settings.problems]


def one(event: str = "PreToolUse", dialect: str = "claude", **keys: Any) -> tuple[HookEntry, list[str]]:
    (entry,), problems = read({"dialect": dialect, "hooks": {event: [{"hooks": [{**HOOK, **keys}]}]}})
    return entry, problems


@pytest.mark.parametrize(
    ("values", "layer"),
    [
        pytest.param({"hooks": {"PreToolUse": [{"hooks": [HOOK]}]}}, "claude", id="the-layer"),
        pytest.param({"dialect": "claude", "hooks": {"PreToolUse": [{"hooks": [HOOK]}]}}, "codex", id="the-file"),
        pytest.param({"hooks": {"PreToolUse": [{"dialect": "claude", "hooks": [HOOK]}]}}, "codex", id="the-group"),
        pytest.param(
            {"hooks": {"PreToolUse": [{"dialect": "codex", "hooks": [{**HOOK, "dialect": "claude"}]}]}},
            "hookline",
            id="the-hook",
        ),
        pytest.param(
            {"extensions": [{"name": "e", "dialect": "claude", "hooks": {"PreToolUse": [{"hooks": [HOOK]}]}}]},
            "hookline",
            id="the-extension",
        ),
    ],
)
def test_the_nearest_dialect_counts(values: dict[str, Any], layer: str) -> None:
    """A hook, its group, its file and the kind of file can say it, in this order."""
    (entry,), problems = read(values, dialect=layer)
    assert problems == []
    assert (entry.dialect, entry.foreign_event, entry.event) == ("claude", "PreToolUse", HookEventName.BEFORE_TOOL)
    assert (entry.command, entry.refusal) == ("guard", None)


@pytest.mark.parametrize(
    ("dialect", "name", "ours", "theirs"),
    [
        ("claude", "PostToolUseFailure", HookEventName.AFTER_TOOL, "PostToolUseFailure"),
        ("claude", "AfterTool", HookEventName.AFTER_TOOL, None),
        ("claude", "SessionStart", HookEventName.SESSION_START, "SessionStart"),
        ("codex", "Stop", HookEventName.AFTER_AGENT, "Stop"),
        ("gemini", "BeforeModel", HookEventName.BEFORE_MODEL, "BeforeModel"),
    ],
)
def test_their_events_and_ours_are_accepted(dialect: str, name: str, ours: HookEventName, theirs: str | None) -> None:
    """Under our name a hook runs for all of that agent's events that ours stands for."""
    entry, problems = one(name, dialect)
    assert (problems, entry.event, entry.foreign_event) == ([], ours, theirs)


@pytest.mark.parametrize(
    ("dialect", "name", "reason", "is_error"),
    [
        (
            "claude",
            "SubagentStop",
            "Claude Code's SubagentStop has no counterpart here, so this hook never runs",
            False,
        ),
        ("claude", "BeforeModel", "BeforeModel is not an event of Claude Code, so this hook never runs", True),
        ("codex", "PostToolUseFailure", "PostToolUseFailure is not an event of Codex, so this hook never runs", True),
    ],
)
def test_a_hook_that_never_runs_is_reported_and_counted(dialect: str, name: str, reason: str, is_error: bool) -> None:
    """Events without a counterpart are never dropped in silence."""
    settings = decode({"dialect": dialect, "hooks": {name: [{"hooks": [HOOK, HOOK]}]}})
    assert settings.hooks == ()
    assert [(one.event, one.label, one.location, one.reason) for one in settings.unused] == [
        (name, "guard", f"hooks.{name}[0].hooks[0]", reason),
        (name, "guard", f"hooks.{name}[0].hooks[1]", reason),
    ]
    assert [(problem.message, problem.is_error) for problem in settings.problems] == [(reason, is_error)] * 2


@pytest.mark.parametrize("name", ["PreToolUse", "BeforeTool"])
@pytest.mark.parametrize("bad", ["claud", 5])
def test_a_guard_of_an_unknown_dialect_blocks_everything(name: str, bad: Any) -> None:
    """Its decisions could be misread."""
    (entry,), (problem,) = read({"hooks": {name: [{"matcher": "Bash", "hooks": [{**HOOK, "dialect": bad}]}]}})
    shown = f"{bad!r} is not a dialect; the dialects are hookline, claude, codex, gemini"
    consequence = "its hooks fail, and block where they can, until you fix it"
    assert problem == f"user.json: hooks.{name}[0].hooks[0].dialect {shown}; {consequence}"
    assert (entry.event, entry.matcher, entry.on_error) == (HookEventName.BEFORE_TOOL, None, OnError.BLOCK)
    assert entry.refusal == f"its dialect {str(bad)!r} is not a dialect; {shown.partition('; ')[2]}"


@pytest.mark.parametrize(
    ("dialect", "given", "milliseconds"),
    [
        ("claude", 30, 30_000),
        ("claude", 0.5, 500),
        ("claude", 0, 600_000),
        ("claude", None, 600_000),
        ("codex", 7, 7_000),
        ("gemini", 5000, 5_000),
        ("gemini", None, 60_000),
        ("hookline", 5000, 5_000),
    ],
)
def test_a_timeout_is_in_the_unit_of_its_agent(dialect: str, given: float | None, milliseconds: float) -> None:
    """Seconds or milliseconds, and that agent's default."""
    event = "PreToolUse" if dialect in ("claude", "codex") else "BeforeTool"
    entry, problems = one(event, dialect, **({} if given is None else {"timeout": given}))
    assert (entry.timeout_ms, problems) == (milliseconds, [])


@pytest.mark.parametrize("dialect", ["claude", "hookline"])
def test_on_failure_is_on_error(dialect: str) -> None:
    """Claude Code's key is used in every dialect: a guard that is too strict is safer than one that is too weak."""
    entry, problems = one("BeforeTool", dialect, onFailure="block")
    assert (entry.on_error, problems) == (OnError.BLOCK, [])


def test_the_keys_of_claude_code_are_read() -> None:
    """They say how and when the hook runs."""
    keys: dict[str, Any] = {"if": "Bash(git *)", "args": ["-c", "x"], "shell": "sh", "statusMessage": "looking"}
    entry, problems = one(**keys)
    assert problems == []
    assert isinstance(entry.run, CommandLine)
    assert (entry.condition, entry.args, entry.run.shell, entry.status_message) == (
        "Bash(git *)",
        ("-c", "x"),
        "sh",
        "looking",
    )


@pytest.mark.parametrize(
    ("event", "keys", "message"),
    [
        ("PreToolUse", {"async": True}, "async runs this hook in the background"),
        ("PreToolUse", {"asyncRewake": True}, "asyncRewake runs this hook in the background"),
        ("Stop", {"asyncRewake": True}, "asyncRewake is taken as async"),
        ("PreToolUse", {"once": True}, "once has no effect in a settings file"),
        ("Stop", {"if": "Bash"}, "if is a rule about tools, so this hook never runs"),
    ],
)
def test_a_key_with_less_effect_than_it_seems_is_reported(event: str, keys: dict[str, Any], message: str) -> None:
    """Nothing that is configured is without effect in silence."""
    _, (problem,) = one(event, **keys)
    assert f".{message}" in problem


@pytest.mark.parametrize("dialect", ["hookline", "codex"])
def test_a_key_of_another_agent_is_reported(dialect: str) -> None:
    """`if` has no effect on hooks of hookline and Codex, so the hook runs for every call."""
    entry, (problem,) = one("BeforeTool", dialect, **{"if": "Bash"})
    assert entry.condition is None
    assert ".if has no effect on " in problem


@pytest.mark.parametrize(
    ("keys", "refusal"),
    [
        ({"type": "prompt"}, 'type "prompt" asks a model, which hookline does not do'),
        ({"type": "agent"}, 'type "agent" starts an agent, which hookline does not do'),
        ({"type": "mcp_tool"}, 'type "mcp_tool" calls a tool of an MCP server, which hookline does not do'),
        ({"args": "x"}, "args is not an array of strings"),
        ({"shell": "fish"}, "its shell is not one of bash, sh, dash, zsh, ksh, pwsh, powershell"),
        ({"command": "${CLAUDE_PLUGIN_ROOT}/x.sh"}, "CLAUDE_PLUGIN_ROOT is set for hooks of a plugin only"),
    ],
)
def test_a_hook_that_can_not_be_run_is_kept_and_fails(keys: dict[str, Any], refusal: str) -> None:
    """It is an error of its entry, and `onError` decides what its failure means: it is never skipped in silence."""
    entry, problems = one(**keys, onFailure="block")
    assert (entry.refusal, entry.on_error) == (refusal, OnError.BLOCK)
    assert f"can't be run and fails at each event: {refusal}" in problems[-1]


def test_the_hooks_of_a_plugin_have_its_variables() -> None:
    """The layer gives them to all of its hooks."""
    values = {"hooks": {"PreToolUse": [{"hooks": [{**HOOK, "command": "${CLAUDE_PLUGIN_ROOT}/x.sh"}]}]}}
    (entry,), problems = read(values, dialect="claude", env={"CLAUDE_PLUGIN_ROOT": "/plugins/a"})
    assert (entry.env, entry.refusal, problems) == ({"CLAUDE_PLUGIN_ROOT": "/plugins/a"}, None, [])


def test_a_server_can_be_a_hook_in_every_dialect() -> None:
    """Type http has a URL, and headers with named variables."""
    http = {"type": "http", "url": "http://127.0.0.1:1/x", "headers": {"A": "$T"}, "allowedEnvVars": ["T"]}
    for dialect in ("hookline", "claude"):
        values = {"dialect": dialect, "hooks": {"BeforeTool": [{"hooks": [http]}]}}
        (entry,), problems = read(values)
        assert (entry.type, problems, entry.label) == (HookType.HTTP, [], "http://127.0.0.1:1/x")
        assert entry.run == HttpTarget(url="http://127.0.0.1:1/x", headers={"A": "$T"}, variables=("T",))
    _, (problem,) = read({"hooks": {"BeforeTool": [{"hooks": [{"type": "http", "url": "file:///etc/passwd"}]}]}})
    assert 'has the url "file:///etc/passwd"; write http:// or https:// in place of file://' in problem


@pytest.mark.parametrize(
    ("url", "is_said"),
    [("http://me:secret@127.0.0.1/x", True), ("http://me@127.0.0.1", True), ("http://127.0.0.1/@me?a=b@c", False)],
)
def test_a_user_name_in_a_url_is_not_sent_and_that_is_said(url: str, is_said: bool) -> None:
    """Without the password: problems are shown and logged."""
    _, problems = read({"hooks": {"BeforeTool": [{"hooks": [{"type": "http", "url": url}]}]}})
    assert ["which is not sent; use headers" in problem for problem in problems] == [True] * is_said
    assert "secret" not in "".join(problems)


@pytest.mark.parametrize(
    ("hook", "said"),
    [
        ({"type": "http", "url": "http://127.0.0.1", "limits": {"files": 9}}, ["limits has no effect"]),
        ({"type": "http", "url": "http://127.0.0.1", "network": False}, ["network has no effect"]),
        *(
            ({"type": "http", "url": "http://127.0.0.1", key: value}, [f"{key} has no effect"])
            for key, value in (("command", "x"), ("warm", False), ("subject", "dlp"), ("plugin", "a:b"))
        ),
        ({"type": "command", "command": "x", "subject": "dlp"}, ["subject has no effect"]),
        ({"type": "command", "command": "x", "plugin": "a:b"}, ["plugin has no effect"]),
        ({"type": "command", "command": "x", "headers": {"A": "b"}}, ["headers has no effect"]),
        (
            {
                "type": "http",
                "url": "http://127.0.0.1",
                "headers": {"A": "$T ${U}", "B": "$V"},
                "allowedEnvVars": ["V"],
            },
            ["headers use $T, which is empty", "headers use $U, which is empty"],
        ),
    ],
)
def test_what_has_no_effect_on_a_hook_of_this_type_is_said(hook: dict[str, Any], said: list[str]) -> None:
    """And the hook runs all the same."""
    (_,), problems = read({"hooks": {"BeforeTool": [{"hooks": [hook]}]}})
    assert len(problems) == len(said)
    assert all(text in problem for text, problem in zip(said, problems, strict=True))
