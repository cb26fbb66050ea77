import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.shell.lexer import read_script
from hookline.shell.pieces import Expansion, Item, Text, Word


def shown(items: tuple[Item, ...]) -> list[object]:
    """The items in a form that is short to write: a word as its pieces, a piece of text as itself."""
    return [
        item
        if isinstance(item, str)
        else tuple(
            piece.text if isinstance(piece, Text) else [piece.source, *shown(piece.items)] for piece in item.pieces
        )
        for item in items
    ]


@pytest.mark.parametrize(
    ("command", "items"),
    [
        pytest.param("a 'b c'\\ \"d e\"", [("a",), ("b c", " ", "d e")], id="quotes"),
        pytest.param("a\\\nb \\\n c", [("a", "b"), ("c",)], id="continued-line"),
        pytest.param(
            "a|b&&c;d 2>>e", [("a",), "|", ("b",), "&&", ("c",), ";", ("d",), ("2",), ">>", ("e",)], id="operators"
        ),
        pytest.param("a # b\nc#d", [("a",), "#", "\n", ("c", "#", "d")], id="comment"),
        pytest.param("a$B${C}$1", [("a", ["$B"], ["${C}"], ["$1"])], id="variables"),
        pytest.param("$(a b)c", [(["$(a b)", ("a",), ("b",)], "c")], id="substitution"),
        pytest.param('"`a`$((1))"', [(["`a`"], ["$((1))"])], id="expansions-in-quotes"),
        pytest.param("`a # b` c", [(["`a # b`", ("a",), "#"],), ("c",)], id="comment-in-backquotes"),
        pytest.param("${A:-b c}", [(["${A:-b c}", ("b",), ("c",)],)], id="default"),
        pytest.param(
            "`case a in` ${A:-case b in c}",
            [
                (["`case a in`", ("case",), ("a",), ("in",)],),
                (["${A:-case b in c}", ("case",), ("b",), ("in",), ("c",)],),
            ],
            id="words-that-are-no-keywords",
        ),
        pytest.param("a <(b)", [("a",), (["<(b)", ("b",)],)], id="process-substitution"),
        pytest.param("a <<E b\n$C\nE\nd", [("a",), "<<", ("b",), "\n", (["$C"], "\n"), ("d",)], id="here-document"),
        pytest.param("a <<'E'\n$C\nE", [("a",), "<<", "\n", ("$C\n",)], id="quoted-here-document"),
        pytest.param('$"a" "$" $', [(["$"], "a"), ("$",), ("$",)], id="dollar-signs"),
        pytest.param("((a > b)) && c", ["((", (), "&&", ("c",)], id="arithmetic"),
    ],
)
def test_words_and_operators(command: str, items: list[object]) -> None:
    """A command is taken apart as the shell does it."""
    assert (shown(read_script(command)[0]), read_script(command)[1]) == (items, True)


@pytest.mark.parametrize(
    "command", ["'a", '"a', "`a", "$(a", "${a", "(a", "a)", "a\\", "$((1", '"$(a"', "$(" * 99 + ")" * 99]
)
def test_what_is_left_open_is_noticed(command: str) -> None:
    """A text whose quotes or parentheses do not fit together is not complete."""
    assert not read_script(command)[1]


def test_words_that_are_compared_are_told_apart() -> None:
    """Subjects and patterns of `case`, tests and texts inside `${…}` name no files."""
    command = (
        "case a in b|(c) d;; e) case f in g) h;; esac;; i) esac; [[ j ]] && k in l $(case m in n) o;; esac) ${P%q}"
    )
    compared: set[str] = set()
    others: set[str] = set()

    def sort(items: tuple[Item, ...]) -> None:
        for item in items:
            if isinstance(item, Word):
                (compared if item.is_compared else others).add(item.source)
                for piece in item.pieces:
                    sort(piece.items if isinstance(piece, Expansion) else ())

    sort(read_script(command)[0])
    assert {word for word in compared if len(word) == 1} == set("abcefgijmnq")
    assert {word for word in others if len(word) == 1} == set("dhklo")


plain = st.text("abZ09_/.,:=@%+-^#!*?[]", min_size=1, max_size=6)
single = st.text('ab "\\$`*\n;|&<>(){}', max_size=6).map("'{}'".format)
double = st.lists(
    st.sampled_from(["a", " ", "'", "\\$", "\\`", '\\"', "\\\\", "\\a", "\\\n", "*", ";", "#", "$ ", "}"]), max_size=6
)
escaped = st.sampled_from([f"\\{char}" for char in "ab \t$'\"`;|&<>()*\n#~"])
word = st.lists(plain | single | double.map("".join).map('"{}"'.format) | escaped, min_size=1, max_size=5).map("".join)


@given(st.lists(word, min_size=1, max_size=30), st.sampled_from(["bash", "sh"]))
def test_words_are_those_of_a_shell(words: list[str], shell: str) -> None:
    """For words without expansions, quotes are removed as `bash` and `sh` remove them."""
    # With a letter in front no word is a comment, and with `set -f` none is a pattern.
    text = " ".join(f"x{each}" for each in words)
    script = f"set -f\nprintf '%s\\0' {text}"
    done = subprocess.run([shell, "-c", script], capture_output=True, check=True)
    items, is_complete = read_script(text)
    assert is_complete
    read = [
        "".join(piece.text for piece in item.pieces if isinstance(piece, Text))
        for item in items
        if isinstance(item, Word)
    ]
    assert (read, len(read)) == (done.stdout.decode().split("\0")[:-1], len(items))
