import os
from contextlib import suppress
from pathlib import Path

from hookline.files import NotRegularError, state_path
from hookline.stderr import warn_user


def log_path(given: str | None) -> Path:
    """The file that the settings name, or the default file if they name none or an impossible one."""
    if not given:
        return default_log_path()
    with suppress(RuntimeError, UnicodeError):  # the home of an unknown user, or a lone surrogate
        path = Path(given).expanduser()
        if b"\0" not in os.fsencode(path):
            return path
    warn_user(f"hooksConfig.log.path {given} can't name a file; the default log is used")
    return default_log_path()


def why_unwritable(error: OSError | ValueError) -> str:
    """Why the log can't be written, and what to do where that is not obvious."""
    if isinstance(error, NotRegularError):
        return f"{error.strerror}; name a file in hooksConfig.log.path, or set hooksConfig.log.enabled to false"
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def default_log_path() -> Path:
    """The default log file."""
    return state_path("hooks.jsonl")
