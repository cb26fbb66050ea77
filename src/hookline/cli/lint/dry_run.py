"""Fires sample inputs exactly as an agent would, and reports what the hooks' authors should know."""

from collections.abc import AsyncIterator, Iterator

from hookline.cli.lint.finding import Finding
from hookline.cli.lint.reactions import reactions
from hookline.cli.lint.samples import samples
from hookline.cli.lint.setup import Setup
from hookline.contract.answers import read_stdout
from hookline.contract.endings import show_ending
from hookline.contract.events import HookEventName
from hookline.contract.verdict import HookExecutionResult, SkipKind, Verdict
from hookline.engine.event_table import EVENT_TABLE
from hookline.system import HookSystem

_COULD_NOT_RUN = (126, 127)

RULES = {
    "run-failed": "a hook that fails when it is run",
    "run-exit-code": "a hook that exits with a code that blocks nothing",
    "run-answer": "an answer that has another effect than intended",
    "run-overridden": "a hook that overrode the block of an earlier hook",
    "run-dialect": "a hook that waits for another agent's words, tried in both",
    "run-skipped": "a hook that was not run",
}


async def dry_run(system: HookSystem, setup: Setup) -> list[Finding]:
    """The findings from running every hook on samples, each once."""
    await system.initialize()
    found: dict[tuple[str, str, str], Finding] = {}
    try:
        async for subject, verdict in _fire_samples(system, setup):
            for rule, run, text in _readings(verdict):
                key = (run.hook.origin, run.hook.location, text)
                problem = setup.at(run.hook, f"{text} (tried on {subject})", "command")
                found.setdefault(key, Finding(rule=rule, problem=problem))
    finally:
        system.dispose()
    found_inside = [Finding(rule="run-dialect", problem=problem) async for problem in reactions(setup)]
    return [*_untried(system, setup), *found.values(), *found_inside]


async def _fire_samples(system: HookSystem, setup: Setup) -> AsyncIterator[tuple[str, Verdict]]:
    handler = system.get_event_handler()
    for event in HookEventName:
        if setup.active(event):
            for subject, fields in samples(event, setup):
                yield subject, await handler.fire(event, fields)


def _untried(system: HookSystem, setup: Setup) -> Iterator[Finding]:
    for event in HookEventName:
        for skip in system.explain(event).skipped:
            if skip.kind is SkipKind.UNTRUSTED:
                yield Finding(rule="run-skipped", problem=setup.at(skip.hook, f"was not tried ({skip.reason})"))


def _readings(verdict: Verdict) -> Iterator[tuple[str, HookExecutionResult, str]]:
    for run in verdict.runs:
        yield from ((rule, run, text) for rule, text in _findings(run))
    for undone in verdict.overridden:
        text = f"is the last of hooks of which {undone.by} overrode the {undone.field} of {undone.of}"
        yield "run-overridden", verdict.runs[-1], f"{text}; the later one wins here"


def _findings(run: HookExecutionResult) -> Iterator[tuple[str, str]]:
    row = EVENT_TABLE[run.event]
    if run.error is not None or run.signal is not None or run.exit_code in _COULD_NOT_RUN:
        meaning = "its onError is block, so it blocks every time" if run.blocks else "such a hook has no effect"
        yield "run-failed", f"{show_ending(run)}{_first_line(run.stderr)}; {meaning}"
    elif not run.failed:
        yield from (("run-answer", f"answered, but {text}") for text in run.advice)
    elif (answer := read_stdout(run.stdout, row.reads)) is not None and answer.blocks:
        yield "run-exit-code", f"printed a block but {show_ending(run)}, so it was not read; exit with 0 or 2"
    else:
        advice = "to block, exit with 2" if row.can_block else "exit with 0 when all is well"
        yield "run-exit-code", f"{show_ending(run)}{_first_line(run.stderr)}, which blocks nothing; {advice}"


def _first_line(stderr: str) -> str:
    lines = stderr.strip().splitlines()
    return f" ({lines[0][:120]})" if lines else ""
