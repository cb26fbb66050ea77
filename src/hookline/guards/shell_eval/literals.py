"""The string literals of a piece of code, and the code without them."""

import re
from typing import NamedTuple

_PLAIN_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", '"': '"', "'": "'", "/": "/", "`": "`", "$": "$"}
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_QUOTED = r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'"
_TRIPLE = r"\"\"\"(?:[^\"\\]|\\.|\"(?!\"\"))*\"\"\"|\'\'\'(?:[^'\\]|\\.|'(?!''))*\'\'\'"
_BACKQUOTED = r"`(?:[^`\\]|\\.)*`"
_DELIMITED = r"\([^()]*\)|\{[^{}]*\}|\[[^\[\]]*\]|/[^/\n]*/|\|[^|\n]*\||![^!\n]*!"
_PATTERNS = {
    "python": rf"(?P<prefix>(?<!\w)[rbfuRBFU]{{0,2}})(?P<body>{_TRIPLE}|{_QUOTED})",
    "perl": rf"(?P<prefix>\bq[qwx]?\s?(?=[({{\[/|!])|)"
    rf"(?P<body>{_QUOTED}|{_BACKQUOTED}|(?:(?<=[qwx])|(?<=[qwx]\s))(?:{_DELIMITED}))",
    "ruby": rf"(?P<prefix>%[qQwWx]?(?=[({{\[|!])|)(?P<body>{_QUOTED}|{_BACKQUOTED}|(?<=[qQwWx%])(?:{_DELIMITED}))",
    "lua": rf"(?P<prefix>)(?P<body>{_QUOTED}|\[\[.*?\]\])",
    "": rf"(?P<prefix>)(?P<body>{_QUOTED}|{_BACKQUOTED})",
}
_COMPILED = {name: re.compile(pattern, re.DOTALL) for name, pattern in _PATTERNS.items()}
_ALIKE = {"pypy": "python", "luajit": "lua", "raku": "perl", "julia": "", "ipython": "python", "ipython3": "python"}
# In these languages text between backquotes is run.
_RUN_BACKQUOTED = frozenset(("perl", "ruby", "php", "raku", "julia"))
_INTERPOLATED = {
    "perl": re.compile(r"[$@][\w{]"),
    "ruby": re.compile(r"#[{$@]"),
    "php": re.compile(r"\$\w|\{\$"),
    "julia": re.compile(r"\$[\w(]"),
    "tclsh": re.compile(r"[$\[]"),
}
_TOKEN = re.compile(
    r"[ \t]*(?:\ue010(?P<literal>\d+)\ue011|(?P<comma>,)|(?P<open>[\[(])|(?P<close>[\])])"
    r"|(?P<named>[A-Za-z_]\w*\s*=(?![=>]))|.|$)",
    re.DOTALL,
)
_OVER = re.compile(r"[ \t]*(?:$|[;\n}{|&(]|(?:if|unless|or|and|while|for|function|async)\b|\w+\s*=>)")
_ENDS = re.compile(r"\s*(?:[,)\];}\n]|$|(?:if|unless|or|and|while|for)\b|&&|\|\||\|\s*getline)")


class Literal(NamedTuple):
    """A string in code."""

    text: str
    is_plain: bool
    """Whether it is what it looks like: no value is put into it, and no escape hides a character."""
    is_command: bool = False
    """Whether the language runs it by itself, as between backquotes."""
    is_list: bool = False
    """Whether it is a list of words."""


class Code:
    """A piece of code: `text` has a mark in the place of each literal."""

    def __init__(self, code: str, language: str) -> None:
        self.literals: list[Literal] = []
        name = _ALIKE.get(language, language)
        self._language = name
        self.text = _COMPILED.get(name, _COMPILED[""]).sub(self._note, code.replace("\ue010", "").replace("\ue011", ""))

    def _note(self, found: re.Match[str]) -> str:
        self.literals.append(self._literal(found["prefix"].strip(), found["body"]))
        return f"\ue010{len(self.literals) - 1}\ue011"

    def _literal(self, prefix: str, body: str) -> Literal:
        width = 3 if body[:3] in ('"""', "'''") and len(body) > 5 else 2 if body[:2] == "[[" else 1  # noqa: PLR2004
        text = body[width:-width]
        is_raw = (
            "r" in prefix.lower() or prefix == "q" or (body[0] == "'" and self._language in ("perl", "ruby", "php"))
        )
        is_plain = is_raw or all(found[1] in _PLAIN_ESCAPES for found in _ESCAPED.finditer(text))
        if self._has_values(prefix, body):
            is_plain = False
        if not is_raw:
            text = _ESCAPED.sub(lambda found: _PLAIN_ESCAPES.get(found[1], found[0]), text)
        is_command = prefix in ("qx", "%x") or (body[0] == "`" and self._language in _RUN_BACKQUOTED)
        return Literal(text, is_plain, is_command, prefix in ("qw", "%w", "%W"))

    def _has_values(self, prefix: str, body: str) -> bool:
        """Whether the language puts values into the text."""
        if self._language == "python":
            return "f" in prefix.lower() and "{" in body
        if body[0] == "'" or prefix in ("q", "qw", "%q", "%w"):
            return False
        if body[0] == "`" and self._language not in _RUN_BACKQUOTED:
            return "${" in body
        pattern = _INTERPOLATED.get(self._language)
        return pattern is not None and pattern.search(body) is not None

    def mentions(self, pattern: re.Pattern[str]) -> bool:
        """Whether a literal has a match of a pattern."""
        return any(pattern.search(each.text) for each in self.literals)

    def literals_at(self, at: int) -> list[Literal]:
        """The literal whose mark is at a position, if there is one."""
        found = _TOKEN.match(self.text, at) if at >= 0 else None
        return [self.literals[int(found["literal"])]] if found and found["literal"] else []

    def arguments(self, at: int) -> list[Literal] | None:
        """The literals that a call at this position gets; None if there is anything else among them."""
        found: list[Literal] = []
        depth = 1
        while depth and (token := _TOKEN.match(self.text, at)) is not None:
            at = token.end()
            if token["literal"]:
                found.append(self.literals[int(token["literal"])])
                if not _ENDS.match(self.text, at):
                    return None
            elif token["close"]:
                depth -= 1
            elif token["open"] and not (token["open"] == "(" and found):
                depth += 1
            elif token["named"] and not found:
                pass  # the argument has a name
            elif not token["comma"]:
                # A function that gets the result, options, or the end; anything else makes it another text.
                return found or None if token["named"] or _OVER.match(self.text, token.start()) else None
        return found or None
