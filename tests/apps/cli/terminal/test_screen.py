import asyncio
import re

import pytest

from hookline.apps.agent.events import ModelText, Note
from hookline.apps.cli.terminal.screen import Terminal

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


def while_busy(
    pieces: list[str], until: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> str:
    """What a terminal of ten rows was sent until this text appeared, before the answer was complete."""
    for name, value in {"COLUMNS": "40", "LINES": "10", "TERM": "xterm", "TTY_COMPATIBLE": "1"}.items():
        monkeypatch.setenv(name, value)
    terminal = Terminal()

    async def arrive() -> str:
        sent = ""
        async with terminal.busy("thinking"):
            for piece in pieces:
                terminal.listen(ModelText(text=piece, is_final=False))
            while until not in sent:
                await asyncio.sleep(0.01)
                sent += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capsys.readouterr().out)
            terminal.listen(ModelText(text=""))
        return sent

    return asyncio.run(arrive())


def test_text_is_shown_while_it_arrives(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A paragraph that is not complete is shown, as Markdown and indented; complete, it is printed once and stays."""
    sent = while_busy(["Half a ", "**sen", "tence**"], "Half a sentence", monkeypatch, capsys)
    assert "  Half a sentence" in sent
    last = capsys.readouterr().out.rpartition("\x1b[2K")[2]
    assert (last.count("Half a"), last[-1:]) == (1, "\n")


def test_text_that_arrives_does_not_act_on_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither its escapes nor its entities, and no row of it begins in the first column."""
    sent = while_busy(["\x1b[2J\u202e&#x202e; Allow it? " * 9], "Allow it?", monkeypatch, capsys)
    rows = [row for row in re.split(r"[\r\n]", sent) if row.strip()]
    assert "\\x1b[2J\\u202e\\u202e" in rows[0]
    assert all(row.startswith("  ") and row.isprintable() for row in rows)


def test_what_arrives_is_never_taller_than_the_screen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows that have left the screen can't be drawn again, so the end is shown until the whole is printed."""
    lines = [f"- item {number}.\n" for number in range(50)]
    sent = while_busy(lines, "item 49.", monkeypatch, capsys)
    assert "item 40." not in sent
    assert "item 0." in capsys.readouterr().out


def test_it_says_what_is_waited_for_while_nothing_comes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Below the text that has come so far."""
    assert "thinking…" in while_busy(["Half a sentence"], "thinking…", monkeypatch, capsys).partition("Half")[2]
