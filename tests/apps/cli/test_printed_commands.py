"""Every command that a message prints is one: the real parsers read it."""

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

import hookline
from hookline.apps.cli.main import COMMANDS, load_command

PACKAGE = Path(hookline.__file__).parent
NAMES = "|".join(map(re.escape, sorted(COMMANDS, key=len, reverse=True)))
# A command ends where its sentence continues, or at punctuation that arguments don't have.
MENTION = re.compile(rf"hookline (?:{NAMES})\b(?:[^\S\n]+(?:[^\s;,()`|&]|,(?=[^\s]))+)*")
SENTENCE = re.compile(
    r"^(?:shows|prints?|writes?|lists?|has|explains?|tells?|looks?|runs?|brings?|makes?|works?|serves?|was|is|says|in|and"
    r"|as|to|on|for|again|with|without|so|or|of|before|after|proves|tests|counts|reads|signs|can|alone|has|all|made|did"
    r"|would|no|adds|keeps|finds|\u2026|→)$"
)
# A mark for a value that is known when the message is made.
UNKNOWN = "\0"
VALUES = {
    "ID": "3f9a01c2d4-0",
    "PACK": "shell",
    "AGENT": "claude",
    "EVENT": "BeforeTool",
}
# Where a message has a value in place of a word that the parser knows.
KNOWN = {
    "bridge": "status",
    "hook": "claude",
    "bridge install": "claude",
    "bridge status": "claude",
    "bridge uninstall": "claude",
    "init --from": "claude",
    "doctor --prove": "claude",
    "fire --plan": "BeforeTool",
    "list --packs": "shell",
    "completion": "bash",
    "--dialect": "claude",
    "fire": "BeforeTool",
    "schema": "settings",
}
# Usage lines, which are not commands.
USAGE = re.compile(r"[\[{<]|\bFORM\b")


def texts_of(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of a module that may be printed: no docstrings but that of a command, which is its help."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    passed: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            passed.update(map(id, node.values))
        body = getattr(node, "body", None)
        command = path.parent if path.name == "__init__.py" else path
        is_help = isinstance(node, ast.Module) and command.parent.name == "commands" and command.name[0] != "_"
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr) and not is_help:
            passed.add(id(body[0].value))
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (str(part.value) if isinstance(part, ast.Constant) else UNKNOWN for part in node.values)
            yield node.lineno, "".join(parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in passed:
            yield node.lineno, node.value


def commands_in(text: str) -> Iterator[list[str]]:
    """The words of each command that a text mentions."""
    for line in text.split("\n"):
        for found in MENTION.finditer(line.partition("   ")[2] if line.startswith("   ") else line):
            if USAGE.search(found[0]):
                continue
            words = cut_words(re.sub(r"\s*\d?>+.*", "", found[0]))
            if words is not None:
                yield words


def cut_words(mention: str) -> list[str] | None:
    """The words after `hookline`, up to the end of the command; None for a command that is only named."""
    kept: list[str] = []
    for word in re.sub(r" {2,}.*", "", mention).split()[1:]:
        if kept and SENTENCE.match(word) and kept[-1:] not in (["--reason"], ["fleet"]):
            break
        kept.append(word.rstrip(".:!?\u2026"))
        if word[-1] in ".:!?":
            break
    try:
        words = shlex.split(" ".join(kept))
    except ValueError:  # a quote that ends behind the command
        return None
    return words if len(words) > 1 else None


def filled(words: list[str]) -> list[str]:
    """The words with something for each value that is not known yet."""
    done: list[str] = []
    for word in words:
        before = " ".join(done[-2:]) if " ".join(done[-2:]) in KNOWN else (done[-1] if done else "")
        if word == UNKNOWN * len(word):
            done.append(KNOWN.get(before, "x"))
        elif UNKNOWN in word and word.startswith("--"):
            done.append(word.replace(UNKNOWN, ""))
        else:
            done.append(VALUES.get(word, word.replace(UNKNOWN, "")))
    # The names of events are an agent's own there.
    return [word for word in done if word and not (done[0] == "hook" and word == VALUES["EVENT"])]


def mentions() -> list[tuple[str, list[str]]]:
    """Every command in the source, with its place."""
    found: dict[str, tuple[str, list[str]]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for number, text in texts_of(path):
            for words in commands_in(text):
                place = f"{path.relative_to(PACKAGE)}:{number}"
                found.setdefault(" ".join(words), (place, words))
    return list(found.values())


MENTIONS = mentions()


def test_there_are_many() -> None:
    """The collector finds what is there."""
    shown = {" ".join(filled(words)) for _, words in MENTIONS}
    assert len(shown) > 60
    assert {"check --run", "log --failures"} <= shown
    assert "log 3f9a01c2d4-0" in shown


@pytest.mark.req("CLAIM-007")
@pytest.mark.parametrize(("place", "words"), [pytest.param(*each, id=" ".join(each[1])) for each in MENTIONS])
def test_a_printed_command_is_understood(place: str, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The parser that would read it accepts it."""
    name, *rest = filled(words)
    command, parser = load_command(name)
    if rest and (form := getattr(command, "parser_of", lambda _: None)(rest)) is not None:
        parser, rest = form[0], list(form[1])
    try:
        parser.parse_args(rest)
    except SystemExit as ended:
        said = capsys.readouterr().err
        # A message may name a command without all that it needs.
        is_partial = "the following arguments are required" in said or "expected one argument" in said
        assert ended.code == 0 or is_partial, f"{place}: {' '.join(words)}: {said}"  # noqa: PT017 - with its place


@pytest.mark.req("CLAIM-007")
def test_a_wrong_command_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    """The test above can fail: this command has an option that the parser does not know."""
    (words,) = commands_in(f"the call was denied (hookline log --show {UNKNOWN})")
    with pytest.raises(AssertionError, match=r"there is no option --show|unrecognized arguments"):
        test_a_printed_command_is_understood("here", words, capsys)
