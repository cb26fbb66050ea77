"""Take real events from the log into a case file: what happened, and what your hooks decided then.

Examples:
  hookline record --decision deny                         what was denied, as cases on stdout
  hookline record --since 1d --to .llxprt/real.hooks.toml    append them to a case file
  hookline record --session ID -n 0                       a whole session
  hookline record --follow --to live.hooks.toml           and those that come, until interrupted

The log has the input of every event for which a hook ran, with secrets replaced. It has neither events that no hook ran
for, nor inputs of more than 64 KiB.

Exit codes:
  0  events were found    1  none was, or the command failed
"""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hookline.cli.commands._log_filters import add_filter_options, add_run_filters
from hookline.cli.commands._recorded import Finder, add_event_options
from hookline.cli.options import add_common_options, make_config
from hookline.cli.report.printer import print_json, print_lines
from hookline.cli.report.text import plural
from hookline.contract.text import tell
from hookline.errors import UsageError
from hookline.files import write_atomically
from hookline.testing.cases.read import SUFFIX, CaseFileError, read_cases
from hookline.testing.cases.recorded import Recorded
from hookline.testing.cases.write import case_file_lines

_TITLE = "# Recorded by hookline record: what happened, and what the hooks decided then. hookline test runs it."


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the options."""
    add_filter_options(parser)
    add_run_filters(parser)
    add_event_options(parser, 50)
    parser.add_argument("--to", metavar="FILE", help=f"append to this case file (*{SUFFIX}) instead of printing")
    parser.add_argument("-f", "--follow", action="store_true", help="then take events as they come, until interrupted")
    add_common_options(parser)


def run(given: argparse.Namespace) -> int:
    """Prints or writes the cases."""
    if given.to and not given.to.endswith(SUFFIX):
        raise UsageError(f"the name of a case file ends with {SUFFIX}: --to {given.to}{SUFFIX}")
    config = make_config(given, log_file=False)
    notebook = _Notebook(given)
    finder = Finder(given, config)
    found = finder.newest(int(given.n))
    notebook.add(found)
    if not given.follow:
        finder.report(len(found))
        return 0 if found else 1
    tell("taking events as they come; Ctrl-C ends it")
    for recorded in finder.follow():
        notebook.add([recorded])
    return 0


class _Notebook:
    """Where cases go: a file, or stdout; each event once."""

    def __init__(self, given: argparse.Namespace) -> None:
        self._is_json = given.json
        self._file = Path(given.to) if given.to else None
        self._known: set[tuple[str, str]] = set()
        self._count = 0
        if self._file is not None and self._file.exists():
            try:
                self._known = {_key(case.event, case.fields) for case in read_cases([self._file])}
            except CaseFileError as error:
                raise UsageError(f"{error.problems[0]}; mend {given.to} before cases are added to it") from error

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
            tell(f"{plural(len(fresh), 'case')} added to {self._file}")
        elif self._file is not None and events:
            tell(f"nothing was added: {plural(len(events), 'event')} found, and {self._file} has a case for each")
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
