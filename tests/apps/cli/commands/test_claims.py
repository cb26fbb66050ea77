"""hookline's reports about itself: one vocabulary, evidence with a source, and a row for every decision."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.fleet.company import Company, agents_off, settings

from hookline.apps.cli.main import main
from hookline.apps.ui.records import sessions, timeline, whole_event
from hookline.engine.event_table import EVENT_TABLE
from hookline.errors import UsageError
from hookline.log.paths import log_path
from hookline.log.read.entry import LogQuery
from hookline.log.read.reader import LogReader
from hookline.log.read.statistics import chart
from hookline.protocol.constants import REAL_SOURCES, FiredBy
from hookline.protocol.events import BLOCKABLE_EVENTS, WATCHED_EVENTS, HookEventName
from hookline.protocol.text.outcome_words import RECORD_WORDS, EventOutcome, HookResult
from hookline.settings.canary import canary_at
from hookline.settings.read.paths import default_paths

if TYPE_CHECKING:
    from tests.apps.cli.conftest import Workbench


def guards(*commands: str, event: str = "BeforeTool", **more: Any) -> dict[str, Any]:
    hooks = [{"type": "command", "name": f"guard{n}", "command": each, **more} for n, each in enumerate(commands)]
    return {"hooks": {event: [{"hooks": hooks}]}}


def says(**answer: Any) -> str:
    return f"printf %s '{json.dumps(answer)}'"


def log_records(workbench: "Workbench", *words: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in workbench.run("log", "--json", *words).splitlines()]


def rows(**given: str) -> list[dict[str, Any]]:
    return list(timeline(log_path(None), given)["rows"])


@pytest.mark.req("CLAIM-001")
@pytest.mark.parametrize(
    ("command", "event", "more", "result", "outcome"),
    [
        pytest.param("true", "BeforeTool", {}, "no opinion", "allowed", id="nothing"),
        pytest.param(says(decision="allow"), "BeforeTool", {}, "allowed", "allowed", id="allow"),
        pytest.param(says(decision="block", reason="no"), "BeforeTool", {}, "blocked", "blocked", id="json-block"),
        pytest.param("echo no >&2; exit 2", "BeforeTool", {}, "blocked", "blocked", id="exit-2"),
        pytest.param(says(decision="ask", reason="?"), "BeforeTool", {}, "asked", "asked", id="ask"),
        pytest.param(
            says(hookSpecificOutput={"permissionDecision": "ask"}), "BeforeTool", {}, "asked", "asked", id="permission"
        ),
        pytest.param(
            says(hookSpecificOutput={"tool_input": {"a": 1}}),
            "BeforeTool",
            {},
            "no opinion",
            "allowed, rewritten",
            id="rewrite",
        ),
        pytest.param("exit 3", "BeforeTool", {}, "failed", "allowed", id="failure"),
        pytest.param("exit 3", "BeforeTool", {"onError": "block"}, "failed", "blocked", id="strict-failure"),
        pytest.param(says(**{"continue": False}), "BeforeTool", {}, "blocked", "stopped", id="stop"),
        pytest.param("exit 2", "BeforeTool", {"mode": "shadow"}, "would block", "would block", id="shadow-exit-2"),
        pytest.param(
            says(decision="deny"), "BeforeTool", {"mode": "shadow"}, "would block", "would block", id="shadow-json"
        ),
        pytest.param("exit 2", "AfterTool", {}, "blocked", "allowed", id="too-late"),
        pytest.param("exit 2", "AfterTool", {"mode": "shadow"}, "would block", "allowed", id="shadow-too-late"),
    ],
)
def test_one_vocabulary(
    workbench: "Workbench", command: str, event: str, more: dict[str, Any], result: str, outcome: str
) -> None:
    """The log, the page and `fire` use the same words for what a hook answered and what came of it."""
    workbench.write(workbench.user_file, guards(command, event=event, **more))
    fields = json.dumps({"tool_name": "t", "tool_input": {"command": "make it"}, "tool_response": {}})
    word = outcome.partition(",")[0]
    code = 2 if word in ("blocked", "stopped") else 0
    fired = workbench.run("fire", event, "--input", fields, code=code)
    assert re.search(rf"^  guard0 .*  {result}  ", fired, re.MULTILINE)
    assert re.search(rf"^{outcome.capitalize()}\b", fired, re.MULTILINE)
    run, end = (record for record in log_records(workbench) if record["kind"] in ("hook", "event"))
    assert (run["result"], end["outcome"]) == (result, word)
    first, *_, last = workbench.run("log").splitlines()
    assert f"{event} t: guard0: {result}" in first
    assert f"{event} t: {outcome}" in last
    assert [row["outcome"] for row in rows(show="runs")] == [result]
    (row,) = rows()
    assert (row["outcome"], row["isRewritten"]) == (word, "rewritten" in outcome)
    assert "make it" in first
    assert "make it" in last or "rewritten" in outcome
    assert {result, word} <= {*HookResult, *EventOutcome}


@pytest.mark.req("CLAIM-001")
@pytest.mark.parametrize("lifecycle", ["apply", "watch"])
def test_what_would_be_blocked_is_what_the_mode_enforce_blocks(workbench: "Workbench", lifecycle: str) -> None:
    """On every event: a hook on trial claims no block that its event does not hear."""
    outcomes: dict[str, list[str]] = {}
    for mode in ("enforce", "shadow"):
        hooks = {event.value: guards("exit 2", event=event, mode=mode)["hooks"][event] for event in HookEventName}
        workbench.write(workbench.user_file, {"hooks": hooks, "hooksConfig": {"lifecycle": lifecycle}})
        for event in HookEventName:
            main(["fire", event])
            record = log_records(workbench, "--event", event)[-1]
            outcomes.setdefault(event, []).append(record["outcome"])
    assert all(was == now.replace("would block", "blocked") for was, now in outcomes.values())
    assert outcomes["BeforeTool"] == ["blocked", "would block"]
    rows = EVENT_TABLE.items()
    assert {event for event, row in rows if row.can_block or row.block_continues_turn} == BLOCKABLE_EVENTS
    assert {event for event, row in rows if row.observe_only} == WATCHED_EVENTS


@pytest.mark.req("CLAIM-001")
def test_the_reason_of_what_would_be_blocked_is_that_of_the_block(workbench: "Workbench") -> None:
    """Not that of another hook on trial, which came first."""
    asks = says(decision="ask", reason="sure?")
    changes = says(hookSpecificOutput={"tool_input": {"a": 1}})
    workbench.write(workbench.user_file, guards(changes, asks, "echo far too bad >&2; exit 2", mode="shadow"))
    workbench.fire("t", command="ls")
    assert "BeforeTool t: would block: far too bad (" in workbench.run("log")
    assert "would ask" in workbench.run("log", "--decision", "would ask")
    assert "would ask" not in workbench.run("log", "--decision", "asked")


@pytest.mark.req("CLAIM-001")
def test_words_for_records_of_older_versions(workbench: "Workbench") -> None:
    """Records of older versions, without these words, are judged by the same rules."""
    base = {"time": "2026-01-01T00:00:00.000Z", "fire": "f1", "event": "BeforeTool", "session": "s"}
    run = {**base, "kind": "hook", "level": "info", "hook": "g", "success": False, "exitCode": 2, "decision": "deny"}
    written: list[tuple[dict[str, Any], str]] = [
        ({**run}, "blocked"),
        ({**run, "mode": "shadow"}, "would block"),
        ({**run, "decision": "ask"}, "asked"),
        ({**run, "decision": None}, "no opinion"),
        ({**run, "level": "warn"}, "failed"),
        ({**base, "kind": "event", "blocked": True}, "blocked"),
        ({**base, "kind": "event", "ask": True}, "asked"),
        ({**base, "kind": "event", "stop": True, "blocked": True}, "stopped"),
        ({**base, "kind": "event", "goOn": True}, "blocked"),
        ({**base, "kind": "event"}, "allowed"),
    ]
    path = log_path(None)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(record)}\n" for record, _ in written))
    assert [row["outcome"] for row in reversed(rows(show="all"))] == [word for _, word in written]
    del workbench


@pytest.mark.req("CLAIM-002")
def test_fire_is_no_evidence(workbench: "Workbench") -> None:
    """A guard that denied an event of `hookline fire` has no evidence from it."""
    workbench.write(workbench.user_file, guards("exit 2"))
    workbench.fire("t", command="rm -rf /")
    signs = [sign for sign in workbench.json("doctor")["checks"] if sign["about"] == "evidence"]
    assert [(sign["words"]["observed"], sign["words"]["enforced"]) for sign in signs] == [(None, None)] * 2
    (hook,) = workbench.json("list")["hooks"]
    assert (hook["runs"], hook["words"]["observed"], hook["words"]["enforced"]) == (1, None, None)
    (own,) = workbench.json("doctor", "--prove", "--no-canary", code=1)["words"]
    assert (own["observed"], own["enforced"]) == (None, None)


@pytest.mark.req("CLAIM-005")
@pytest.mark.parametrize(
    ("settings", "conclusion"),
    [
        ({}, "No hook runs here: none is configured."),
        (guards("true", enabled=False), "No hook runs here: all are disabled."),
        (guards("true"), "Hooks run here."),
    ],
)
def test_doctor_does_not_say_that_hooks_run_where_there_are_none(
    workbench: "Workbench", settings: dict[str, Any], conclusion: str
) -> None:
    """Its last line is about hooks that exist and are enabled."""
    workbench.write(workbench.user_file, settings)
    assert workbench.run("doctor").splitlines()[-1] == conclusion


@pytest.mark.req("CLAIM-002")
def test_the_page_names_the_source(workbench: "Workbench") -> None:
    """No session, row or trial of `hookline fire` is shown as one of an agent."""
    workbench.write(workbench.user_file, guards("exit 2", mode="shadow"))
    workbench.fire("t", command="ls")
    (session,), (row,) = sessions(log_path(None)), rows()
    assert (session["agent"], row["asker"]) == ("hookline fire", "hookline fire")
    assert whole_event(log_path(None), row["fire"])["end"]["asker"] == "hookline fire"
    (tried,) = workbench.json("log", "--stats", "--shadow")["trials"]
    assert tried["agents"] == {"hookline fire": 1}


@pytest.mark.req("CLAIM-002")
@pytest.mark.parametrize(
    ("facts", "asker"),
    [
        *(pytest.param({"firedBy": each.value}, None, id=each.value) for each in FiredBy if each not in REAL_SOURCES),
        pytest.param({"firedBy": "agent"}, "hookline", id="agent"),
        pytest.param({"firedBy": "bridge", "agent": "claude"}, "claude", id="bridge"),
        pytest.param({"firedBy": "program"}, "program", id="program"),
        pytest.param({"firedBy": "fire", "agent": "claude"}, None, id="fire-as-an-agent"),
        pytest.param({"firedBy": "of a later version"}, None, id="unknown"),
        pytest.param({}, None, id="older"),
        pytest.param({"agent": "claude"}, "claude", id="older-bridge"),
        pytest.param({"agent": "hookline-canary"}, None, id="older-canary"),
        pytest.param({"agent": "claude", "hook": "hookline-canary"}, None, id="older-canary-of-an-agent"),
    ],
)
def test_evidence_has_a_source(tmp_path: Path, facts: dict[str, str], asker: str | None) -> None:
    """Only events of a real agent are evidence."""
    line = {"time": "2026-01-01T00:00:00.000Z", "kind": "hook", "event": "BeforeTool", "decision": "deny", "hook": "g"}
    log = tmp_path / "hooks.jsonl"
    log.write_text(f"{json.dumps({**line, **facts})}\n" * 3)
    with LogReader(log) as reader:
        statistics = reader.statistics(LogQuery())
    assert list(statistics.agents) == ([] if asker is None else [asker])
    for hook in statistics.hooks.values():
        assert (hook.observed_by, hook.enforced_by) == (asker, asker)


@pytest.mark.req("CLAIM-003")
def test_an_event_whose_guard_is_not_trusted_has_a_row(workbench: "Workbench") -> None:
    """Every such event, with what went through."""
    workbench.write(workbench.project_file, guards("exit 2"))
    for command in ("rm -rf /", "ls"):
        workbench.fire("t", command=command)
    found = [(row["outcome"], row["call"], row["untrusted"]) for row in rows()]
    assert found == [("allowed", "ls", ("guard0",)), ("allowed", "rm -rf /", ("guard0",))]
    assert "BeforeTool t: allowed: guard0 did not run: untrusted  rm -rf /" in workbench.run("log")
    assert workbench.json("log", "--stats")["events"] == {"allowed": 2}


@pytest.mark.req("CLAIM-003")
def test_a_kill_switch_has_a_row(workbench: "Workbench", tmp_path: Path) -> None:
    """It is an event that was decided, by the switch."""
    workbench.write(workbench.user_file, guards("true"))
    company = Company(tmp_path)
    company.gives_settings(settings("true"))
    company.gives(company.switches(agents_off("incident 7")))
    workbench.fire("t", command="ls")
    (row,) = rows()
    assert (row["outcome"], row["decider"], row["by"], row["call"]) == ("blocked", "switch", ("the kill switch",), "ls")
    assert "incident 7" in row["message"]


@pytest.mark.req("CLAIM-010")
@pytest.mark.parametrize("decider", ["switch", "policy", "fault"])
def test_a_denial_without_a_hook_is_found_as_one(
    decider: str, workbench: "Workbench", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By `log --decision` and on the page; it can't be recorded as a case."""
    workbench.write(workbench.user_file, {**guards("exit 2"), "hooksConfig": {"onFault": "block"}})
    workbench.fire("t", command="by a hook")
    company = Company(tmp_path, **({"onExpiry": "block"} if decider == "policy" else {}))
    if decider == "switch":
        company.gives_settings(settings("true"))
        company.gives(company.switches(agents_off()))
    if decider == "fault":
        company.gives_settings(settings("true"))
        monkeypatch.setattr("hookline.engine.handler.decide", lambda *_, **__: 1 / 0)
    workbench.fire("t", command="without a hook")
    found = [(row["kind"], row["call"]) for row in log_records(workbench, "--decision", "blocked")]
    assert found == [("hook", "by a hook"), ("event", "by a hook"), ("event", "without a hook")]
    assert [row["call"] for row in rows(decision="blocked")] == ["without a hook", "by a hook"]
    for other in ("asked", "allowed"):
        assert log_records(workbench, "--decision", other) == []
    assert "without a hook" not in workbench.run("replay", "--save", "-", "--decision", "blocked")


@pytest.mark.req("CLAIM-010")
def test_the_filter_takes_each_word_that_the_log_prints(workbench: "Workbench") -> None:
    """A record is found by the word in its line and by no other, in the log and on the page, with and without index."""
    rewrite = says(hookSpecificOutput={"tool_input": {"command": "ls"}})
    answers = {
        "block": "exit 2",
        "ask": says(decision="ask"),
        "stop": says(**{"continue": False}),
        "change": rewrite,
        "allow": says(decision="allow"),
        "fail": "exit 3",
        "quiet": "true",
    }
    for name, command in answers.items():
        workbench.write(workbench.user_file, guards(command))
        workbench.fire("t", command=name)
    for name in ("block", "ask"):
        workbench.write(workbench.user_file, guards(answers[name], mode="shadow"))
        workbench.fire("t", command=f"would {name}")
    every = [row for row in log_records(workbench, "--skipped", "-n", "0") if row["kind"] in ("hook", "event")]
    for word in RECORD_WORDS:
        wanted = [row for row in every if word in (row.get("result"), row.get("outcome"), _rewritten(row))]
        kinds = ("hook", "event")
        found = [row for row in log_records(workbench, "--decision", word, "-n", "0") if row["kind"] in kinds]
        assert found == wanted
        assert wanted or word == "skipped"
        with LogReader(log_path(None)) as reader:
            assert [one.fire for one in reader.entries(LogQuery(decision=word))] == [one["fire"] for one in wanted]
        shown = rows(decision=word)
        events = [row["fire"] for row in wanted if row["kind"] == "event"]
        assert [row["fire"] for row in shown] == (events or [row["fire"] for row in wanted])[::-1]
    for old in ("deny", "block", "ask", "allow", "approve"):
        with pytest.raises(UsageError, match="is not an outcome"):
            rows(decision=old)
        with pytest.raises(SystemExit):
            main(["log", "--decision", old])


def _rewritten(row: dict[str, Any]) -> str | None:
    return "rewritten" if row.get("effect") else None


@pytest.mark.req("CLAIM-003")
def test_a_fault_has_a_row(workbench: "Workbench", monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that hookline could not judge is also an event."""
    workbench.write(workbench.user_file, {**guards("true"), "hooksConfig": {"onFault": "block"}})
    monkeypatch.setattr("hookline.engine.handler.decide", lambda *_, **__: 1 / 0)
    workbench.fire("t", command="ls")
    row = next(row for row in rows() if row["kind"] == "event")
    assert (row["outcome"], row["decider"], row["call"]) == ("blocked", "fault", "ls")


@pytest.mark.req("CLAIM-004")
@pytest.mark.parametrize(
    ("arguments", "call"),
    [
        pytest.param({"command": "ls -la"}, "ls -la", id="command"),
        pytest.param({"command": ["bash", "-lc", "ls x"]}, "bash -lc 'ls x'", id="words"),
        pytest.param({"content": "long", "file_path": "a.txt"}, "a.txt", id="file"),
        pytest.param({"command": "view", "path": "/etc/passwd"}, "view /etc/passwd", id="editor"),
        pytest.param({"command": "ls", "file_path": ".env"}, "ls .env", id="decoy"),
        pytest.param({"command": "ls", "directory": "src"}, "ls", id="directory"),
        pytest.param({"a": 1}, '{"a":1}', id="other"),
        pytest.param({"command": "a\n\tb"}, "a b", id="lines"),
        pytest.param({"command": "x" * 500}, "x" * 199 + "…", id="long"),
        pytest.param({}, None, id="nothing"),
        pytest.param({"command": "curl -H 'Authorization: Bearer abcdef0123456789'"}, "[redacted]", id="secret"),
        pytest.param({"command": "y" * 190 + " API_TOKEN=abcdefghijklmnop"}, "y" * 190 + " API_TOKE…", id="cut-secret"),
        pytest.param({"command": "\x1b[31mred\x07"}, "\x1b[31mred\x07", id="control"),
    ],
)
def test_the_log_says_which_call(workbench: "Workbench", arguments: dict[str, Any], call: str | None) -> None:
    """Shortened, without secrets, and harmless on a terminal."""
    workbench.write(workbench.user_file, guards("true"))
    workbench.fire("t", **arguments)
    for record in log_records(workbench):
        shown = record.get("call")
        assert shown == call or (call is not None and call in str(shown))
        assert "abcdef" not in str(shown)
    assert not {"\x1b", "\x07"} & {*workbench.run("log")}


@pytest.mark.req("CLAIM-002")
def test_a_canary_is_marked_and_left_out(workbench: "Workbench") -> None:
    """The denials of `hookline doctor --prove` are in no count, and `replay` ignores them."""
    workbench.write(workbench.user_file, guards("true"))
    with canary_at(default_paths(str(workbench.project)).canary, 60) as canary:
        workbench.fire("run_shell_command", command=f"echo {canary.text}")
    workbench.fire("run_shell_command", command="ls")
    canaries = [record for record in log_records(workbench) if record.get("firedBy") == "canary"]
    assert [(record["kind"], record.get("hook")) for record in canaries] == [
        ("hook", "guard0"),
        ("hook", "hookline-canary"),
        ("event", None),
    ]
    assert workbench.json("log", "--stats")["events"] == {"allowed": 1}
    assert workbench.json("replay")["events"] == 1
    assert workbench.json("replay", "--from", "log")["events"] == 1


@pytest.mark.req("CLAIM-002")
def test_a_guard_that_is_called_like_the_canary_is_counted(workbench: "Workbench") -> None:
    """A name can't take a guard's blocks out of the statistics."""
    settings = guards("exit 2")
    settings["hooks"]["BeforeTool"][0]["hooks"][0]["name"] = "hookline-canary"
    workbench.write(workbench.user_file, settings)
    workbench.fire("t", command="ls")
    assert {record["firedBy"] for record in log_records(workbench)} == {"fire"}
    assert workbench.json("log", "--stats")["events"] == {"blocked": 1}


@pytest.mark.req("CLAIM-006")
def test_fire_takes_a_tool(workbench: "Workbench") -> None:
    """By its name, without JSON."""
    workbench.write(workbench.user_file, guards("cat >seen"))
    workbench.run("fire", "BeforeTool", "--tool", "write_file")
    seen = json.loads((workbench.project / "seen").read_text())
    assert (seen["tool_name"], seen["tool_input"]) == ("write_file", {})
    given = '{"tool_name": "x"}'
    assert "give one of them" in workbench.run("fire", "BeforeTool", "--tool", "y", "--input", given, code=1)
    assert "BeforeAgent is not about a tool" in workbench.run("fire", "BeforeAgent", "--tool", "y", code=1)


@pytest.mark.req("CLAIM-006")
def test_fire_takes_the_names_of_another_agent(workbench: "Workbench") -> None:
    """Its hooks read them as that agent gives them, and ours read our own."""
    workbench.write(workbench.user_file, guards("cat >ours"))
    claude = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "cat >theirs"}]}]}}
    workbench.write(workbench.home / ".claude" / "settings.json", json.dumps(claude))
    words = ("--dialect", "claude", "--tool", "Bash", "--input", '{"tool_input": {"command": "ls"}}')
    workbench.run("fire", "PreToolUse", *words)
    seen = {name: json.loads((workbench.project / name).read_text()) for name in ("ours", "theirs")}
    assert [seen["ours"][name] for name in ("hook_event_name", "tool_name")] == ["BeforeTool", "run_shell_command"]
    assert [seen["theirs"][name] for name in ("hook_event_name", "tool_name")] == ["PreToolUse", "Bash"]
    assert seen["ours"]["tool_input"] == {"command": "ls"} == seen["theirs"]["tool_input"]
    workbench.run("fire", "BeforeTool", *words)
    assert json.loads((workbench.project / "ours").read_text())["tool_name"] == "run_shell_command"
    patch = workbench.run("fire", "PreToolUse", "--dialect", "codex", "--tool", "apply_patch", code=1)
    assert "apply_patch of Codex can be write_file or replace here" in patch
    without = workbench.run("fire", "PreToolUse", "--tool", "Bash", code=1)
    assert "write BeforeTool, or add --dialect claude" in without


@pytest.mark.req("CLAIM-001")
def test_a_pack_is_counted_for_each_of_its_events(workbench: "Workbench") -> None:
    """One entry of the settings, several hooks: runs and cases count for the event that they were about."""
    workbench.write(workbench.user_file, {"use": ["hookline:secrets"]})
    events = [hook["event"] for hook in workbench.json("list")["hooks"]]
    assert len(events) > 1
    workbench.fire("read_file", file_path="notes.txt")
    assert {hook["event"]: hook["runs"] for hook in workbench.json("list")["hooks"]} == {
        event: int(event == "BeforeTool") for event in events
    }
    case = workbench.project / "a.hooks.toml"
    case.write_text('[[case]]\nname = "n"\ntool = "read_file"\narguments.file_path = "notes.txt"\nexpect = "allowed"\n')
    coverage = workbench.json("test", str(case))["coverage"]
    assert {one["event"]: one["runs"] for one in coverage} == {event: int(event == "BeforeTool") for event in events}


@pytest.mark.req("CLAIM-004")
def test_statistics_have_a_chart_and_the_calls_that_were_blocked_most_often(workbench: "Workbench") -> None:
    """The same in `log --stats`, in `stats` and on the page."""
    workbench.write(workbench.user_file, guards("case $(cat) in *rm*) exit 2;; esac"))
    for command in ("rm a", "rm b", "rm a", "ls"):
        workbench.fire("shell", command=command)
    report = workbench.json("log", "--stats")
    assert report == workbench.json("log", "--stats")
    assert report["events"] == {"allowed": 1, "blocked": 3}
    assert report["blockedCalls"] == [
        {"tool": "shell", "call": "rm a", "count": 2},
        {"tool": "shell", "call": "rm b", "count": 1},
    ]
    assert sum(bar["events"] for bar in report["chart"]) == 4
    assert sum(bar["blocked"] for bar in report["chart"]) == 3
    shown = workbench.run("log", "--stats")
    assert "4 events: 1 allowed, 3 blocked" in shown
    assert "  2  shell  rm a\n  1  shell  rm b\n" in shown


@pytest.mark.parametrize(
    ("times", "step", "bars"),
    [
        ({}, 600, 0),
        ({"2026-01-01T00:0": {"allowed": 1}}, 600, 1),
        ({"2026-01-01T00:0": {"allowed": 1}, "2026-01-01T01:0": {"blocked": 2}}, 600, 7),
        ({"2026-01-01T00:0": {"allowed": 1}, "2026-01-02T00:0": {"asked": 2}}, 3600, 25),
        ({"2020-01-01T00:0": {"allowed": 1}, "2026-01-02T00:0": {"asked": 2}}, None, 48),
        ({"garbage": {"allowed": 1}, "2026-13-01T00:0": {"allowed": 1}}, 600, 0),
    ],
)
def test_a_chart_has_a_bar_for_every_time(times: dict[str, dict[str, int]], step: int | None, bars: int) -> None:
    """Also for those without events; a log of any length has a bounded number of them."""
    found_step, found = chart(times)
    assert len(found) <= max(bars, 49)
    if step is not None:
        assert (found_step, len(found)) == (step, bars)
    assert sum(bar["events"] for bar in found) == sum(sum(counts.values()) for counts in times.values()) * bool(bars)
