"""The case files that `test` and `replay` run, with the settings that the options choose, and files to watch."""

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from hookline.apps.cli.interrupt import run_loop
from hookline.apps.cli.log_options import query_of
from hookline.apps.cli.options import at_least, read_config
from hookline.apps.cli.report.printer import ProgressBar
from hookline.client.config import Config
from hookline.errors import UsageError
from hookline.inspect.hooks import recorded_in
from hookline.log.read.statistics import RUNS
from hookline.protocol.constants import OWN_DIALECT, FiredBy
from hookline.settings.trust.fingerprint import fingerprint, signature
from hookline.stderr import warn_user
from hookline.testing.cases.case import Case
from hookline.testing.cases.from_log import EventLoader
from hookline.testing.cases.read import SUFFIX, find_files
from hookline.testing.cases.run import Compare, Result, compare_expected, run_cases

_MOST_HOOKS = 200


def add_jobs_option(parser: argparse.ArgumentParser) -> None:
    """Add `--jobs`."""
    parser.add_argument(
        "--jobs",
        metavar="N",
        type=at_least(1),
        default=os.cpu_count() or 1,
        help="how many events at the same time (default: as many as there are processors)",
    )


def event_loader(given: argparse.Namespace, config: Config, *, decision: str | None = None) -> EventLoader:
    """The events of the log that the options select."""
    if not config.get_settings().options.log.enabled:
        warn_user("the settings disable the log (hooksConfig.log.enabled), so nothing is recorded")
    project = None if getattr(given, "all_projects", False) else os.path.realpath(config.get_working_dir())
    query = query_of(given, RUNS, project=project)
    return EventLoader(
        recorded_in(config), query if decision is None else replace(query, decision=decision), config.get_redactor()
    )


def run_with_progress(
    given: argparse.Namespace, cases: Sequence[Case], compare: Compare = compare_expected
) -> list[Result]:
    """Run the cases, and returns their results in order."""
    bar = ProgressBar(len(cases))
    try:
        return run_loop(
            run_cases(
                cases,
                partial(config_with, given),
                jobs=int(given.jobs),
                compare=compare,
                on_result=lambda result: bar.step(failed=not result.passed),
            )
        )
    finally:
        bar.close()


def config_with(given: argparse.Namespace, environment: Mapping[str, str]) -> Config:
    """The configuration with these variables for hooks besides our own; nothing is written to the log."""
    environ = {**os.environ, **environment} if environment else os.environ
    return read_config(given, environ=environ, log_file=False, fired_by=FiredBy.TEST)


def chosen_files(given: argparse.Namespace, config: Config) -> tuple[list[Path], list[Path]]:
    """Return the case files to run, and those of them that may set variables.

    These are the files that were named, and those beside the settings of the user and the system: a project's files
    are untrusted.
    """
    if given.files:
        files = list(_named(given.files))
        return files, files
    trusted: list[Path] = []
    files = []
    folders = _folders(given, config)
    for folder, is_trusted in folders.items():
        found = [file for file in _found(folder, given) if file not in files]
        files += found
        trusted += found if is_trusted else []
    if not files:
        where = f" in {', '.join(map(str, folders))}" if folders else ", and no settings file beside which one could be"
        warn_user(f"there is no case file (*{SUFFIX}){where}; hookline init writes both, docs/testing.md shows more")
    return files, trusted


def _named(names: list[str]) -> Iterator[Path]:
    for name in names:
        path = Path(name)
        if path.is_dir():
            found = find_files(path)
            if not found:
                raise UsageError(f"there is no case file (*{SUFFIX}) in {name}")
            yield from found
        elif path.exists():
            yield path
        else:
            raise UsageError(f"the case file {name} does not exist")


def _folders(given: argparse.Namespace, config: Config) -> dict[Path, bool]:
    """Return the directories with case files, each with True if only the user writes there."""
    if given.settings:
        return {Path(file).absolute().parent: True for file in given.settings}
    own = [layer for layer in config.get_layers() if layer.dialect == OWN_DIALECT]
    return {folder: not layer.is_guest for layer in own if (folder := Path(layer.origin).parent).is_dir()}


class ChangeWatch:
    """Looks whether something has changed that a result depends on: a case file, a setting, a hook's script."""

    def __init__(self, given: argparse.Namespace) -> None:
        self._given = given
        self._config = config = read_config(given, log_file=False)
        self._files = [Path(layer.origin) for layer in config.get_layers()]
        for hook in config.get_settings().hooks[:_MOST_HOOKS]:
            self._files += fingerprint(hook, config.get_working_dir()).files
        self._before = self._look()

    @property
    def count(self) -> int:
        """How many files are watched."""
        return len(self._before)

    def has_changed(self) -> bool:
        """Whether a file is another one than at the beginning."""
        return self._look() != self._before

    def _look(self) -> dict[Path, tuple[int, ...]]:
        folders = [Path(name) for name in self._given.files] or list(_folders(self._given, self._config))
        cases = [file for folder in folders for file in (_found(folder, self._given) if folder.is_dir() else [folder])]
        return {file: stamp for file in (*self._files, *cases) if (stamp := _stamp(file)) is not None}


def _found(folder: Path, given: argparse.Namespace) -> list[Path]:
    # The directory of a named settings file may be a whole project, and is looked at itself only.
    return find_files(folder, deep=bool(given.files) or not given.settings)


def _stamp(file: Path) -> tuple[int, ...] | None:
    try:
        return signature(file.stat())
    except OSError:
        return None
