"""The code of a hook, as text: its command, the scripts that it names, and the scripts that those name."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import islice
from pathlib import Path

from hookline.protocol.hook_entry import HookEntry
from hookline.settings.read.files import open_without_waiting
from hookline.settings.trust.fingerprint import fingerprint
from hookline.settings.trust.store import is_below

# Of one hook. A script names others, and a directory may be full of them.
_MOST_SCRIPTS = 16
_MOST_NAMES = 200
_LARGEST_BYTES = 128 * 1024
_DEEPEST = 2


class Language(StrEnum):
    """The language of a script, as far as comments and comparisons differ."""

    SHELL = "shell"
    PYTHON = "python"
    JAVASCRIPT = "javascript"
    RUBY = "ruby"
    PERL = "perl"


_BY_SUFFIX = {
    **dict.fromkeys(("", ".sh", ".bash", ".zsh", ".ksh"), Language.SHELL),
    **dict.fromkeys((".py", ".pyw"), Language.PYTHON),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"), Language.JAVASCRIPT),
    ".rb": Language.RUBY,
    ".pl": Language.PERL,
}
_BY_INTERPRETER = (
    (re.compile(r"\b(?:python|uv|pypy)"), Language.PYTHON),
    (re.compile(r"\b(?:node|deno|bun|tsx|ts-node)"), Language.JAVASCRIPT),
    (re.compile(r"\bruby"), Language.RUBY),
    (re.compile(r"\bperl"), Language.PERL),
    (re.compile(r"sh\b"), Language.SHELL),
)
_TEXT = r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
_HASH = r"(?P<comment>(?<!\S)#[^\n]*)"
_COMMENTS = {
    # A quoted text ends with its line here, so that comments in a quoted program are also found.
    Language.SHELL: re.compile(rf"\"(?:\\.|[^\"\\\n])*\"|'[^'\n]*'|{_HASH}"),
    Language.PYTHON: re.compile(
        rf"(?P<long>[rRuUbB]?(?:\"\"\"(?:.*?)(?:\"\"\"|\Z)|'''(?:.*?)(?:'''|\Z)))|{_TEXT}|{_HASH}", re.DOTALL
    ),
    Language.JAVASCRIPT: re.compile(
        rf"(?<=[=(,:&|!?])\s*/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\[\n])+/|{_TEXT}|`(?:\\.|[^`\\])*(?:`|\Z)"
        r"|(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))",
        re.DOTALL,
    ),
    Language.RUBY: re.compile(rf"{_TEXT}|{_HASH}|(?P<long>^=begin\b.*?(?:^=end\b|\Z))", re.DOTALL | re.MULTILINE),
    Language.PERL: re.compile(rf"{_TEXT}|{_HASH}|(?P<long>^=[a-z]\w*\b.*?(?:^=cut\b|\Z))", re.DOTALL | re.MULTILINE),
}
_VISIBLE = re.compile(r"[^\n]")
# A file that is named in a script: its last literal part, behind variables and substitutions.
# With limits, because the time would grow with the square of a longer word.
_NAMED = re.compile(
    r"(?:\$\w{1,100}|(?<![\w.@+/$-]))([\w.@+/-]{0,200}[\w@+-]\.(?:sh|bash|zsh|py|js|mjs|cjs|ts|rb|pl)\b)"
)
_PYTHON_MODULES = re.compile(r"^[ \t]*(?:from[ \t]+\.*([\w.]+)[ \t]+import\b|import[ \t]+([\w.]+))", re.MULTILINE)
_REQUIRED = re.compile(r"""(?:require|require_relative|import|from)\b\s*\(?\s*["'](\.{0,2}/?[\w./@-]+)["']""")


@dataclass(frozen=True)
class Script:
    """A text that a hook runs, without its comments; every character is at its own place."""

    file: Path | None
    """None for the command itself."""
    code: str
    language: Language

    def position(self, offset: int) -> tuple[int, int]:
        """The line and the column of a character, from 1."""
        return self.code.count("\n", 0, offset) + 1, offset - self.code.rfind("\n", 0, offset)

    @cached_property
    def named(self) -> tuple[str, ...]:
        """Files that it plainly names, to be looked for beside it and in the project."""
        found: dict[str, None] = dict.fromkeys(match[1] for match in _NAMED.finditer(self.code))
        if self.language is not Language.JAVASCRIPT and self.language is not Language.RUBY:
            for match in _PYTHON_MODULES.finditer(self.code):
                found[(match[1] or match[2]).replace(".", "/") + ".py"] = None
        for match in _REQUIRED.finditer(self.code):
            found |= dict.fromkeys(
                f"{match[1]}{suffix}" for suffix in (".js", ".mjs", ".cjs", ".ts", ".rb", "/index.js")
            )
        return tuple(islice(found, _MOST_NAMES))


def scripts_of(hook: HookEntry, project_dir: str) -> list[Script]:
    """The command of a hook and the scripts behind it, the nearest first.

    Of a hook that needs trust, only the files that trust covers and others in the same project are read.
    """
    scripts = [Script(None, without_comments(hook.command or "", Language.SHELL), Language.SHELL)]
    project = Path(project_dir).resolve()
    seen: set[Path] = set()
    files = iter(fingerprint(hook, project_dir).files)
    for _ in range(_DEEPEST + 1):
        level = [script for file in files if (script := _first_look(file, seen)) is not None]
        scripts += level[: _MOST_SCRIPTS + 1 - len(scripts)]
        files = (file for script in level for file in _next_files(script, project, is_guest=hook.needs_trust))
    return scripts


def without_comments(text: str, language: Language) -> str:
    """The text with blanks in place of comments."""

    def blank(found: re.Match[str]) -> str:
        long = found.groupdict().get("long")
        # A text alone on its line is also a comment: a docstring.
        is_alone = long is not None and not text[text.rfind("\n", 0, found.start()) + 1 : found.start()].strip()
        return _VISIBLE.sub(" ", found[0]) if is_alone or found.groupdict().get("comment") else found[0]

    return _COMMENTS[language].sub(blank, text)


def _first_look(file: Path, seen: set[Path]) -> Script | None:
    if file in seen or len(seen) >= _MOST_SCRIPTS:
        return None
    seen.add(file)
    text = _read(file)
    language = None if text is None else _language(file, text)
    if text is None or language is None:
        return None
    return Script(file, without_comments(text, language), language)


def _read(file: Path) -> str | None:
    """The text of a script, or None for what is none."""
    try:
        if not file.is_file():
            return None
        with open_without_waiting(file) as opened:
            content = os.read(opened.fileno(), _LARGEST_BYTES)
    except OSError:
        return None
    return None if b"\0" in content else content.decode("utf-8", "replace")


def _language(file: Path, text: str) -> Language | None:
    if text.startswith("#!"):
        line = text.partition("\n")[0]
        return next((language for pattern, language in _BY_INTERPRETER if pattern.search(line)), None)
    return _BY_SUFFIX.get(file.suffix)


def _next_files(script: Script, project: Path, *, is_guest: bool) -> Iterator[Path]:
    if script.file is None:
        return
    folder = script.file.parent
    for name in script.named:
        for place in (folder, folder.parent, project):
            file = Path(os.path.realpath(place / name.lstrip("/")))
            if file.is_file() and (not is_guest or is_below(file, str(project))):
                yield file
                break
