"""In which order the hooks of a plan run, for a person."""

from hookline.engine.event_table import can_block
from hookline.protocol.verdict import HookExecutionPlan

AT_ONCE = "at the same time"


def runs_by_layer(plan: HookExecutionPlan) -> bool:
    """Whether the hooks of a more trusted layer start when those of less trusted ones have ended."""
    return any(map(can_block, plan.hooks)) and len({hook.rank for hook in plan.hooks}) > 1


def show_order(plan: HookExecutionPlan) -> str:
    """The order of several hooks, to follow `2 hooks`."""
    if runs_by_layer(plan):
        return "those of the less trusted settings file first"
    if plan.sequential:
        return "one after another"
    finals = sum(hook.final for hook in plan.hooks)
    return f"{AT_ONCE}, and then the final {'one' if finals == 1 else 'ones'}" if finals else AT_ONCE
