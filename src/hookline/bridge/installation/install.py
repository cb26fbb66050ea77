"""Puts hookline into another agent's own hook settings, and takes it out again; everything else there stays."""

import json
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from hookline.bridge.arguments import DEADLINE_S
from hookline.bridge.installation.entries import ENTRIES, SHELL, host_timeout_s
from hookline.errors import HooklineError
from hookline.settings.edit import NEW_FILE, add_to_list, edit_file, remove_from_list, remove_member, set_value
from hookline.settings.read import jsonc
from hookline.settings.read.files import read_file
from hookline.shell.bridge import BridgeUse, bridge_use

_CLOSING = ("onFailure", "failClosed")
_TIMEOUTS = ("timeout", "timeoutSec")
# The rest of a file that this module made.
_NOTHING = (NEW_FILE.encode(), b'{\n  "version": 1\n}\n')


def bridge_command(agent: str, event: str, *, fail_open: bool = False) -> str:
    """The command that an agent runs: by an absolute path, because its PATH may be another.

    Its deadline is below the agent's timeout: an answer that comes too late is none, and most agents go on then.
    """
    timeout_s = host_timeout_s(agent, event)
    words = [agent, event, "--deadline", str(timeout_s - max(1, timeout_s // 6)), *(["--fail-open"] * fail_open)]
    command = shlex.join([*_program(), *words])
    return command if fail_open else ENTRIES[agent].closed(event, command)


def _program() -> list[str]:
    """The small client where it can be used, or else `hookline hook` itself."""
    if sys.platform == "linux" and _is_installed():
        return [sys.executable, "-I", "-S", str(Path(__file__).parents[1] / "client.py")]
    given = Path(sys.argv[0])
    program = given.resolve() if given.name == "hookline" else Path(sys.executable).with_name("hookline")
    if not program.exists():
        raise HooklineError(f"there is no command {program} that an agent could run; install hookline with pip first")
    return [str(program), "hook"]


@lru_cache(maxsize=1)
def _is_installed() -> bool:
    """True if the client's Python finds this package without help of the environment."""
    code = "import hookline; print(hookline.__file__)"
    with suppress(OSError, subprocess.SubprocessError):
        command = [sys.executable, "-I", "-c", code]
        found = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
        return Path(found.stdout.strip()).samefile(Path(__file__).parents[2] / "__init__.py")
    return False


def install(agent: str, file: Path, events: Iterable[str], *, fail_open: bool = False) -> list[str]:
    """Adds our command to the events of an agent's file and returns those to which it was added.

    An entry of hookline that runs another command, such as that of a hookline which has moved, is replaced.
    """
    entry = ENTRIES[agent]
    added: list[str] = []

    def change(text: str) -> str:
        if text == NEW_FILE:
            # Each event on a separate line.
            text = '{\n  "hooks": {\n  }\n}\n'
        if entry.has_version and "version" not in _object(jsonc.parse(text)):
            text = set_value(text, ("version",), 1)
        for event in events:
            command = bridge_command(agent, event, fail_open=fail_open)
            wanted = entry.make(event, command, host_timeout_s(agent, event))
            present = installed_in(jsonc.parse(text)).get(event, [])
            if present == [wanted]:
                continue
            for old in present:
                text = remove_from_list(text, ("hooks", event), old)
            text = add_to_list(text, ("hooks", event), wanted)
            added.append(event)
        return text

    edit_file(file, change)
    return added


def uninstall(file: Path) -> list[str]:
    """Removes our command from an agent's file and returns the events from which it was removed.

    Lists that are empty then go as well, and so does a file that held nothing else.
    """
    if not file.exists():
        return []
    removed: list[str] = []

    def change(text: str) -> str:
        for event, entries in installed_in(jsonc.parse(text)).items():
            for one in entries:
                text = remove_from_list(text, ("hooks", event), one)
            removed.append(event)
            if not jsonc.parse(text)["hooks"][event]:
                text = remove_member(text, ("hooks", event))
        if removed and not jsonc.parse(text)["hooks"]:
            text = remove_member(text, ("hooks",))
        return text

    edit_file(file, change)
    if removed and file.read_bytes() in _NOTHING:
        file.unlink()
    return removed


def installed(file: Path) -> Mapping[str, Sequence[Any]]:
    """Our entries in an agent's file, by event; HooklineError when the file can't be read."""
    return installed_in(read_file(file) or {})


def installed_in(document: Any) -> dict[str, list[Any]]:
    """Our entries in an agent's settings, by event."""
    found: dict[str, list[Any]] = {}
    for event, entries in _object(_object(document).get("hooks")).items():
        own = [entry for entry in entries if is_ours(entry)] if isinstance(entries, list) else []
        if own:
            found[event] = own
    return found


def is_ours(entry: Any) -> bool:
    """True if an entry runs hookline's bridge and nothing else."""
    hooks = entry.get("hooks", [entry]) if isinstance(entry, dict) else []
    commands = [_object(hook).get("command") or _object(hook).get("bash") for hook in hooks]
    return bool(commands) and all(
        isinstance(command, str) and bridge_use(command) is BridgeUse.ALONE for command in commands
    )


def _own_words(command: str) -> list[str]:
    """The words of our command, without what a shell does when it fails; none where it can't be read."""
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    if words[:2] == [SHELL, "-c"]:
        words = words[3:]
    return words[: words.index("||")] if "||" in words else words


def own_words(agent: str, event: str, command: str) -> list[str] | None:
    """The command line of the bridge, if a command runs exactly this program; None if it runs another one."""
    with suppress(HooklineError):  # there is no such program
        program = _program()
        return [*program, agent, event] if _own_words(command)[: len(program)] == program else None
    return None


def commands_of(entries: Iterable[Any]) -> list[str]:
    """The commands of hookline's entries."""
    hooks = (hook for entry in entries for hook in entry.get("hooks", [entry]))
    return [hook.get("command") or hook["bash"] for hook in hooks]


def changed(agent: str, event: str, entry: Any) -> str | None:
    """Why a changed entry of hookline may let the agent continue where it must not; None if it is unchanged."""
    command = commands_of([entry])[0]
    words = _own_words(command)
    plain = shlex.join(words)
    closed = plain if "--fail-open" in words else ENTRIES[agent].closed(event, plain)
    if shlex.split(command) != shlex.split(closed):
        return f"the command is not in its usual form, so its failure may let {agent} go on"
    hook = _object(entry).get("hooks", [entry])[0]
    wanted = ENTRIES[agent].make(event, command, host_timeout_s(agent, event))
    wanted = wanted.get("hooks", [wanted])[0]
    if key := next((key for key in _CLOSING if key in wanted and hook.get(key) != wanted[key]), None):
        return f'"{key}": {json.dumps(wanted[key])} is missing, so a failure of the command lets {agent} go on'
    timeout = next(key for key in _TIMEOUTS if key in wanted)
    in_seconds = host_timeout_s(agent, event) / wanted[timeout]
    given = hook.get(timeout)
    if not isinstance(given, int | float) or given * in_seconds <= _deadline_s(words):
        return f'"{timeout}" has to be above our --deadline, or {agent} goes on before it is refused'
    return None


def _deadline_s(words: Sequence[str]) -> float:
    try:
        return float(words[words.index("--deadline") + 1])
    except (ValueError, IndexError):
        return DEADLINE_S


def is_strict_json(file: Path) -> bool:
    """True if the file is strict JSON, without comments and trailing commas."""
    try:
        json.loads(file.read_bytes())
    except (OSError, ValueError):
        return False
    return True


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
