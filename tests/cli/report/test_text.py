import time

import pytest

from hookline.cli.report.text import cut, show_ago, show_clock, show_ms, show_place
from hookline.contract.text import visible

NOON = 1_740_000_000.0


@pytest.mark.parametrize(
    ("milliseconds", "shown"),
    [
        (None, "-"),
        (0, "0 ms"),
        (0.44, "0.4 ms"),
        (5, "5 ms"),
        (45.4, "45 ms"),
        (1000, "1 s"),
        (1500, "1.5 s"),
        (60_000, "60 s"),
        (600_000, "10 min"),
    ],
)
def test_durations(milliseconds: float | None, shown: str) -> None:
    """Two digits are enough to compare by."""
    assert show_ms(milliseconds) == shown


@pytest.mark.parametrize(
    ("age", "shown"),
    [(0, "now"), (5, "5 s ago"), (60, "1 min ago"), (7199, "119 min ago"), (7200, "2 h ago"), (172_800, "2 days ago")],
)
def test_ages(age: float, shown: str) -> None:
    """How long ago, in the unit that people would use."""
    timestamp = time.strftime("%Y-%m-%dT%H:%M:%S.123Z", time.gmtime(NOON))
    assert show_ago(timestamp, now=NOON + age) == shown


@pytest.mark.parametrize("timestamp", [None, "", "yesterday"])
def test_no_time(timestamp: str | None) -> None:
    """What has no time has never happened."""
    assert (show_ago(timestamp), show_clock(timestamp)) == ("never", "-")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("tab\tand\nline stay", "tab\tand\nline stay"),
        ("äöü 漢字 🙂", "äöü 漢字 🙂"),
        ("\x1b[31m\r\x07", r"\x1b[31m\r\x07"),
        ("\u202eevil\u200b\ufeff", r"\u202eevil\u200b\ufeff"),
        ("\U000e0041\ud800", r"\U000e0041\ud800"),
        ("\x9b31m\x7f", r"\x9b31m\x7f"),
    ],
)
def test_hidden_characters_are_written_out(text: str, shown: str) -> None:
    """Nothing that somebody else wrote can act on the terminal or pass unseen."""
    assert visible(text) == shown


def test_places_are_written_from_here_or_from_home(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The shortest spelling that leads there."""
    here, home = tmp_path_factory.mktemp("here"), tmp_path_factory.mktemp("home")
    monkeypatch.chdir(here)
    monkeypatch.setenv("HOME", str(home))
    assert show_place(f"{here}/a.json", 7) == "a.json:7"
    assert show_place(f"{home}/a.json") == "~/a.json"
    assert show_place("/etc/a.json", 1) == "/etc/a.json:1"


def test_what_is_too_long_is_cut() -> None:
    """The mark shows that there is more."""
    assert (cut("abc", 3), cut("abcd", 3), cut("abcd", 0)) == ("abc", "ab…", "…")
