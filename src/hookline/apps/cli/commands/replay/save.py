"""`hookline replay --save FILE`: takes real events from the log into a case file."""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hookline.apps.cli.case_runs import event_loader
from hookline.apps.cli.options import make_config
from hookline.apps.cli.report.printer import print_json, print_lines
from hookline.errors import UsageError
from hookline.files import write_atomically
from hookline.protocol.text.readable import plural
from hookline.stderr import warn_user
from hookline.testing.cases.read import SUFFIX, CaseFileError, read_cases
from hookline.testing.cases.recorded import Recorded
from hookline.testing.cases.write import case_file_lines

_STDOUT = "-"
_TITLE = "# Recorded from the log: what happened, and what the hooks decided then. hookline test runs it."


def save_events(given: argparse.Namespace) -> int:
    """Print or writes the cases."""
    if given.save != _STDOUT and not given.save.endswith(SUFFIX):
        raise UsageError(f"the name of a case file ends with {SUFFIX}: --save {given.save}{SUFFIX}")
    config = make_config(given, log_file=False)
    notebook = _Notebook(given)
    loader = event_loader(given, config)
    found = loader.newest(50 if given.limit is None else int(given.limit))
    notebook.add(found)
    if not given.follow:
        loader.report(len(found))
        return 0 if found else 1
    warn_user("taking events as they come; Ctrl-C ends it")
    for recorded in loader.follow():
        notebook.add([recorded])
    return 0


class _Notebook:
    """Where cases go: a file, or stdout; each event once."""

    def __init__(self, given: argparse.Namespace) -> None:
        self._is_json = given.json
        self._file = None if given.save == _STDOUT else Path(given.save)
        self._known: set[tuple[str, str]] = set()
        self._count = 0
        if self._file is not None and self._file.exists():
            try:
                self._known = {_key(case.event, case.fields) for case in read_cases([self._file])}
            except CaseFileError as error:
                raise UsageError(f"{error.problems[0]}; mend {given.save} before cases are added to it") from error

    def add(self, events: list[Recorded]) -> None:
        fresh: list[Recorded] = []
        for recorded in events:
            if (key := _key(recorded.event, recorded.fields)) not in self._known:
                self._known.add(key)
                fresh.append(recorded)
        if self._is_json:
            for recorded in fresh:
                print_json(_report(recorded), indent=None)
        lines = list(case_file_lines(fresh))
        if self._file is not None and lines:
            self._append(self._file, lines)
            warn_user(f"{plural(len(fresh), 'case')} added to {self._file}")
        elif self._file is not None and events:
            warn_user(f"nothing was added: {plural(len(events), 'event')} found, and {self._file} has a case for each")
        elif not self._is_json and lines:
            print_lines(*(lines if self._count else (_TITLE, *lines)), flush=True)
        self._count += len(fresh)

    def _append(self, file: Path, lines: list[str]) -> None:
        try:
            before = file.read_text(encoding="utf-8") if file.exists() else f"{_TITLE}\n"
            text = before if before.endswith("\n") else f"{before}\n"
            write_atomically(file, (text + "".join(f"{line}\n" for line in lines)).encode())
        except OSError as error:
            raise UsageError(f"{file} cannot be written: {error.strerror}") from error


def _key(event: str, fields: Mapping[str, Any]) -> tuple[str, str]:
    """The same for equal events, whatever the order of their fields."""
    return event, json.dumps(fields, sort_keys=True)


def _report(recorded: Recorded) -> dict[str, object]:
    return {
        "fire": recorded.fire,
        "time": recorded.time,
        "event": recorded.event.value,
        "input": recorded.fields,
        "outcome": recorded.outcome.value,
        "decidedBy": list(recorded.by),
        "hidden": recorded.has_hidden,
    }
