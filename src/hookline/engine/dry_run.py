"""Hooks that are tried out, in the mode shadow: they run and are logged, and their answers do not count."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from hookline.protocol.constants import HookMode
from hookline.protocol.verdict import HookExecutionResult, Verdict

Runs = Sequence[HookExecutionResult]


def without_trials(runs: Runs, decided: Callable[[Runs], Verdict]) -> Verdict:
    """The verdict of the hooks that are enforced, with all runs in it."""
    enforced = [run for run in runs if run.hook.mode is HookMode.ENFORCE]
    verdict = replace(decided(enforced), runs=tuple(runs))
    # Its holders count the answers of the enforced hooks alone.
    counted = [index for index, run in enumerate(_answering(runs)) if run.hook.mode is HookMode.ENFORCE]
    holders = {path: tuple(counted[index] for index in held) for path, held in verdict.holders.items()}
    return replace(verdict, holders=holders)


def _answering(runs: Runs) -> list[HookExecutionResult]:
    return [run for run in runs if run.answer is not None]
