"""The effect of every hook on every sample: the evidence of a dry run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from hookline.protocol.answers import or_none
from hookline.protocol.hook_entry import HookEntry
from hookline.protocol.verdict import HookExecutionResult

_MOST_SHOWN = 4


class Did(StrEnum):
    """The effect of a hook on a sample, as a verb."""

    BLOCKS = "blocks"
    STOPS = "stops the agent at"
    ASKS = "asks about"
    REWRITES = "rewrites"
    FAILS = "fails on"
    UNASKED = "was not asked about"
    PASSES = "lets pass"


@dataclass(frozen=True, slots=True)
class SampleRun:
    """One hook and one sample."""

    sample: str
    run: HookExecutionResult

    @property
    def did(self) -> Did:
        """The effect of the hook; a failure is a failure even if it blocks."""
        answer = self.run.answer
        if self.run.is_unasked:
            return Did.UNASKED
        if self.run.failed:
            return Did.FAILS
        if answer is None:
            return Did.PASSES
        fitting = {Did.BLOCKS: answer.blocks, Did.STOPS: answer.stops, Did.ASKS: answer.asks}
        fitting[Did.REWRITES] = bool(
            or_none(answer.tool_input) or or_none(answer.llm_request) or or_none(answer.llm_response)
        )
        return next((did for did, fits in fitting.items() if fits), Did.PASSES)

    @property
    def is_silent(self) -> bool:
        """True if the hook answered nothing; on stderr it may have complained about an input that it does not know."""
        return self.did is Did.PASSES and not self.run.stdout.strip()


def by_hook(trials: Sequence[SampleRun]) -> list[tuple[HookEntry, list[SampleRun]]]:
    """The trials of each hook, in the order in which the hooks first ran."""
    found: dict[tuple[str, str], tuple[HookEntry, list[SampleRun]]] = {}
    for trial in trials:
        hook = trial.run.hook
        found.setdefault((hook.origin, hook.location), (hook, []))[1].append(trial)
    return list(found.values())


def summary_of(trials: Sequence[SampleRun]) -> str:
    """The effects of a hook on its samples, in a sentence."""
    parts: list[str] = []
    for did in Did:
        shown = list(dict.fromkeys(trial.sample for trial in trials if trial.did is did))
        if did is Did.PASSES and shown and parts:
            parts.append(f"{did} {len(shown)} {'other' if len(shown) == 1 else 'others'}")
        elif shown:
            parts.append(f"{did} {', '.join(_shortened(shown))}")
    return "; ".join(parts)


def _shortened(shown: Sequence[str]) -> Iterator[str]:
    yield from shown[:_MOST_SHOWN]
    if len(shown) > _MOST_SHOWN:
        yield f"{len(shown) - _MOST_SHOWN} more"


def evidence_report(hook: HookEntry, trials: Sequence[SampleRun]) -> dict[str, Any]:
    """The evidence about a hook for programs."""
    samples = [{"sample": trial.sample, "did": trial.did.value} for trial in trials]
    place = {"origin": hook.origin, "location": hook.location}
    return {"event": hook.event.value, "hook": hook.label, **place, "samples": samples}
