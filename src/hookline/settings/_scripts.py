import contextlib
import os
import re
import shlex
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from glob import has_magic, iglob
from itertools import islice
from pathlib import Path

from hookline.contract.hooks import PROJECT_DIR_VARIABLES
from hookline.settings._redirects import blank_output_targets

_PROJECT_VARIABLES = (*PROJECT_DIR_VARIABLES, "PWD")

_VARIABLE = re.compile(r"\$(?:\{(\w+)[^}]*\}|(\w+))")
_QUOTES = re.compile(r"[\"'`]+")
_METACHARACTERS = re.compile(r"[\s\"'`\\;&|<>()!]+")
_METACHARACTERS_AND_BRACES = re.compile(r"[\s\"'`\\;&|<>()!${}]+")
_JOINTS = re.compile(r"[=:,@+]")
_NEEDS_A_SHELL = re.compile(r"[\s\"'\\;&|<>()]")
_MODULE_OPTION = re.compile(r"(?:^|\s)-[A-Za-z]*m")
_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")

# What an interpreter runs when it is given a directory.
_DIRECTORY_PROGRAMS = ("__main__.py", "index.js")

# No command is meant to run more files than this.
_MOST_MATCHES = 10_000

# How often a command inside a command is looked into, as in `bash -c 'sh -c "…"'`.
_NESTING = 4


@dataclass(frozen=True, slots=True)
class PossiblePaths:
    """What in a command could be the name of a file, sorted by how it is looked up."""

    absolute: tuple[str, ...]
    relative: tuple[str, ...]
    patterns: tuple[str, ...]


def possible_paths(command: str, env: Mapping[str, str], project_dir: str) -> PossiblePaths:
    """Everything in a hook's command and environment that could be the name of a file it runs or reads.

    Rather too much than too little: a word counts quoted and unquoted, whole and after each `=` or `:`, as a path and,
    behind `-m`, as a Python module; variables are expanded where their value is known.
    """
    known = dict.fromkeys(_PROJECT_VARIABLES, project_dir) | {"HOME": str(Path("~").expanduser())}
    text = blank_output_targets(command)
    paths: dict[str, None] = {}
    for variables in (known, {**known, **env}):
        for source in (text, *env.values()):
            for word in _words(source, _NESTING):
                paths.update(dict.fromkeys(_readings(word, variables)))
    if _MODULE_OPTION.search(text):
        paths.update(dict.fromkeys(_module_files(list(paths))))
    return PossiblePaths(
        absolute=tuple(path for path in paths if path.startswith("/")),
        relative=tuple(path for path in paths if path and not path.startswith("/")),
        patterns=tuple(path for path in paths if "/" in path and has_magic(path)),
    )


def existing_files(paths: PossiblePaths, project_dir: str) -> Iterator[tuple[str, os.stat_result]]:
    """Those of the paths that are regular files, under the names they were found by, each with its status.

    Relative ones are looked for in the project and in each directory that is itself among the paths (`cd a && ./x`).
    """
    directories = [project_dir]
    status = _status(project_dir)
    known = {(status.st_dev, status.st_ino)} if status else set()
    for directory in directories:
        for name in _names_in(directory, paths, is_project=directory is project_dir):
            status = _status(name)
            if status is None:
                continue
            if stat.S_ISREG(status.st_mode):
                yield name, status
            elif stat.S_ISDIR(status.st_mode) and (status.st_dev, status.st_ino) not in known:
                known.add((status.st_dev, status.st_ino))
                directories.append(name)


def _words(text: str, nesting: int) -> Iterator[str]:
    yield from map(str.strip, _QUOTES.split(text))
    yield from _METACHARACTERS.split(text)
    yield from _METACHARACTERS_AND_BRACES.split(text)
    for word in _shell_words(text):
        yield word
        if nesting and word != text and _NEEDS_A_SHELL.search(word):
            yield from _words(word, nesting - 1)


def _shell_words(text: str) -> Iterator[str]:
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        yield from lexer
    except ValueError:
        # An open quote, as in a here-document: the other ways of splitting have to do for the rest.
        return


def _readings(word: str, variables: Mapping[str, str]) -> Iterator[str]:
    for part in _parts(word):
        path = _VARIABLE.sub(lambda found: variables.get(found[1] or found[2], ""), part)
        yield path
        if path.startswith("~"):
            # Half a character and NUL are no part of anybody's name.
            with contextlib.suppress(ValueError):
                yield os.path.expanduser(path)  # noqa: PTH111 - Path.expanduser raises for an unknown user
        leader = _VARIABLE.match(part)
        if path.startswith("/") and not (leader and variables.get(leader[1] or leader[2])):
            # What follows an expansion that we cannot know, as in `$(git rev-parse --show-toplevel)/hooks/x.sh`.
            yield path.lstrip("/")


def _parts(word: str) -> Iterator[str]:
    for part in (word, *_JOINTS.split(word)):
        yield part
        if part.startswith("-"):
            yield part.lstrip("-")
            yield part[2:]


def _module_files(words: Iterable[str]) -> Iterator[str]:
    for word in words:
        name = word.removeprefix("m")
        for module in {word, name}:
            if _MODULE.fullmatch(module):
                path = module.replace(".", "/")
                yield from (f"{path}.py", f"{path}/__main__.py", f"{path}/__init__.py")


def _names_in(directory: str, paths: PossiblePaths, *, is_project: bool) -> Iterator[str]:
    if is_project:
        yield from paths.absolute
    for path in paths.relative:
        yield f"{directory}/{path}"
    for pattern in paths.patterns:
        root = "/" if pattern.startswith("/") else directory
        yield from (f"{root}/{found}" for found in _matching(pattern.lstrip("/"), root))
    if not is_project:
        yield from (f"{directory}/{program}" for program in _DIRECTORY_PROGRAMS)


def _matching(pattern: str, directory: str) -> list[str]:
    try:
        found = iglob(pattern, root_dir=directory)  # noqa: PTH207 - Path.glob has other rules than the shell
        return list(islice(found, _MOST_MATCHES))
    except (re.error, ValueError):
        return []


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116 - on the way of every event, and Path is several times slower
    except (OSError, ValueError):
        return None
