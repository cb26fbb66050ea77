"""Claude Code's rules about tool calls, such as `Bash(git *)` or `Edit(src/**)`: whether a call meets one.

Where that is not sure the call meets it: a guard too many is safer than one too few.
"""

import posixpath
import re
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from hookline.extensions import lazy_module
from hookline.shell.lexer import read_script
from hookline.shell.pieces import Expansion, Item, Word

if TYPE_CHECKING:
    from urllib import parse as urllib_parse
else:
    urllib_parse = lazy_module("urllib.parse")  # slow to load, and few rules are about domains

# Nothing that is longer can be a path.
_LONGEST_PATH = 4096
_RULE = re.compile(r"\s*([A-Za-z_][\w.*-]*)\s*(?:\((.*)\))?\s*", re.DOTALL)
# A rule about one of these is about all tools that do the same to files.
_FAMILIES = {
    "Edit": frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"}),
    "Read": frozenset({"Read", "Grep", "Glob", "LS"}),
}
_PATHS = ("file_path", "notebook_path", "path")
# Forms of a pattern for paths that we do not evaluate: then the hook runs.
_NOT_READ = re.compile(r"[\[\]{}!\\]")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
# Others have letters that clients translate, or escapes.
_PLAIN_HOST = re.compile(r"[a-z0-9._:-]+")
# Words before a command that are not part of it.
_BEFORE_A_COMMAND = frozenset(
    {"if", "then", "elif", "else", "while", "until", "do", "time", "!", "{", "nohup", "command", "coproc"}
)
_REDIRECTIONS = frozenset({"<", ">", ">>", "&>", "&>>", ">&", "<&", "<>", ">|", "<<<", "2>"})
# Commands that run another one, which stands after their own options.
_RUN_A_COMMAND = frozenset(
    {"builtin", "doas", "env", "exec", "find", "ionice", "nice", "setsid", "stdbuf", "sudo", "timeout", "xargs"}
)
_READ_A_SCRIPT = frozenset({"bash", "dash", "eval", "ksh", "sh", "zsh"})
_MOST_OPTIONS = 10
_DEEPEST = 3


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


def _meets_command(pattern: str, command: Any, depth: int = 0) -> bool:
    if not isinstance(command, str):
        return True
    if pattern.endswith(":*"):
        pattern = f"{pattern.removesuffix(':*')} *"
    items, is_complete = read_script(command)
    if not is_complete:
        return True
    texts = (command.strip(), *_commands(items, depth))
    # A word boundary, so `git *` is met by `git` alone and not by `gitk`.
    if pattern.endswith(" *"):
        return any(begins_with(pattern[:-2], text) for text in texts)
    return any(matches(pattern, text) for text in texts)


def _commands(items: tuple[Item, ...], depth: int) -> Iterator[str]:
    """The simple commands of a script as they are written and without quotes, those inside other commands too."""
    words: list[Word] = []
    is_target = False
    for item in (*items, ";"):
        if isinstance(item, Word):
            if not is_target and (words or not _is_before_a_command(item.source)):
                words.append(item)
            is_target = False
            for expansion in item.expansions:
                yield from _commands(expansion.items, depth)
        elif item in _REDIRECTIONS:
            is_target = True
            if len(words) == 1 and words[0].source.isdigit():
                words = []
        else:
            yield from _forms(words, depth)
            words, is_target = [], False


def _forms(words: list[Word], depth: int) -> Iterator[str]:
    if not words:
        return
    plain = list(map(_unquoted, words))
    yield " ".join(word.source for word in words)
    yield " ".join(plain)
    name = posixpath.basename(plain[0])
    yield " ".join((name, *plain[1:]))
    if depth >= _DEEPEST:
        return
    if name in _RUN_A_COMMAND:
        for start in range(1, min(len(words), _MOST_OPTIONS)):
            yield from _forms(words[start:], depth + 1)
    if name in _READ_A_SCRIPT:
        for text in plain[1:_MOST_OPTIONS]:
            yield from _commands(read_script(text)[0], depth + 1)


def _unquoted(word: Word) -> str:
    return "".join(piece.source if isinstance(piece, Expansion) else piece.text for piece in word.pieces)


def _is_before_a_command(word: str) -> bool:
    return word in _BEFORE_A_COMMAND or _ASSIGNMENT.match(word) is not None


def _meets_domain(domain: str, url: Any) -> bool:
    host = _host_of(url)
    domain = domain.strip().lower().removeprefix("*.").rstrip(".")
    return host is None or "*" in domain or host == domain or host.endswith(f".{domain}")


def _host_of(url: Any) -> str | None:
    """The host that is asked for a URL; None where a client may read it in another way than we do."""
    if not isinstance(url, str) or "\\" in url:
        return None
    try:
        host = urllib_parse.urlsplit(url.strip()).hostname
    except ValueError:
        return None
    return host.rstrip(".") or None if host and _PLAIN_HOST.fullmatch(host) else None


def _meets_path(pattern: str, path: str, cwd: str, home: str) -> bool:
    path = posixpath.normpath(path)
    if pattern.startswith("//"):
        base, pattern = "/", pattern[2:]
    elif pattern.startswith("~/"):
        base, pattern = home, pattern[2:]
    else:
        # `/x` is relative to the settings file's project, `./x` and `x` to the directory of the session.
        base, pattern = cwd, pattern.removeprefix("./").removeprefix("/")
    if _NOT_READ.search(pattern):
        return True
    pattern = pattern.rstrip("/")
    relative = posixpath.relpath(path, base or "/")
    candidates = [relative, path]
    if "/" not in pattern:
        candidates += relative.split("/")
    # A pattern that names a directory is about everything below it.
    below = ["/".join(relative.split("/")[: count + 1]) for count in range(relative.count("/"))]
    return any(path_matches(pattern, candidate) for candidate in (*candidates, *below))


def begins_with(pattern: str, text: str) -> bool:
    """Return whether the text, or its beginning up to a space, matches; `*` stands for any text."""
    return re.match(_with_stars(pattern) + r"(?=\s|\Z)", text, re.DOTALL) is not None


def matches(pattern: str, text: str) -> bool:
    """Return whether the whole text matches; `*` stands for any text."""
    return re.match(_with_stars(pattern) + r"\Z", text, re.DOTALL) is not None


def path_matches(pattern: str, path: str) -> bool:
    """Return whether a path matches, where `*` and `?` stay inside a name and `**` stands for any directories."""
    if len(path) > _LONGEST_PATH:
        return True
    # Each name ends with a slash, and `a/**/b` is two runs of names.
    runs = [""]
    for name in pattern.split("/"):
        if name == "**":
            runs.append("")
        else:
            runs[-1] += f"{_with_stars(name, '[^/]')}/"
    return re.match(_in_order(runs, "(?:[^/]*/)") + r"\Z", f"{path}/", re.DOTALL) is not None


def _with_stars(pattern: str, any_character: str = ".") -> str:
    """Return the regular expression of a pattern with `*`, and for paths with `?`."""
    parts = (re.escape(part) for part in pattern.split("*"))
    if any_character != ".":
        parts = (part.replace(r"\?", any_character) for part in parts)
    return _in_order(list(parts), any_character)


def _in_order(parts: list[str], gap: str) -> str:
    """Join expressions with gaps of any length, in atomic groups, because backtracking over several gaps is slow."""
    first, *rest = parts
    if not rest:
        return first
    *middle, last = rest
    return f"{first}{''.join(f'(?>{gap}*?{part})' for part in middle)}{gap}*?{last}"
