"""Hooks that are tried out, in the modes warn and shadow: they run and are logged, and their answers do not count."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from hookline.contract.verdict import HookExecutionResult, Verdict
from hookline.contract.vocabulary import HookMode

Runs = Sequence[HookExecutionResult]


def without_trials(runs: Runs, decided: Callable[[Runs], Verdict]) -> Verdict:
    """The verdict of the hooks that are enforced, with all runs in it, and what the person is told about the others."""
    enforced = [run for run in runs if run.hook.mode is HookMode.ENFORCE]
    verdict = replace(decided(enforced), runs=tuple(runs))
    # Its holders count the answers of the enforced hooks alone.
    counted = [index for index, run in enumerate(_answering(runs)) if run.hook.mode is HookMode.ENFORCE]
    holders = {path: tuple(counted[index] for index in held) for path, held in verdict.holders.items()}
    told = [trial.message for trial in verdict.trials if trial.hook.mode is HookMode.WARN]
    message = "\n".join((*filter(None, (verdict.user_message,)), *told)) or None
    return replace(verdict, holders=holders, user_message=message)


def _answering(runs: Runs) -> list[HookExecutionResult]:
    return [run for run in runs if run.answer is not None]
