"""`hookline init`: a settings file and a first hook, to try and to change."""

import argparse
import json
import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hookline.cli.commands._starter import ALLOWED_FILE, DENIED_FILE, HOOKS, sample_input, settings_text
from hookline.cli.options import require_project
from hookline.cli.report.style import Style
from hookline.config import Config
from hookline.errors import UsageError
from hookline.settings.paths import default_paths

_EXAMPLES = """\
examples:
  hookline init                             for this project, with a hook in sh
  hookline init --user --language python    for all your projects, with a hook in Python

exit codes:
  0  the files are written    1  one of them is there already, or cannot be written; then nothing is changed
"""


@dataclass(frozen=True, slots=True)
class _NextStep:
    command: str
    about: str


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the description and the options."""
    parser.description = "Write a commented settings file and one example hook. Nothing is ever overwritten."
    parser.epilog = _EXAMPLES
    parser.add_argument("--user", action="store_true", help="for you, in all projects, instead of for this project")
    parser.add_argument(
        "--language", choices=tuple(HOOKS), default="sh", help="what the hook is written in (default: sh)"
    )
    parser.add_argument("--project", metavar="DIR", default=".", help="the project's directory (default: this one)")
    parser.add_argument("--json", action="store_true", help="print one JSON object for programs")


def run(given: argparse.Namespace) -> int:
    """Writes both files, or neither, and says what to try next."""
    require_project(given)
    project = Path(os.path.abspath(given.project))  # noqa: PTH100 - as it was spelled, not resolved
    paths = default_paths(project)
    settings = paths.user if given.user else paths.project
    file_name, text = HOOKS[given.language]
    hook = settings.parent / "hooks" / file_name
    _write({settings: settings_text(_command(hook, project, for_user=given.user)), hook: text}, hook)
    steps = list(_next_steps(given))
    enabled = Config(project).get_enable_hooks()
    if given.json:
        report = {
            "written": [str(settings), str(hook)],
            "enabled": enabled,
            "next": [{"command": step.command, "about": step.about} for step in steps],
        }
        print(json.dumps(report, indent=2))
    else:
        for line in _lines((settings, hook), steps, enabled=enabled):
            print(line)
    return 0


def _write(texts: dict[Path, str], executable: Path) -> None:
    for path in texts:
        if path.exists():
            raise UsageError(
                f"{path} is there already, and nothing is overwritten; "
                "edit it and run hookline check, or move it away and try again"
            )
    written: list[Path] = []
    try:
        for path, text in texts.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                written.append(path)
                file.write(text)
        executable.chmod(executable.stat().st_mode | 0o111)
    except OSError as error:
        for path in written:
            path.unlink(missing_ok=True)
        raise UsageError(f"{error.filename} cannot be written: {error.strerror}") from error


def _command(hook: Path, project: Path, *, for_user: bool) -> str:
    """The hook's path as it stays true when the project or the home is somewhere else, where that is possible."""
    base, spelled = (Path.home(), "~") if for_user else (project, "$LLXPRT_PROJECT_DIR")
    if hook.is_relative_to(base):
        return f"{spelled}/{shlex.quote(str(hook.relative_to(base)))}"
    return shlex.quote(str(hook))


def _next_steps(given: argparse.Namespace) -> Iterator[_NextStep]:
    where = "" if given.project == "." else f" --project {shlex.quote(given.project)}"

    def fire(file: str) -> str:
        return f"hookline fire BeforeTool{where} --input {shlex.quote(sample_input(file))}"

    if not given.user:
        yield _NextStep(f"hookline trust{where}", "look at the hook and accept it: hooks of a project need that")
    yield _NextStep(fire(DENIED_FILE), "the guard refuses this one")
    yield _NextStep(fire(ALLOWED_FILE), "and lets this one pass")
    yield _NextStep(f"hookline check{where}", "after every change of yours")
    yield _NextStep("hookline log", "what ran, and what came of it")


def _lines(files: Sequence[Path], steps: Sequence[_NextStep], *, enabled: bool) -> Iterator[str]:
    style = Style.for_stdout()
    for file in files:
        yield f"{style.good('wrote')} {file}"
    if not enabled:
        yield style.warn("Hooks stay switched off by another settings file; hookline doctor says which.")
    yield ""
    yield style.bold("Next:")
    for step in steps:
        yield f"  {style.dim(f'# {step.about}')}"
        yield f"  {step.command}"
