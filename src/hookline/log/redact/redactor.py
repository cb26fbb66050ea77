"""Keeps secrets out of what is written: the log, the transcript, and the JSON that `fire` prints."""

import json
import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from hookline.log.redact.by_name import REDACTED, Names, Replacement
from hookline.log.redact.secret_patterns import (
    SHAPE_WORDS,
    WordFilter,
    behind_words,
    headers,
    logins,
    may_have_login,
    places,
    private_keys,
    tokens,
)
from hookline.protocol.text.json_text import MAX_DEPTH, parse_json, stringify_json
from hookline.protocol.text.patterns import lazy_pattern

# Shorter values ("1", "true", "root") occur in ordinary text everywhere.
SHORTEST_SECRET = 6
_SHORTEST_LINE = 16

# Each value that is searched for takes time in every text.
_MOST_OF_ENVIRONMENT = 500
_MOST_FOUND = 200
_MOST_REMEMBERED = 100

# Readers select records by these two kinds of fields: a model that writes `API_TOKEN=run_shell_command` or
# `API_TOKEN=no-rm` into a file must not hide its later commands, or what a hook decided about them.
# These come from hookline itself, except the subject, the name of a tool.
_FIXED_FIELDS = frozenset({"kind", "time", "level", "id", "fire", "session", "event", "subject", "type", "source"})
# These come from settings, which may have secrets: only those are replaced that the environment has, or that their own
# text shows to be secrets.
_NAMING_FIELDS = frozenset(
    {
        *("hook", "hooks", "by", "provenance", "decision", "origin", "location", "project"),
        *("agent", "agentEvent", "theirEvent", "worker"),
    }
)

# The beginning of a path. Keys in base64 may begin with a slash, too, so the first directory has to be a usual one.
_PLACE = lazy_pattern(
    r"(?:~|\.\.?)/|/(?:etc|home|root|usr|var|tmp|opt|proc|sys|dev|run|srv|mnt|media|boot|s?bin|lib(?:32|64)?|app|data"
    r"|workspaces?|Users|Volumes|Library|Applications|System|private)(?:/|\Z)"
)

# A model needs these back as they were.
_EXACT_KEYS = frozenset({"thoughtSignature"})


class Redactor:
    """Replaces secrets, in any thread.

    A secret is a value under a name that matches a pattern (a glob over whole names, such as `*TOKEN*`), in JSON, in an
    assignment, in an option or in the environment; it is then replaced wherever else it occurs. So is everything that
    has the form of a key or token, whatever the patterns are.
    """

    def __init__(self, patterns: Sequence[str], environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._environments: deque[Mapping[Any, Any]] = deque(maxlen=_MOST_REMEMBERED)
        # Tuples are replaced as a whole, for threads.
        self._of_environment: tuple[str, ...] = ()
        self._remembered: tuple[str, ...] = ()
        self.use(patterns)

    def use(self, patterns: Sequence[str]) -> None:
        """Uses these patterns from now on."""
        self._names = names = Names(patterns)
        self._filter = WordFilter((*names.words, *SHAPE_WORDS))
        self.look()

    def learn(self, environment: Mapping[Any, Any]) -> None:
        """Takes an environment whose secrets are to be replaced; it must not change any more."""
        # Read later, in the log's thread: a program may change its environment before each event.
        if len(self._environments) == _MOST_REMEMBERED:
            self._known()  # or the oldest, which may be the program's own, would be lost
        self._environments.append(environment)

    def look(self) -> None:
        """Takes the environment as it is now."""
        self.learn(dict(self._environ))

    @property
    def margin(self) -> int:
        """How many characters behind a cut have to be there, so that a secret across the cut is found."""
        return max(4096, *map(len, (*self._known(), "")))

    def suspects(self, text: bytes) -> bool:
        """Whether there may be a secret in a JSON text; this takes little time."""
        return (
            self._filter.may_match(text)
            or any(True for _ in tokens(text))
            or (may_have_login(text) and any(True for _ in logins(text.decode("latin-1"))))
            or any(secret.encode("utf-8", "replace") in text for secret in _spellings(self._known()))
        )

    def find(self, values: Iterable[Any]) -> tuple[str, ...]:
        """The secrets that JSON values have under matching keys."""
        cleaning = _Cleaning(self._names)
        for value in values:
            cleaning.collect(value, in_texts=False)
        return tuple(cleaning.found)

    def clean(self, value: Any, secrets: Iterable[str] = (), limit: int | None = None) -> Any:
        """A copy of a JSON value with secrets replaced, wherever they occur in it: those given and those found here.

        Of each text only what comes from its first `limit` characters is returned, and nothing of a secret across them.
        """
        cleaning = _Cleaning(self._names, secrets)
        cleaning.collect(value)
        self._remember(cleaning.found)
        cleaning.prepare(self._known(), limit)
        return cleaning.clean(value)

    def clean_json(self, text: bytes) -> bytes:
        """A JSON text with secrets replaced."""
        return stringify_json(self.clean(parse_json(text.decode()))) if self.suspects(text) else text

    def clean_records(
        self, records: Sequence[dict[str, Any]], secrets: Iterable[str] = (), limit: int | None = None
    ) -> list[dict[str, Any]]:
        """The records of one entry of the log, cleaned like any value, except the fields that readers select by."""
        cleaning = _Cleaning(self._names, secrets)
        cleaning.collect(list(records))
        self._remember(cleaning.found)
        cleaning.prepare(self._known(), limit)
        naming = _Cleaning(self._names)
        naming.collect([{name: record[name] for name in record.keys() & _NAMING_FIELDS} for record in records])
        naming.prepare(self._of_environment, limit)
        return [
            {
                key: value
                if key in _FIXED_FIELDS
                else (naming if key in _NAMING_FIELDS else cleaning).member(key, value)
                for key, value in record.items()
            }
            for record in records
        ]

    def _remember(self, found: Iterable[str]) -> None:
        # A word such as "string" is not remembered: it may not be a secret.
        kept = dict.fromkeys((*self._remembered, *(value for value in found if not value.isalpha())))
        self._remembered = tuple(kept)[-_MOST_REMEMBERED:]

    def _known(self) -> tuple[str, ...]:
        while self._environments:
            try:
                environment = self._environments.popleft()
            except IndexError:  # another thread took it
                break
            found = [value for name, value in _texts(environment) if self._names.match(name)]
            known = dict.fromkeys((*self._of_environment, *(part for value in found for part in _parts(value))))
            self._of_environment = tuple(known)[-_MOST_OF_ENVIRONMENT:]
        return (*self._of_environment, *self._remembered)


class _Cleaning:
    """Cleans one value: the secrets that are in any part of it are first collected, then replaced in all of it."""

    def __init__(self, names: Names, secrets: Iterable[str] = ()) -> None:
        self._names = names
        self.found: dict[str, None] = dict.fromkeys(secrets)
        self._replacements: dict[str, list[Replacement]] = {}
        self._secrets: tuple[str, ...] = ()
        self._limit: int | None = None

    def collect(self, value: Any, *, in_texts: bool = True) -> None:
        pending = [(value, MAX_DEPTH, False)]
        while pending:
            item, depth, is_secret = pending.pop()
            if isinstance(item, str):
                if is_secret:
                    self._add(item)
                elif in_texts:
                    self._collect_text(item)
            elif isinstance(item, Mapping) and depth:
                match = self._names.match
                pending += [
                    (inner, depth - 1, is_secret or match(str(key)))
                    for key, inner in item.items()
                    if key not in _EXACT_KEYS
                ]
            elif isinstance(item, list | tuple) and depth:
                pending += [(inner, depth - 1, is_secret) for inner in item]

    def prepare(self, known: tuple[str, ...], limit: int | None) -> None:
        self._secrets = _spellings((*known, *self.found))
        self._limit = limit

    def clean(self, value: Any, depth: int = MAX_DEPTH) -> Any:
        if isinstance(value, str):
            return self._clean_text(value)
        if isinstance(value, Mapping):
            return {self._clean_text(str(key)): self.member(str(key), item, depth - 1) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.clean(item, depth - 1) for item in value] if depth > 0 else REDACTED
        return value

    def member(self, key: str, value: Any, depth: int = MAX_DEPTH) -> Any:
        is_text = isinstance(value, str | Mapping | list | tuple)
        if depth <= 0 or (self._names.match(key) and (is_text or self._names.hides_numbers)):
            return REDACTED
        return value if key in _EXACT_KEYS else self.clean(value, depth)

    def _collect_text(self, text: str) -> None:
        if text not in self._replacements:
            found, beside_user = _replacements(self._names, text), list(logins(text))
            self._replacements[text] = [*found, *((start, end, REDACTED) for start, end in beside_user)]
            # In postgres://postgres:postgres@localhost the password is an ordinary word, which stays elsewhere.
            odd = (span for span in beside_user if not text[slice(*span)].isalpha())
            for start, end in (*((start, end) for start, end, _ in found), *odd):
                for value in _read(text[start:end]):
                    self._add(value)

    def _add(self, value: str) -> None:
        # A path is hidden under its name alone: a model that calls /etc/passwd a token must not hide where else it is.
        if len(self.found) < _MOST_FOUND and not _PLACE.match(value):
            self.found.update(dict.fromkeys(_parts(value)))

    def _clean_text(self, text: str) -> str:
        replacements = [
            *self._replacements.get(text, ()),
            *((at, at + len(secret), REDACTED) for secret in self._secrets for at in places(text, secret)),
        ]
        limit = len(text) if self._limit is None else self._limit
        pieces: list[str] = []
        done = 0
        for start, end, instead in sorted(replacements):
            if start >= limit:
                break
            if start >= done:
                pieces += (text[done:start], instead)
            done = max(done, end)
        return "".join((*pieces, text[done:limit]))


def _replacements(names: Names, text: str) -> list[Replacement]:
    """Return the spans of a text that must be replaced; they may overlap."""
    flat = text.encode("ascii", "replace")  # as long as the text, and faster to search
    low = flat.lower()
    spans = (*tokens(flat), *headers(text, low), *private_keys(text, low), *behind_words(text, low))
    return [*names.values(text, low), *((start, end, REDACTED) for start, end in spans)]


def _texts(environment: Mapping[Any, Any]) -> Iterator[tuple[str, str]]:
    for entry in environment.items():
        name, value = (os.fsdecode(part) if isinstance(part, bytes) else part for part in entry)
        if isinstance(name, str) and isinstance(value, str):
            yield name, value


def _parts(value: str) -> Iterator[str]:
    """The value and its long lines, without surrounding white space, unless they are too short to be searched for."""
    if len(value := value.strip()) >= SHORTEST_SECRET and value != REDACTED:
        yield value
        if "\n" in value:
            yield from (line for line in map(str.strip, value.splitlines()) if len(line) >= _SHORTEST_LINE)


def _read(value: str) -> Iterator[str]:
    """A value that was found in a text, as it was and without the escapes of JSON."""
    yield value
    for _ in range(3):
        if "\\" not in value:
            return
        try:
            value = json.loads(f'"{value}"')
        except ValueError:
            return
        yield value


@lru_cache(maxsize=4)
def _spellings(secrets: tuple[str, ...]) -> tuple[str, ...]:
    """The secrets, also as they look in JSON text and in JSON text inside it."""
    found = dict.fromkeys(secrets)
    for _ in range(2):
        odd = [secret for secret in found if not secret.isascii() or json.dumps(secret)[1:-1] != secret]
        found.update((json.dumps(secret, ensure_ascii=flag)[1:-1], None) for secret in odd for flag in (True, False))
    return tuple(found)
