import io

import pytest

from hookline.apps.cli.report.printer import ProgressBar, Prose, print_lines, print_question, print_wire
from hookline.apps.cli.report.style import Style


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        """As a terminal does."""
        return True


def test_only_our_own_colours_reach_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A colour that came with a text is written out, also inside of painted words."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    style = Style(terminal)
    print_lines(f"{style.bad('a' + style.bold('b'))} \x1b[32mtrusted\x1b[0m", style.dim("x\x1b[32my"), file=terminal)
    assert terminal.getvalue() == (
        "\x1b[31ma\x1b[1mb\x1b[0m\x1b[0m \\x1b[32mtrusted\\x1b[0m\n\x1b[2mx\\x1b[32my\x1b[0m\n"
    )


def test_a_line_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """A text in a line can't begin another one; tabs stay."""
    print_lines("a\tb\nc", "")
    print_question("really\n?")
    assert capsys.readouterr().out == "a\tb\\nc\n\nreally\\n? "


def test_json_for_programs_is_safe_for_people(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """Letters are UTF-8, and what would act on a terminal is escaped."""
    print_wire({"ü": "\u202e\x9b\x1b"})
    assert capfdbinary.readouterr().out == b'{"\xc3\xbc":"\\u202e\\u009b\\u001b"}\n'


@pytest.mark.parametrize(
    ("stream", "shown"),
    [
        pytest.param(Terminal(), "  Allow it?\n\n    code\n  \\x1b[2Jend", id="terminal"),
        pytest.param(io.StringIO(), "Allow it?\n\n  code\n\\x1b[2Jend", id="pipe"),
    ],
)
def test_on_a_terminal_the_first_column_is_ours(stream: io.StringIO, shown: str) -> None:
    """The lines of a model's text are indented on a terminal, however it is cut into pieces, and nowhere else."""
    prose = Prose(stream)
    for piece in ("Allow", " it?\n", "\n", "  code\n\x1b[2J", "end"):
        prose.print(piece)
    assert stream.getvalue() == shown


@pytest.mark.parametrize("columns", ["20", "46", "200"])
def test_a_progress_bar_is_one_line(monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    """Also on a narrow terminal: a line that is wrapped can't be drawn again."""
    monkeypatch.setenv("COLUMNS", columns)
    terminal = Terminal()
    bar = ProgressBar(2000, terminal)
    bar.step(failed=True)
    bar.step(failed=True)
    drawn = terminal.getvalue().split("\r\x1b[K")[1:]
    assert len(drawn) == 2
    assert all(len(each) < int(columns) for each in drawn)
