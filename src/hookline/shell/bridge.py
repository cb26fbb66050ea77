"""Recognizes commands that run hookline's own bridge, which as a hook of hookline would call itself forever."""

from enum import Enum, auto
from pathlib import PurePosixPath

CLIENT = ("hookline", "bridge", "client.py")

# They may be part of the command around the bridge, and are not guards.
_NO_GUARDS = frozenset((":", "cd", "echo", "exit", "export", "false", "set", "true", "umask", "unset"))
_DEEPEST = 5
# The command that is installed, and its old form.
_ENTRIES = (["hook"], ["bridge"])


class BridgeUse(Enum):
    """Whether a command runs the bridge."""

    NO = auto()
    ALONE = auto()
    """It does nothing else."""
    AMONG_OTHERS = auto()


def bridge_use(command: str, depth: int = 0) -> BridgeUse:
    """Whether a command plainly runs `hookline hook` or its client, also behind `env`, `sh -c` or `python -m`."""
    name, folder, _ = CLIENT
    if name not in command or not (folder in command or "hook" in command.replace(name, "")):
        return BridgeUse.NO  # reading all commands would take long, and so would loading what reads them
    from hookline.shell.lexer import read_script  # noqa: PLC0415
    from hookline.shell.simple import simple_commands  # noqa: PLC0415 - loaded with the lexer

    commands = simple_commands(read_script(command)[0])
    used = [_use_of(words, depth) for words in commands if words[0] not in _NO_GUARDS]
    if all(use is BridgeUse.NO for use in used):
        return BridgeUse.NO
    return BridgeUse.ALONE if all(use is BridgeUse.ALONE for use in used) else BridgeUse.AMONG_OTHERS


def _use_of(words: list[str], depth: int) -> BridgeUse:
    if any(_is_bridge(words[index:]) for index in range(len(words))):
        return BridgeUse.ALONE
    # A script in one word, as `sh -c` has it.
    inner = [bridge_use(word, depth + 1) for word in words if " " in word] if depth < _DEEPEST else []
    return next((use for use in inner if use is not BridgeUse.NO), BridgeUse.NO)


def _is_bridge(words: list[str]) -> bool:
    path = PurePosixPath(words[0])
    return path.parts[-3:] == CLIENT or (path.name == "hookline" and words[1:2] in _ENTRIES)
