"""What the agent does with the answers of hooks around prompts and sessions."""

import asyncio
import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from hookline.apps.agent.conversation.contents import to_json
from hookline.apps.agent.conversation.transcript import TranscriptWriter, read_session, transcript_path
from hookline.apps.agent.events import AgentEvent, HistoryCompressed, HooksFinished, Notice, TurnEnded
from hookline.apps.agent.hook_watch import HookWatch
from hookline.apps.agent.loop import Agent
from hookline.apps.agent.toolbox import default_toolbox
from hookline.client.config import Config
from hookline.log.write.logger import MemorySink
from hookline.protocol.constants import LIFECYCLE_REMEDY
from hookline.protocol.events import PreCompressTrigger, SessionStartSource
from hookline.testing import Answer, ScriptedModel, calls, says

HookScript = Callable[..., Path]


class Stage:
    """An agent whose hooks are applied, with a scripted model; a hook is the body of a shell script."""

    def __init__(
        self,
        project: Path,
        write: HookScript,
        answers: Sequence[Answer],
        hooks: dict[str, str],
        *,
        context_limit: int = 1_000_000,
        **options: Any,
    ) -> None:
        self.project = project
        self.events: list[AgentEvent] = []
        self.log = MemorySink()
        self.model = ScriptedModel(answers, context_limit=context_limit)
        groups = {
            event: [{"hooks": [{"type": "command", "name": "guard", "command": str(write(body, f"{event}.sh"))}]}]
            for event, body in hooks.items()
        }
        settings = {"enableHooks": True, "hooks": groups, "hooksConfig": {"lifecycle": "apply", **options}}
        path = transcript_path("s1")
        self.agent = Agent(
            config=Config(
                project,
                session_id="s1",
                settings=settings,
                transcript_path=str(path),
                log_sinks=[self.log],
                observer=HookWatch(self.events.append),
            ),
            model=self.model,
            toolbox=default_toolbox(),
            approves_all=True,
            transcript=TranscriptWriter(path),
            listener=self.events.append,
        )

    def run(self, *prompts: str, source: SessionStartSource = SessionStartSource.STARTUP) -> list[TurnEnded]:
        """A whole session with these prompts, and how each of them ended."""

        async def session() -> list[TurnEnded]:
            self.agent.start(source)
            try:
                return [await self.agent.run(prompt) for prompt in prompts]
            finally:
                await self.agent.close()

        return asyncio.run(session())

    def sent(self) -> list[list[str]]:
        """The texts of each message that the conversation has by now, but for the model's."""
        contents = [to_json(content) for content in self.agent.history]
        return [[part.get("text", "") for part in one["parts"]] for one in contents if one["role"] == "user"]

    def notes(self) -> list[str]:
        """What the user was told."""
        return [event.text for event in self.events if isinstance(event, Notice)]

    def told(self, event: str) -> list[dict[str, Any]]:
        """What a hook that appends its input to a file of its name was told."""
        return [json.loads(line) for line in (self.project / event).read_text().splitlines()]


@pytest.fixture
def stage(project: Path, hook_script: HookScript) -> Callable[..., Stage]:
    """Makes a stage from the model's answers and the hooks' scripts."""

    def make(*answers: Answer, hooks: dict[str, str], **options: Any) -> Stage:
        return Stage(project, hook_script, answers, hooks, **options)

    return make


def answers_with(answer: dict[str, Any]) -> str:
    """A hook that notes what it is told in a file with the name of its event, and always answers the same."""
    note = """input=$(cat); event=${input#*'"hook_event_name":"'}; printf '%s\\n' "$input" >> "${event%%'"'*}" """
    return f"{note}\ncat <<'END'\n{json.dumps(answer)}\nEND"


def specific(**fields: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": fields}


BLOCK = answers_with({"decision": "block", "reason": "not today"})
STOP = answers_with({"continue": False, "stopReason": "enough"})
GO_ON_ONCE = """case $(cat) in
*'"stop_hook_active":true'*) echo '{}' ;;
*) echo '{"decision": "block", "reason": "run the tests"}' ;;
esac"""


def test_a_blocked_prompt_is_not_sent(stage: Callable[..., Stage]) -> None:
    """The model is not called, the history stays as it was, no AfterAgent hook runs, and the result has the reason."""
    here = stage([says("one")], hooks={"BeforeAgent": BLOCK, "AfterAgent": STOP})
    (ended,) = here.run("go")
    assert (ended.blocked, ended.is_sent, ended.stopped) == (True, False, False)
    assert (ended.reason, ended.decided_by, ended.turns, ended.response) == ("not today", ("guard",), 0, "")
    assert here.model.requests == []
    assert here.sent() == []
    assert not (here.project / "AfterAgent").exists()
    assert here.events[-1] == ended


def test_the_next_prompt_is_judged_by_itself(stage: Callable[..., Stage]) -> None:
    """A block ends one turn and not the session; its note waits for a prompt that is sent, its context does not."""
    answer = json.dumps(
        {"decision": "block", "reason": "no", "systemMessage": "noted", **specific(additionalContext="c")}
    )
    hook = f"case $(cat) in *'\"prompt\":\"bad\"'*) echo '{answer}' ;; esac"
    here = stage([says("one")], hooks={"BeforeAgent": hook})
    bad, good = here.run("bad", "good")
    assert (bad.is_sent, good.is_sent, good.response) == (False, True, "one")
    assert here.sent() == [["good", "[System] noted"]]


def test_a_stop_before_the_prompt_keeps_it_from_being_sent(stage: Callable[..., Stage]) -> None:
    """The turn ends with the hook's reason for the stop."""
    here = stage([says("one")], hooks={"BeforeAgent": STOP})
    (ended,) = here.run("go")
    assert (ended.is_sent, ended.stopped, ended.stop_reason) == (False, True, "enough")
    assert here.model.requests == []


def test_a_prompt_can_be_rewritten_and_given_context(stage: Callable[..., Stage]) -> None:
    """The model reads the new prompt, the context and the note; AfterAgent hooks are told the new prompt."""
    rewrite = answers_with({"systemMessage": "m", **specific(prompt="stay", additionalContext="It rains.")})
    here = stage([says("one")], hooks={"BeforeAgent": rewrite, "AfterAgent": answers_with({})})
    here.run("go out")
    assert here.sent() == [["stay", "It rains.", "[System] m"]]
    assert [told["prompt"] for told in here.told("AfterAgent")] == ["stay"]
    (decision,) = [one for one in here.events if isinstance(one, HooksFinished) and one.event == "BeforeAgent"]
    assert decision.effect == {"prompt": "stay"}


def test_plain_text_is_a_note_for_the_model(stage: Callable[..., Stage]) -> None:
    """A hook of ours that prints text has it read by the model, marked as what it is."""
    here = stage([says("one")], hooks={"BeforeAgent": "echo It rains."})
    here.run("go out")
    assert here.sent() == [["go out", "[System] It rains."]]


def test_a_hook_makes_the_agent_go_on(stage: Callable[..., Stage]) -> None:
    """The reason is the next message, the hook is told that it did so, and the turn ends with the last answer."""
    here = stage([says("done")], [says("tested")], hooks={"AfterAgent": GO_ON_ONCE})
    (ended,) = here.run("go")
    assert (ended.response, ended.stopped, ended.turns) == ("tested", False, 2)
    assert here.sent() == [["go"], ["run the tests"]]
    assert here.notes() == ["guard continues the turn: run the tests"]
    goes_on = [one.continues for one in here.events if isinstance(one, HooksFinished)]
    assert goes_on == [True, False]


def test_what_an_after_agent_hook_is_told(stage: Callable[..., Stage]) -> None:
    """Each round it gets the prompt, the latest answer, and whether a hook made the agent go on before."""
    here = stage([says("a")], [says("b")], [says("c")], hooks={"AfterAgent": BLOCK}, maxStopBlocks=2)
    here.run("go")
    told = [(one["prompt"], one["prompt_response"], one["stop_hook_active"]) for one in here.told("AfterAgent")]
    assert told == [("go", "a", False), ("go", "b", True), ("go", "c", True)]


@pytest.mark.parametrize(("most", "options"), [(8, {}), (1, {"maxStopBlocks": 1}), (0, {"maxStopBlocks": 0})])
def test_how_often_hooks_make_the_agent_go_on_is_limited(
    most: int, options: dict[str, int], stage: Callable[..., Stage]
) -> None:
    """Then the turn ends, which the user and the log are told."""
    here = stage(*[[says(str(number))] for number in range(most + 1)], hooks={"AfterAgent": BLOCK}, **options)
    (ended,) = here.run("go")
    assert (ended.response, ended.turns) == (str(most), most + 1)
    message = f"guard wants to continue the turn (not today), but hooksConfig.maxStopBlocks is {most}, so the turn ends"
    assert here.notes() == [*["guard continues the turn: not today"] * most, f"{message}."]
    assert [one.message for one in here.log.records if one.to_dict()["kind"] == "advice"] == [f"AfterAgent: {message}"]


def test_the_count_starts_again_with_each_prompt(stage: Callable[..., Stage]) -> None:
    """`stop_hook_active` is about the prompt, and so is the limit."""
    here = stage(*[[says("x")]] * 4, hooks={"AfterAgent": GO_ON_ONCE}, maxStopBlocks=1)
    assert [ended.turns for ended in here.run("one", "two")] == [2, 2]
    assert here.sent() == [["one"], ["run the tests"], ["two"], ["run the tests"]]


@pytest.mark.parametrize("decision", [{}, {"decision": "block", "reason": "more"}], ids=["alone", "beside-a-block"])
def test_a_stop_after_the_answer_ends_the_turn(decision: dict[str, str], stage: Callable[..., Stage]) -> None:
    """`continue: false` wins over a block, and its reason is in the result beside the answer."""
    stop = answers_with({"continue": False, "stopReason": "enough", **decision})
    here = stage([says("one")], hooks={"AfterAgent": stop})
    (ended,) = here.run("go")
    assert (ended.response, ended.stopped, ended.stop_reason, ended.turns) == ("one", True, "enough", 1)
    assert ended.decided_by == ("guard",)


def test_no_hook_makes_a_stopped_agent_go_on(stage: Callable[..., Stage]) -> None:
    """A stop of another event holds, and a block after it is reported as without effect."""
    here = stage([says("one")], hooks={"AfterModel": STOP, "AfterAgent": BLOCK})
    (ended,) = here.run("go")
    assert (ended.stopped, ended.stop_reason, ended.turns) == (True, "enough", 1)
    assert here.notes() == [
        "guard wants to continue the turn (not today), but another hook stopped the agent, so the turn ends."
    ]


def test_context_after_the_answer_goes_with_the_next_message(stage: Callable[..., Stage]) -> None:
    """What an AfterAgent hook has to say is not lost: it is read with the reason, or with the next prompt."""
    here = stage([says("one")], [says("two")], hooks={"AfterAgent": answers_with(specific(additionalContext="c"))})
    here.run("go", "on")
    assert here.sent() == [["go"], ["on", "c"]]


@pytest.mark.parametrize("source", [SessionStartSource.STARTUP, SessionStartSource.RESUME, SessionStartSource.CLEAR])
def test_context_at_the_start_goes_with_the_first_prompt(
    source: SessionStartSource, stage: Callable[..., Stage]
) -> None:
    """The first prompt waits for the SessionStart hooks, and brings what they have to say, once."""
    start = "sleep 0.3\n" + answers_with({"systemMessage": "m", **specific(additionalContext="Use tabs.")})
    here = stage([says("one")], [says("two")], hooks={"SessionStart": start})
    here.run("first", "second", source=source)
    assert here.sent() == [["first", "Use tabs.", "[System] m"], ["second"]]
    assert [told["source"] for told in here.told("SessionStart")] == [source.value]


def test_a_stop_at_the_start_holds_for_the_whole_session(stage: Callable[..., Stage]) -> None:
    """No prompt is sent, nothing is compressed, and no other hook is asked about it."""
    here = stage([says("one")], hooks={"SessionStart": STOP, "BeforeAgent": BLOCK})
    first, second = here.run("first", "second")
    assert (first.is_sent, first.stopped, first.stop_reason, first.decided_by) == (False, True, "enough", ("guard",))
    assert second == first
    assert here.model.requests == []
    assert not (here.project / "BeforeAgent").exists()


def test_who_cancels_a_prompt_at_the_start_loses_no_stop(stage: Callable[..., Stage]) -> None:
    """The SessionStart hook runs on, and the next prompt is refused by it."""
    here = stage([says("one")], hooks={"SessionStart": f"touch started; until test -e go; do sleep 0.01; done\n{STOP}"})

    async def session() -> TurnEnded:
        here.agent.start()
        first = asyncio.create_task(here.agent.run("first"))
        await asyncio.to_thread(wait_for, here.project / "started")
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        (here.project / "go").touch()
        ended = await here.agent.run("second")
        await here.agent.close()
        return ended

    assert asyncio.run(session()).stop_reason == "enough"
    assert here.model.requests == []


def test_who_cancels_a_prompt_ends_the_hook_that_judges_it(stage: Callable[..., Stage]) -> None:
    """Ctrl-C works while the agent waits, and the conversation goes on as if the prompt had not been given."""
    body = """case $(cat) in *'"prompt":"first"'*) echo $$ > pid; exec sleep 60 ;; esac"""
    here = stage([says("one")], hooks={"BeforeAgent": body})

    async def session() -> TurnEnded:
        here.agent.start()
        first = asyncio.create_task(here.agent.run("first"))
        await asyncio.to_thread(wait_for, here.project / "pid")
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        with pytest.raises(ProcessLookupError):
            os.kill(int((here.project / "pid").read_text()), 0)
        ended = await here.agent.run("second")
        await here.agent.close()
        return ended

    assert asyncio.run(session()).response == "one"
    assert here.sent() == [["second"]]


def test_context_before_compressing_guides_the_summary_and_stays(stage: Callable[..., Stage]) -> None:
    """It goes with the request for the summary and beside it, and so does that of SessionStart hooks afterwards."""
    hooks = {
        "PreCompress": answers_with(specific(additionalContext="Keep the ticket number.")),
        "SessionStart": answers_with(specific(additionalContext="Use tabs.")),
    }
    here = stage([says("one")], [says("a summary")], hooks=hooks)

    async def session() -> None:
        here.agent.start()
        await here.agent.run("first")
        await here.agent.compress(PreCompressTrigger.MANUAL)
        await here.agent.close()

    asyncio.run(session())
    asked = to_json(here.model.requests[1].contents[-1])
    assert [part["text"] for part in asked["parts"]] == [
        "Summarize our conversation so far.",
        "Keep the ticket number.",
    ]
    opening = "This is a summary of our conversation so far:\n\na summary"
    assert here.sent() == [[opening, "Keep the ticket number.", "Use tabs."]]
    assert [told["source"] for told in here.told("SessionStart")] == ["startup", "compress"]
    assert any(isinstance(event, HistoryCompressed) for event in here.events)


def test_a_block_keeps_the_history_as_it_is(stage: Callable[..., Stage]) -> None:
    """Nothing is summarized, and the user is told why, each time that they asked for it."""
    here = stage([says("one")], hooks={"PreCompress": BLOCK, "SessionStart": answers_with({})})

    async def session() -> None:
        here.agent.start()
        await here.agent.run("first")
        for _ in range(2):
            answer = await here.agent.compress(PreCompressTrigger.MANUAL)
            assert answer is not None
            assert (answer.blocked, answer.reason, answer.decided_by) == (True, "not today", ("guard",))
        await here.agent.close()

    asyncio.run(session())
    assert here.sent() == [["first"]]
    assert here.notes() == ["The history was not compressed: not today (blocked by guard)"] * 2
    assert [told["source"] for told in here.told("SessionStart")] == ["startup"]


def test_a_full_history_that_must_stay_goes_on(stage: Callable[..., Stage]) -> None:
    """The hook is asked before every call, and the user is told once."""
    answers = [[calls(("list_directory", {"path": "."}))], [calls(("list_directory", {"path": "."}))], [says("one")]]
    here = stage(*answers, hooks={"PreCompress": BLOCK}, context_limit=1)
    (ended,) = here.run("go " * 100)
    assert ended.response == "one"
    assert len(here.told("PreCompress")) == 2
    assert here.notes().count("The history was not compressed: not today (blocked by guard)") == 1


def test_a_stop_before_compressing_ends_the_turn(stage: Callable[..., Stage]) -> None:
    """Neither the summary nor the answer is asked for."""
    here = stage([calls(("list_directory", {"path": "."}))], hooks={"PreCompress": STOP}, context_limit=1)
    (ended,) = here.run("go " * 100)
    assert (ended.stopped, ended.stop_reason, ended.turns) == (True, "enough", 1)


@pytest.mark.parametrize("event", ["SessionStart", "BeforeAgent", "AfterAgent"])
def test_while_nothing_is_applied_the_user_is_told_once(event: str, stage: Callable[..., Stage]) -> None:
    """Not one of these answers has an effect; a note names the hook, what it wants, and the remedy."""
    answer = {"decision": "block", "continue": False, **specific(additionalContext="c", prompt="p")}
    here = stage([says("one")], [says("two")], hooks={event: answers_with(answer)}, lifecycle="watch")
    assert [ended.response for ended in here.run("first", "second")] == ["one", "two"]
    assert here.sent() == [["first"], ["second"]]
    (note,) = here.notes()
    assert note.startswith(f"The {event} hook guard answered with a block and a stop and ")
    assert note.endswith(f"which has no effect; {LIFECYCLE_REMEDY}.")


def wait_for(path: Path) -> None:
    """Waits until a script has written a file."""
    deadline = time.monotonic() + 45
    while not path.exists():
        assert time.monotonic() < deadline, f"{path.name} does not appear"
        time.sleep(0.01)


def test_a_hook_clears_the_conversation_and_lets_the_agent_go_on(stage: Callable[..., Stage]) -> None:
    """With `clearContext` the history is forgotten before the agent goes on with the reason as its message."""
    clear = """case $(cat) in
*'"stop_hook_active":true'*) echo '{}' ;;
*) echo '{"decision": "block", "reason": "start over", "hookSpecificOutput": {"clearContext": true}}' ;;
esac"""
    here = stage([says("one")], [says("two")], hooks={"AfterAgent": clear})
    here.run("go")
    assert here.sent() == [["start over"]]
    assert "guard cleared the conversation." in here.notes()
    assert [len(request.contents) for request in here.model.requests] == [1, 1]
    assert len(read_session(transcript_path("s1")).history) == 2


def test_a_hook_clears_the_conversation_after_a_turn(stage: Callable[..., Stage]) -> None:
    """Without a block the turn ends, and the next prompt starts a new conversation."""
    clear = answers_with(specific(clearContext=True))
    here = stage([says("one")], [says("two")], hooks={"AfterAgent": clear})
    here.run("first", "second")
    assert [len(request.contents) for request in here.model.requests] == [1, 1]
    assert here.sent() == []
