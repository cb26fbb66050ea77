"""What hooks that are tried out would have decided, next to what became of the calls."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.inspect.proof.test_prove import Claude

from hookline import Hooks, ToolResult
from hookline.apps.cli.main import main
from hookline.apps.cli.report.trials import trial_lines, trial_report
from hookline.inspect.proof.shadow import Sequel, TriedHook, read_trials
from hookline.log.read.entry import LogQuery
from hookline.log.read.reader import LogReader
from hookline.protocol.constants import CANARY_AGENT

ON_TRIAL = 'case "$(cat)" in *secret*) echo "no secrets" >&2; exit 2;; esac'
ENFORCED = 'case "$(cat)" in *forbidden*) echo "not that" >&2; exit 2;; esac'


def configure(home: Path, **tried: Any) -> None:
    """A guard on trial, one that is enforced, and a hook that runs after tools."""
    before = [
        {"type": "command", "name": "tried", "command": ON_TRIAL, "mode": "shadow", **tried},
        {"type": "command", "name": "real", "command": ENFORCED},
    ]
    after = [{"type": "command", "name": "after", "command": "cat >/dev/null"}]
    settings = {"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": before}], "AfterTool": [{"hooks": after}]}}
    file = home / ".llxprt" / "settings.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(settings))


async def work(project: Path) -> None:
    """A session: one call runs, is made again without a known end, and another one is blocked."""
    async with Hooks(project) as hooks, hooks.session("s") as session:
        call = await session.before_tool("shell", {"command": "cat secret"})
        await session.after_tool(call, ToolResult(llm_content="ok"))
        await session.before_tool("shell", {"command": "cat secret"})
        assert (await session.before_tool("shell", {"command": "cat secret forbidden"})).blocked
        call = await session.before_tool("shell", {"command": "ls"})
        await session.after_tool(call, ToolResult(llm_content="ok"))


def trials_of(capsys: pytest.CaptureFixture[str], project: Path, *words: str) -> list[dict[str, Any]]:
    assert main(["log", "--stats", "--shadow", "--json", "--project", str(project), *words]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["trials"]
    return found


def sequels(**counts: int) -> dict[str, int]:
    return {"ran": 0, "refused": 0, "blocked": 0, "unknown": 0, **counts}


def test_it_says_what_became_of_each_call(own_home: Path, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Filters choose the hook, and the records of events and of other hooks still say what happened."""
    configure(own_home)
    asyncio.run(work(project))
    for words in ((), ("--hook", "tried"), ("--event", "BeforeTool"), ("--tool", "shell")):
        (tried,) = trials_of(capsys, project, *words)
        assert (tried["runs"], tried["wouldBlock"], tried["keptBack"], tried["wentOn"]) == (4, 3, 3, 2), words
        assert tried["sequels"] == sequels(ran=1, blocked=1, unknown=1), words
        assert (tried["repeated"], tried["sessions"], tried["tools"]) == (1, 1, {"shell": 3})
    assert [example["sequel"] for example in tried["examples"]] == ["ran", "unknown", "blocked"]
    assert "hooks.BeforeTool[0].hooks[0]" in tried["promote"]
    assert trials_of(capsys, project, "--hook", "real") == []
    assert main(["log", "--stats", "--shadow", "--project", str(project)]) == 0
    shown = capsys.readouterr().out
    assert "4 runs since" in shown
    assert "would have blocked 3, asked about 0" in shown
    assert "of these 3 (1 the same as an earlier one of the session): 1 ran; 1 blocked by another hook; 1 p" in shown
    assert "asked by program 3" in shown
    assert "To enforce it, remove its mode" in shown


@pytest.mark.parametrize(("refused", "sequel"), [(True, "refused"), (False, "ran")])
def test_transcripts_say_what_the_person_did(
    refused: bool, sequel: str, own_home: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(own_home)
    claude = Claude(own_home, project)
    assert not claude.ask("cat secret")
    claude.wrote("cat secret", refused=refused)
    (tried,) = trials_of(capsys, project)
    assert tried["sequels"] == sequels(**{sequel: 1})
    assert tried["agents"] == {"claude": 1}


def test_a_transcript_that_could_mean_another_call_says_nothing(
    own_home: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(own_home)
    claude = Claude(own_home, project)
    claude.wrote("cat secret", refused=True)  # before there was a hook
    assert not claude.ask("cat secret")
    claude.wrote("cat secret")
    (tried,) = trials_of(capsys, project)
    assert tried["sequels"] == sequels(unknown=1)


def test_a_failure_that_would_block_is_counted(
    own_home: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A guard with onError block that fails would have blocked: whoever enforces it has to know."""
    configure(own_home, command="exit 7", onError="block")
    event = '{"tool_name": "shell", "tool_input": {}}'
    main(["fire", "BeforeTool", "--input", event, "--project", str(project)])
    capsys.readouterr()
    (tried,) = trials_of(capsys, project)
    assert (tried["failures"], tried["wouldBlock"]) == (1, 1)


def record(number: int, **more: Any) -> dict[str, Any]:
    common = {"time": f"2026-01-01T00:00:{number:02d}.000Z", "level": "info", "message": "m", "fire": f"f{number}"}
    return {
        **common,
        "kind": "hook",
        "id": f"f{number}-0",
        "event": "BeforeTool",
        "hook": "h",
        "mode": "shadow",
        **more,
    }


def read(tmp_path: Path, *records: Mapping[str, Any]) -> list[TriedHook]:
    log = tmp_path / "hooks.jsonl"
    log.write_text("".join(json.dumps(each, separators=(",", ":")) + "\n" for each in records))
    with LogReader(log) as reader:
        return read_trials(reader, LogQuery(), lambda value: value)


def test_stops_changes_and_older_records_are_counted(tmp_path: Path) -> None:
    (tried,) = read(
        tmp_path,
        record(1, would=["stop"]),
        record(2, would=["change"]),
        record(3, would=[]),
        record(4, decision="deny"),
        record(5, decision="ask"),
        record(6, would=["block"], agent=CANARY_AGENT),
    )
    assert dict(tried.would) == {"stop": 1, "change": 1, "block": 1, "ask": 1}
    assert (tried.runs, len(tried.calls)) == (5, 3)
    shown = "\n".join(trial_lines([trial_report(tried)]))
    assert "asked about 1, stopped the agent at 1, changed 1" in shown


def test_only_tool_calls_can_be_refused_after_the_hooks(tmp_path: Path) -> None:
    model = {"event": "BeforeModel"}
    (tried,) = read(
        tmp_path,
        record(1, would=["block"], **model),
        {**record(1, **model), "kind": "event", "mode": None, "blocked": False},
    )
    assert [call.sequel for call in tried.calls] == [Sequel.RAN]


def test_lines_that_are_no_records_are_passed_over(tmp_path: Path) -> None:
    strange = {**record(1, would=["block"]), "stdin": '{"tool_input": [[', "location": 5, "session": None}
    (tried,) = read(tmp_path, strange, {"kind": "event", "fire": "f1"}, {"kind": "hook", "event": "AfterTool"})
    assert [call.sequel for call in tried.calls] == [Sequel.UNKNOWN]
