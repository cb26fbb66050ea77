"""`hookline test --mutate`: other forms of what a guard stops, and harmless things that look like it."""

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hookline.apps.cli.case_runs import event_loader, run_with_progress
from hookline.apps.cli.options import write_file
from hookline.apps.cli.report.printer import print_report
from hookline.apps.cli.report.style import style
from hookline.client.config import Config
from hookline.protocol.text.readable import cut, one_line, plain, plural, show_place
from hookline.stderr import warn_user
from hookline.testing.cases.case import Case
from hookline.testing.cases.run import Result
from hookline.testing.cases.write import lines_of_cases
from hookline.testing.mutants.attack import Attempt, Findings, attempts, findings, originals, path_of
from hookline.testing.mutants.paths import A_LINK

_MOST_OF_LOG = 200
_MOST_SHOWN = 40
_LONGEST = 160


def add_mutate_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "--mutate",
        action="store_true",
        help="attack the guards: try other forms of the inputs that cases say are blocked",
    )
    parser.add_argument(
        "--from",
        dest="origin",
        metavar="SOURCE",
        choices=("log",),
        help="with --mutate: `log` for inputs, too, that it has as blocked",
    )
    parser.add_argument("--save", metavar="FILE", help="with --mutate: write what the guards got wrong as a case file")


def recorded_cases(given: argparse.Namespace, config: Config) -> list[Case]:
    """The inputs of this project that hooks have blocked, from the log."""
    loader = event_loader(given, config, decision="blocked")
    found = loader.newest(_MOST_OF_LOG)
    loader.report(len(found))
    return [recorded.to_case() for recorded in found]


def run_mutants(given: argparse.Namespace, cases: Sequence[Case], project: str) -> int:
    """Tries all mutants of the cases, and prints what got through and what was stopped for nothing."""
    wanted = originals(cases)
    if not wanted:
        warn_user(
            "no case says that a command or a path is blocked, so there is nothing to change; docs/testing.md has one"
        )
        return 1
    with tempfile.TemporaryDirectory(prefix="hookline-link-") as folder:
        tried = [
            attempt
            for number, case in enumerate(wanted)
            for attempt in attempts([case], project, _link(case, project, Path(folder, str(number))))
        ]
        before = run_with_progress(given, wanted)
        results = run_with_progress(given, [attempt.case for attempt in tried])
    found = findings(tried, results)
    if given.save:
        # A link is gone when this ends.
        lasting = (each for each in (*found.passed, *found.stopped) if each.mutant.way != A_LINK)
        _write(given.save, [attempt.case for attempt in lasting])
    print_report(given, _report(found, before), _lines(found, before, given.save))
    return 0 if not found.passed and not found.stopped and all(result.passed for result in before) else 1


def _link(case: Case, project: str, link: Path) -> str:
    """A symbolic link to the file that the case is about, or to nothing if it is about a command."""
    if (path := path_of(case)) is not None:
        link.symlink_to(Path(project, path).expanduser())
    return str(link)


def _write(name: str, cases: Sequence[Case]) -> None:
    text = "# What a guard got wrong, found by hookline test --mutate.\n" + "\n".join(lines_of_cases(cases)) + "\n"
    write_file(Path(name), text.encode())


def _report(found: Findings, before: Sequence[Result]) -> dict[str, Any]:
    return {
        "tried": found.tried,
        "passed": [_attempt(each) for each in found.passed],
        "stopped": [_attempt(each) for each in found.stopped],
        "notStoppedAsWritten": [result.case.title for result in before if not result.passed],
        "unclear": [{"case": result.case.title, "problem": result.problem} for result in found.unclear],
    }


def _attempt(attempt: Attempt) -> dict[str, Any]:
    return {
        "case": attempt.original.title,
        "way": attempt.mutant.way,
        "input": attempt.mutant.text,
        "place": str(attempt.original.place),
    }


def _lines(found: Findings, before: Sequence[Result], file: str | None) -> Iterator[str]:
    for result in before:
        if not result.passed:
            why = result.problem or "its input is not stopped as it is written"
            yield style.bad(f"{one_line(result.case.title)} ({show_place(str(result.case.place))}): {one_line(why)}")
    yield from _group("These do the same as what is stopped, and got through:", found.passed, style.bad)
    yield from _group("These are harmless, and were stopped:", found.stopped, style.warn)
    if found.unclear:
        yield style.warn(f"{plural(len(found.unclear), 'input')} could not be judged: {found.unclear[0].problem}")
    yield (
        f"{plural(found.tried, 'form')} of {plural(len(before), 'input')} tried: "
        f"{len(found.passed)} got through, {len(found.stopped)} stopped for nothing"
    )
    if file and (found.passed or found.stopped):
        yield f"Written to {one_line(file)}: fix the guard, and keep the cases."


def _group(title: str, found: Sequence[Attempt], paint: Any) -> Iterator[str]:
    if not found:
        return
    yield style.bold(title)
    for attempt in found[:_MOST_SHOWN]:
        yield from _form(paint(attempt.mutant.way), attempt.mutant.text)
    if len(found) > _MOST_SHOWN:
        yield style.dim(f"  … {len(found) - _MOST_SHOWN} more (--json shows all, --save keeps them)")
    yield ""


def _form(way: str, text: str) -> Iterator[str]:
    """One form. Several lines stand as they are, from the margin on, so that they can be pasted."""
    if "\n" not in text:
        yield f"  {way}: {cut(plain(text), _LONGEST)}"
        return
    yield f"  {way}:"
    yield from plain(text).splitlines()
