"""The page in a real browser: Chromium, driven by Playwright; `make ui-test` installs both."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.apps.ui.conftest import Page, try_guard
from tests.fleet.records import KEY, say, send_all, set_up, shipper, write_log, write_trial
from tests.fleet.server import NatsServer, find_program

from hookline.apps.cli.report.backtest import html_page
from hookline.fleet.health.heartbeat import Facts, Heartbeat, HookStatus
from hookline.fleet.record.statement import RecordPlace, Source
from hookline.protocol.events import HookEventName
from hookline.protocol.text.json_text import utc_timestamp
from hookline.testing.backtest.past import LeftOut, Past
from hookline.testing.backtest.run import Decision, Tally
from hookline.testing.cases.case import Outcome

api: Any = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed; make ui-test installs it")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(120),
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed; make ui-test installs it on Debian"),
    # Chromium and its driver leave sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

EVIL = (
    '\u202e<script>window.pwned=1</script><img src=x onerror="window.pwned=1">\u2066txt.exe\u200b\x1b[2J'
    "'\"><svg onload=window.pwned=1> {{7*7}} javascript:window.pwned=1"
)
ACTING = "document.querySelectorAll('main script, main img, main [onload], main [onerror]').length"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """One browser for all tests."""
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS, "--disable-sync"])
        yield browser
        browser.close()


@pytest.fixture
def address(page: Page) -> Iterator[str]:
    """The address that a real `hookline ui` has printed."""
    command = [sys.executable, "-m", "hookline", "ui", "--no-open", "--yes"]
    with subprocess.Popen(command, cwd=page.project, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield server.stdout.readline().split()[-1]
        server.terminate()
        server.wait(45)


class Tab:
    """A page of the browser that collects whatever goes wrong."""

    def __init__(self, chromium: Any, address: str, **options: Any) -> None:
        self.context = chromium.new_context(**options)
        self.tab = self.context.new_page()
        self.faults: list[str] = []
        self.requests: list[str] = []
        self.tab.on("pageerror", lambda error: self.faults.append(str(error)))
        self.tab.on("console", lambda message: self.faults.append(message.text) if message.type == "error" else None)
        self.tab.on("request", lambda request: self.requests.append(request.url))
        self.base = address.partition("?")[0]
        self.tab.goto(address)
        self.tab.wait_for_selector("main h1")

    def view(self, path: str) -> Any:
        """Goes to a view, and returns the page."""
        self.tab.goto(f"{self.base}#/{path}")
        self.tab.wait_for_selector("main h1")
        return self.tab

    def close(self) -> None:
        """Closes it; nothing may have gone wrong, and nothing was asked of another place."""
        pwned = self.tab.evaluate("window.pwned")
        outside = [url for url in self.requests if not url.startswith(self.base)]
        self.context.close()
        assert (pwned, outside, self.faults) == (None, [], [])


def test_a_day_with_the_page(page: Page, chromium: Any, address: str) -> None:
    """Events appear as they happen; one leads to all about it, its replay and a test case, and to its session."""
    tab = Tab(chromium, address)
    assert "token" not in tab.tab.url
    api.expect(tab.tab.get_by_text("Nothing is recorded yet")).to_be_visible()
    page.fire("shell", command="rm -rf /")
    api.expect(tab.tab.locator("tbody tr")).to_have_count(1)
    page.fire("shell", command="make deploy")
    api.expect(tab.tab.locator("tbody tr").first).to_contain_text("rewritten")
    api.expect(tab.tab.locator("#announce")).to_contain_text("1 new event, 1 blocked")

    tab.tab.get_by_role("link", name="BeforeTool shell").first.click()
    api.expect(tab.tab.get_by_role("heading", name="Rewrites tool_input")).to_be_visible()
    api.expect(tab.tab.locator(".diff ins")).to_contain_text("make deploy DRY_RUN=1")
    api.expect(tab.tab.locator(".diff del")).to_contain_text('"command": "make deploy"')
    api.expect(tab.tab.get_by_role("row", name="hookSpecificOutput.tool_input rewriter").first).to_be_visible()
    told = tab.tab.locator(".said", has_text="Input (stdin)").first
    api.expect(told.locator(".tree .key").first).to_have_text("session_id")
    told.get_by_label("Raw").check()
    api.expect(told.locator("pre")).to_contain_text('{"session_id":')

    tab.tab.get_by_role("button", name="Replay with today's hooks").click()
    tab.tab.get_by_role("dialog").get_by_role("button", name="Replay").click()
    api.expect(tab.tab.get_by_text("Today's hooks decide the same.")).to_be_visible()
    tab.tab.get_by_role("button", name="Copy as test case").click()
    api.expect(tab.tab.get_by_role("dialog")).to_contain_text('tool = "shell"')
    tab.tab.keyboard.press("Escape")
    tab.tab.get_by_role("link", name="session", exact=True).click()
    api.expect(tab.tab.locator(".story > li")).to_have_count(2)
    tab.close()


def test_filters_and_older_pages(page: Page, chromium: Any, address: str) -> None:
    """Filters choose as `hookline log` does, and older records come by a button."""
    text = "".join(_line(_event(number)) for number in range(150))
    page.backend.log.parent.mkdir(parents=True, exist_ok=True)
    page.backend.log.write_text(text)
    tab = Tab(chromium, address)
    api.expect(tab.tab.locator("tbody tr")).to_have_count(100)
    tab.tab.get_by_role("button", name="Load older").click()
    api.expect(tab.tab.locator("tbody tr")).to_have_count(150)
    tab.tab.keyboard.press("/")
    tab.tab.keyboard.type("tool7")
    tab.tab.keyboard.press("Enter")
    api.expect(tab.tab.locator("tbody tr")).to_have_count(15)
    tab.tab.get_by_label("Since").fill("soon")
    tab.tab.keyboard.press("Enter")
    api.expect(tab.tab.get_by_role("alert")).to_contain_text("soon is not a time")
    tab.faults.clear()  # the browser reports every answer with an error's status
    tab.tab.get_by_role("button", name="Clear").click()
    api.expect(tab.tab.locator("tbody tr")).to_have_count(100)
    tab.close()


def test_one_project_can_be_chosen(page: Page, chromium: Any, address: str) -> None:
    """All are shown, and the chooser has those of the log."""
    page.backend.log.parent.mkdir(parents=True, exist_ok=True)
    places = ("/home/ada/shop", "/home/ada/site", "/home/ada/site")
    records = [{**_event(number), "session": f"s{number}", "project": place} for number, place in enumerate(places)]
    page.backend.log.write_text("".join(map(_line, records)))
    tab = Tab(chromium, address)
    api.expect(tab.tab.locator("tbody tr")).to_have_count(3)
    chooser = tab.tab.get_by_label("Project")
    api.expect(chooser.locator("option")).to_have_count(3)
    chooser.select_option("/home/ada/site")
    api.expect(tab.tab.locator("tbody tr")).to_have_count(2)
    tab.tab.get_by_role("link", name="Sessions").click()
    api.expect(tab.tab.locator("tbody")).to_contain_text("/home/ada/shop")
    tab.close()


def test_hooks_are_switched_after_a_question(page: Page, chromium: Any, address: str) -> None:
    """Health and plots; "never ran" with its reason; switching asks first."""
    page.fire("shell", command="ls")
    page.fire("shell", command="ls -l")
    tab = Tab(chromium, address)
    view = tab.view("hooks")
    guard = view.get_by_role("article").filter(has=view.get_by_role("heading", name="guard"))
    api.expect(guard).to_contain_text("2 runs")
    api.expect(guard.get_by_role("img", name="p95")).to_be_visible()
    idle = view.get_by_role("article").filter(has=view.get_by_role("heading", name="idle"))
    api.expect(idle).to_contain_text("never ran: SessionEnd was never fired")
    api.expect(guard).to_contain_text(re.compile("configuredobserved (just now|.* ago) by programnot enforced"))
    api.expect(idle).to_contain_text("configurednot observednot enforced")
    agents = view.get_by_role("region", name="Agents")
    api.expect(agents).to_contain_text("hookline agentconfigurednot observednot enforced")
    guard.get_by_role("button", name="Disable").click()
    view.get_by_role("dialog").get_by_role("button", name="Close").click()
    api.expect(guard).to_contain_text("on")
    guard.get_by_role("button", name="Disable").click()
    view.get_by_role("dialog").get_by_role("button", name="Disable").click()
    api.expect(guard).to_contain_text("disabled by")
    settings = tab.view("settings")
    api.expect(settings.get_by_role("row", name="guard")).to_contain_text("disabled")
    tab.close()


def test_what_a_hook_on_trial_would_have_blocked(page: Page, own_home: Path, chromium: Any, address: str) -> None:
    """How often, for which tools, what became of it, and how the hook is enforced; an example leads to its event."""
    tab = Tab(chromium, address)
    api.expect(tab.view("trials").locator("main")).to_contain_text("No run of a hook in the mode shadow")
    try_guard(own_home)
    page.fire("shell", command="rm -rf /")
    page.fire("shell", command="rm -rf /")
    page.fire("shell", command="ls")
    tab.view("")
    tab.tab.get_by_role("link", name="Trials").click()
    tried = tab.tab.get_by_role("article").filter(has=tab.tab.get_by_role("heading", name="guard"))
    api.expect(tried).to_contain_text("3 runs")
    api.expect(tried).to_contain_text("would have blocked 2")
    became = tried.locator(".sequels li")
    api.expect(became).to_have_text(
        ["2 passed, and it is not known what then happened", "1 the same as an earlier one of the session"]
    )
    api.expect(tried).to_contain_text("To enforce it, remove its mode")
    api.expect(tried.locator("tbody tr")).to_have_count(2)
    api.expect(tried.locator("tbody tr").first).to_contain_text("no rm here")
    tried.get_by_role("link", name="all about it").first.click()
    api.expect(tab.tab.get_by_role("heading", level=1)).to_contain_text("BeforeTool shell")
    tab.close()


def test_text_of_strangers_is_text(page: Page, chromium: Any, address: str) -> None:
    """Whatever a record says is shown, and neither acts nor hides anything."""
    told = json.dumps({EVIL: EVIL, "list": [EVIL, 1, None, {"deep": EVIL}], "huge": "A" * 200_000})
    answer = json.dumps({"decision": EVIL, "hookSpecificOutput": {"tool_input": {EVIL: EVIL}}})
    common = dict.fromkeys(("message", "session", "agent", "event", "subject", "hook", "origin", "model"), EVIL)
    run = {
        "kind": "hook",
        "id": "f-0",
        "mode": EVIL,
        "would": ["block", EVIL],
        "stdin": told,
        "stdout": answer,
        "stderr": EVIL,
        "command": EVIL,
        "way": EVIL,
    }
    ended = {"kind": "event", "by": [EVIL], "provenance": {EVIL: [EVIL]}, "blocked": True}
    more = {"time": utc_timestamp(), "level": "info", "fire": "f", "duration": 1.5, "success": True}
    records = [{**common, **more, **run}, {**common, **more, **ended}, {**common, **more, "kind": "advice"}]
    page.backend.log.parent.mkdir(parents=True, exist_ok=True)
    page.backend.log.write_text("".join(map(_line, [*records, {**records[1], "time": EVIL}])))
    settings = page.project / ".llxprt" / "settings.json"
    settings.parent.mkdir()
    hook = {"type": "command", "name": EVIL, "command": EVIL, "description": EVIL}
    settings.write_text(json.dumps({"hooks": {"BeforeTool": [{"matcher": EVIL, "hooks": [hook]}], EVIL: []}}))
    tab = Tab(chromium, address)
    api.expect(tab.tab.locator("tbody tr")).to_have_count(2)
    for path in ("", "event/f", "sessions", f"session/{_quoted(EVIL)}", "hooks", "trials", "settings"):
        view = tab.view(path)
        api.expect(view.locator("main")).to_contain_text("U+202E<script>")
        shown = view.evaluate("document.querySelector('main').textContent")
        assert not {"\u202e", "\u2066", "\u200b", "\x1b"} & {*shown}, path
        assert (
            view.evaluate("document.querySelectorAll('main script, main img, main [onload], main [onerror]').length")
            == 0
        )
        overflow = view.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert overflow <= 0, path
    view = tab.view("event/f")
    api.expect(view.get_by_role("button", name="Show all 200,000 characters").first).to_be_visible()
    tab.close()


def test_it_can_be_used_by_keyboard_and_screen_reader(page: Page, chromium: Any, address: str) -> None:
    """Landmarks, one first heading per view, table headers, names for all controls, focus on the heading."""
    page.fire("shell", command="rm x")
    tab = Tab(chromium, address, viewport={"width": 420, "height": 900}, color_scheme="dark")
    for path in ("", "sessions", "session/s1", "hooks", "trials", "settings"):
        view = tab.view(path)
        assert [view.get_by_role(role).count() for role in ("main", "banner", "navigation")] == [1, 1, 1]
        assert view.locator("h1").count() == 1
        nameless = """[...document.querySelectorAll("button, a, input, select")].filter((one) =>
            !(one.textContent.trim() || one.labels?.length || one.getAttribute("aria-label"))).length"""
        assert view.evaluate(nameless) == 0
        headless = "[...document.querySelectorAll('table')].filter((one) => !one.querySelector('th[scope=col]')).length"
        assert view.evaluate(headless) == 0
        overflow = view.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert overflow <= 0, path
    tab.view("")
    tab.tab.get_by_role("link", name="BeforeTool shell").focus()
    tab.tab.keyboard.press("Enter")
    api.expect(tab.tab.get_by_role("heading", level=1)).to_be_focused()
    api.expect(tab.tab.get_by_role("heading", level=1)).to_contain_text("BeforeTool shell")
    tab.close()


def _event(number: int) -> dict[str, Any]:
    subject = f"tool{number % 10}"
    return {
        "kind": "event",
        "time": utc_timestamp(1_700_000_000 + number),
        "level": "debug",
        "message": f"BeforeTool {subject}: goes on",
        "fire": f"{number:010x}",
        "session": "s1",
        "event": "BeforeTool",
        "subject": subject,
        "duration": 1.0,
    }


def _line(record: dict[str, Any]) -> str:
    # Without spaces, as the log writes it.
    return json.dumps(record, separators=(",", ":")) + "\n"


def _quoted(text: str) -> str:
    from urllib.parse import quote  # noqa: PLC0415 - here alone

    return quote(text, safe="")


def test_the_page_of_a_fleet(chromium: Any, own_home: Path, tmp_path: Path) -> None:
    """Machines with what is wrong with them, and their records; what they say stays text, and hooks are not offered."""
    if find_program() is None:
        pytest.skip("no nats-server here; make setup installs it")
    nats = NatsServer(tmp_path / "nats")
    nats.start()
    try:
        set_up(nats)
        settings = own_home / ".llxprt" / "settings.json"
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text(json.dumps({"hooksConfig": {"fleet": {"servers": [nats.address]}}}))
        log = tmp_path / "m" / "hooks.jsonl"
        write_log(log, range(1, 4))
        source = Source(EVIL, EVIL, "l")
        send_all(nats, shipper(log, place=RecordPlace("all", source)))
        hook = HookStatus(event=EVIL, name=EVIL, source="user", state=EVIL)
        facts = Facts(enabled=True, hooks=(hook,), problems=(EVIL,))
        beat = Heartbeat(team="all", machine=EVIL, user=EVIL, hookline=EVIL, facts=facts)
        say(nats, beat.key, KEY.sign(beat))
        command = [sys.executable, "-m", "hookline", "ui", "--fleet", "--no-open"]
        with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            tab = Tab(chromium, server.stdout.readline().split()[-1])
            api.expect(tab.tab.locator("tbody tr")).to_have_count(3)
            api.expect(tab.tab.get_by_role("link", name="Machines")).to_be_visible()
            api.expect(tab.tab.get_by_role("link", name="Hooks")).to_be_hidden()
            machines = tab.view("machines")
            api.expect(machines.locator("tbody tr")).to_have_count(1)
            machines.locator("summary").click()
            assert machines.evaluate(ACTING) == 0
            write_log(log, range(4, 6))
            write_trial(log, EVIL)
            send_all(nats, shipper(log, place=RecordPlace("all", source)))
            api.expect(tab.view("").locator("tbody tr")).to_have_count(6, timeout=20_000)
            trials = tab.view("trials")
            api.expect(trials.get_by_role("article")).to_contain_text("would have blocked 1")
            api.expect(trials.get_by_role("article")).to_contain_text("on 1 machine")
            assert trials.evaluate(ACTING) == 0
            tab.close()
            server.terminate()
            server.wait(45)
    finally:
        nats.end()


@pytest.mark.req("CLAIM-004")
def test_a_row_is_a_link_as_a_whole(page: Page, chromium: Any, address: str) -> None:
    """A click anywhere in it leads to the event; the chart and the calls stand above."""
    page.fire("shell", command="rm -rf /")
    tab = Tab(chromium, address)
    view = tab.view("")
    row = view.locator("tbody tr").first
    api.expect(row).to_contain_text("rm -rf /")
    api.expect(view.locator(".over-time svg rect").first).to_be_visible()
    api.expect(view.locator(".most")).to_contain_text("rm -rf /")
    box = row.bounding_box()
    view.mouse.click(box["x"] + box["width"] - 10, box["y"] + box["height"] / 2)
    api.expect(view.get_by_role("heading", name="BeforeTool shell")).to_be_visible()
    tab.close()


@pytest.mark.parametrize("width", [390, 1000])
def test_the_report_of_a_replay_breaks_no_word(width: int, chromium: Any) -> None:
    """The first column is on one line; on a narrow screen the cells are below each other, with labels."""
    past = Past(
        event=HookEventName.BEFORE_TOOL,
        fields={"tool_name": "shell", "tool_input": {"command": "x" * 200}},
        before=Outcome.BLOCKED,
        ran=True,
        time="2026-01-01T10:00:00.000Z",
        origin="a transcript",
    )
    now = Decision(Outcome.ALLOWED, "a reason of several words", ("guard",))
    tally = Tally()
    tally.add(past, Outcome.BLOCKED, now)
    tab = chromium.new_page(viewport={"width": width, "height": 600})
    tab.set_content(html_page(tally, LeftOut(), "title"))
    lines = "cell => { const all = new Range(); all.selectNodeContents(cell); return all.getClientRects().length }"
    assert tab.locator("td", has_text="frees").evaluate(lines) == 1
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    label = tab.locator("td", has_text="guard").evaluate("cell => getComputedStyle(cell, '::before').content")
    assert ("decided by" in label) is (width < 700)
    tab.close()
