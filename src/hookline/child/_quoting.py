"""Reads shell text just closely enough to know which of its characters stand outside quotes."""

import re

from hookline.contract.hooks import PROJECT_DIR_VARIABLES

_names = "|".join(PROJECT_DIR_VARIABLES)
PROJECT_VARIABLE = re.compile(rf"\$(?:({_names})(?![A-Za-z0-9_])|\{{({_names})\}})")

_HEREDOC = re.compile(r"<<(-?)[ \t]*((?:\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|[^\s;&|<>()'\"\\])+)", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_COMES_BEFORE_COMMAND = re.compile(r"(?:^|[\s;&|(])(?:if|then|elif|else|while|until|do|time|!)\Z")
_BREAKS = " \t\n;&|<>()"


def quote_project_variables(command: str) -> str:
    """The command with each project variable that stands outside quotes put between double quotes."""
    return _Scan(command).quoted() if PROJECT_VARIABLE.search(command) else command


class _Scan:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._copied = 0
        self._pieces: list[str] = []
        self._heredocs: list[tuple[str, bool]] = []

    def quoted(self) -> str:
        self._open("")
        return "".join([*self._pieces, self._text[self._copied :]])

    def _open(self, end: str) -> None:
        """Reads text outside quotes up to the unpaired `end`, or to the end of all."""
        text, depth, cases = self._text, 0, 0
        closing = {")": "(", "}": "{"}.get(end, "")
        while self._at < len(text):
            char = text[self._at]
            word = _WORD.match(text, self._at) if self._starts_word() else None
            if char == end and depth == 0 and not (cases and end == ")"):
                self._at += 1
                return
            if word:
                cases = max(0, cases + self._case(word.group()))
                self._at = word.end()
            elif char == "#" and self._starts_word() and end != "}":
                self._skip_to("\n", keep=True)
            elif char == "<" and text.startswith("<<<", self._at):
                self._at += 3
            elif char == "<" and (heredoc := _HEREDOC.match(text, self._at)):
                self._heredocs.append((_delimiter(heredoc.group(2)), bool(heredoc.group(1))))
                self._at = heredoc.end()
            elif char == "\n":
                self._at += 1
                self._skip_heredocs()
            elif char == "(" and text.startswith("((", self._at) and self._starts_word():
                self._arithmetic(2)
            elif not self._quote_or_expansion(char):
                depth += (char == closing) - (char == end and depth > 0)
                self._at += 1

    def _quote_or_expansion(self, char: str) -> bool:
        """Reads one quoted string, escape or expansion outside quotes, if that is what comes."""
        if char == "\\":
            self._at += 2
        elif char == "'":
            self._at += 1
            self._skip_to("'")
        elif char == '"':
            self._at += 1
            self._double()
        elif char == "`":
            self._at += 1
            self._open("`")
        elif char == "$":
            self._dollar(quoted=False)
        else:
            return False
        return True

    def _double(self) -> None:
        while self._at < len(self._text):
            char = self._text[self._at]
            if char == '"':
                self._at += 1
                return
            if char == "\\":
                self._at += 2
            elif char == "`":
                self._at += 1
                self._skip_backquoted()
            elif char == "$":
                self._dollar(quoted=True)
            else:
                self._at += 1

    def _dollar(self, *, quoted: bool) -> None:
        text, at = self._text, self._at
        following = text[at + 1 : at + 2]
        if not quoted and (found := PROJECT_VARIABLE.match(text, at)):
            self._pieces += [text[self._copied : at], '"', found.group(), '"']
            self._at = self._copied = found.end()
        elif text.startswith("$((", at):
            self._arithmetic(3)
        elif following == "(":
            self._at += 2
            self._open(")")
        elif following == "{":
            self._at += 2
            self._braces_in_quotes() if quoted else self._open("}")
        elif following == "'" and not quoted:
            self._at += 2
            self._ansi()
        else:
            self._at += 2 if following and following in "$?!#@*-0123456789" else 1

    def _braces_in_quotes(self) -> None:
        """Reads `${…}` between double quotes, where the shell expands without splitting anyway."""
        while self._at < len(self._text):
            char = self._text[self._at]
            if char == "}":
                self._at += 1
                return
            if char == "\\":
                self._at += 2
            elif char == "$":
                self._dollar(quoted=True)
            elif char == '"':
                self._at += 1
                self._double()
            else:
                self._at += 1

    def _arithmetic(self, opening: int) -> None:
        depth, self._at = 2, self._at + opening
        while self._at < len(self._text) and depth:
            depth += {"(": 1, ")": -1}.get(self._text[self._at], 0)
            self._at += 1

    def _ansi(self) -> None:
        while self._at < len(self._text) and self._text[self._at] != "'":
            self._at += 2 if self._text[self._at] == "\\" else 1
        self._at += 1

    def _skip_backquoted(self) -> None:
        while self._at < len(self._text) and self._text[self._at] != "`":
            self._at += 2 if self._text[self._at] == "\\" else 1
        self._at += 1

    def _skip_to(self, char: str, *, keep: bool = False) -> None:
        found = self._text.find(char, self._at)
        self._at = len(self._text) if found < 0 else found + (0 if keep else 1)

    def _skip_heredocs(self) -> None:
        for delimiter, strips_tabs in self._heredocs:
            while self._at < len(self._text):
                start = self._at
                self._skip_to("\n")
                line = self._text[start : self._at].removesuffix("\n")
                if (line.lstrip("\t") if strips_tabs else line) == delimiter:
                    break
        self._heredocs.clear()

    def _case(self, word: str) -> int:
        """1 where a `case` begins, -1 where it ends."""
        change = {"case": 1, "esac": -1}.get(word, 0)
        return change if change and self._starts_command() else 0

    def _starts_command(self) -> bool:
        """Whether a word that comes now may be one of the shell's own, such as `case`."""
        before = self._text[: self._at].rstrip(" \t")
        if not before or before[-1] in "\n;&|()`{":
            return True
        return bool(_COMES_BEFORE_COMMAND.search(before))

    def _starts_word(self) -> bool:
        return self._at == 0 or self._text[self._at - 1] in _BREAKS


def _delimiter(word: str) -> str:
    return re.sub(r"\\(.)|['\"]", r"\1", word)
