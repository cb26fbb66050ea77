"""Which hooks blocked a call or ended the turn, and the sentences that say so in every mode."""

from hookline.agent.events import AgentEvent, HooksFinished, ToolCallChanged, TurnEnded
from hookline.agent.tool import CallStatus, ToolCall
from hookline.cli.terminal.activity import AWAITED_EVENTS
from hookline.contract.events import HookEventName


class Decisions:
    """Follows the agent's events and remembers which hooks decided what."""

    def __init__(self) -> None:
        self._waiting: list[HooksFinished] = []
        """Blocks of tool calls whose end has not been reported yet."""
        self._by_call: dict[str, tuple[str, ...]] = {}
        self._of_model: tuple[str, ...] = ()
        self.stopped_by: tuple[str, ...] = ()

    def listen(self, event: AgentEvent) -> None:
        """Takes an event of the agent."""
        match event:
            case HooksFinished() if event.event in AWAITED_EVENTS and (event.blocked or event.should_stop):
                if event.should_stop:
                    self.stopped_by = event.decided_by
                if event.event == HookEventName.BEFORE_TOOL:
                    self._waiting.append(event)
                elif event.event == HookEventName.BEFORE_MODEL:
                    self._of_model = event.decided_by
            case ToolCallChanged() if event.call.status is CallStatus.IDLE:
                self._by_call[event.call.id] = self._take(event.call)
            case _:
                pass

    def blocked_by(self, call: ToolCall) -> tuple[str, ...]:
        """The hooks that kept a call from running."""
        return self._by_call.get(call.id, ())

    def ended_by(self, ended: TurnEnded) -> tuple[str, ...]:
        """The hooks that stopped the agent, or kept the model from being called."""
        return self.stopped_by if ended.stopped else self._of_model if ended.blocked else ()

    def _take(self, call: ToolCall) -> tuple[str, ...]:
        # Calls of one tool can be blocked at the same time; their reasons tell them apart.
        blocks = [block for block in self._waiting if block.subject == call.name]
        if not blocks:
            return ()
        reason = None if call.result is None else call.result.return_display
        block = next((block for block in blocks if block.reason == reason), blocks[0])
        self._waiting.remove(block)
        return block.decided_by


def names(hooks: tuple[str, ...]) -> str:
    """The hooks as they appear in a sentence."""
    return " and ".join(hooks) or "a hook"


def not_called(reason: str | None, hooks: tuple[str, ...]) -> str:
    """Says that the model was not called, why, and which hooks decided it."""
    return f"The model was not called: {reason} (blocked by {names(hooks)})"


def stopped(reason: str | None, hooks: tuple[str, ...]) -> str:
    """Says which hooks stopped the agent, and why."""
    return f"Stopped by {names(hooks)}: {reason}"
