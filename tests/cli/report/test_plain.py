import pytest

from hookline.cli.report.plain import plain


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("Grüße, 世界 👩‍💻\n\tx", "Grüße, 世界 👩‍💻\n\tx", id="harmless"),
        pytest.param("\x1b[31mred\x1b[0m", "red", id="colours"),
        pytest.param("\x1b[2J", "\\x1b[2J", id="clears-the-screen"),
        pytest.param("a\r\nb\rc", "a\nb\\rc", id="line-endings"),
        pytest.param("a\u202eb", "a\\u202eb", id="turned-around"),
        pytest.param("\x9b2J\ud800", "\\x9b2J\\ud800", id="odd-characters"),
    ],
)
def test_nothing_acts_on_the_terminal(text: str, shown: str) -> None:
    """Colours are left out, and whatever else would act on a terminal is spelled out."""
    assert plain(text) == shown
