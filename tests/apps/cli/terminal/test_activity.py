import pytest

from hookline.apps.agent.events import AgentEvent, HookEnded, HooksFinished, HooksStarted, ToolCallChanged
from hookline.apps.agent.tool import AgentCall, CallStatus
from hookline.apps.cli.terminal.activity import Activity


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """The time."""
        return self.now


def started(*hooks: str, event: str = "BeforeTool", is_awaited: bool = True) -> HooksStarted:
    return HooksStarted(event=event, hooks=hooks, is_awaited=is_awaited)


def ended(hook: str, event: str = "BeforeTool") -> HookEnded:
    return HookEnded(event=event, hook=hook)


def finished(event: str = "BeforeTool") -> HooksFinished:
    return HooksFinished(event=event, subject=None, blocked=False, should_stop=False, reason=None, decided_by=())


def tool(status: CallStatus) -> ToolCallChanged:
    return ToolCallChanged(call=AgentCall(id="1", name="glob", status=status))


@pytest.mark.parametrize(
    ("events", "seconds", "text"),
    [
        pytest.param([], 0.2, None, id="too-soon"),
        pytest.param([], 0.4, "thinking…", id="the-model"),
        pytest.param([], 2.4, "thinking, 2 s", id="for-long"),
        pytest.param([started("a")], 0.2, None, id="quick-hook"),
        pytest.param([started("a")], 3.0, "waiting for hook a (BeforeTool), 3 s", id="one-hook"),
        pytest.param(
            [HooksStarted(event="BeforeTool", hooks=("a",), messages={"a": "asking the linter"})],
            3.0,
            "asking the linter (BeforeTool), 3 s",
            id="a-message-of-its-own",
        ),
        pytest.param([started("a", "b")], 0.4, "waiting for hook a and 1 more (BeforeTool)…", id="two-hooks"),
        pytest.param([started("a", "b"), ended("a")], 0.4, "waiting for hook b (BeforeTool)…", id="the-slow-one"),
        pytest.param([started("a"), finished()], 0.4, "thinking…", id="done"),
        pytest.param([started("a"), finished("AfterTool")], 0.4, "waiting for hook a (BeforeTool)…", id="other-event"),
        pytest.param(
            [started("a", "b"), started("a", "b"), ended("a"), ended("b"), finished()],
            0.4,
            "waiting for hook a and 1 more (BeforeTool)…",
            id="same-event-twice",
        ),
        pytest.param([started("a", event="AfterAgent", is_awaited=False)], 0.4, "thinking…", id="nobody-waits"),
        pytest.param([tool(CallStatus.EXECUTING)], 1.0, "glob, 1 s", id="a-tool"),
        pytest.param(
            [tool(CallStatus.EXECUTING), started("a")], 1.0, "waiting for hook a (BeforeTool), 1 s", id="hook-first"
        ),
        pytest.param([tool(CallStatus.EXECUTING), tool(CallStatus.SUCCESS)], 0.4, "thinking…", id="tool-done"),
    ],
)
def test_what_is_waited_for(events: list[AgentEvent], seconds: float, text: str | None) -> None:
    """The slowest hook that the agent waits for is named, else a tool, else the model; and nothing that is quick."""
    clock = Clock()
    activity = Activity(clock)
    activity.begin("thinking")
    for event in events:
        activity.listen(event)
    clock.now = seconds
    assert activity.text() == text


def test_a_new_turn_starts_over() -> None:
    """Hooks of a cancelled turn, without a known end, are forgotten."""
    clock = Clock()
    activity = Activity(clock)
    activity.listen(started("a"))
    activity.begin("waiting for hooks to finish")
    clock.now = 1
    assert activity.text() == "waiting for hooks to finish, 1 s"
