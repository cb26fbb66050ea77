"""Protected places: paths that decide what runs on this machine later or what hookline does."""

import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hookline.apps.agent.tool import ToolContext
from hookline.apps.agent.tools.paths import locate, path_arguments, resolved
from hookline.log.paths import default_log_path
from hookline.settings.read.paths import default_paths
from hookline.settings.trust.store import default_trust_path
from hookline.shell.names import possible_paths
from hookline.shell.patches import paths_in_patch

if TYPE_CHECKING:
    from hookline.client.config import Config

# Files and directories that are protected in any location: git, agents or shells execute their content.
_NAMES = frozenset(
    """
    .git .gitconfig .llxprt .claude .gemini .codex .ssh crontab
    .profile .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .inputrc
    .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc .mkshrc .cshrc .tcshrc .login .logout
    .xprofile .xinitrc .xsession .xsessionrc .pam_environment
    """.split()
)
_IN_CONFIG = frozenset(("fish", "git", "autostart", "systemd", "environment.d"))
_OF_SYSTEM = re.compile(
    r"/etc/(?:cron|profile|bash|zsh|fish|environment|llxprt-code)|/var/spool/(?:cron|at)", re.IGNORECASE
)
_LONGEST_COMMAND = 20_000
_LONGEST_PATH = 4096
_SHOWN_PATH = 200


class ProtectedPlaces:
    """Recognizes calls that name a protected place."""

    def __init__(self, config: "Config") -> None:
        files = [str(path) for _, path in default_paths(config.get_working_dir()).by_source()]
        files += [layer.origin for layer in config.get_layers()]
        own = (str(default_log_path().parent), str(default_trust_path()), *files)
        self._own = frozenset(map(os.path.realpath, own))

    def touched_by(self, tool_name: str, arguments: Mapping[str, Any], context: ToolContext) -> str | None:
        """Return why each such call must be confirmed (a protected path, or a call too long to check), or None."""
        if tool_name == "run_shell_command":
            if len(str(arguments.get("command", ""))) > _LONGEST_COMMAND:
                return f"the command is longer than {_LONGEST_COMMAND} characters and was not checked"
            named = _in_command(arguments, context)
        elif tool_name.startswith("mcp__"):
            named = _in_foreign_arguments(arguments, context)
        else:
            named = path_arguments(arguments)
        path = next((path for path in named if self._is_protected(path, context)), None)
        return None if path is None else f"{_shortened(path)} is protected"

    def _is_protected(self, path: str, context: ToolContext) -> bool:
        if not path:
            return False
        spelled = str(locate(path, context))
        if len(spelled) > _LONGEST_PATH:
            return True
        real = resolved(path, context) or spelled
        bases = (os.path.normpath(context.project), os.path.realpath(context.project))
        return _has_protected_name(spelled, bases) or _has_protected_name(real, bases) or self._is_own(real)

    def _is_own(self, path: str) -> bool:
        return any(str(above) in self._own for above in (path, *Path(path).parents))


def _in_command(arguments: Mapping[str, Any], context: ToolContext) -> Iterator[str]:
    """Yield every word of a command that may be a path, with false positives rather than omissions."""
    command, directory = str(arguments.get("command", "")), arguments.get("directory")
    base = str(locate(directory, context)) if isinstance(directory, str) and directory else ""
    if base:
        yield base
    paths = possible_paths(command, {}, str(context.project), with_outputs=True)
    yield from paths.absolute
    yield from (os.path.join(base, path) for path in paths.relative)


def _in_foreign_arguments(arguments: Mapping[str, Any], context: ToolContext) -> Iterator[str]:
    """Yield what may be a path in the arguments of an MCP tool: any text, and the file names in a patch."""
    for text in _texts(arguments):
        # No server can open a path that is this long once it is normalized.
        if len(str(locate(text, context))) <= _LONGEST_PATH:
            yield text
        yield from paths_in_patch(text)


def _texts(arguments: Any) -> Iterator[str]:
    """Yield all texts in the arguments, keys included."""
    waiting = [arguments]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            waiting += [*map(str, value), *value.values()]
        elif isinstance(value, list | tuple):
            waiting += value


def _shortened(path: str) -> str:
    return path if len(path) <= _SHOWN_PATH else f"…{path[-_SHOWN_PATH:]}"


def _has_protected_name(path: str, bases: Iterable[str]) -> bool:
    # A project may itself be below such a directory, so only the part inside the project is checked.
    inside = next(
        (path[len(base) :] for base in bases if path == base or path.startswith(f"{base.rstrip('/')}/")), path
    )
    parts = [_plain(part) for part in inside.split("/") if part]
    return (
        any(map(_is_protected_name, parts))
        or any(above == ".config" and below in _IN_CONFIG for above, below in pairwise(parts))
        or _OF_SYSTEM.match(path) is not None
    )


def _is_protected_name(name: str) -> bool:
    if name in _NAMES:
        return True
    # A shell wildcard matches a leading dot only if the pattern has one.
    return (
        name.startswith(".") and any(char in name for char in "*?[") and any(fnmatchcase(one, name) for one in _NAMES)
    )


def _plain(name: str) -> str:
    """Normalize a name as a file system may that ignores case or invisible characters."""
    if name.isascii():
        return name.lower()
    visible = (char for char in unicodedata.normalize("NFKC", name) if unicodedata.category(char) != "Cf")
    return "".join(visible).casefold()
