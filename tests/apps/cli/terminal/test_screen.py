import asyncio
import re

import pytest

from hookline.apps.agent.events import ModelText, Notice
from hookline.apps.cli.terminal.screen import Terminal, split_blocks

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
    """A long message continues in indented lines, and a newline in it is written out."""
    narrow.listen(Notice(text="The hook failed:\n" + "Allow it? " * 8))
    first, *others = capsys.readouterr().out.splitlines()
    assert first.startswith("The hook failed:\\nAllow it?")
    assert others
    assert all(line.startswith(("  Allow", "  it?")) for line in others)


def test_a_heading_is_where_the_text_is(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """On a wide terminal it would be far from its paragraph in the middle."""
    monkeypatch.setenv("COLUMNS", "200")
    Terminal().listen(ModelText(text="# Title\n\nText.\n", is_final=True))
    shown = [line.rstrip() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert shown == ["  Title", "  Text."]


def test_text_is_shown_block_by_block(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A complete paragraph is printed; while the next one arrives, a status line shows that."""
    for name, value in {"COLUMNS": "40", "TERM": "xterm", "TTY_COMPATIBLE": "1"}.items():
        monkeypatch.setenv(name, value)
    terminal = Terminal()

    async def arrive() -> str:
        sent = ""
        async with terminal.busy("thinking"):
            for piece in ("One **par", "agraph**\n\nHalf a ", "sentence"):
                terminal.listen(ModelText(text=piece, is_final=False))
            while "writing…" not in sent:
                await asyncio.sleep(0.01)
                sent += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capsys.readouterr().out)
            terminal.listen(ModelText(text=""))
        return sent

    sent = asyncio.run(arrive())
    assert "  One paragraph" in sent
    assert "Half" not in sent
    assert "  Half a sentence" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("done", "rest"),
    [
        pytest.param("", "half a sen", id="nothing-yet"),
        pytest.param("One.\n\n", "Two", id="a-paragraph"),
        pytest.param("One.\n\nTwo.\n\n", "- three\n", id="two"),
        pytest.param("One.\n\n", "```py\na\n\nb\n", id="open-fence"),
        pytest.param("```py\na\n\nb\n```\n\n", "", id="closed-fence"),
        pytest.param("", "````\n```\n\n", id="longer-fence"),
        pytest.param("", "~~~\n```\n\n", id="other-fence"),
        pytest.param("", "a\n ", id="unfinished-line"),
    ],
)
def test_complete_blocks_are_cut_off(done: str, rest: str) -> None:
    """A block can be shown when a blank line has ended it, and no fence is open."""
    assert split_blocks(done + rest) == (done, rest)
