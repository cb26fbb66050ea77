"""The output of `hookline test` and `hookline replay`: failures with their differences, coverage, and a summary."""

import difflib
from collections.abc import Iterator, Sequence
from typing import Any

from hookline.apps.cli.report.style import style
from hookline.protocol.text.exit_text import show_ending
from hookline.protocol.text.readable import cut, one_line, plural, show_message, show_ms, show_place, text_lines
from hookline.protocol.verdict import HookExecutionResult, Verdict
from hookline.testing.cases.case import outcomes_of
from hookline.testing.cases.coverage import HookCoverage, Shown
from hookline.testing.cases.judge import Difference, deciders_of
from hookline.testing.cases.run import Result

_MOST_LINES = 12
_LONGEST_LINE = 400
_MOST_FAILURES = 50
_MOST_COMPARED = 400


def case_lines(results: Sequence[Result], coverage: Sequence[HookCoverage], seconds: float) -> Iterator[str]:
    """Yield everything about a run of cases."""
    failures = [result for result in results if not result.passed]
    problems: set[str] = set()
    for result in failures[:_MOST_FAILURES]:
        # A hook without trust, for example, is the same problem in many cases.
        if result.problem is None or result.problem not in problems:
            problems.add(result.problem or "")
            alike = sum(result.problem == other.problem for other in failures)
            yield from failure_lines(result, "FAILED", alike if result.problem else 1)
            yield ""
    if len(failures) > _MOST_FAILURES:
        yield style.warn(f"… {len(failures) - _MOST_FAILURES} more failures (--json shows all)")
    yield from coverage_lines(coverage)
    idle = sum(1 for result in results if result.passed and not _runs(result))
    if idle:
        yield style.warn(f"No hook ran for {plural(idle, 'input')} that passed; expect.ran names a hook that must.")
    yield _summary(results, len(failures), seconds)


def coverage_lines(coverage: Sequence[HookCoverage]) -> Iterator[str]:
    """Yield one line for each hook: which of its effects the cases show, and which they do not."""
    if not coverage:
        return
    yield style.bold("What the cases show of each hook")
    width = min(40, max(len(one_line(entry.hook.label)) for entry in coverage))
    for entry in coverage:
        label = cut(one_line(entry.hook.label), width)
        shown = ", ".join(f"{_word(kind)} {entry.shown[kind]}" for kind in Shown if kind in entry.shown)
        gaps = ", ".join(entry.gaps)
        if not entry.runs:
            rest = style.warn("no case runs it")
        else:
            rest = shown + (style.dim(f"; not shown: {gaps}") if gaps else "")
        yield f"  {entry.hook.event:<19} {label:<{width}}  {rest}"
    yield ""


def result_report(result: Result) -> dict[str, Any]:
    """A result for programs."""
    case, verdict = result.case, result.verdict
    return {
        "file": case.place.file,
        "line": case.place.line,
        "name": case.name,
        "input": case.input_label,
        "event": case.event.value,
        "passed": result.passed,
        "problem": result.problem,
        "differences": [{"what": one.what, "expected": one.expected, "got": one.got} for one in result.differences],
        "outcome": None if verdict is None else outcomes_of(verdict)[0].value,
        "reason": None if verdict is None else verdict.reason or verdict.stop_reason,
        "decidedBy": [] if verdict is None else list(deciders_of(verdict)),
        "ran": [run.hook.label for run in _runs(result)],
        "duration": None if verdict is None else round(verdict.duration_ms, 3),
    }


def coverage_report(entry: HookCoverage) -> dict[str, Any]:
    """The coverage of a hook for programs."""
    hook = entry.hook
    shown = {kind.value: entry.shown.get(kind, 0) for kind in Shown}
    place = {"event": hook.event.value, "hook": hook.label, "origin": hook.origin, "location": hook.location}
    return {**place, "runs": entry.runs, "shown": shown, "notShown": [kind.value for kind in entry.gaps]}


def failure_lines(result: Result, word: str, alike: int = 1) -> Iterator[str]:
    """Yield the place of a failed case, the differences, and the output of each hook."""
    case = result.case
    place = show_place(case.place.file, case.place.line)
    word = word if result.problem is None else "ERROR"
    yield f"{style.bad(word)} {style.bold(one_line(f'{place} {case.title}'))}"
    if result.problem is not None:
        yield f"    {one_line(result.problem)}{f' (the same for {alike - 1} more)' if alike > 1 else ''}"
    for difference in result.differences:
        yield from difference_lines(difference)
    yield from _hooks(result.verdict)
    for message in result.messages:
        yield style.warn(f"    note: {show_message(message)}")


def difference_lines(difference: Difference) -> Iterator[str]:
    """Yield both sides of a difference; of longer texts only the lines that differ."""
    expected, got = text_lines(difference.expected), text_lines(difference.got)
    yield f"    {difference.what}:"
    if len(expected) <= 1 and len(got) <= 1:
        lines = [f"- {difference.expected}", f"+ {difference.got}"]
    else:
        # Not ndiff, which compares similar lines by their letters: untrusted text could take minutes.
        before, after = ([cut(line, _LONGEST_LINE) for line in side[:_MOST_COMPARED]] for side in (expected, got))
        compared = difflib.unified_diff(before, after, lineterm="", n=1)
        lines = [f"{line[:1]} {line[1:]}" for line in compared if not line.startswith(("---", "+++", "@@"))]
    for line in lines[:_MOST_LINES]:
        paint = style.good if line.startswith("-") else style.bad if line.startswith("+") else style.dim
        yield f"      {paint(cut(line, _LONGEST_LINE))}"
    if len(lines) > _MOST_LINES:
        yield style.dim(f"      … {len(lines) - _MOST_LINES} more lines")


def _hooks(verdict: Verdict | None) -> Iterator[str]:
    if verdict is None:
        return
    if not verdict.runs:
        yield style.dim(f"    no hook ran for {verdict.event} {one_line(verdict.subject or '')}".rstrip())
    for run in verdict.runs:
        yield style.dim(f"    {one_line(run.hook.label)} {one_line(show_ending(run))}, {show_ms(run.duration_ms)}")
        for stream, text in (("stdout", run.stdout), ("stderr", run.stderr)):
            for line in text_lines(text.rstrip("\n"))[:_MOST_LINES]:
                yield style.dim(f"      {stream}: {cut(line, _LONGEST_LINE)}")
        for advice in run.advice:
            yield style.warn(f"      note: {one_line(advice)}")
    for unapplied in verdict.unapplied:
        yield style.warn(f"    note: {show_message(unapplied.message)}")


def _word(kind: Shown) -> str:
    return {Shown.BLOCK: "blocked", Shown.ALLOW: "allowed", Shown.REWRITE: "rewrote", Shown.FAILURE: "failed"}[kind]


def _runs(result: Result) -> tuple[HookExecutionResult, ...]:
    return () if result.verdict is None else result.verdict.runs


def _summary(results: Sequence[Result], failed: int, seconds: float) -> str:
    errors = sum(1 for result in results if result.problem is not None)
    counts = [(failed - errors, "failed", style.bad), (errors, "not tried", style.bad)]
    counts.append((len(results) - failed, "passed", style.good))
    shown = ", ".join(paint(f"{count} {word}") for count, word, paint in counts if count)
    return f"{shown} in {show_ms(seconds * 1000)}"
