"""Which hooks, and which of their decisions, the cases have shown."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from hookline.engine.event_table import EVENT_TABLE
from hookline.protocol.answers import or_none
from hookline.protocol.hook_entry import HookEntry
from hookline.protocol.verdict import HookExecutionResult, Verdict


class Shown(StrEnum):
    """The effect of a hook in one run, for coverage."""

    BLOCK = "block"
    ALLOW = "allow"
    REWRITE = "rewrite"
    FAILURE = "failure"


@dataclass(frozen=True, slots=True)
class HookCoverage:
    """How often the cases have made a hook do each thing."""

    hook: HookEntry
    runs: int
    shown: Mapping[Shown, int]

    @property
    def gaps(self) -> tuple[Shown, ...]:
        """The effects that the hook's event allows and no case has shown."""
        row = EVENT_TABLE[self.hook.event]
        can = {
            Shown.BLOCK: row.can_block or row.block_continues_turn,
            Shown.ALLOW: True,
            Shown.REWRITE: not row.observe_only,
        }
        return tuple(kind for kind in Shown if can.get(kind, True) and not self.shown.get(kind))


def coverage_of(hooks: Iterable[HookEntry], verdicts: Iterable[Verdict]) -> list[HookCoverage]:
    """The coverage of each hook that is switched on, in the order of the settings."""
    runs = [run for verdict in verdicts for run in verdict.runs]
    by_hook: dict[tuple[str, str, str], list[Shown]] = {}
    for run in runs:
        by_hook.setdefault(_key(run.hook), []).append(shown_by(run))
    found = [(hook, by_hook.get(_key(hook), [])) for hook in hooks if hook.enabled]
    return [HookCoverage(hook, len(kinds), _counts(kinds)) for hook, kinds in found]


def shown_by(run: HookExecutionResult) -> Shown:
    """Return the effect of a hook in one run."""
    if run.failed:
        return Shown.FAILURE
    answer = run.answer
    if answer is None:
        return Shown.ALLOW
    if answer.blocks or answer.stops or answer.asks:
        return Shown.BLOCK
    changes = (answer.tool_input, answer.tool_output, answer.llm_request, answer.llm_response, answer.prompt)
    is_rewrite = any(or_none(change) is not None for change in (*changes, answer.tools, answer.context))
    return Shown.REWRITE if is_rewrite else Shown.ALLOW


def _key(hook: HookEntry) -> tuple[str, str, str]:
    # A pack is one entry of the settings with hooks for several events.
    return hook.event, hook.origin, hook.location


def _counts(kinds: Sequence[Shown]) -> dict[Shown, int]:
    return {kind: kinds.count(kind) for kind in Shown if kind in kinds}
