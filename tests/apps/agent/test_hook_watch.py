import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hookline.apps.agent.events import AgentEvent, HookEnded, HooksFinished, HooksStarted, Notice
from hookline.apps.agent.hook_watch import HookWatch
from hookline.client.config import Config
from hookline.client.triggers.model import fire_before_tool_selection_hook
from hookline.client.triggers.tools import fire_before_tool_hook
from hookline.protocol.events import HookEventName, SessionFacts
from hookline.protocol.llm import GenerateContentParameters
from hookline.protocol.results import failure_verdict

HookScript = Callable[..., Path]


class Watched:
    """A configuration whose hooks are watched."""

    def __init__(self, project: Path, write: HookScript, event: str, *answers: dict[str, Any]) -> None:
        hooks = [
            {
                "type": "command",
                "name": f"h{number}",
                "command": str(write(f"cat > /dev/null; echo '{json.dumps(answer)}'", f"h{number}.sh")),
            }
            for number, answer in enumerate(answers)
        ]
        self.events: list[AgentEvent] = []
        self.config = Config(
            project,
            settings={"enableHooks": True, "hooks": {event: [{"hooks": hooks}]}},
            observer=HookWatch(self.events.append),
        )


def test_hooks_are_told_as_they_start_end_and_decide(project: Path, hook_script: HookScript) -> None:
    """A watcher hears which hooks run, each as it ends, and whose decision came out of it."""
    deny = {"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "no"}}
    here = Watched(project, hook_script, "BeforeTool", {}, deny, {"decision": "allow"})
    asyncio.run(fire_before_tool_hook(here.config, "ls", {}))
    ended = [event for event in here.events if isinstance(event, HookEnded)]
    assert sorted(event.hook for event in ended) in ([], ["h0", "h1", "h2"])
    assert here.events[0] == HooksStarted(event="BeforeTool", hooks=("h0", "h1", "h2"))
    assert here.events[-1] == HooksFinished(
        event="BeforeTool", subject="ls", blocked=True, should_stop=False, reason="no", decided_by=("h1",)
    )


def test_an_effect_is_told(project: Path, hook_script: HookScript) -> None:
    """What the hooks changed is told as what is gone on with."""
    here = Watched(project, hook_script, "BeforeTool", {"hookSpecificOutput": {"tool_input": {"path": "/x"}}})
    asyncio.run(fire_before_tool_hook(here.config, "ls", {"path": "/", "all": True}))
    assert here.events[-1] == HooksFinished(
        event="BeforeTool",
        subject="ls",
        blocked=False,
        should_stop=False,
        reason=None,
        decided_by=(),
        effect={"tool_input": {"path": "/x", "all": True}},
    )


@pytest.mark.parametrize(("answer", "stops"), [({"decision": "block"}, False), ({"continue": False}, True)])
def test_only_what_can_block_is_told_as_a_block(
    answer: dict[str, Any], stops: bool, project: Path, hook_script: HookScript
) -> None:
    """A block at an event that cannot block is none, and a stop is one everywhere."""
    here = Watched(project, hook_script, "BeforeToolSelection", answer)
    asyncio.run(fire_before_tool_selection_hook(here.config, GenerateContentParameters(model="m", contents="Hi")))
    (last,) = [event for event in here.events if isinstance(event, HooksFinished)]
    assert (last.blocked, last.should_stop, last.decided_by) == (False, stops, ("h0",) if stops else ())


def test_a_fault_of_the_engine_has_an_end_too() -> None:
    """Where the engine failed, the watcher still hears that the event is over."""
    events: list[AgentEvent] = []
    HookWatch(events.append).hooks_finished(
        failure_verdict(HookEventName.AFTER_MODEL, None, ValueError("x"), "execution"),
        session=SessionFacts("s", ""),
    )
    assert events == [
        HooksFinished(event="AfterModel", subject=None, blocked=False, should_stop=False, reason=None, decided_by=())
    ]


def test_a_hook_that_fails_is_told_once(project: Path) -> None:
    """A guard that is missing, or too slow, is not silent, also where it blocks; one that denies has not failed."""
    commands = {"broken": "echo oops >&2; exit 3", "late": "sleep 5", "no": "exit 2", "strict": "exit 1"}
    hooks = [
        {
            "type": "command",
            "name": name,
            "command": text,
            "timeout": 200 if name == "late" else 30_000,
            "onError": "block" if name == "strict" else "allow",
        }
        for name, text in commands.items()
    ]
    events: list[AgentEvent] = []
    settings = {"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": hooks}]}}
    config = Config(project, settings=settings, observer=HookWatch(events.append))
    for _ in range(2):
        asyncio.run(fire_before_tool_hook(config, "ls", {}))
    assert [event for event in events if isinstance(event, Notice)] == [
        Notice(
            text=f"The BeforeTool hook {name} {how}. It is in settings given in code:"
            f" hooks.BeforeTool[0].hooks[{place}]; hookline log --failures tells more.",
            is_error=True,
        )
        for name, place, how in (
            ("broken", 0, "exited with code 3 (oops), so it had no effect"),
            ("late", 1, "timed out after 200ms, so it had no effect"),
            ("strict", 3, "exited with code 1, and blocks because its onError is block"),
        )
    ]
