"""The verdict on an event that hookline failed to fire, where faults block."""

# ruff: noqa: PLC0415 - the engine's modules are not loaded while hooks are disabled

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hookline.protocol.events import HookEventName
    from hookline.protocol.verdict import Verdict


def load_refusal() -> None:
    """Import the modules that `fault_verdict` needs, while there are descriptors to import them with."""
    import hookline.engine.event_table
    import hookline.protocol.results  # noqa: F401 - loaded for later


def fault_verdict(event: "HookEventName", error: Exception) -> "Verdict | None":
    """Return a block with the error as its reason; None for an event that can't block."""
    from hookline.engine.event_table import EVENT_TABLE
    from hookline.protocol.results import as_block, failure_verdict

    if not EVENT_TABLE[event].can_block:
        return None
    why = f"hookline failed while starting ({type(error).__name__})"
    return as_block(failure_verdict(event, None, error, "starting"), why)
