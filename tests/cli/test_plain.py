import pytest

from hookline.cli._plain import one_line, plain, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("Grüße, 世界 👩‍💻\n\tx", "Grüße, 世界 👩‍💻\n\tx", id="harmless"),
        pytest.param("\x1b[31mred\x1b[0m", "red", id="colours"),
        pytest.param("\x1b[2J", "\\x1b[2J", id="clears-the-screen"),
        pytest.param("a\r\nb\rc", "a\nb\\x0dc", id="line-endings"),
        pytest.param("a\u202eb", "a\\u202eb", id="turned-around"),
        pytest.param("\x9b2J\ud800", "\\x9b2J\\ud800", id="odd-characters"),
    ],
)
def test_nothing_acts_on_the_terminal(text: str, shown: str) -> None:
    """Colours are left out, and whatever else would act on a terminal is spelled out."""
    assert plain(text) == shown


def test_nothing_is_left_out_where_a_person_decides() -> None:
    """A command is shown with its colours spelled out, and on one line where there is room for one."""
    assert visible("rm \x1b[8m-rf /\x1b[0m") == "rm \\x1b[8m-rf /\\x1b[0m"
    assert one_line("a\n  b\tc") == "a b c"
