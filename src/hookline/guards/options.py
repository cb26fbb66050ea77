"""The options of a pack: rules and patterns that are allowed, denied or asked about."""

import fnmatch
import os.path
import posixpath
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from hookline.guards.facts import READING
from hookline.guards.findings import RuleFinding, Subject
from hookline.guards.shell_eval.words import ENTRY, OUTPUT, PROCESS, UNKNOWN

ANY_WORDS = "**"
"""The last word of a pattern that may be followed by more words."""
# A shell may put the names of files in its place, and one of those may be anything: `wip-x:main`.
_MANY_FILES = re.compile(r"[*?\[]")
_UNKNOWN_PARTS = (UNKNOWN, ENTRY, OUTPUT, PROCESS)
# A shell may make `..` of it.
_MAY_LEAD_UP = re.compile(r"(?:^|/)\.[*?\[]")
# Separators between names: `a:b` is two names, and `a^{}`, `a~1` and `+a` name other commits.
_BETWEEN_NAMES = re.compile(r"[\s:^~+{}]")


# Each argument of these programs may be a path, except flags.
_TAKING_PATHS = READING | {
    "rm",
    "rmdir",
    "unlink",
    "shred",
    "chmod",
    "chown",
    "chgrp",
    "truncate",
    "touch",
    "mkdir",
    "find",
}


class PackOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Ids of rules, or patterns of what the pack judges. `deny` counts before `ask`, and `ask` before `allow`."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "PackOptions":
        """The options as settings have them."""
        return cls(**{name: tuple(given.get(name, ())) for name in ("allow", "deny", "ask")})

    @property
    def hosts(self) -> tuple[str, ...]:
        """The entries of `allow` that are hosts: an id of a rule has neither a dot nor a wildcard."""
        return tuple(each.lower() for each in self.allow if "." in each or "*" in each or each == "localhost")

    def apply(
        self, findings: Iterable[RuleFinding], subjects: Sequence[str], *, may_allow: bool = True
    ) -> list[RuleFinding]:
        """Return the findings after these options: without those that are allowed, and with changed actions.

        A pattern under `allow` frees what it matches itself: for a command that runs several programs, only those.
        `subjects` is everything that patterns under `deny` and `ask` are compared with.
        """
        found = [each for each in self._each(findings) if not (may_allow and self._frees(each))]
        for action, patterns in (("deny", self.deny), ("ask", self.ask)):
            if pattern := next((each for each in patterns if any(_matches(one, each) for one in subjects)), None):
                reason = f"The settings have {pattern} under {action}"
                return [RuleFinding("settings", action, reason, "Ask the user to do this."), *found]
        return found

    def _frees(self, finding: RuleFinding) -> bool:
        is_kept = finding.rule in (*self.deny, *self.ask)
        return not is_kept and any(frees(each, finding.subject) for each in self.allow)

    def _each(self, findings: Iterable[RuleFinding]) -> list[RuleFinding]:
        found = []
        for finding in findings:
            if finding.rule in self.deny:
                found.append(finding._replace(action="deny"))
            elif finding.rule in self.ask:
                found.append(finding._replace(action="ask"))
            elif finding.rule not in self.allow:
                found.append(finding)
        return found


def frees(pattern: str, subject: Subject) -> bool:
    """Whether a pattern under `allow` matches exactly this subject.

    Each word of the pattern is compared with one word of the program; words that may be paths are compared after `..`
    and links are resolved. More words may follow only if the pattern ends with `**`. In another directory the same
    words have another effect, unless all words that matter are paths.
    """
    wanted, given = _words(pattern), subject.words
    if not wanted or not given or not subject.is_plain or UNKNOWN in subject.cwd:
        return False
    if wanted[-1] == ANY_WORDS:
        wanted, given = wanted[:-1], given[: len(wanted) - 1]
    if len(wanted) != len(given):
        return False
    takes_paths = given[0] in _TAKING_PATHS
    names_paths = takes_paths and any(not word.startswith("-") for word in given[1:])
    if not (names_paths or _is_in_base(subject)):
        return False
    # Of a program that takes other words than paths, any word may be a name.
    if subject.base and not takes_paths and not all(map(_has_same_names, given, wanted)):
        return False
    pairs = zip(given, wanted, strict=True)
    return all(
        _is_path_meant(word, each, subject)
        if "/" in word + each or word == ".." or (index and takes_paths and not word.startswith("-"))
        else _is_word_meant(word, each) and not _MANY_FILES.search(word)
        for index, (word, each) in enumerate(pairs)
    )


def _is_in_base(subject: Subject) -> bool:
    return not subject.base or posixpath.normpath(subject.cwd) == posixpath.normpath(subject.base)


def _has_same_names(word: str, pattern: str) -> bool:
    """Whether the pattern has the same separators between names, so that no wildcard matches one."""
    return sorted(_BETWEEN_NAMES.findall(word)) == sorted(_BETWEEN_NAMES.findall(pattern))


@lru_cache(maxsize=256)
def _words(pattern: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(pattern))
    except ValueError:
        return ()


def _is_word_meant(word: str, pattern: str) -> bool:
    """A wildcard matches no colon: `a:b` is two names. A value that is only known at run time matches nothing."""
    is_known = word.isprintable() and not any(part in word for part in _UNKNOWN_PARTS)
    return is_known and word.count(":") == pattern.count(":") and fnmatch.fnmatchcase(word, pattern)


def _is_path_meant(word: str, pattern: str, subject: Subject) -> bool:
    """The same for words that may be paths: as they are behind `..` and behind links."""
    path = posixpath.normpath(posixpath.join(subject.cwd, word))
    wanted = posixpath.normpath(posixpath.join(subject.base or subject.cwd, pattern))
    if _MAY_LEAD_UP.search(word) or "\0" in word or word.startswith("-") or not _is_word_meant(path, wanted):
        return False
    # Links in the directories that the pattern itself names are the user's own choice.
    fixed = re.split(r"[*?\[]", wanted, maxsplit=1)[0].rpartition("/")[0]
    behind_links = os.path.realpath(fixed or "/").rstrip("/")
    return fnmatch.fnmatchcase(os.path.realpath(path), behind_links + wanted[len(fixed) :])


def _matches(subject: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(subject.strip(), pattern)
