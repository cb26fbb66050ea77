"""Decides how the text of a command is run."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from hookline.engine.child._quoting import quote_project_variables


@dataclass(frozen=True, slots=True)
class Invocation:
    """A program and its arguments, ready to be executed."""

    executable: str
    argv: tuple[str, ...]


def shell_invocation(command: str, env: Mapping[str, str]) -> Invocation:
    """The command run by bash, or by plain sh where there is no bash."""
    path = env.get("PATH")
    bash = shutil.which("bash", path=path) or shutil.which("bash")
    shell = bash or "/bin/sh"
    return Invocation(shell, ("bash" if bash else "sh", "-c", _shell_text(command)))


@lru_cache(maxsize=256)
def _shell_text(command: str) -> str:
    return quote_project_variables(command)
