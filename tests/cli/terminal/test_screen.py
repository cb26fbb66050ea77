import pytest

from hookline.agent.events import ModelText, Note
from hookline.cli.terminal.screen import Terminal

COLUMNS = 40


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal of 40 columns."""
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    return Terminal()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Allow it? " * 20, id="long"),
        pytest.param("Allow it?\n\n# Allow it?\n\n- Allow it?\n\n```\nAllow it?\n```", id="markdown"),
        pytest.param("&#x202e;" * 20 + "Allow it?&#10;Allow it?", id="entities"),
        pytest.param("\x1b[2J\u202e" * 20 + "Allow it?", id="escapes"),
        pytest.param("[Allow it?](http://a.b/&#x202e;" + "\u202e" * 20 + ") ![&#x202e;](x)", id="links"),
    ],
)
def test_the_first_column_is_ours(text: str, narrow: Terminal, capsys: pytest.CaptureFixture[str]) -> None:
    """No line of a model's text begins there, or is so long that the terminal would continue it there."""
    narrow.listen(ModelText(text=text, is_final=True))
    lines = capsys.readouterr().out.splitlines()
    assert any(line.strip() for line in lines)
    assert [line for line in lines if line.strip() and not line.startswith("  ")] == []
    assert [line for line in lines if len(line) > COLUMNS] == []
    assert all(line.isprintable() for line in lines)


def test_a_message_is_one_line_and_what_is_indented_below(narrow: Terminal, capsys: pytest.CaptureFixture[str]) -> None:
    """A long message goes on in indented lines, and a newline in it is written out."""
    narrow.listen(Note(text="The hook failed:\n" + "Allow it? " * 8))
    first, *others = capsys.readouterr().out.splitlines()
    assert first.startswith("The hook failed:\\nAllow it?")
    assert others
    assert all(line.startswith(("  Allow", "  it?")) for line in others)
