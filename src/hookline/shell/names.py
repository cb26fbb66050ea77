"""Finds everything in a command that could be the name of a file, and the words that may lead to unknown files."""

import contextlib
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from hookline.protocol.constants import PROJECT_DIR_VARIABLES
from hookline.shell.expansions import braced, patterns_of, unescaped
from hookline.shell.lexer import read_script, splice
from hookline.shell.pieces import Item, Piece, Text, Word

COMMAND_KEYS = frozenset(
    ("command", "cmd", "commands", "script", "shell_command", "bash", "commandline", "command_line")
)
"""The arguments of tools that hold a shell command."""

# With a limit, or many open braces would take the square of their number.
_VARIABLE = re.compile(r"\$(?:\{(\w+)[^}]{0,200}\}|(\w+))")
_MOST_WORDS = 64
_JOINTS = re.compile(r"[=:,@+]")
_NEEDS_A_SHELL = re.compile(r"[\s\"'\\;&|<>()]")
_MODULE_OPTION = re.compile(r"-[A-Za-z]*?m(.*)", re.DOTALL)
_MAY_IMPORT = re.compile(r"(?:^|[\s\"'])-[A-Za-z]*m|\bimport\b")
_PYTHON = re.compile(r"(?:.*/)?(?:python|pypy)[\d.]*")
_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=(.*)", re.DOTALL)
# Ways to split a text that is not a shell's, such as a program for awk.
_SPLITTERS = [re.compile(rf"[{chars}]+") for chars in (r"\"'`", r"\s\"'`\\;&|<>()!", r"\s\"'`\\;&|<>()!${}")]

# Constructs where `>` is perhaps not a redirection, or where a written file is also read.
_MAY_READ_OUTPUT = re.compile(r"\bcase\b|\(\(|/dev/fd|/proc/|`|<<")
_OUTPUTS = frozenset((">", ">>", ">|", "&>", "&>>"))

_SHELL = re.compile(r"(?:.*/)?(?:ba|da|k|z|a|c|tc|fi)?sh")
_RUNS_TEXT = re.compile(rf"{_SHELL.pattern}|(?:.*/)?(?:eval|trap|env|su|flock|script|watch)")
_BUILDS_COMMANDS = frozenset(("eval", "xargs", "parallel", "shopt", "-exec", "-execdir"))
_NUMBERS = frozenset(("$?", "$#", "$$", "$!"))
# `${NAME:-…}` of a variable that has a value is that value, and so is `${NAME%/}` of a directory.
_UNCHANGED = re.compile(r"\$\{\w+(?::?[-=?]|%/\})")

# Files that a program reads without being given their names.
_FILES_OF_PROGRAMS = {
    "make": ("GNUmakefile", "makefile", "Makefile"),
    "just": ("justfile", "Justfile", ".justfile"),
    **dict.fromkeys(("npm", "npx", "pnpm", "yarn", "bun"), ("package.json",)),
}

# Programs that run every file of a directory they are given.
_RUN_DIRECTORIES = frozenset(("run-parts",))
# Programs that look for the code that they run by special rules.
_FIND_CODE = frozenset(
    ("pytest", "py.test", "tox", "nox", "rake", "jest", "mocha", "vitest", "pre-commit", "gradle", "gradlew", "mvn")
)
# The endings that an interpreter adds to the name of a file or a module.
_SUFFIXES = {
    **dict.fromkeys(
        ("node", "nodejs", "bun", "deno", "tsx", "ts-node"), (".js", ".cjs", ".mjs", ".json", ".ts", ".node")
    ),
    "ruby": (".rb",),
    "perl": (".pm",),
    "lua": (".lua",),
}
_LOADING_OPTIONS = frozenset(("-r", "--require", "--import", "--loader", "--experimental-loader", "--preload"))

# How often a command inside a command is looked into, as in `bash -c 'sh -c "…"'`.
_NESTING = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class PossiblePaths:
    """The words of a command that may be names of files, sorted by how they are looked up."""

    command: str
    absolute: tuple[str, ...]
    relative: tuple[str, ...]
    patterns: tuple[str, ...]
    on_path: tuple[str, ...]
    """Bare names in those directories of PATH that are inside the project."""
    unresolved: tuple[str, ...]
    """The words that may lead to files which are not among these."""
    modules: Mapping[str, tuple[str, ...]]
    """Python modules that are run, each with its files; without any of them, the module is found elsewhere."""


def possible_paths(
    command: str,
    env: Mapping[str, str],
    project_dir: str,
    *,
    with_outputs: bool = False,
    search_path: str | None = None,
) -> PossiblePaths:
    """Everything in a hook's command and environment that could be the name of a file it runs or reads.

    It finds too much rather than too little: a word counts quoted and unquoted, whole and after each `=` or `:`, as a
    path and, behind `-m`, as a Python module; variables are expanded where their value is known. Files that it only
    writes to are left out unless `with_outputs`. `search_path` is the PATH, if it is not this program's own.
    """
    text = command if with_outputs else _without_outputs(command)
    words = _Words(text, env)
    known = dict.fromkeys((*PROJECT_DIR_VARIABLES, "PWD"), project_dir) | {"HOME": _home("~")}
    paths, patterns = words.expanded(known, env)
    modules: Mapping[str, tuple[str, ...]] = {}
    if _MAY_IMPORT.search(text):
        modules = words.modules()
        paths |= dict.fromkeys(_module_files(paths))
        paths |= dict.fromkeys(_own_places(os.environ.get("PYTHONPATH", ""), project_dir))
    own_places = _own_places(os.environ.get("PATH", "") if search_path is None else search_path, project_dir)
    relative = tuple(path for path in paths if path and not path.startswith("/"))
    return PossiblePaths(
        command=command,
        absolute=tuple(path for path in paths if path.startswith("/")),
        relative=relative,
        patterns=tuple(patterns),
        on_path=tuple(f"{place}/{name}" for place in own_places for name in relative if "/" not in name),
        unresolved=words.unresolved(text, {**known, **env}),
        modules=modules,
    )


def _without_outputs(command: str) -> str:
    """The command without the files that it only writes to, or a hook that keeps a log would change itself."""
    if ">" not in command or _MAY_READ_OUTPUT.search(command):
        return command
    items, is_complete = read_script(command)
    return splice(command, ((word.start, word.source, " ") for word in _outputs(items))) if is_complete else command


def _outputs(items: tuple[Item, ...]) -> Iterator[Word]:
    for before, item in pairwise(("", *items)):
        if isinstance(item, Word):
            # The name of an output may itself be printed by a command.
            if before in _OUTPUTS and all(piece.is_plain for piece in item.expansions):
                yield item
            for piece in item.expansions:
                yield from _outputs(piece.items)


class _Words:
    """The words of a command, of the commands inside it, and of its variables' values."""

    def __init__(self, command: str, env: Mapping[str, str]) -> None:
        self._texts: dict[str, None] = {}
        self._globs: set[str] = set()
        # The words that a shell reads.
        self._run: list[tuple[Word, str]] = []
        self._doubts: dict[str, None] = {}
        self._read(command, _NESTING, is_run=True)
        runs_text = any(map(_RUNS_TEXT.fullmatch, self._texts))
        for name, value in env.items():
            # The shell itself reads BASH_ENV, ENV and exported functions.
            self._read(value, _NESTING, is_run=runs_text or name.startswith(("BASH", "ENV")))

    def _read(self, text: str, nesting: int, *, is_run: bool) -> None:
        for splitter in _SPLITTERS:
            self._texts |= dict.fromkeys(map(str.strip, splitter.split(text)))
        items, is_complete = read_script(text)
        if is_run and not is_complete:
            self._doubts[text] = None
        self._add(items, text, nesting, is_run=is_run)

    def _add(self, items: tuple[Item, ...], whole: str, nesting: int, *, is_run: bool) -> None:
        texts = [item if isinstance(item, str) else _text(item) for item in items]
        globs = {text for item, text in zip(items, texts, strict=True) if is_glob(_unquoted(item))}
        self._globs |= globs
        if is_run and "((" in items:
            self._doubts[whole] = None
        runs_text = bool(globs) or any(map(_RUNS_TEXT.fullmatch, texts))
        loads_modules = any(text.rpartition("/")[2] in _SUFFIXES for text in texts)
        for before, text, item, after in zip(("", *items), texts, items, (*items[1:], ""), strict=False):
            if isinstance(item, str):
                continue
            self._texts |= dict.fromkeys(_words_of(text))
            if is_run:
                self._run.append((item, text))
                if loads_modules and _text(before) in _LOADING_OPTIONS and _is_package(text):
                    self._doubts[f"{_text(before)} {text}"] = None
                if before in ("|", "|&") and _SHELL.fullmatch(text) and _text(after) in ("", "-", "-s"):
                    self._doubts[item.source] = None
            for piece in item.expansions:
                self._add(piece.items, whole, nesting, is_run=is_run)
            if nesting and text != whole and _NEEDS_A_SHELL.search(text):
                self._read(text, nesting - 1, is_run=is_run and runs_text)

    def expanded(self, known: Mapping[str, str], env: Mapping[str, str]) -> tuple[dict[str, None], dict[str, None]]:
        """The paths that the words may be, and those of them that are patterns."""
        assigned = {found[1]: found[2] for found in map(_ASSIGNMENT.fullmatch, self._texts) if found}
        paths = dict.fromkeys(
            file for word in self._texts for file in _FILES_OF_PROGRAMS.get(word.rpartition("/")[2], ())
        )
        patterns: dict[str, None] = {}
        names = {word.rpartition("/")[2] for word in self._texts}
        suffixes = [suffix for name in names for suffix in _SUFFIXES.get(name, ())]
        for variables in filter(None, (known, env and {**known, **env}, assigned and {**assigned, **known, **env})):
            for word in self._texts:
                readings = dict.fromkeys(_readings(word, variables))
                paths |= readings
                patterns |= {path: None for path in readings if is_glob(path) and ("/" in path or word in self._globs)}
        named = [path for path in paths if path.strip("./") and not path.startswith("-")]
        paths |= {f"{path.replace('::', '/')}{suffix}": None for suffix in suffixes for path in named}
        if names & _RUN_DIRECTORIES:
            patterns |= {f"{path.rstrip('/')}/{entries}": None for path in named for entries in ("*", ".*")}
        return paths, patterns

    def modules(self) -> dict[str, tuple[str, ...]]:
        """The modules that Python is to run, with the files that may have them; those of its library have none."""
        found: dict[str, tuple[str, ...]] = {}
        texts = [text for _, text in self._run]
        has_python = False
        for text, after in zip(texts, (*texts[1:], ""), strict=True):
            has_python = has_python or bool(_PYTHON.fullmatch(text))
            if has_python and (option := _MODULE_OPTION.fullmatch(text)):
                module = option[1] or after
                if _MODULE.fullmatch(module) and module.partition(".")[0] not in sys.stdlib_module_names:
                    found[f"-m {module}"] = tuple(_files_of_module(module))
        return found

    def unresolved(self, command: str, known: Iterable[str]) -> tuple[str, ...]:
        """The words that may lead to unknown files, given the variables whose values are known."""
        everything = "\n".join((command, *(text for _, text in self._run)))
        fixed = {name for name in known if not _may_change(name, everything)}
        doubtful = (word.source for word, text in self._run if _is_doubtful(word, text, fixed))
        return tuple(self._doubts | dict.fromkeys(doubtful))


def _text(item: Item) -> str:
    """The word without its quotes; variables stay, and other expansions are left out."""
    return "" if isinstance(item, str) else "".join(map(_piece_text, item.pieces))


def _piece_text(piece: Piece) -> str:
    if isinstance(piece, Text):
        return piece.text
    if piece.source.startswith("$'"):
        return unescaped(piece.source[2:-1])
    return f"${{{piece.name}}}" if piece.name else ""


def _words_of(text: str) -> tuple[str, ...]:
    """The word, and those that braces make of it; patterns for all of them where they are many."""
    return text, *(braced(text, _MOST_WORDS) or patterns_of(text))


def _is_package(text: str) -> bool:
    """Whether a module is looked for by its name alone, as in node_modules."""
    return bool(text) and not text.startswith((".", "/", "-", "$", "~"))


def _unquoted(item: Item) -> str:
    if isinstance(item, str) or item.is_compared:
        return ""
    return "".join(piece.text for piece in item.pieces if isinstance(piece, Text) and not piece.quote)


def _may_change(name: str, command: str) -> bool:
    names = "PWD|cd|pushd|popd" if name == "PWD" else re.escape(name)
    return bool(re.search(rf"(?<![\w$])(?<!\$\{{)(?:{names})(?!\w)", command))


def _is_doubtful(word: Word, text: str, fixed: set[str]) -> bool:
    if word.is_compared or word.source.strip('"') in _NUMBERS:
        return False
    if not all(each.name in fixed and (each.is_plain or _UNCHANGED.match(each.source)) for each in word.expansions):
        return True
    # Which of the dollar signs are quoted is not known any more when the word is looked up.
    if word.expansions and any(isinstance(piece, Text) and "$" in piece.text for piece in word.pieces):
        return True
    is_unknown_home = word.source.startswith("~") and _home(text).startswith("~")
    unquoted = _unquoted(word)
    has_braces = "{" in unquoted and "}" in unquoted and ("," in unquoted or ".." in unquoted)
    return is_unknown_home or text in _BUILDS_COMMANDS or text.rpartition("/")[2] in _FIND_CODE or has_braces


def is_glob(text: str) -> bool:
    """Whether the shell would replace a word like this by the names that it matches."""
    return "*" in text or "?" in text or ("[" in text and "]" in text)


def _home(path: str) -> str:
    # No user name has a lone surrogate or a null character.
    with contextlib.suppress(ValueError):
        return os.path.expanduser(path)  # Path.expanduser raises for an unknown user
    return path


def _readings(word: str, variables: Mapping[str, str]) -> Iterator[str]:
    for part in _parts(word):
        path = _VARIABLE.sub(lambda found: variables.get(found[1] or found[2], ""), part)
        yield path
        if path != part:
            yield part  # its dollar sign may have been quoted
        if path.startswith("~"):
            yield _home(path)
        leader = _VARIABLE.match(part)
        if path.startswith("/") and not (leader and variables.get(leader[1] or leader[2])):
            # The rest after an unknown expansion, as in `$(git rev-parse --show-toplevel)/hooks/x.sh`.
            yield path.lstrip("/")


def _parts(word: str) -> Iterator[str]:
    for part in (word, *_JOINTS.split(word)):
        yield part
        if part.startswith("-"):
            yield part.lstrip("-")
            yield part[2:]


def _module_files(words: Iterable[str]) -> Iterator[str]:
    for word in list(words):
        for module in {word, word.removeprefix("m")}:
            if _MODULE.fullmatch(module):
                yield from _files_of_module(module)
                *above, _ = module.split(".")
                yield from (f"{'/'.join(above[:count])}/__init__.py" for count in range(1, len(above) + 1))


def _files_of_module(module: str) -> tuple[str, ...]:
    path = module.replace(".", "/")
    return f"{path}.py", f"{path}/__main__.py", f"{path}/__init__.py"


@lru_cache(maxsize=8)
def _own_places(search_path: str, project_dir: str) -> list[str]:
    """The directories of a PATH that are inside the project."""
    places = (os.path.join(project_dir, place) for place in search_path.split(os.pathsep))
    return [place for place in places if is_inside(place, project_dir)]


def is_inside(path: str, project_dir: str) -> bool:
    """Whether a path leads into the project, links followed."""
    return os.path.realpath(path).startswith(f"{project_dir}/")
