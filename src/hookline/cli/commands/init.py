"""Write a commented settings file and one example hook. Nothing is ever overwritten.

Examples:
  hookline init                             for this project, with a hook in sh
  hookline init --user --language python    for all your projects, with a hook in Python
  hookline init --worker --language node    with a hook in Node that is started once

Exit codes:
  0  the files are written    1  one of them exists, or cannot be written; then nothing is changed
"""

import argparse
import os
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hookline.cli.commands._starter import ALLOWED_FILE, DENIED_FILE, HOOKS, WORKERS, sample_input, settings_text
from hookline.cli.options import add_common_options, require_project
from hookline.cli.report.printer import print_report
from hookline.cli.report.style import style
from hookline.config import Config
from hookline.errors import UsageError
from hookline.settings.paths import default_paths


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the options."""
    parser.add_argument("--user", action="store_true", help="for you, in all projects, instead of for this project")
    parser.add_argument(
        "--language", choices=tuple(HOOKS), default="sh", help="what the hook is written in (default: sh)"
    )
    parser.add_argument(
        "--worker", action="store_true", help="a hook whose program is started once, and gets one line for each event"
    )
    add_common_options(parser, settings=False, dialect=False)


def run(given: argparse.Namespace) -> int:
    """Writes both files, or neither, and prints what to try next."""
    require_project(given)
    project = Path(os.path.abspath(given.project))  # noqa: PTH100 - as it was spelled, not resolved
    paths = default_paths(project)
    settings = paths.user if given.user else paths.project
    file_name, text = HOOKS[given.language]
    hook = settings.parent / "hooks" / file_name
    command = _command(hook, project, for_user=given.user)
    if given.worker:
        text = WORKERS[given.language]
    _write({settings: settings_text(command, is_worker=given.worker), hook: text}, hook)
    report = {
        "written": [str(settings), str(hook)],
        "enabled": Config(project).get_enable_hooks(),
        "next": [{"command": command, "about": about} for command, about in _next_steps(given)],
    }
    print_report(given, report, _lines(report))
    return 0


def _write(texts: dict[Path, str], executable: Path) -> None:
    for path in texts:
        if path.exists():
            raise UsageError(
                f"{path} exists, and nothing is overwritten; "
                "edit it and run hookline check, or move it away and try again"
            )
    written: list[Path] = []
    try:
        for path, text in texts.items():
            _make_directory(path.parent)
            # Whatever the umask is: a user's file that others can write to is not used.
            with open(path, "x", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o644)) as file:
                written.append(path)
                file.write(text)
        executable.chmod(executable.stat().st_mode | 0o111)
    except OSError as error:
        for path in written:
            path.unlink(missing_ok=True)
        raise UsageError(f"{error.filename} cannot be written: {error.strerror}") from error


def _make_directory(directory: Path) -> None:
    # Not `parents=True`, which gives the parents the permissions of the umask.
    if not directory.parent.is_dir():
        _make_directory(directory.parent)
    directory.mkdir(mode=0o755, exist_ok=True)


def _command(hook: Path, project: Path, *, for_user: bool) -> str:
    """The hook's path below a variable or `~` if possible, so that it stays valid when the directory moves."""
    base, spelled = (Path.home(), "~") if for_user else (project, "$LLXPRT_PROJECT_DIR")
    if hook.is_relative_to(base):
        return f"{spelled}/{shlex.quote(str(hook.relative_to(base)))}"
    return shlex.quote(str(hook))


def _next_steps(given: argparse.Namespace) -> Iterator[tuple[str, str]]:
    where = "" if given.project == "." else f" --project {shlex.quote(given.project)}"

    def fire(file: str) -> str:
        return f"hookline fire BeforeTool{where} --input {shlex.quote(sample_input(file))}"

    if not given.user:
        yield f"hookline trust{where}", "review the hook and accept it: hooks of a project need that"
    yield fire(DENIED_FILE), "the guard refuses this one"
    yield fire(ALLOWED_FILE), "and lets this one pass"
    yield f"hookline check{where}", "after each change"
    yield "hookline log", "what ran, and with which result"


def _lines(report: Mapping[str, Any]) -> Iterator[str]:
    for file in report["written"]:
        yield f"{style.good('wrote')} {file}"
    if not report["enabled"]:
        yield style.warn("Another settings file disables hooks; hookline doctor shows which.")
    yield ""
    yield style.bold("Next:")
    for step in report["next"]:
        yield style.dim(f"  # {step['about']}")
        yield f"  {step['command']}"
