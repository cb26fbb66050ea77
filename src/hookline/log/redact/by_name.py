"""Finds the values of names that belong to secrets: in JSON, in assignments, in options of commands."""

import re
from collections.abc import Iterator, Sequence
from fnmatch import translate
from functools import cached_property

from hookline.log.redact.secret_patterns import places
from hookline.protocol.text.patterns import lazy_pattern
from hookline.protocol.text.secret_names import SECRET_NAMES

REDACTED = "[redacted]"

Replacement = tuple[int, int, str]
"""From where to where, and by what."""

# The keys of a record's `provenance` are paths into an answer. Their values are the names of hooks.
_PATH_IN_ANSWER = "hookSpecificOutput."

_LONGEST_NAME = 100
_SHORTEST_VALUE = 6
# A word of this length is not the name of a variable.
_LONG_VALUE = 40
# Code that looks like the beginning of a JSON object must not hide everything after it.
_LONGEST_CONTAINER_IN_CODE = 4096
_LONGEST_PHRASE = 100
# A new line, also in JSON; places for values; code.
_NOT_A_PHRASE = lazy_pattern(r"\n|\\n|[{}<>$%()]")
_NAME_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

# Possessive: hostile text must not cause backtracking. Quotes may be escaped, as in JSON inside JSON.
_SEPARATOR = lazy_pattern(r"""(\\*+["']?)\s*+(=>|:=|=(?!=)|:(?!:))\s*+(\\*+["'`])?""")
_AFTER_OPTION = lazy_pattern(r"""()(=|\x20++)(\\*+["'`])?""")
_WORD = lazy_pattern(r"""[^\s"'`\\,;&|<>(){}\[\]]++""")
_SHELL_WORD = lazy_pattern(r"""[^\s"'`\\;&|<>]++""")
_QUOTED_WORD = lazy_pattern(r"""[^\s"'`\\]++""")
_ITEM = lazy_pattern(r"""[^\s"{}\[\],\\]++""")
_QUOTE = lazy_pattern(r"""(\\*+)(["'`])""")
_BRACKET = lazy_pattern(r'"(?:[^"\\]++|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)
# ASCII without `*?[]`, written as ranges: a class with all the other characters in it takes 2 ms to compile.
_LITERAL = lazy_pattern(r"[\x00-)+->@-Z\\^-\x7f]+|\[[^\]]*\]?")


# `token_type`, `TOKEN_URL`, `PASSWORD_FILE` say something about a secret.
_HARMLESS = lazy_pattern(
    r"[_-]?(?:type|kind|ur[li]|endpoint|path|file|filename|dir|name|field|header|pattern|prefix|count|limit|ttl|seconds)s?\Z",
    re.IGNORECASE,
)
_SHORT = lazy_pattern(r"\w*_(?:PAT|PWD)|(?:set-?)?cookies?", re.IGNORECASE)
_TYPES = frozenset(
    {"string", "String", "object", "number", "boolean", "unknown", "integer", "password", "passwd", "passphrase"}
)
_NAME_IN_VALUE = lazy_pattern(r"[Tt]oken|TOKEN|[Pp]assw|PASSW|[Ss]ecret|SECRET|[Kk]ey|KEY|[Cc]redential|CREDENTIAL")


class Names:
    """The names of secrets, as globs over whole names."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self.patterns = tuple(patterns)
        # Values of names in the settings are always hidden. By default numbers are kept: they are counts of tokens.
        self.hides_numbers = self.patterns != SECRET_NAMES
        self._known: dict[str, bool] = {}

    def match(self, name: str) -> bool:
        """Whether this is the name of a secret."""
        known = self._known.get(name)
        if known is None:
            if len(self._known) > 10_000:  # noqa: PLR2004 - untrusted input has the names
                self._known = {}
            is_secret = bool(self._pattern.match(name)) and not name.startswith(_PATH_IN_ANSWER)
            # Too short to be searched for in every text: the values of these in a text are found by their form.
            is_secret = is_secret or (not self.hides_numbers and _SHORT.fullmatch(name) is not None)
            # A person who names `*TOKEN*` means all of them.
            known = self._known[name] = is_secret and (self.hides_numbers or not _HARMLESS.search(name))
        return known

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(map(translate, self.patterns)) or r"(?!)", re.IGNORECASE)

    @cached_property
    def words(self) -> tuple[bytes, ...]:
        """Small letters of which some are in every matching name; one quote, if a pattern has no letters."""
        literals = (max(_literals(pattern), key=len, default="").lower() for pattern in self.patterns)
        words = sorted({literal.encode() or b'"' for literal in literals}, key=len)
        return tuple(word for index, word in enumerate(words) if not any(other in word for other in words[:index]))

    def values(self, text: str, low: bytes) -> Iterator[Replacement]:
        """The values under matching names; `low` is the text in small letters, as ASCII."""
        is_json = text.lstrip()[:1] in ("{", "[")
        done = 0
        for at in sorted({at for word in self.words for at in places(low, word)}):
            if at < done:
                continue
            name, start, end = _name_at(text, at)
            # "\n" before a name in JSON text is not a part of it.
            if text[start - 1 : start] == "\\" and self.match(name[1:]):
                name, start = name[1:], start + 1
            if not name or not self.match(name):
                continue
            found = self._value(text, start, end, is_json=is_json)
            if found is not None:
                done = found[1]
                yield found

    def _value(self, text: str, start: int, end: int, *, is_json: bool) -> Replacement | None:
        separator = _SEPARATOR.match(text, end)
        if separator is None:
            is_option = text[start - 1 : start] == "-" or text[start : start + 1] == "-"
            separator = _AFTER_OPTION.match(text, end) if is_option else None
            return separator and _assigned(text, text[start:end], separator)
        quote = separator[1]
        if quote == "":
            return _assigned(text, text[start:end], separator)
        before = text.rfind(quote[-1], max(0, end - _LONGEST_NAME), start)
        if before < 0 or not self.match(text[before + 1 : end]):
            return None
        at, opening = separator.end(), separator[3]
        if opening:
            return at, _closing(text, at, opening), REDACTED
        hidden = f"{quote}{REDACTED}{quote}"
        if text[at : at + 1] in ("{", "["):
            is_exact = self.hides_numbers or (is_json and quote == '"')
            return at, _end_of_container(text, at, None if is_exact else at + _LONGEST_CONTAINER_IN_CODE), hidden
        if not self.hides_numbers:
            return _assigned(text, text[start:end], separator)
        item = _ITEM.match(text, at)
        return item and (at, item.end(), hidden)


def _literals(pattern: str) -> Iterator[str]:
    return (found[0] for found in _LITERAL.finditer(pattern) if not found[0].startswith("["))


def _name_at(text: str, at: int) -> tuple[str, int, int]:
    """The name around a position, and where it begins and ends."""
    if text[at] == '"':
        end = text.find('"', at + 1, at + _LONGEST_NAME)
        name = text[at + 1 : max(end, at + 1)].rstrip("\\")
        return name, at + 1, at + 1 + len(name)
    before = text[max(0, at - _LONGEST_NAME) : at]
    after = text[at : at + _LONGEST_NAME]
    start = at - len(before) + len(before.rstrip(_NAME_LETTERS))
    end = at + len(after) - len(after.lstrip(_NAME_LETTERS))
    return text[start:end].strip("-"), start, end


def _assigned(text: str, name: str, separator: re.Match[str]) -> Replacement | None:
    """The value of an assignment or an option, unless it looks like code."""
    at, sign, opening = separator.end(), separator[2], separator[3]
    if opening and (phrase := _phrase(text, name, at, opening)) is not None:
        return phrase
    is_variable = sign == "=" and name.isupper() and separator.end() - separator.start() == 1
    kind = _QUOTED_WORD if opening else _SHELL_WORD if is_variable or sign[0] == " " else _WORD
    word = kind.match(text, at)
    if word is None or len(word[0]) < _SHORTEST_VALUE or word[0][0] in "$%{<" or "\n" in separator[0]:
        return None
    after = text[word.end() : word.end() + 1]
    has_digit = any(map(str.isdecimal, word[0][:_LONG_VALUE]))
    if opening:
        # "AWS_SESSION_TOKEN" and "your-api-key" are names, not values.
        is_value = after in ("", "\\", opening[-1]) and (has_digit or not _NAME_IN_VALUE.search(word[0]))
    elif is_variable:
        is_value = True
    elif has_digit or len(word[0]) >= _LONG_VALUE:
        is_number = word[0].replace("_", "").replace(".", "").isdecimal()
        is_value = after not in ("(", "[", "{") and not (is_number and "pass" not in name.lower())
    else:
        # Only letters: the line `password: swordfish` of a YAML file, but not the type in `password: String;`
        is_line = sign in (":", "=") and after in ("", "\r", "\n", "\\", '"')
        is_value = is_line and "pass" in name.lower() and word[0].isalpha() and word[0] not in _TYPES
    return (at, word.end(), REDACTED) if is_value else None


def _phrase(text: str, name: str, at: int, opening: str) -> Replacement | None:
    """A value of several words between quotes on one line: a password, unless it speaks about one."""
    # Not in the whole text: it may have a name without a closing quote a hundred thousand times.
    window = text[at : at + _LONGEST_PHRASE + len(opening) + 1]
    end = _closing(window, 0, opening)
    phrase = window[:end]
    if not (name.isupper() or "pass" in name.lower()) or " " not in phrase.strip() or len(phrase) > _LONGEST_PHRASE:
        return None
    return None if _NOT_A_PHRASE.search(phrase) or _NAME_IN_VALUE.search(phrase) else (at, at + end, REDACTED)


def _closing(text: str, at: int, opening: str) -> int:
    """Where the text of a string ends; `opening` is its quote with the backslashes before it."""
    escapes = len(opening) - 1
    for found in _QUOTE.finditer(text, at):
        if found[2] == opening[-1] and len(found[1]) % (2 * escapes + 2) == escapes:
            return found.end() - len(opening)
    return len(text)


def _end_of_container(text: str, at: int, limit: int | None) -> int:
    end = len(text) if limit is None else min(limit, len(text))
    depth = 0
    for found in _BRACKET.finditer(text, at, end):
        depth += (found[0] in "[{") - (found[0] in "]}")
        if depth == 0 and found[0] in "]}":
            return found.end()
    return end
