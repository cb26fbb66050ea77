"""Fires sample inputs exactly as an agent would, and reports what the hooks' authors should know."""

import re
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass

from hookline.engine.event_table import EVENT_TABLE, EventRow, can_block
from hookline.engine.system import HookSystem
from hookline.inspect.lint.dialect_probe import reactions
from hookline.inspect.lint.evidence import Did, SampleRun, by_hook
from hookline.inspect.lint.finding import LintFinding
from hookline.inspect.lint.guards import missing_in, passing_guards, unread_inputs
from hookline.inspect.lint.samples import samples, show_sample
from hookline.inspect.view import Setup
from hookline.protocol.answers import read_stdout
from hookline.protocol.constants import RunWay
from hookline.protocol.events import HookEventName
from hookline.protocol.text.exit_text import has_traceback, show_ending, show_ms, telling_line
from hookline.protocol.text.near_misses import NOTHING_READ
from hookline.protocol.verdict import HookExecutionResult, SkipKind, Verdict

COULD_NOT_RUN = (126, 127)
"""The exit codes of a shell for a missing program, and for one that can't be executed."""
_DENY = 2

# Output of programs that exit with 2 because of a mistake in the hook: shells, grep, python3, argparse.
_MISTAKE = re.compile(
    r"syntax error|unexpected EOF|no such file or directory|command not found|permission denied|can't open file"
    r"|(?:invalid|unrecognized|illegal) option|^usage:",
    re.IGNORECASE,
)
_SAYS_NO = re.compile(
    r"(?<!not )(?<!nothing )\b(?:block(?:ed|ing)?|den(?:y|ied|ying)|reject(?:ed|ing)|refus(?:ed|ing)|forbidden)\b",
    re.IGNORECASE,
)

RULES = {
    "run-failed": "a hook that fails when it is run",
    "run-crash": "a hook that blocks by a mistake in it, such as a syntax error",
    "run-exit-code": "a hook that exits with a code that blocks nothing",
    "run-answer": "an answer that has another effect than intended",
    "run-overridden": "a hook that overrode the block of an earlier hook",
    "run-missing": "a hook that misses a program or a module",
    "run-passes": "a guard that lets every dangerous call pass",
    "run-input": "a guard that never reads its input",
    "run-dialect": "a hook that waits for another agent's words, tried in both",
    "run-skipped": "a hook that was not run",
}


@dataclass(frozen=True, slots=True)
class DryRun:
    """The result of a dry run."""

    findings: list[LintFinding]
    trials: list[SampleRun]
    """The evidence, in the order of the samples."""


async def dry_run(system: HookSystem, setup: Setup) -> DryRun:
    """The findings from running every hook on samples, each once, and what every hook did with every sample."""
    await system.initialize()
    system.get_event_handler().shows_failures = False  # the findings say it
    found: dict[tuple[str, str, str], LintFinding] = {}
    trials: list[SampleRun] = []
    try:
        async for subject, sample, verdict in _fire_samples(system, setup):
            trials += (SampleRun(sample, run) for run in verdict.runs)
            for rule, run, text in _readings(verdict):
                if run.is_unasked and _has_failed(run, trials):
                    continue
                key = (run.hook.origin, run.hook.location, text)
                problem = setup.at(run.hook, f"{text} (tried on {subject})", "command")
                found.setdefault(key, LintFinding(rule=rule, problem=problem))
    finally:
        system.dispose()
    more = [LintFinding(rule="run-passes", problem=problem) async for problem in passing_guards(setup, trials)]
    silent = [hook for hook, own in by_hook(trials) if all(trial.is_silent for trial in own)]
    more += [LintFinding(rule="run-input", problem=problem) async for problem in unread_inputs(setup, silent)]
    more += [LintFinding(rule="run-dialect", problem=problem) async for problem in reactions(setup, silent)]
    return DryRun([*_untried(system, setup), *found.values(), *more], trials)


async def _fire_samples(system: HookSystem, setup: Setup) -> AsyncIterator[tuple[str, str, Verdict]]:
    handler = system.get_event_handler()
    for event in HookEventName:
        if setup.active(event):
            for subject, fields in samples(event, setup):
                verdict = await handler.fire(event, fields)
                if any(map(_has_crashed, verdict.runs)):
                    handler.runner.resources.drain()
                yield subject, show_sample(subject, fields), verdict


def _has_crashed(run: HookExecutionResult) -> bool:
    """Whether a worker is needed that has not failed yet; one that hangs would take its whole time for each sample."""
    return run.way is RunWay.WORKER and run.failed and not run.timed_out and not run.is_unasked


def _has_failed(run: HookExecutionResult, trials: Sequence[SampleRun]) -> bool:
    """Whether the hook has failed when it was asked, which is why it was not asked again."""
    return any(each.run.hook is run.hook and each.did is Did.FAILS for each in trials)


def _untried(system: HookSystem, setup: Setup) -> Iterator[LintFinding]:
    for event in HookEventName:
        for skip in system.explain(event).skipped:
            if skip.kind is SkipKind.UNTRUSTED:
                yield LintFinding(rule="run-skipped", problem=setup.at(skip.hook, f"was not tried ({skip.reason})"))


def _readings(verdict: Verdict) -> Iterator[tuple[str, HookExecutionResult, str]]:
    for run in verdict.runs:
        yield from ((rule, run, text) for rule, text in findings_in(run))
    for undone in verdict.overridden:
        text = f"is the last of hooks of which {undone.by} overrode the {undone.field} of {undone.of}"
        yield "run-overridden", verdict.runs[-1], f"{text}; the later one wins here"


def findings_in(run: HookExecutionResult) -> Iterator[tuple[str, str]]:
    """The mistakes that one run shows: the rule, and the end of a sentence about the hook."""
    row = EVENT_TABLE[run.event]
    if run.failed:
        yield _failure(run, row)
        return
    line = telling_line(run.stderr)
    if (missing := missing_in(run)) is not None:
        effect = "and what it then decides means nothing" if can_block(run.hook) else "so it may do less than it should"
        yield "run-missing", f"misses {missing} ({line or telling_line(run.stdout)}), {effect}; install it"
    elif run.success and not run.blocks and has_traceback(run.stderr):
        yield "run-failed", f"crashed ({line}) and exited with code 0, which allows the call; let it exit with 2"
    if run.exit_code == _DENY and (has_traceback(run.stderr) or _MISTAKE.search(line)):
        yield "run-crash", f"{show_ending(run)}, which blocks, but it seems to be a mistake in it ({line})"
    if run.success and not run.blocks and can_block(run.hook) and _SAYS_NO.search(line):
        yield "run-exit-code", f"wrote to stderr ({line}) and exited with code 0, which blocks nothing; exit with 2"
    # Advice that knows more than that nothing is read.
    advice = [text for text in run.advice if not text.startswith(NOTHING_READ)] or run.advice
    yield from (("run-answer", f"answered, but {text}") for text in advice)


def _failure(run: HookExecutionResult, row: EventRow) -> tuple[str, str]:
    line = telling_line(run.stderr)
    how = f"{show_ending(run)}{f' ({line})' if line else ''}"
    could_not_run = run.error is not None or run.signal is not None or run.exit_code in COULD_NOT_RUN
    if run.blocks:
        return "run-failed", f"{how}; {run.hook.fail_closed_reason}, so this failure blocks"
    if could_not_run:
        # A worker's own message says what else to look for, such as a first line that was not flushed.
        is_slow = run.error == f"timed out after {show_ms(run.hook.timeout_ms)}"
        time = '; give it more time ("timeout" is in milliseconds), or make it faster' if is_slow else ""
        remedy = '; with "onError": "block" it would block' if can_block(run.hook) else ""
        return "run-failed", f"{how}; such a hook has no effect{time}{remedy}"
    if has_traceback(run.stderr):
        remedy = '; with "onError": "block" a crash would block' if can_block(run.hook) else ""
        return "run-failed", f"crashed: {how}; such a hook has no effect{remedy}"
    if (answer := read_stdout(run.stdout, row.reads)) is not None and answer.blocks:
        return "run-exit-code", f"printed a block but {show_ending(run)}, so it was not read; exit with 0 or 2"
    advice = "to block, exit with 2" if row.can_block else "exit with 0 when all is well"
    return "run-exit-code", f"{how}, which blocks nothing; {advice}"
