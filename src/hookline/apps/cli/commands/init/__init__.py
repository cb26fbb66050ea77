"""Write a commented settings file, a guard, cases that it is tested with, and what editors need to know.

Nothing is ever overwritten. With --from, show the settings that would run another agent's hooks here, and what is lost;
--write adds them. The hooks run unchanged, because "dialect" is set: they read that agent's input, and their answers
are read by its rules. Your settings and comments stay, and a hook that is there already is not added again.

Examples:
  hookline init                                  for this project, with a guard in Python
  hookline init --scope user --language sh       for all your projects, with a guard for the shell
  hookline init --worker                         with a guard that is started once
  hookline init --pack shell                     with guards that come with hookline: hookline list --packs
  hookline init --from claude                    the hooks of this project's .claude/settings.json, as a diff
  hookline init --from codex --scope user        your own, from ~/.codex, for all projects
  hookline init --from claude hooks.json --write  those of a file, into this project's settings

To read that agent's files where they are instead, put this into ~/.llxprt/settings.json:
  "enableHooks": true, "hooksConfig": {"dialects": ["claude"]}

Exit codes:
  0  the files are written, or shown    1  one of them exists, can't be read or written, or has no hooks
"""

import argparse
import json
import os
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hookline.apps.cli.commands.init import starter
from hookline.apps.cli.commands.init.starter import ALLOWED, DENIED, HOOK_NAME, SUFFIXES
from hookline.apps.cli.options import add_common_options, add_scope_option, require_project
from hookline.apps.cli.report.printer import print_report
from hookline.apps.cli.report.style import style
from hookline.client.config import Config
from hookline.dialects.registry import FOREIGN_DIALECTS
from hookline.errors import UsageError
from hookline.extensions import PACK_NAMES, PACK_PREFIX, lazy_module
from hookline.protocol.text.readable import show_place
from hookline.settings.read.paths import default_paths
from hookline.testing.cases.read import SUFFIX

if TYPE_CHECKING:
    from hookline.apps.cli.commands.init import adopt as foreign
else:
    foreign = lazy_module("hookline.apps.cli.commands.init.adopt")

_SAFE_LINE = {"tool_name": "run_shell_command", "tool_input": {"command": "ls"}}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_scope_option(parser, "project", "for this project, or for you in all projects")
    parser.add_argument("--language", choices=tuple(SUFFIXES), help="what the guard is written in (default: python)")
    parser.add_argument(
        "--worker", action="store_true", help="a guard whose program is started once, and gets one line for each event"
    )
    parser.add_argument(
        "--pack",
        action="append",
        choices=[name.removeprefix(PACK_PREFIX) for name in PACK_NAMES],
        help="guards that come with hookline, instead of a program (may be repeated)",
    )
    parser.add_argument(
        "--from",
        dest="agent",
        metavar="SOURCE",
        choices=FOREIGN_DIALECTS,
        help=f"copy the hooks of another agent's settings: {', '.join(FOREIGN_DIALECTS)}",
    )
    parser.add_argument("file", metavar="FILE", nargs="?", help="with --from: that agent's file (default: its usual)")
    parser.add_argument("--write", action="store_true", help="with --from: add the hooks; the default only shows them")
    add_common_options(parser, settings=False, dialect=False)


def run(given: argparse.Namespace) -> int:
    """Write all files, or none, and prints what to try next."""
    given.project = given.project or "."  # a new project begins here, whatever a parent has
    for_user = given.scope == "user"
    if given.agent is not None:
        return _import(given)
    if given.file is not None or given.write:
        raise UsageError("FILE and --write are for --from AGENT; leave them out, or add --from")
    require_project(given)
    _require_sense(given)
    project = Path(os.path.abspath(given.project))  # as it was spelled, not resolved
    paths = default_paths(project)
    settings = paths.user if for_user else paths.project
    texts, executable = _texts(given, settings, project)
    editor = starter.editor_files(settings.parent, None if for_user else project)
    # Files for editors may exist already, for example from another init.
    missing = {path: text for path, text in editor.items() if not os.path.lexists(path)}
    _write(texts, missing, executable)
    report = {
        "written": [str(path) for path in (*texts, *missing)],
        "kept": [str(path) for path in editor if path not in missing and path.parent.name == ".vscode"],
        "enabled": Config(project).get_enable_hooks(),
        "next": [{"command": command, "about": about} for command, about in _next_steps(given)],
    }
    print_report(given, report, _lines(report))
    return 0


def _import(given: argparse.Namespace) -> int:
    if given.pack or given.language or given.worker:
        raise UsageError("--from copies the hooks of an agent; leave --pack, --language and --worker out")
    return foreign.import_hooks(given)


def _require_sense(given: argparse.Namespace) -> None:
    if given.pack and (given.language or given.worker):
        raise UsageError(
            "a pack is not a program, so --language and --worker have no effect with --pack; leave them out"
        )
    if given.worker and given.language == "sh":
        raise UsageError(
            "a shell can't read JSON, so a worker in sh would start a program for each event all the same; "
            "use --language python, or leave --worker out"
        )


def _texts(given: argparse.Namespace, settings: Path, project: Path) -> tuple[dict[Path, str], Path | None]:
    """The files that must be new, and the one of them that is a program."""
    folder = settings.parent
    if given.pack:
        names = list(dict.fromkeys(given.pack))
        cases = {folder / f"{name}{SUFFIX}": starter.pack_cases(name, project) for name in names}
        return {settings: starter.pack_settings(names), **cases}, None
    language = given.language or "python"
    hook = folder / "hooks" / f"{HOOK_NAME}{SUFFIXES[language]}"
    command = _command(hook, project, for_user=given.scope == "user")
    return {
        settings: starter.guard_settings(command, is_worker=given.worker),
        hook: starter.guard_program(language, is_worker=given.worker),
        folder / f"{HOOK_NAME}{SUFFIX}": starter.guard_cases(),
    }, hook


def _write(texts: Mapping[Path, str], more: Mapping[Path, str], executable: Path | None) -> None:
    for path in texts:
        if path.exists():
            raise UsageError(
                f"{path} exists, and nothing is overwritten; "
                "edit it and run hookline check, or move it away and try again"
            )
    written: list[Path] = []
    try:
        for path, text in {**texts, **more}.items():
            _make_directory(path.parent)
            # With any umask: a user's file that others can write to is not used.
            with open(path, "x", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o644)) as file:
                written.append(path)
                file.write(text)
        if executable is not None:
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

    def fire(sample: Mapping[str, object]) -> str:
        return f"hookline fire BeforeTool{where} --input {shlex.quote(json.dumps(sample))}"

    guard = "pack" if given.pack else "guard"
    if given.scope != "user":
        yield f"hookline trust{where}", f"review the {guard} and accept it: hooks of a project need that"
    yield f"hookline test{where}", "what it must decide, and whether it does"
    yield fire(starter.pack_sample(given.pack[0]) if given.pack else DENIED), f"the {guard} refuses this one"
    yield fire(_SAFE_LINE if given.pack else ALLOWED), "and lets this one pass"
    yield f"hookline check{where}", "after each change"
    yield f"hookline log{where}", "what ran, and with which result"


def _lines(report: Mapping[str, Any]) -> Iterator[str]:
    for file in report["written"]:
        yield f"{style.good('wrote')} {show_place(file)}"
    for file in report["kept"]:
        yield style.warn(
            f'kept  {show_place(file)}; for VS Code, add "files.associations": {{"**/.llxprt/settings.json": "jsonc"}}'
        )
    if not report["enabled"]:
        yield style.warn("Another settings file disables hooks; hookline doctor shows which.")
    yield ""
    yield style.bold("Next:")
    for step in report["next"]:
        yield style.dim(f"  # {step['about']}")
        yield f"  {step['command']}"
