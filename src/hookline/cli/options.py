"""Which settings a command reads: the options, and the configuration that they ask for."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hookline.config import Config
from hookline.errors import UsageError

if TYPE_CHECKING:
    from hookline.log.logger import LogSink


def add_settings_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that say which settings are read, and for which project."""
    parser.add_argument("--project", metavar="DIR", default=".", help="the project's directory (default: this one)")
    parser.add_argument(
        "--settings",
        metavar="FILE",
        action="append",
        help="read this settings file only, and trust it (may be repeated; the first has the highest priority)",
    )


def make_config(given: argparse.Namespace, *sinks: "LogSink", **facts: Any) -> Config:
    """The configuration that the command's options ask for, with its problems told on stderr."""
    config = read_config(given, *sinks, **{"session_id": getattr(given, "session_id", None), **facts})
    for problem in config.get_problems():
        print(f"hookline: {problem}", file=sys.stderr)
    if given.settings and any(problem.is_error for problem in config.get_problems()):
        raise UsageError("a settings file that you named cannot be used")
    return config


def read_config(given: argparse.Namespace, *sinks: "LogSink", **facts: Any) -> Config:
    """The same without a word about its problems; `facts` are what else `Config` takes."""
    for file in given.settings or ():
        path = Path(file)
        if not path.exists():
            raise UsageError(f"the settings file {file} does not exist; give --settings an existing file")
        if not path.is_file():
            what = "a directory" if path.is_dir() else "not a regular file"
            raise UsageError(f"{file} is {what}; give --settings a file")
    return Config(given.project, settings_files=given.settings, log_sinks=sinks, quiet=True, **facts)


def require_project(given: argparse.Namespace) -> None:
    """Complains when the project is not a directory."""
    if not Path(given.project).is_dir():
        raise UsageError(f"{given.project} is not a directory; give --project the project's directory")
