"""Programs that are not known here: a command among their arguments is taken for one that they run."""

import re
from collections.abc import Iterator

from hookline.packs.known import ESCAPING, FETCHING, GUESSED, OPTIONS, PASSING, READING, TELLING
from hookline.packs.reading.calls import Call, Reader
from hookline.packs.reading.prefixes import go_on

# What stands before a command in the value of an option, or in a line: `--exec=`, `-c`.
_OPTION = re.compile(r"--?[\w-]+=|-\w(?=[a-z]+ )")
_MARK = re.compile(
    r"\s*(?:\\!|\+?!|\.(?:shell|system)\b|(?:platform\s+)?shell\b|system\b|syscmd\(\W?|esyscmd\(\W?)\s*(.+)"
)
_MOST_LINES = 50
_SILENT = FETCHING | READING | PASSING | TELLING


def guess(commands: Reader, call: Call) -> None:
    """Reads what an unknown program may run: the words from the name of a program on, or a text that begins with one.

    Nothing is unsure about a guess: it may be no command at all.
    """
    if call.program in ESCAPING:
        for text in _marked(call):
            commands.inner(text, via=(*call.via, call.program))
    elif call.program not in _SILENT and call.program not in OPTIONS:
        with commands.guessing():
            at = next((at for at, word in enumerate(call.words[1:-1], 1) if _name(word) in GUESSED), None)
            if at is not None:
                go_on(commands, call, call.words[at:])
            for text in _texts(call):
                commands.inner(text, via=(*call.via, call.program))


def _texts(call: Call) -> Iterator[str]:
    for word in call.words[1:]:
        text = _OPTION.sub("", word, count=1) if word.startswith("-") else word
        if " " in text and _name(text.split(maxsplit=1)[0] if text.strip() else "") in GUESSED:
            yield text


def _marked(call: Call) -> Iterator[str]:
    """The commands behind a mark that makes a program hand them to a shell."""
    lines = [*call.words[1:], *(call.stdin.text or "").splitlines()[:_MOST_LINES]]
    yield from (found[1] for line in lines if (found := _MARK.match(_OPTION.sub("", line, count=1))))


def _name(word: str) -> str:
    return word.rpartition("/")[2]
