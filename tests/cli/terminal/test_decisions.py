import pytest

from hookline.agent.events import AgentEvent, HooksFinished, ToolCallChanged, TurnEnded
from hookline.agent.tool import CallStatus, ToolCall
from hookline.cli.terminal.decisions import Decisions, not_called, stopped
from hookline.triggers.results import ToolResult


def decision(event: str, hook: str, reason: str, *, subject: str | None = None, stop: bool = False) -> HooksFinished:
    """A block, or a stop, by one hook."""
    return HooksFinished(
        event=event, subject=subject, blocked=not stop, should_stop=stop, reason=reason, decided_by=(hook,)
    )


def blocked_call(call_id: str, reason: str) -> ToolCallChanged:
    """The end of a call that was blocked."""
    result = ToolResult(llm_content=reason, return_display=reason)
    return ToolCallChanged(call=ToolCall(id=call_id, name="read_file", status=CallStatus.IDLE, result=result))


def ended(*, blocked: bool = False, stopped: bool = False) -> TurnEnded:
    """The end of a turn."""
    return TurnEnded(response="", blocked=blocked, stopped=stopped, stop_reason=None, turns=1, calls=())


def following(*events: AgentEvent) -> Decisions:
    """What is known after these events."""
    decisions = Decisions()
    for event in events:
        decisions.listen(event)
    return decisions


def test_calls_of_one_tool_are_told_apart_by_their_reasons() -> None:
    """Each call gets its own hooks, whatever the order in which hooks finished."""
    first, second, third = blocked_call("1", "A."), blocked_call("2", "B."), blocked_call("3", "unheard of")
    decisions = following(
        decision("BeforeTool", "b", "B.", subject="read_file"),
        decision("BeforeTool", "a", "A.", subject="read_file"),
        decision("BeforeTool", "c", "C.", subject="read_file"),
        *(first, second, third),
    )
    assert [decisions.blocked_by(one.call) for one in (first, second, third)] == [("a",), ("b",), ("c",)]


def test_a_block_of_another_tool_is_not_taken() -> None:
    """A call without a known decision names no hook."""
    call = blocked_call("1", "A.")
    decisions = following(decision("BeforeTool", "a", "A.", subject="glob"), call)
    assert decisions.blocked_by(call.call) == ()


@pytest.mark.parametrize(
    ("end", "hooks"),
    [
        pytest.param(ended(stopped=True, blocked=True), ("budget",), id="stopped"),
        pytest.param(ended(blocked=True), ("guard",), id="blocked"),
        pytest.param(ended(), (), id="answered"),
    ],
)
def test_the_end_of_a_turn_names_its_hooks(end: TurnEnded, hooks: tuple[str, ...]) -> None:
    """Only decisions that ended the turn count, and never those of events whose answers are not applied."""
    decisions = following(
        decision("BeforeModel", "guard", "No."),
        decision("AfterTool", "budget", "Enough.", stop=True),
        decision("SessionStart", "background", "No.", stop=True),
    )
    assert decisions.ended_by(end) == hooks


def test_sentences_name_hooks_and_reasons() -> None:
    """Several hooks are joined; a decision without a known hook is a hook's all the same."""
    assert not_called("No.", ("a", "b")) == "The model was not called: No. (blocked by a and b)"
    assert stopped("No.", ()) == "Stopped by a hook: No."
