"""What the page reads and does."""

import asyncio
import json
import os
import re
from argparse import Namespace
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.apps.ui.conftest import PORT, TOKEN, Page, make_config, try_guard

import hookline.apps.ui
from hookline.apps.cli.main import main
from hookline.apps.cli.options import require_terminal
from hookline.apps.ui.app import ScanCache, make_app
from hookline.apps.ui.backend import Backend
from hookline.apps.ui.live import Live
from hookline.apps.ui.records import sessions
from hookline.log.read.entry import LogQuery

WORDS = ("configured", "observed", "enforced")

STATIC = Path(hookline.apps.ui.__file__).parent / "static"


def rows(page: Page, query: str = "") -> list[dict[str, Any]]:
    """The rows of the timeline."""
    found: list[dict[str, Any]] = page.get(f"/api/rows?{query}").json["rows"]
    return found


@pytest.fixture
def used(page: Page) -> Page:
    """The same after a harmless, a blocked and a rewritten call."""
    page.fire("shell", command="ls")
    page.fire("shell", command="rm -rf /")
    page.fire("shell", session="s2", command="make deploy")
    return page


def test_the_timeline_is_newest_first(used: Page) -> None:
    """Each event with what came of it, and which hook decided that."""
    shown = [(row["event"], row["subject"], row["session"], row["outcome"], row.get("by")) for row in rows(used)]
    assert shown == [
        ("BeforeTool", "shell", "s2", "allowed", None),
        ("BeforeTool", "shell", "s1", "blocked", ["guard"]),
        ("BeforeTool", "shell", "s1", "allowed", None),
    ]


def test_the_filters_are_those_of_the_log(used: Page) -> None:
    """A filter that is about single hooks shows runs."""
    queries = {
        "session=s2": ["event"],
        "decision=blocked": ["event"],
        "decision=no%20opinion": ["hook"] * 5,
        "hook=rewriter": ["hook"] * 3,
        "event=AfterTool": [],
        "tool=shell&since=1h": ["event"] * 3,
        "until=1h": [],
        "failures=1": [],
        "show=runs&slower-than=0": ["hook"] * 6,
        "unfinished=1": [],
    }
    assert {query: [row["kind"] for row in rows(used, query)] for query in queries} == queries


@pytest.mark.parametrize(
    "query", ["event=No", "since=soon", "slower-than=x", "slower-than=nan", "before=x", "show=x", "decision=maybe"]
)
def test_a_wrong_filter_is_named(page: Page, query: str) -> None:
    """A sentence, not a traceback."""
    reply = page.get(f"/api/rows?{query}")
    assert (reply.status, query.partition("=")[2] in reply.json["error"]) == (400, True)


def test_pages_follow_each_other(used: Page) -> None:
    """`next` leads to what is older, until there is nothing."""
    first = used.get("/api/rows?count=2").json
    second = used.get(f"/api/rows?count=2&before={first['next']}").json
    assert [len(first["rows"]), len(second["rows"]), second["next"]] == [2, 1, None]


def test_one_event_in_full(used: Page) -> None:
    """What each hook was told and answered, in which way it ran, what it changed, and where each field comes from."""
    event = used.get(f"/api/events/{rows(used)[0]['fire']}").json
    assert [(run["hook"], run["way"], run["inputIndex"]) for run in event["runs"]] == [
        ("guard", "cold", 0),
        ("rewriter", "cold", 0),
    ]
    assert json.loads(event["inputs"][0])["tool_input"] == {"command": "make deploy"}
    (change,) = event["runs"][1]["changes"]
    assert change == {
        "field": "tool_input",
        "before": {"command": "make deploy"},
        "after": {"command": "make deploy DRY_RUN=1"},
    }
    assert event["end"]["provenance"]["hookSpecificOutput.tool_input"] == ["rewriter"]
    assert used.get("/api/events/none").status == 400


def test_the_projects_of_the_log_can_be_chosen(used: Page) -> None:
    """All are shown, and one is chosen by its directory."""
    here = os.path.realpath(used.project)
    assert used.get("/api/projects").json == [here]
    assert (
        {row["project"] for row in rows(used)} == {one["project"] for one in used.get("/api/sessions").json} == {here}
    )
    assert [len(rows(used, f"project={place}")) for place in (here, "/elsewhere")] == [3, 0]


def test_a_session_is_a_story(used: Page) -> None:
    """Its events, oldest first, each with the hooks that ran."""
    assert [one["session"] for one in used.get("/api/sessions").json] == ["s2", "s1"]
    story = used.get("/api/session?id=s1").json
    told = [(row["outcome"], [run["outcome"] for run in row["runs"]]) for row in story["rows"]]
    assert told == [("allowed", ["no opinion", "no opinion"]), ("blocked", ["blocked", "no opinion"])]
    assert (story["summary"]["runs"], story["summary"]["blocks"]) == (4, 1)


def test_hooks_have_their_health(used: Page) -> None:
    """How often each ran, and why one has never run."""
    hooks = {hook["hook"]: hook for hook in used.get("/api/hooks").json["hooks"]}
    assert (hooks["guard"]["runs"], hooks["guard"]["blocks"], hooks["guard"]["why"]) == (3, 1, None)
    assert sum(bin_["runs"] for bin_ in hooks["guard"]["histogram"]) == 3
    assert {word: bool(hooks["guard"]["words"][word]) for word in WORDS} == dict.fromkeys(WORDS, True)
    assert hooks["guard"]["words"]["enforcedBy"] == "program"
    assert [hooks["idle"]["words"][word] for word in WORDS] == [True, None, None]
    own = used.get("/api/hooks").json["agents"][0]
    assert (own["name"], own["configured"], own["enforced"]) == (
        "hookline agent",
        True,
        None,
    )
    assert (hooks["idle"]["runs"], hooks["idle"]["why"]) == (0, "SessionEnd was never fired")
    assert len(used.get("/api/durations?hook=guard&event=BeforeTool").json) == 3


def test_settings_have_source_and_trust(page: Page) -> None:
    """Every file, and of every hook where it comes from and whether it is trusted."""
    hook = {"type": "command", "name": "guest", "command": "true"}
    file = page.project / ".llxprt" / "settings.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"hooks": {"BeforeTool": [{"hooks": [hook]}]}}))
    settings = page.get("/api/settings").json
    assert {one["source"]: one["exists"] for one in settings["files"]} == {
        "project": True,
        "user": True,
        "system": False,
    }
    states = {one["hook"]: (one["source"], one["trust"], one["state"]) for one in settings["hooks"]}
    assert states["guest"] == ("project", "new", "untrusted")
    (guest,) = [one for one in page.get("/api/hooks").json["hooks"] if one["hook"] == "guest"]
    assert "need trust" in guest["why"]


def test_a_hook_can_be_switched(page: Page) -> None:
    """As the command does it, with its record in the log."""
    assert page.post("/api/hooks/switch", {"hook": "guard", "enabled": False}).json["changed"] is True
    states = {hook["hook"]: (hook["state"], hook["why"]) for hook in page.get("/api/hooks").json["hooks"]}
    assert states["guard"][0] == "disabled"
    assert "disabled by" in states["guard"][1]
    (record,) = rows(page, "show=all")
    assert (record["kind"], record["hook"]) == ("consent", "guard")
    assert '"via":"hookline ui"' in page.backend.log.read_text()
    assert page.post("/api/hooks/switch", {"hook": "guard", "enabled": True}).json["changed"] is True


@pytest.mark.parametrize("value", [None, [], {}, {"hook": "none", "enabled": False}, {"hook": 1, "enabled": True}])
def test_a_wrong_switch_changes_nothing(page: Page, value: Any) -> None:
    """Neither an unknown hook nor nonsense."""
    assert page.post("/api/hooks/switch", value).status == 400


def test_without_a_terminal_nothing_is_switched(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks of `hookline disable` hold here, too."""
    shown = Backend(page.backend.log, make_config(page.project), partial(require_terminal, Namespace(yes=False)))
    page = replace(page, app=make_app(shown, token=TOKEN, port=PORT)[0])
    reply = page.post("/api/hooks/switch", {"hook": "guard", "enabled": False})
    assert (reply.status, "stdin is not a terminal" in reply.json["error"]) == (409, True)
    monkeypatch.setattr("hookline.inspect.consent.started_by_hookline", lambda: "a hook")
    reply = page.post("/api/hooks/switch", {"hook": "guard", "enabled": False})
    assert (reply.status, "only you decide" in reply.json["error"]) == (409, True)


def test_an_event_can_be_replayed(used: Page, own_home: Path) -> None:
    """Today's hooks decide, and nothing is added to the log."""
    fire = rows(used)[1]["fire"]
    before = used.backend.log.read_bytes()
    same = used.post(f"/api/events/{fire}/replay").json
    assert (same["outcome"], same["by"], same["differences"]) == ("blocked", ["guard"], [])
    assert same["elsewhere"] is None
    file = own_home / ".llxprt" / "settings.json"
    file.write_text(file.read_text().replace("exit 2", "exit 0"))
    now = used.post(f"/api/events/{fire}/replay").json
    assert (now["outcome"], [one["what"] for one in now["differences"]]) == ("allowed", ["outcome"])
    assert used.backend.log.read_bytes() == before


def test_an_event_becomes_a_test_case(used: Page) -> None:
    """The text of a case file, which expects what was decided."""
    text = used.get(f"/api/events/{rows(used)[1]['fire']}/case").json["text"]
    assert 'arguments.command = "rm -rf /"' in text
    assert 'expect = { outcome = "blocked", by = ["guard"] }' in text


def test_new_records_are_sent_to_the_page(page: Page) -> None:
    """What is written while a page is open, as far as its filters want it."""

    async def first_rows() -> bytes:
        live = Live(page.backend.log)
        stream = live.stream(LogQuery(kinds=frozenset({"event"})))
        assert (await anext(stream)).startswith(b":")
        await asyncio.to_thread(page.fire, "shell", command="ls")
        found = await anext(stream)
        live.close()
        await stream.aclose()
        return found

    sent = asyncio.run(first_rows())
    assert sent.startswith(b"event: rows\ndata: ")
    assert [row["kind"] for row in json.loads(sent[18:])] == ["event"]


def test_a_log_that_has_not_changed_is_read_once(page: Page) -> None:
    """Requests that come together wait for the first of them, and a new record has the log read again."""
    page.fire("shell", command="ls")
    scans, reads = ScanCache(page.backend.log), list[Path]()

    def count(log: Path) -> int:
        reads.append(log)
        return int(sessions(log)[0]["records"])

    with ThreadPoolExecutor(4) as threads:
        before = {threads.submit(scans.run, count) for _ in range(4)}
    page.fire("shell", command="ls")
    (first,) = {done.result() for done in before}
    assert scans.run(count) > first
    assert reads == [page.backend.log] * 2


def test_no_text_is_ever_parsed_as_html() -> None:
    """The page is built from text nodes, and needs nothing from outside."""
    scripts = "".join(path.read_text() for path in (STATIC / "js").glob("*.js"))
    dangerous = r"innerHTML|outerHTML|insertAdjacent|document\.write|DOMParser|createContextualFragment|\beval\b|srcdoc"
    assert re.findall(dangerous, scripts) == []
    texts = [scripts, (STATIC / "index.html").read_text(), (STATIC / "style.css").read_text()]
    addresses = {found for text in texts for found in re.findall(r"(?:https?:)?//[\w.-]+\.\w+[^\s\"']*", text)}
    assert addresses == {"http://www.w3.org/2000/svg"}


def test_trials_are_those_of_the_command(page: Page, own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a hook on trial would have blocked is computed in one place, and shown in two."""
    try_guard(own_home)
    page.fire("shell", command="rm -rf /")
    page.fire("shell", command="ls")
    assert main(["log", "--stats", "--shadow", "--json", "--project", str(page.project)]) == 0
    (tried,) = page.get("/api/trials").json["trials"]
    assert [tried] == json.loads(capsys.readouterr().out)["trials"]
    assert (tried["hook"], tried["wouldBlock"], tried["keptBack"], tried["sequels"]["unknown"]) == ("guard", 1, 1, 1)


@pytest.mark.req("CLAIM-004")
def test_the_page_has_the_chart_and_the_calls(used: Page) -> None:
    """Events over time, what was blocked most often, and the command of each row, session and chapter."""
    done = used.get("/api/activity").json
    assert done["events"] == {"allowed": 2, "blocked": 1}
    assert done["blockedCalls"] == [{"tool": "shell", "call": "rm -rf /", "count": 1}]
    assert sum(bar["events"] for bar in done["chart"]) == 3
    assert used.get("/api/activity?tool=other").json["chart"] == []
    assert [row["call"] for row in rows(used)][1:] == ["rm -rf /", "ls"]
    assert {one["call"] for one in used.get("/api/sessions").json} >= {"shell rm -rf /"}
    assert [row["call"] for row in used.get("/api/session?id=s1").json["rows"]] == ["ls", "rm -rf /"]
