"""Fires sample inputs on the path that an agent uses, and reads what the hooks' authors should know."""

from collections.abc import AsyncIterator, Iterator

from hookline.cli.lint.finding import Finding
from hookline.cli.lint.samples import samples
from hookline.cli.lint.setup import Setup
from hookline.contract.events import HookEventName
from hookline.contract.outputs import decode_stdout
from hookline.contract.results import AggregatedHookResult, HookExecutionResult
from hookline.engine.aggregator import overridden
from hookline.engine.event_table import EVENT_TABLE, ONLY_WATCHES
from hookline.engine.exit_codes import EXIT_CODE_BLOCKING_ERROR, show_ending
from hookline.system import HookSystem

_COULD_NOT_RUN = (126, 127)

# What a dry run can find, and what that means.
RULES = {
    "run-failed": "a hook that fails when it is run",
    "run-exit-code": "a hook that exits with a code that blocks nothing",
    "run-answer": "an answer that does not count as it was meant",
    "run-overridden": "a hook that undid the block of an earlier one",
    "run-skipped": "a hook that could not be tried",
}


async def dry_run(system: HookSystem, setup: Setup) -> list[Finding]:
    """What came to light when every hook was run on samples, each thing once."""
    await system.initialize()
    found: dict[tuple[str, str, str], Finding] = {}
    try:
        async for subject, result in _fire_samples(system, setup):
            for rule, hook_result, said in _readings(result):
                hook = hook_result.hook
                key = (hook.origin, hook.location, said)
                problem = setup.at(hook, f"{said} (tried on {subject})", "command")
                found.setdefault(key, Finding(rule=rule, problem=problem))
    finally:
        system.dispose()
    return [*_untried(system, setup), *found.values()]


async def _fire_samples(system: HookSystem, setup: Setup) -> AsyncIterator[tuple[str, AggregatedHookResult]]:
    handler = system.get_event_handler()
    for event in HookEventName:
        if setup.active(event):
            for subject, fields in samples(event, setup):
                yield subject, await handler.fire_event(event, fields)


def _untried(system: HookSystem, setup: Setup) -> Iterator[Finding]:
    for event in HookEventName:
        for skip in system.explain(event).skipped:
            if skip.reason.startswith("untrusted"):
                yield Finding(rule="run-skipped", problem=setup.at(skip.hook, f"was not tried ({skip.reason})"))


def _readings(result: AggregatedHookResult) -> Iterator[tuple[str, HookExecutionResult, str]]:
    for hook_result in result.results:
        yield from ((rule, hook_result, said) for rule, said in _said_of(hook_result))
    if result.plan is not None and EVENT_TABLE[result.plan.event].replaces_fields:
        for said in overridden(result.results):
            yield "run-overridden", result.results[-1], f"is the last of hooks of which {said}; the later one wins here"


def _said_of(result: HookExecutionResult) -> Iterator[tuple[str, str]]:
    can_block = EVENT_TABLE[result.event].can_block
    if result.error is not None or result.signal is not None or result.exit_code in _COULD_NOT_RUN:
        yield "run-failed", f"{show_ending(result)}{_first_line(result.stderr)}; such a hook has no effect"
    elif result.exit_code == EXIT_CODE_BLOCKING_ERROR or result.success:
        unused = EVENT_TABLE[result.event].advise(result.output) if result.output else []
        yield from (("run-answer", f"answered, but {said}") for said in (*result.complaints, *unused))
        if not can_block and result.output is not None and result.output.is_blocking_decision():
            instead = 'to end the session answer "continue": false'
            if EVENT_TABLE[result.event].only_watches:
                instead = ONLY_WATCHES
            yield "run-answer", f"blocks, but {result.event} cannot block; {instead}"
    elif (answer := decode_stdout(result.stdout).output) is not None and answer.read_as(
        EVENT_TABLE[result.event].output
    ).is_blocking_decision():
        yield "run-exit-code", f"printed a block but {show_ending(result)}, so it was not read; exit with 0 or 2"
    else:
        advice = "to block, exit with 2" if can_block else "exit with 0 when all is well"
        yield "run-exit-code", f"{show_ending(result)}{_first_line(result.stderr)}, which blocks nothing; {advice}"


def _first_line(stderr: str) -> str:
    lines = stderr.strip().splitlines()
    return f" ({lines[0][:120]})" if lines else ""
