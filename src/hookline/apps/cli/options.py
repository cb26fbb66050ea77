"""The arguments that commands share, and the configuration that they ask for."""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hookline.client.config import Config
from hookline.dialects.registry import FOREIGN_DIALECTS
from hookline.errors import HooklineError, UsageError
from hookline.extensions import lazy_module
from hookline.files import write_atomically
from hookline.protocol.events import HookEventName, suggest_event
from hookline.settings.read.files import MOST_PROBLEMS
from hookline.stderr import warn_user

if TYPE_CHECKING:
    from hookline.log.write.logger import LogSink
    from hookline.settings.read import project as project_search
else:
    project_search = lazy_module("hookline.settings.read.project")  # searched for only without --project


def add_common_options(
    parser: argparse.ArgumentParser, *, settings: bool = True, json: bool = True, dialect: bool = True
) -> None:
    """Add `--json`, `--project`, `--dialect` and `--settings`.

    Without the last, the settings come from their usual places.
    """
    if json:
        add_json_option(parser)
    parser.set_defaults(is_project_named=True)
    parser.add_argument(
        "--project",
        metavar="DIR",
        help="the project's directory (default: this one, or the nearest parent with settings)",
    )
    if dialect:
        parser.add_argument(
            "--dialect",
            metavar="AGENT",
            action="append",
            choices=FOREIGN_DIALECTS,
            help="also read that agent's own settings: claude, codex or gemini (may be repeated)",
        )
    if settings:
        parser.add_argument(
            "--settings",
            metavar="FILE",
            action="append",
            help="read only this settings file, and trust it (may be repeated; the first has the highest priority)",
        )
    else:
        parser.set_defaults(settings=None)


def add_json_option(parser: argparse._ActionsContainer) -> None:
    """Add `--json`."""
    parser.add_argument("--json", action="store_true", help="print JSON for programs")


def add_yes_option(parser: argparse.ArgumentParser) -> None:
    """Add `--yes` for scripts."""
    parser.add_argument("--yes", action="store_true", help="also without a terminal, as in a script of your own")


def add_scope_option(parser: argparse.ArgumentParser, default: str, about: str) -> None:
    """Add `--scope`: whose settings file a command changes."""
    parser.add_argument("--scope", choices=("user", "project"), default=default, help=f"{about} (default: {default})")


def add_log_option(parser: argparse.ArgumentParser) -> None:
    """Add `--source`, for a log elsewhere."""
    parser.add_argument("--source", metavar="FILE", help="read this log instead of the one in the settings")


def require_terminal(given: argparse.Namespace) -> None:
    """Raise HooklineError if stdin is not a terminal and `--yes` is not given."""
    if not given.yes and not sys.stdin.isatty():
        raise HooklineError("nothing was changed, because stdin is not a terminal; add --yes to change it anyway")


def settle_project(given: argparse.Namespace) -> None:
    """Put the project's directory into the options if none is named: this one, or a parent that has settings.

    Named settings are for the current directory, as they are for a program's.
    """
    if given.project is not None:
        return
    given.project, given.is_project_named = ".", False
    if given.settings:
        return
    try:
        found = project_search.find_project(".")
    except OSError:  # the current directory was removed
        return
    if found.refused is not None:
        warn_user(found.refused)
    if found.is_parent:
        given.project = os.path.relpath(found.directory)
        warn_user(f"the project is {found.directory}")


def recorded_project(given: argparse.Namespace) -> str | None:
    """Return the project whose records to read, resolved as in records; None outside of any project."""
    settle_project(given)
    if not given.is_project_named:
        try:
            if not project_search.find_project(given.project).has_settings:
                return None
        except OSError:  # the current directory was removed
            return None
    return os.path.realpath(str(given.project))


def make_config(given: argparse.Namespace, *sinks: "LogSink", **facts: Any) -> "Config":
    """Return the configuration for the options, and print its problems on stderr."""
    config = read_config(given, *sinks, **{"session_id": getattr(given, "session_id", None), **facts})
    for problem in config.get_problems():
        warn_user(str(problem))
    if given.settings and any(problem.is_error for problem in config.get_problems()):
        raise UsageError("a settings file that you named cannot be used")
    return config


def report_unusable_hooks(config: "Config") -> None:
    """Report hooks that can't run because of their settings; problems of whole files were reported before."""
    errors = config.get_hook_errors()
    # An untrusted project must not fill the screen, and its hooks are reported even without trust.
    shown = errors[: max(0, MOST_PROBLEMS // 2 - len(config.get_problems()))]
    for problem in shown:
        warn_user(str(problem))
    if len(errors) > len(shown):
        warn_user("more hooks can't run because of their settings; hookline check shows them")


def read_config(
    given: argparse.Namespace,
    *sinks: "LogSink",
    project: str | None = None,
    project_must_exist: bool = True,
    **facts: Any,
) -> "Config":
    """Return the same without printing its problems; `project` replaces that of the options."""
    settle_project(given)
    if project_must_exist:
        require_project(given)
    dialects = getattr(given, "dialect", None) or ()
    if given.settings and len(dialects) > 1:
        raise UsageError("with --settings, --dialect says whose file it is; give one --dialect")
    for file in given.settings or ():
        path = Path(file)
        if not path.exists():
            raise UsageError(f"the settings file {file} does not exist; give --settings an existing file")
        if not path.is_file():
            what = "a directory" if path.is_dir() else "not a regular file"
            raise UsageError(f"{file} is {what}; give --settings a file")
    directory = project or given.project
    return Config(directory, settings_files=given.settings, log_sinks=sinks, quiet=True, dialects=dialects, **facts)


def write_file(file: Path, data: bytes) -> None:
    """Write a file that the user named; UsageError if that fails."""
    try:
        write_atomically(file, data)
    except OSError as error:
        raise UsageError(f"{file} can't be written: {error.strerror}; name another file") from error


def require_project(given: argparse.Namespace) -> None:
    """Raise UsageError if the project is not a directory."""
    settle_project(given)
    if not Path(given.project).is_dir():
        raise UsageError(f"{given.project} is not a directory; give --project the project's directory")


def event_of(name: str) -> HookEventName:
    """Return the event of this name; UsageError with a suggestion if there is none."""
    try:
        return HookEventName(name)
    except ValueError:
        raise UsageError(f"{name} is not an event; {suggest_event(name)}") from None


def at_least(least: int, kind: type[int] | type[float] = int) -> Callable[[str], float]:
    """Return an argument type: a number of this kind that is not smaller than `least`."""

    def read(text: str) -> float:
        try:
            number = kind(text)
        except ValueError:
            number = least - 1
        # Not `<`, which is false for nan.
        if not number >= least:
            what = "a whole number" if kind is int else "a number"
            raise argparse.ArgumentTypeError(f"{text} is not {what} of at least {least}")
        return number

    return read
