import io
import json
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.protocol.text.strings import printable, visible, visible_json
from hookline.stderr import warn_user

HIDDEN = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("Grüße, 世界\n\tx \\ \"'", "Grüße, 世界\n\tx \\ \"'", id="harmless"),
        pytest.param("\x1b]0;t\x07\x1b[2J", "\\x1b]0;t\\x07\\x1b[2J", id="escape-sequences"),
        pytest.param("a\rb\x08\x7f", "a\\rb\\x08\\x7f", id="moves-back"),
        pytest.param("\x9b2J\x85", "\\x9b2J\\x85", id="c1"),
        pytest.param("\u202ea\u2066b\u200f\u061c", "\\u202ea\\u2066b\\u200f\\u061c", id="directions"),
        pytest.param("a\u200bb\u2060\ufeff\xad\u034f", "a\\u200bb\\u2060\\ufeff\\xad\\u034f", id="without-width"),
        pytest.param("\u3164\uffa0\u115f", "\\u3164\\uffa0\\u115f", id="letters-without-a-shape"),
        pytest.param("a\U000e0041\U000e0100", "a\\U000e0041\\U000e0100", id="tags"),
        pytest.param("\ud800\ue000", "\\ud800\\ue000", id="no-characters"),
        pytest.param("👩‍💻 ❤️ 1️⃣ 🏳️‍🌈 👍🏽", "👩‍💻 ❤️ 1️⃣ 🏳️‍🌈 👍🏽", id="emoji"),
        pytest.param("می‌خواهم क्‍ष", "می‌خواهم क्‍ष", id="joined-letters"),
        pytest.param("a\u200db 👩\u200d", "a\\u200db 👩\\u200d", id="joins-nothing"),
        pytest.param("a\ufe0f 👍\ufe0f\ufe0f", "a\\ufe0f 👍\ufe0f\\ufe0f", id="selects-nothing"),
    ],
)
def test_whatever_acts_or_hides_is_written_out(text: str, shown: str) -> None:
    """Control, direction and invisible characters are escaped; text that people write stays as it is."""
    assert visible(text) == shown


def test_every_character_of_these_categories_is_written_out() -> None:
    """The list of characters is complete for the Unicode version of this Python."""
    missing = [
        hex(code)
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code)) in HIDDEN and chr(code) not in "\n\t" and visible(chr(code)) == chr(code)
    ]
    assert missing == []


def test_a_line_stays_one_line() -> None:
    """No text can end the line that it is in."""
    assert printable("a\n\tb\r\u2028c") == "a\\n\tb\\r\\u2028c"


@given(st.text())
def test_json_keeps_its_values(text: str) -> None:
    """JSON with escapes has the same values, and nothing for a terminal to act on."""
    raw = json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogatepass").decode("utf-8", "surrogatepass")
    safe = visible_json(raw)
    assert json.loads(safe) == text
    assert visible(safe) == safe


@pytest.mark.parametrize("text", ["\U000e0041", "\x7f", "\ud800", "\u202e"])
def test_json_escapes_what_is_hidden(text: str) -> None:
    """Such characters are escaped in JSON."""
    safe = visible_json(f'"{text}"')
    assert safe.isascii()
    assert safe.isprintable()
    assert json.loads(safe) == text


def test_a_person_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """One line, with our name before it, whatever is in it."""
    warn_user("all is \x1b[2J\nwell")
    assert capsys.readouterr().err == "hookline: all is \\x1b[2J\\nwell\n"


@pytest.mark.parametrize("stderr", [None, io.BytesIO()], ids=["none", "broken"])
def test_without_a_stderr_nothing_fails(stderr: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon has no stderr, and a broken pipe is not worth an event."""
    monkeypatch.setattr("sys.stderr", stderr)
    warn_user("all is well")
