import os
from pathlib import Path

from hookline.contract.text import tell


def log_path(given: str | None) -> Path:
    """The file that the settings name, or the default file if they name none or an impossible one."""
    if not given:
        return default_log_path()
    try:
        path = Path(given).expanduser()
        if b"\0" not in os.fsencode(path):
            return path
    except (RuntimeError, UnicodeError):  # the home of an unknown user, or a lone surrogate
        pass
    tell(f"hooksConfig.log.path {given} can't name a file; the default log is used")
    return default_log_path()


def default_log_path() -> Path:
    """The default log file: in HOOKLINE_STATE_DIR, or else in the user's state directory."""
    if directory := os.environ.get("HOOKLINE_STATE_DIR"):
        return Path(directory) / "hooks.jsonl"
    from platformdirs import user_state_path  # noqa: PLC0415 - half of the cost of importing this module

    return user_state_path("hookline") / "hooks.jsonl"
