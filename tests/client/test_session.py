import asyncio
import json
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest
from tests.answers import says

from hookline import Config, Hooks, LLMRequest
from hookline.hook import Deny
from hookline.log.write.logger import MemorySink
from hookline.protocol.events import SessionFacts
from hookline.protocol.observer import HookObserver
from hookline.protocol.verdict import HookExecutionPlan, Verdict

from .conftest import MakeHooks, hook

REQUEST: LLMRequest = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def told(path: Path) -> list[dict[str, Any]]:
    """The inputs of hooks that append them to this file."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_each_session_has_its_own_facts(make_hooks: MakeHooks, tmp_path: Path) -> None:
    """Hooks get the id, directory and transcript of the session, with sessions side by side on one engine."""
    hooks = make_hooks({"BeforeTool": [hook("cat >> told; echo >> told", sequential=True)]})

    async def main() -> None:
        first = hooks.session("s-1", cwd="/elsewhere", transcript_path=tmp_path / "t.json")
        second = hooks.session("s-2")
        for session in (first, second, first):
            await session.before_tool("t", {})

    asyncio.run(main())
    facts = [(one["session_id"], one["cwd"], one["transcript_path"]) for one in told(tmp_path / "told")]
    one = ("s-1", "/elsewhere", str(tmp_path / "t.json"))
    assert facts == [one, ("s-2", str(tmp_path), ""), one]


def test_sessions_at_the_same_time_do_not_mix(make_hooks: MakeHooks, memory: MemorySink) -> None:
    """The log names the session and the agent of each event, also when many run at once."""
    hooks = make_hooks({"BeforeTool": [hook("cat >/dev/null; echo no >&2; exit 2", name="guard")]})

    async def main() -> None:
        sessions = [hooks.session(f"s-{number}", agent=f"a-{number}") for number in range(5)]
        await asyncio.gather(*(session.before_tool("t", {"n": session.id}) for session in sessions))

    asyncio.run(main())
    runs = [record for record in memory.records if type(record).__name__ == "HookRecord"]
    assert sorted((one.session, one.agent) for one in runs) == [(f"s-{number}", f"a-{number}") for number in range(5)]
    for run in runs:
        assert json.loads(run.to_dict()["stdin"])["session_id"] == run.session
    events = [record for record in memory.records if type(record).__name__ == "EventRecord"]
    assert sorted(str(one.session) for one in events) == [f"s-{number}" for number in range(5)]


def test_hooks_run_where_their_scripts_are(make_hooks: MakeHooks, tmp_path: Path) -> None:
    """A session elsewhere does not change which script a relative command names: that one was looked at and trusted."""
    (tmp_path / "guard.sh").write_text("pwd > ran; printenv LLXPRT_PROJECT_DIR >> ran; exit 2\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "guard.sh").write_text("exit 0\n")
    hooks = make_hooks({"BeforeTool": [hook("sh ./guard.sh")]})
    assert asyncio.run(hooks.session(cwd=elsewhere).before_tool("t", {})).blocked
    assert (tmp_path / "ran").read_text().split() == [str(tmp_path)] * 2


def test_ids_are_made_and_checked(make_hooks: MakeHooks) -> None:
    """A session without an id gets one; an id of another type than text is an error."""
    hooks = make_hooks({})
    first, second = hooks.session(), hooks.session()
    assert uuid.UUID(first.id) != uuid.UUID(second.id)
    wrong: Any = 7
    with pytest.raises(TypeError, match="the session's id is 7"):
        hooks.session(wrong)


def test_from_config(tmp_path: Path) -> None:
    """A program with a Config has the same engine both ways, and its facts are the default."""
    guard = hook("cat > told; exit 2")
    settings = {"enableHooks": True, "hooks": {"BeforeTool": [guard]}, "hooksConfig": {"log": {"enabled": False}}}
    config = Config(tmp_path, settings=settings, session_id="own", transcript_path="t.json")
    hooks = Hooks.from_config(config)
    assert asyncio.run(hooks.session().before_tool("t", {})).blocked
    (facts,) = told(tmp_path / "told")
    assert (facts["session_id"], facts["transcript_path"]) == ("own", "t.json")
    assert hooks.session("other").facts.transcript_path == ""
    assert hooks.config.get_hook_system() is config.get_hook_system()
    hooks.close()


def test_from_config_reports_what_will_not_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Hooks without effect are reported as by `Hooks(...)`, once for each Config, and not if the program does it."""
    settings = {"hooks": {"BeforeTool": [hook("exit 2")]}}
    line = 'hookline: settings given in code: 1 hook configured, all off: set "enableHooks": true\n'
    config = Config(tmp_path, settings=settings)
    for expected in (line, ""):
        Hooks.from_config(config)
        assert capsys.readouterr().err == expected
    Hooks.from_config(Config(tmp_path, settings=settings, quiet=True))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("options", "own", "said"),
    [
        ({"warm": "no"}, {}, "hooksConfig.warm is ignored"),
        ({"lifecycle": "aply"}, {}, "hooksConfig.lifecycle is ignored"),
        ({}, {"timeout": "1 s"}, "hooks[0].timeout is ignored"),
    ],
)
def test_a_wrong_value_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: dict[str, Any], own: dict[str, Any], said: str
) -> None:
    """The value in its place may surprise the user; the hooks run all the same."""
    group = {"hooks": [{"type": "command", "command": "true", **own}]}
    settings = {"enableHooks": True, "hooksConfig": options, "hooks": {"BeforeTool": [group]}}
    Hooks(tmp_path, settings=settings)
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    Hooks(tmp_path, settings=settings, quiet=True)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("key", "advice"),
    [
        ("hook", "did you mean hooks?"),
        ("hookConfig", "did you mean hooksConfig?"),
        ("BeforeTool", 'put it inside "hooks": {"BeforeTool": …}'),
    ],
)
def test_a_misspelt_key_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str], key: str, advice: str) -> None:
    """A key at the top that looks like ours has no effect, in code and in a named file, which is reported."""
    settings = {"enableHooks": True, key: {}, "theme": "dark"}
    Hooks(tmp_path, settings=settings)
    (error,) = capsys.readouterr().err.splitlines()
    assert error.startswith(f"hookline: settings given in code: {key} is ignored")
    assert error.endswith(advice)
    (tmp_path / "s.json").write_text(json.dumps(settings))
    Hooks(tmp_path, settings_files=[tmp_path / "s.json"])
    assert advice in capsys.readouterr().err
    Hooks(tmp_path, settings=settings, quiet=True)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("is_async", [True, False])
def test_a_session_starts_and_ends(make_hooks: MakeHooks, tmp_path: Path, is_async: bool) -> None:
    """As a context manager a session fires SessionStart and SessionEnd, and has waited for both when it is over."""
    log = "cat >> told; echo >> told"
    hooks = make_hooks({"SessionStart": [hook(log)], "SessionEnd": [hook(log)]})

    async def main() -> None:
        async with hooks.session("s-1"):
            pass

    if is_async:
        asyncio.run(main())
    else:
        with hooks.session("s-1"):
            pass
    fired = [
        (one["hook_event_name"], one["session_id"], one.get("source"), one.get("reason"))
        for one in told(tmp_path / "told")
    ]
    assert fired == [("SessionStart", "s-1", "startup", None), ("SessionEnd", "s-1", None, "exit")]


def test_nothing_waits_for_the_start(make_hooks: MakeHooks, tmp_path: Path) -> None:
    """The hooks of SessionStart run beside the session: here the hook waits for a tool to have run."""
    wait = f"while ! test -e {tmp_path}/tool; do sleep 0.01; done; touch {tmp_path}/seen"
    hooks = make_hooks({"SessionStart": [hook(wait)]})

    async def main() -> None:
        async with hooks.session() as session:
            call = await session.before_tool("t", {})
            (tmp_path / "tool").touch()
            await session.after_tool(call, "ok")

    asyncio.run(main())
    assert (tmp_path / "seen").exists()


def test_a_session_without_with_fires_neither(make_hooks: MakeHooks, tmp_path: Path) -> None:
    """A program that has its own idea of a session's start uses a session as it is."""
    hooks = make_hooks({"SessionStart": [hook("touch fired")], "SessionEnd": [hook("touch fired")]})
    asyncio.run(hooks.session().before_tool("t", {}))
    assert not (tmp_path / "fired").exists()


def test_whether_there_are_hooks(make_hooks: MakeHooks) -> None:
    """Programs that stream ask before they show anything."""
    redact = hook(says({"hookSpecificOutput": {"llm_response": {"text": "x"}}}))
    hooks = make_hooks({"AfterModel": [redact], "BeforeTool": [hook("true", matcher="write_.*")]})
    assert [hooks.has_hooks(event) for event in ("AfterModel", "BeforeTool", "AfterTool")] == [True, True, False]
    assert hooks.must_hold_stream
    assert not make_hooks({"AfterModel": [redact]}, config={"streamDuringAfterModel": True}).must_hold_stream
    assert not make_hooks({"BeforeModel": [redact]}).must_hold_stream
    assert hooks.has_hooks("AfterTool", "BeforeTool")
    assert not hooks.has_hooks("AfterTool", "BeforeModel")
    with pytest.raises(ValueError, match="AfterToool"):
        hooks.has_hooks("AfterToool")


def test_the_observer_sees_progress_and_decisions(make_hooks: MakeHooks) -> None:
    """It sees each hook and gets the verdict."""
    seen: list[Any] = []

    class Observer(HookObserver):
        def hooks_started(self, plan: HookExecutionPlan, **_: object) -> None:
            seen.append([one.label for one in plan.hooks])

        def hook_ended(self, hook: Any, **_: object) -> None:
            seen.append(hook.label)

        def hooks_finished(self, verdict: Verdict, **_: object) -> None:
            seen.append(verdict.blocked)

    hooks = make_hooks({"BeforeTool": [hook("exit 2", name="guard")]}, observer=Observer())
    asyncio.run(hooks.session().before_tool("t", {}))
    assert seen == [["guard"], "guard", True]


def test_nothing_of_the_sdk_is_loaded() -> None:
    """Model events pass without google-genai: the same program works where it is not installed."""
    code = f"""
import sys
sys.modules["google"] = None
import asyncio
from hookline import Hooks
redact = {{"type": "command", "command": {says({"hookSpecificOutput": {"llm_response": {"text": "[gone]"}}})!r}}}
restrict = {{"type": "command", "command": {says({"hookSpecificOutput": {"toolConfig": {"mode": "NONE"}}})!r}}}
settings = {{"enableHooks": True, "hooksConfig": {{"log": {{"enabled": False}}}},
    "hooks": {{"AfterModel": [{{"hooks": [redact]}}], "BeforeToolSelection": [{{"hooks": [restrict]}}]}}}}
session = Hooks(".", settings=settings).session()
request = {{"model": "m", "messages": [{{"role": "user", "content": "hi"}}]}}
print(session.sync.after_model(request, {{"text": "secret"}}).text, session.sync.select_tools(request, ["a"]).allowed)
print(sorted(name for name in sys.modules if name.startswith(("google", "hookline.formats.genai"))))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[gone] ()", "['google']"]
    assert done.stderr == ""


def test_lifecycle_events_are_applied(make_hooks: MakeHooks) -> None:
    """Where answers are applied, each of the events has its typed result; entering a session waits for its context."""
    context = says({"hookSpecificOutput": {"additionalContext": "It is Monday."}})
    deny = "echo no >&2; exit 2"
    events = {
        "SessionStart": [hook(context)],
        "BeforeAgent": [hook(context)],
        "AfterAgent": [hook(deny)],
        "PreCompress": [hook("true")],
        "SessionEnd": [hook("touch ended")],
        "Notification": [hook("touch notified")],
    }
    hooks = make_hooks(events, config={"lifecycle": "apply"})

    async def main() -> None:
        async with hooks.session() as session:
            assert session.started.context == "It is Monday."
            assert (await session.before_agent("Hi.")).context == "It is Monday."
            after = await session.after_agent("Hi.", "Ho.")
            assert (after.should_go_on, after.reason) == (True, "no")
            assert not (await session.pre_compress("auto")).blocked
            await session.notify("ToolPermission", "May I?", {})
            assert await session.session_end("exit") is None  # type: ignore[func-returns-value]
            with pytest.raises(ValueError, match="whenever"):
                await session.session_start("whenever")

    asyncio.run(main())
    sync = hooks.session().sync
    assert sync.session_start("startup").context == sync.before_agent("Hi.").context == "It is Monday."
    assert sync.after_agent("Hi.", "Ho.").should_go_on


def test_lifecycle_events_only_watch_by_default(make_hooks: MakeHooks) -> None:
    """Without the setting nothing that their hooks answer has an effect."""
    hooks = make_hooks({"BeforeAgent": [hook("exit 2")], "AfterAgent": [hook("exit 2")]})
    session = hooks.session()
    assert not asyncio.run(session.before_agent("Hi.")).blocked
    assert not asyncio.run(session.after_agent("Hi.", "Ho.")).should_go_on


@pytest.mark.parametrize("is_function", [False, True], ids=["script", "function"])
def test_an_observer_can_be_told_the_session(make_hooks: MakeHooks, is_function: bool) -> None:
    """Of many sessions at once, each call has the one that it belongs to; the program's own has the config's id."""
    seen: list[Any] = []

    class Observer(HookObserver):
        def hooks_started(self, plan: HookExecutionPlan, *, session: SessionFacts) -> None:  # noqa: ARG002 - the signature of HookObserver
            seen.append(("started", session.session_id, session.agent))

        def hook_ended(self, hook: Any, *, session: SessionFacts) -> None:  # noqa: ARG002 - the same
            seen.append(("ended", session.session_id, session.agent))

        def hooks_finished(self, verdict: Verdict, *, session: SessionFacts) -> None:
            assert verdict.blocked
            seen.append(("finished", session.session_id, session.agent))

    hooks = make_hooks({} if is_function else {"BeforeTool": [hook("exit 2")]}, observer=Observer())
    if is_function:
        hooks.on("BeforeTool")(lambda _: Deny("no"))

    async def main() -> None:
        sessions = [hooks.session(f"s-{number}", agent=f"a-{number}") for number in range(3)]
        await asyncio.gather(*(session.before_tool("t", {}) for session in sessions))
        system = hooks.config.get_hook_system()
        assert system is not None
        await system.get_event_handler().fire_before_tool_event("t", {})

    asyncio.run(main())
    owners = [(f"s-{number}", f"a-{number}") for number in range(3)] + [(hooks.config.get_session_id(), None)]
    assert sorted(seen) == sorted((step, *owner) for owner in owners for step in ("started", "ended", "finished"))


def test_dialects_are_an_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Other agents' files are read as well, if hooks are enabled; an unknown agent is an error that lists the known."""
    (tmp_path / ".claude").mkdir()
    group = {"matcher": "Bash", "hooks": [{"type": "command", "command": "exit 2"}]}
    (tmp_path / ".claude" / "settings.json").write_text(json.dumps({"hooks": {"PreToolUse": [group]}}))
    file = tmp_path / ".claude" / "settings.json"
    with Hooks(tmp_path, settings_files=[file], dialects=["claude"]) as hooks:
        assert asyncio.run(hooks.session().before_tool("run_shell_command", {"command": "ls"})).blocked
    with Hooks(tmp_path, dialects=["claude"]) as hooks:
        assert hooks.list_hooks() == ()
    assert (
        'the hooks of claude do not run: the settings do not enable hooks; set "enableHooks"' in capsys.readouterr().err
    )
    (tmp_path / ".llxprt").mkdir()
    (tmp_path / ".llxprt" / "settings.json").write_text('{"enableHooks": true}')
    with Hooks(tmp_path, dialects=["claude"]) as hooks:
        assert [one.dialect for one in hooks.list_hooks()] == ["claude"]
    with pytest.raises(ValueError, match="'claud' is not an agent whose files are read; these are claude"):
        Hooks(tmp_path, dialects=["claud"])
    wrong: Any = "claude"
    with pytest.raises(TypeError, match="dialects is 'claude'; expected a list"):
        Hooks(tmp_path, dialects=wrong)
