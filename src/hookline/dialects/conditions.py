"""Claude Code's rules about tool calls, such as `Bash(git *)` or `Edit(src/**)`: whether a call meets one.

Where that is not sure the call meets it: a guard too many is safer than one too few.
"""

import posixpath
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from hookline.shell.lexer import read_script
from hookline.shell.pieces import Expansion, Item, Word

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
    from urllib.parse import urlsplit  # noqa: PLC0415 - slow to load, and few rules are about domains

    try:
        host = urlsplit(url.strip()).hostname
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


# Texts and paths against patterns with `*`. A regular expression with several `*` could take exponential time.


def begins_with(pattern: str, text: str) -> bool:
    """Whether the text, or its beginning up to a space, matches; `*` stands for any text."""
    *parts, last = pattern.split("*")
    place = _after(parts, text)
    if place is None:
        return False
    if parts and not last:
        return True
    found = text.find(last, place) if parts else (0 if text.startswith(last) else -1)
    while found >= 0:
        end = found + len(last)
        if end == len(text) or text[end].isspace():
            return True
        found = text.find(last, found + 1) if parts else -1
    return False


def matches(pattern: str, text: str) -> bool:
    """Whether the whole text matches; `*` stands for any text."""
    *parts, last = pattern.split("*")
    if not parts:
        return text == last
    place = _after(parts, text)
    return place is not None and text.endswith(last) and len(text) - len(last) >= place


def _after(parts: list[str], text: str) -> int | None:
    """The first place after these parts, of which the first one begins the text; None if they are not all there."""
    place = 0
    for index, part in enumerate(parts):
        found = text.find(part, place) if index else (0 if text.startswith(part) else -1)
        if found < 0:
            return None
        place = found + len(part)
    return place


def path_matches(pattern: str, path: str) -> bool:
    """Whether a path matches, where `*` and `?` stay inside a name and `**` stands for any directories."""
    if len(path) > _LONGEST_PATH:
        return True
    steps = pattern.split("/")
    places = _with_skipped(steps, {0})
    for name in path.split("/"):
        places = _with_skipped(
            steps,
            {
                place if steps[place] == "**" else place + 1
                for place in places
                if place < len(steps) and (steps[place] == "**" or _fits(steps[place], name))
            },
        )
    return len(steps) in places


def _with_skipped(steps: list[str], places: set[int]) -> set[int]:
    """Also the places after a `**`, which may stand for nothing."""
    reached = set(places)
    for place in range(min(places, default=len(steps)), len(steps)):
        if place in reached and steps[place] == "**":
            reached.add(place + 1)
    return reached


def _fits(pattern: str, name: str) -> bool:
    at = star = 0
    back = -1
    place = 0
    while place < len(name):
        if at < len(pattern) and pattern[at] == "*":
            back, star = at, place
            at += 1
        elif at < len(pattern) and pattern[at] in ("?", name[place]):
            at += 1
            place += 1
        elif back >= 0:
            star += 1
            at, place = back + 1, star
        else:
            return False
    return not pattern[at:].strip("*")
