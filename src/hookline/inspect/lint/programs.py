"""Whether the program of a command exists and can be started, found in the way that the runner finds it."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

from hookline.extensions import lazy_module
from hookline.inspect.view import Setup
from hookline.protocol.constants import PROJECT_DIR_VARIABLES, HookType
from hookline.protocol.hook_entry import HookEntry, Plugin
from hookline.runners.process.command import direct_invocation, shell_invocation
from hookline.shell.expansions import braced
from hookline.shell.lexer import read_script
from hookline.shell.pieces import Text, Word

if TYPE_CHECKING:
    import subprocess

    from hookline.runners.function import plugins
else:  # slow to load, and few settings need them
    subprocess = lazy_module("subprocess")
    plugins = lazy_module("hookline.runners.function.plugins")

_INTERPRETER = re.compile(r"(?:bash|dash|node|perl|php|python|ruby|sh|zsh)[\d.]*")
_SHELL = re.compile(r"bash|dash|sh|zsh")
_SOURCING = (".", "source")
_CONDITION = re.compile(r"(?:^|[\s;&|(])(?:\[|test)\s")
# After these the next word is not a script.
_PROGRAM_OPTIONS = ("-c", "-e", "-m", "--eval")
# The next word is the value of one of these.
_VALUE_OPTIONS = ("-W", "-X", "-o", "-O", "-r", "-I", "--require", "--import")
# They run the rest of their words; `timeout` has one argument before it.
_WRAPPERS = {"env": 0, "exec": 0, "command": 0, "nohup": 0, "nice": 0, "time": 0, "timeout": 1}
_REDIRECTION = re.compile(r"[<>&|]*[<>][<>&|-]*")
# In these a bare word need not be a program: patterns, conditions, lists, functions, texts, and other checks.
_BARE_WORDS = re.compile(
    r"\b(?:case|function|alias|eval|command|which|type|hash|source)\b|\[\[|\(\(|=\(|\(\s*\)|<<|PATH="
)
_KEYWORDS = frozenset({"if", "then", "else", "elif", "while", "until", "do", "{", "!"})
_WITHOUT_COMMAND = frozenset(
    {HookType.PROMPT, HookType.AGENT, HookType.MCP_TOOL, HookType.HTTP, HookType.PACK, HookType.REMOTE}
)
_LONGEST_SHEBANG = 256
_PATIENCE_S = 10
_MOST_SPACES = 8
_CREATE = "create the file, or fix the path"


UNTRUSTED = "does not run: "
"""The beginning of the fault of a hook that only lacks trust."""


def run_fault(hook: HookEntry, setup: Setup) -> str | None:
    """The reason why an enabled hook can't run at its event, with the remedy; None if it can.

    `hookline doctor`, `list`, `policy status` and the heartbeat of a machine report every other hook as runnable.
    """
    if hook.refusal:
        return f"fails at each event: {hook.refusal}"
    if why_not := setup.why_not_asked(hook):
        return f"fails at each event: its URL is not asked: {why_not}"
    if fault := program_fault(hook, setup.project_dir, setup.environ):
        return fault
    if untrusted := setup.why_untrusted(hook):
        return f"{UNTRUSTED}{untrusted}"
    return None


def program_fault(hook: HookEntry, project_dir: str, environ: Mapping[str, str]) -> str | None:
    """The reason why a hook's command can't start, with the remedy; None if it can."""
    if hook.type in _WITHOUT_COMMAND or hook.refusal:
        return None  # nothing to look up; settings that can't be used were reported when they were read
    if isinstance(hook.run, Plugin):
        return plugins.plugin_fault(hook.run.reference)
    if hook.type is not HookType.COMMAND or hook.command is None:
        return 'is of type "plugin" and names none, so it fails at each event; write "plugin": "package:name"'
    lookup = _Lookup(project_dir, environ, {**environ, **hook.env, **dict.fromkeys(PROJECT_DIR_VARIABLES, project_dir)})
    try:
        return _fault(hook.command, lookup) if hook.args is None else _lookup_fault(hook.command, lookup)
    except TimeoutError:
        return None
    except (OSError, ValueError) as error:
        # A null character, a variable without a name, no shell: the runner would fail in the same way.
        return f"cannot be started: {error}; fix it"


class _Lookup(NamedTuple):
    """Where a command would be started."""

    project_dir: str
    environ: Mapping[str, str]
    """The environment of a shell that looks words up: a project's `env` could make it run code (`BASH_ENV`)."""
    env: Mapping[str, str]
    """The environment that the command would get, for reading only."""


def _fault(command: str, lookup: _Lookup) -> str | None:
    # Made for its errors: the environment may have a name or a value that no process can have.
    if any(b"\0" in entry for entry in shell_invocation(command, lookup.project_dir, lookup.env).env):
        raise ValueError("embedded null byte")
    words = _words(command, lookup)
    if words is None:
        return _syntax_fault(command, lookup) or _part_fault(command, lookup)
    if not words:
        return None
    run = _unwrapped(words)
    fault = _lookup_fault(words[0], lookup) or _run_fault(run, lookup)
    if fault is None and run and len(run) < len(words):
        fault = _lookup_fault(run[0], lookup)
    return fault and (_space_fault(words, lookup.project_dir) or fault)


def _unwrapped(words: Sequence[str]) -> Sequence[str]:
    """The words of the program that `env`, `timeout` and the like run; none if their options are in the way."""
    while words and (own := _WRAPPERS.get(Path(words[0]).name)) is not None:
        words = words[1 + own :]
        while words and "=" in words[0].partition("/")[0]:
            words = words[1:]
        if words and words[0].startswith("-"):
            return ()
    return words


def _run_fault(run: Sequence[str], lookup: _Lookup) -> str | None:
    """The problems of the files that some words name: a program, and the script or the command that it runs."""
    if len(run) > 2 and _SHELL.fullmatch(Path(run[0]).name) and run[1] == "-c":  # noqa: PLR2004 - a shell, -c, a command
        return _fault(run[2], lookup)
    return _file_of(run, lookup) or _script_fault(run, lookup.project_dir)


def _file_of(words: Sequence[str], lookup: _Lookup) -> str | None:
    """The problem of the program of some words, if they name its file."""
    return _file_fault(words[0], lookup.project_dir, lookup.env) if words and "/" in words[0] else None


def _part_fault(command: str, lookup: _Lookup) -> str | None:
    """The same for the parts of a command that only a shell can run: what is plainly named and not there.

    What follows `||` may be there for exactly that case, and after `cd` a relative name means another file.
    """
    is_moved = False
    for before, words in _parts(command, lookup):
        run = _unwrapped(words)
        if run[:1] in (["cd"], ["pushd"]):
            is_moved, folder = True, run[1] if len(run) > 1 else ""
            if folder.startswith("/") and before != "||" and not Path(folder).is_dir():
                return f"names {folder}, which is not a directory; create it, or fix the path"
        names = [word for word in run if not word.startswith("-")][:2]
        if run and run[0] in _SOURCING and _CONDITION.search(command):
            continue  # it is read if it is there
        if before == "||" or (is_moved and any(not name.startswith("/") for name in names)):
            continue
        if fault := _run_fault(run, lookup):
            return fault
        if run and "/" not in run[0] and not _BARE_WORDS.search(command) and (fault := _lookup_fault(run[0], lookup)):
            return fault
    return None


def _parts(command: str, lookup: _Lookup) -> Iterator[tuple[str, list[str]]]:
    """The words of each simple command up to the first shell word, and the words before that."""
    before, words, is_open, is_target = "", list[str](), True, False
    for item in (*read_script(command)[0], ";"):
        if isinstance(item, Word):
            word = None if is_target or item.is_descriptor else _value(item, command, lookup)
            is_target, is_open = False, is_open and (word is not None or is_target or item.is_descriptor)
            if word is not None and is_open and not (not words and (word in _KEYWORDS or "=" in word.split("/")[0])):
                words.append(word)
        elif _REDIRECTION.fullmatch(item):
            is_target = True
        else:
            if words:
                yield before, words
            before, words, is_open, is_target = item, [], True, False


def _value(word: Word, command: str, lookup: _Lookup) -> str | None:
    """A word with its variables expanded; None if that depends on what the command does."""
    parts = list[str]()
    for piece in word.pieces:
        if isinstance(piece, Text):
            text, home = piece.text, lookup.env.get("HOME")
            if not piece.quote and not parts and home and text.startswith("~/"):
                text = text[1:]
                parts.append(home)
            if not piece.quote and word.source not in ("[", "{") and any(sign in text for sign in "*?[{~"):
                return None
            parts.append(text)
        elif piece.is_plain and piece.name in lookup.env and not re.search(rf"\b{piece.name}\b[=+]", command):
            parts.append(lookup.env[piece.name])
        else:
            return None
    return "".join(parts)


def _space_fault(words: Sequence[str], project_dir: str) -> str | None:
    """That a path was split at a space, if the words together name a file."""
    for first in range(min(2, len(words))):
        for last in range(first + 2, min(len(words), first + _MOST_SPACES) + 1):
            joined = " ".join(words[first:last])
            if "/" in joined and Path(project_dir, joined).is_file():
                # In quotes, so that nothing of it is shortened.
                taken = f"has a space in it, so only {quote(words[first])} is taken"
                return f"names a file that {taken}; quote it: {quote(joined)}"
    return None


def _words(command: str, lookup: _Lookup) -> Sequence[str] | None:
    """The words of a simple command without the assignments before it, or None if only a shell can parse it."""
    needed = ("PATH", "HOME", *PROJECT_DIR_VARIABLES)
    known = {name: lookup.env[name] for name in needed if name in lookup.env}
    # With `env` before it, the runner's own parser accepts any simple command, even of a missing program or a builtin.
    invocation = direct_invocation(f"env {command}", lookup.project_dir, known)
    if invocation is None:
        return None
    words = list(invocation.argv[1:])
    while words and "=" in words[0].partition("/")[0]:
        words.pop(0)
    return words


def _syntax_fault(command: str, lookup: _Lookup) -> str | None:
    shell = shell_invocation(command, lookup.project_dir, lookup.env)
    option, text = shell.argv[1:]
    done = _ask_shell([shell.executable, "-n", option, text], lookup.environ)
    if done.returncode == 0:
        return None
    errors = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["syntax error"]
    return f"cannot be parsed by {shell.argv[0]} ({errors[0]}); fix its quoting"


def _lookup_fault(program: str, lookup: _Lookup) -> str | None:
    if "/" in program:
        return _file_fault(program, lookup.project_dir, lookup.env)
    if _is_on_path(program, lookup):
        return None
    shell = shell_invocation("", lookup.project_dir, lookup.env)
    # Without a PATH it knows its own words only: builtins, keywords and the user's exported functions.
    environ = {**lookup.environ, "PATH": ""}
    if _ask_shell([shell.executable, "-c", 'command -v -- "$1"', shell.argv[0], program], environ).returncode == 0:
        return None
    if (Path(lookup.project_dir) / program).is_file():
        return f"names {program}, which is not on PATH; for the file in the project write ./{program}"
    return f"names {program}, which is neither on PATH nor a builtin of {shell.argv[0]}; install it or write its path"


def _is_on_path(program: str, lookup: _Lookup) -> bool:
    folders = (Path(lookup.project_dir, folder) for folder in lookup.env.get("PATH", os.defpath).split(os.pathsep))
    return any(os.access(folder / program, os.X_OK) and (folder / program).is_file() for folder in folders)


def _ask_shell(words: Sequence[str | bytes], environ: Mapping[str, str]) -> "subprocess.CompletedProcess[bytes]":
    """The shell's description of a command, which does not run. Raises TimeoutError if it takes too long."""
    try:
        return subprocess.run(
            words, env=environ, cwd="/", stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=_PATIENCE_S
        )
    except subprocess.TimeoutExpired as error:
        raise TimeoutError from error


def _file_fault(name: str, project_dir: str, env: Mapping[str, str]) -> str | None:
    path = Path(project_dir, name)
    if path.is_dir():
        return f"names {name}, which is a directory; name a program"
    if not path.is_file():
        return f"names {name}, which does not exist; {_CREATE}"
    if not os.access(path, os.X_OK):
        return f"names {name}, which is not executable; run: chmod +x {quote(name)}"
    return _shebang_fault(name, path, env)


def _shebang_fault(name: str, path: Path, env: Mapping[str, str]) -> str | None:
    try:
        with path.open("rb") as file:
            line = file.readline(_LONGEST_SHEBANG)
    except OSError:
        return None  # a program that cannot be read may still be executable
    if not line.startswith(b"#!"):
        return None
    if line.endswith(b"\r\n"):
        return (
            f"names {name}, which has Windows line ends, so its interpreter is not found; save it with Unix line ends"
        )
    interpreter, *rest = line[2:].decode("utf-8", "replace").split() or [""]
    if rest[:1] == ["-S"]:
        rest = rest[1:]
    if interpreter.endswith("/env") and rest and not rest[0].startswith("-"):
        return None if _is_on_path(rest[0], _Lookup("/", {}, env)) else _no_interpreter(name, rest[0])
    return None if Path(interpreter).exists() else _no_interpreter(name, interpreter)


def _no_interpreter(name: str, interpreter: str) -> str:
    return f"names {name}, whose first line asks for {interpreter}, which does not exist; install it or fix that line"


def _script_fault(words: Sequence[str], project_dir: str) -> str | None:
    """The problem of the script that an interpreter runs."""
    if words and words[0] in _SOURCING:
        script = words[1] if len(words) > 1 and "/" in words[1] else None
        is_there = script is None or Path(project_dir, script).exists()
        return None if is_there else f"names {script}, which does not exist; {_CREATE}"
    if not words or not _INTERPRETER.fullmatch(Path(words[0]).name):
        return None
    values = {words[place + 1] for place, word in enumerate(words[:-1]) if word in _VALUE_OPTIONS}
    for word in (word for word in words[1:] if word not in values):
        if word in _PROGRAM_OPTIONS:
            return None
        if not word.startswith("-"):
            # Python then exits with code 2, which denies.
            also = ", so everything is blocked" if Path(words[0]).name.startswith("python") else ""
            if _SHELL.fullmatch(Path(words[0]).name) and Path(project_dir, word).is_dir():
                return f"names {word}, which is a directory; name a script"
            is_there = Path(project_dir, word).exists() or braced(word, 1) != [
                word
            ]  # the shell makes other names of it
            return None if is_there else f"names {word}, which does not exist{also}; {_CREATE}"
    return None
