import time

import pytest

from hookline.protocol.text.readable import cut, plain, show_ago, show_clock, show_ms, show_place, show_size, text_lines

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
    ("count", "shown"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1536, "1.5 KiB"),
        (268_435_456, "256 MiB"),
        (5 * 1024**4, "5120 GiB"),
    ],
)
def test_sizes(count: int, shown: str) -> None:
    """In the unit that people would use."""
    assert show_size(count) == shown


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
    """Without a time, it has never happened."""
    assert (show_ago(timestamp), show_clock(timestamp)) == ("never", "-")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("Grüße, 世界 👩‍💻\n\tx", "Grüße, 世界 👩‍💻\n\tx", id="harmless"),
        pytest.param("\x1b[31mred\x1b[0m", "red", id="colours"),
        pytest.param("\x1b[2J", "\\x1b[2J", id="clears-the-screen"),
        pytest.param("a\r\nb\rc", "a\nb\\rc", id="line-endings"),
        pytest.param("a\u202eb\u200b", "a\\u202eb\\u200b", id="turned-around"),
        pytest.param("\x9b2J\ud800", "\\x9b2J\\ud800", id="odd-characters"),
        pytest.param("\x1b\x1b[0m[2J", "\\x1b[2J", id="a-colour-inside"),
    ],
)
def test_text_of_models_and_tools(text: str, shown: str) -> None:
    """Colours are left out, and whatever else would act on a terminal is spelled out."""
    assert plain(text) == shown


@pytest.mark.parametrize(
    ("text", "lines"), [("", []), ("a", ["a"]), ("a\n", ["a"]), ("a\n\nb\x85c\n", ["a", "", "b\x85c"])]
)
def test_lines_end_with_line_feeds(text: str, lines: list[str]) -> None:
    """And with nothing else, as for a shell."""
    assert text_lines(text) == lines


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
