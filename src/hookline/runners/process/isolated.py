"""The command line that starts hookline itself, whatever the current directory and the environment contain."""

import sys
from pathlib import Path

_ENTRY_POINT = str(Path(__file__).parents[2] / "__main__.py")


def own_command(*words: str) -> list[str]:
    """Return the command line of `hookline WORDS` in the interpreter of this program.

    `-m hookline` would look for the package in the current directory first, which may be an untrusted project's.
    `-I` ignores that directory and every PYTHON* variable, and the entry point is named by its absolute path.
    """
    return [sys.executable, "-I", _ENTRY_POINT, *words]
