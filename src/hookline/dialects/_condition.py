"""Claude Code's rules about tool calls, such as `Bash(git *)` or `Edit(src/**)`: whether a call meets one.

Where that is not sure the call meets it: a guard too many is safer than one too few.
"""

import posixpath
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from hookline.shell.lexer import Item, Word, read_script

_RULE = re.compile(r"\s*([A-Za-z_][\w.*-]*)\s*(?:\((.*)\))?\s*", re.DOTALL)
# A rule about one of these is about all tools that do the same to files.
_FAMILIES = {
    "Edit": frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"}),
    "Read": frozenset({"Read", "Grep", "Glob", "LS"}),
}
_PATHS = ("file_path", "notebook_path", "path")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
# Words before a command that are not part of it.
_BEFORE_A_COMMAND = frozenset(
    {"if", "then", "elif", "else", "while", "until", "do", "time", "!", "{", "nohup", "command"}
)


def meets(condition: str, names: Collection[str], arguments: Mapping[str, Any], cwd: str, home: str) -> bool:
    """Whether a call of the tool with these names, in Claude Code's words, meets a rule."""
    rule = _RULE.fullmatch(condition)
    if rule is None:
        return condition.strip() != "*"
    tool, pattern = rule.groups()
    if not _is_about(tool, names):
        return False
    if pattern is None or pattern.strip() in ("", "*"):
        return True
    if tool == "Bash":
        return _meets_command(pattern, arguments.get("command"))
    if pattern.startswith("domain:"):
        return _meets_domain(pattern.removeprefix("domain:"), arguments.get("url"))
    paths = [path for name in _PATHS if isinstance(path := arguments.get(name), str)]
    if not paths or tool not in ("Edit", "Write", "MultiEdit", "NotebookEdit", "Read", "Grep", "Glob", "LS"):
        return True
    return any(_meets_path(pattern, posixpath.join(cwd, path), cwd, home) for path in paths)


def _is_about(tool: str, names: Collection[str]) -> bool:
    family = _FAMILIES.get(tool, frozenset({tool}))
    if not family.isdisjoint(names):
        return True
    # `mcp__server` stands for all tools of that server.
    starts = (tool.rstrip("*"), f"{tool}__") if tool.startswith("mcp__") else ()
    return any(name.startswith(start) for name in names for start in starts if start != tool)


def _meets_command(pattern: str, command: Any) -> bool:
    if not isinstance(command, str):
        return True
    if pattern.endswith(":*"):
        pattern = f"{pattern.removesuffix(':*')} *"
    # A word boundary, so `git *` is met by `git` alone and not by `gitk`.
    start, is_prefix = (pattern[:-2], True) if pattern.endswith(" *") else (pattern, False)
    text = ".*".join(re.escape(part) for part in start.split("*"))
    regex = re.compile(rf"{text}(?:\s.*)?" if is_prefix else text, re.DOTALL)
    items, is_complete = read_script(command)
    if not is_complete:
        return True
    return any(regex.fullmatch(part) for part in (command.strip(), *_commands(items)))


def _commands(items: tuple[Item, ...]) -> Iterator[str]:
    """The simple commands of a script, those inside substitutions too, without assignments before them."""
    words: list[str] = []
    for item in (*items, ";"):
        if isinstance(item, Word):
            if words or not (_ASSIGNMENT.match(item.source) or item.source in _BEFORE_A_COMMAND):
                words.append(item.source)
            for expansion in item.expansions:
                yield from _commands(expansion.items)
        elif item not in ("<", ">", ">>", "&>", ">&", "<&", "<<<", "2>"):
            if words:
                yield " ".join(words)
            words = []


def _meets_domain(domain: str, url: Any) -> bool:
    if not isinstance(url, str):
        return True
    host = (urlsplit(url).hostname or "").lower()
    domain = domain.strip().lower()
    return host == domain or host.endswith(f".{domain.removeprefix('*.')}")


def _meets_path(pattern: str, path: str, cwd: str, home: str) -> bool:
    path = posixpath.normpath(path)
    if pattern.startswith("//"):
        base, pattern = "/", pattern[2:]
    elif pattern.startswith("~/"):
        base, pattern = home, pattern[2:]
    else:
        # `/x` is relative to the settings file's project, `./x` and `x` to the directory of the session.
        base, pattern = cwd, pattern.removeprefix("./").removeprefix("/")
    relative = posixpath.relpath(path, base or "/")
    regex = _glob(pattern)
    candidates = [relative, path]
    if "/" not in pattern.rstrip("/"):
        candidates += relative.split("/")
    # A pattern that names a directory is about everything below it.
    below = ["/".join(relative.split("/")[: count + 1]) for count in range(relative.count("/"))]
    return any(regex.fullmatch(candidate) for candidate in (*candidates, *below))


def _glob(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern.rstrip("/"))
    meaning = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(meaning.get(part) or re.escape(part) for part in parts), re.DOTALL)
