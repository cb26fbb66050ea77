import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from hookline.apps.agent.conversation.contents import to_json
from hookline.apps.agent.conversation.transcript import TranscriptWriter, read_session, transcript_path
from hookline.apps.agent.events import AgentEvent, HistoryCompressed, ModelText, Notice, SessionStarted, TurnEnded
from hookline.apps.agent.loop import Agent
from hookline.apps.agent.tool import CallStatus
from hookline.apps.agent.toolbox import default_toolbox
from hookline.client.config import Config
from hookline.errors import ModelError, TurnLimitError
from hookline.protocol.events import PreCompressTrigger, SessionEndReason, SessionStartSource
from hookline.testing import Answer, ScriptedModel, calls, says

HookScript = Callable[..., Path]
Hooks = dict[str, str]


class Stage:
    """An agent in an empty project, with a scripted model and hooks given as shell scripts."""

    def __init__(
        self, project: Path, write: HookScript, answers: Sequence[Answer], hooks: Hooks, **options: Any
    ) -> None:
        self.project = project
        self.events: list[AgentEvent] = []
        self.model = ScriptedModel(answers, context_limit=options.pop("context_limit", 1_000_000))
        settings = {
            "enableHooks": bool(hooks),
            "hooks": {
                event: [{"hooks": [{"type": "command", "command": str(write(body, f"{event}.sh"))}]}]
                for event, body in hooks.items()
            },
        }
        self.path = transcript_path("s1")
        self.agent = Agent(
            config=Config(project, session_id="s1", settings=settings, transcript_path=str(self.path)),
            model=self.model,
            toolbox=options.pop("toolbox", default_toolbox()),
            approves_all=True,
            transcript=TranscriptWriter(self.path),
            listener=self.events.append,
            context_limit=options.pop("limit", None),
            **options,
        )

    def run(self, *prompts: str) -> TurnEnded:
        """A whole session with these prompts; what the last one ended with."""

        async def session() -> TurnEnded:
            self.agent.start()
            try:
                return [await self.agent.run(prompt) for prompt in prompts][-1]
            finally:
                await self.agent.close()

        return asyncio.run(session())

    def sent(self, number: int) -> list[dict[str, Any]]:
        """The contents of one of the requests that the model got."""
        return [to_json(content) for content in self.model.requests[number].contents]

    def history(self) -> list[dict[str, Any]]:
        """The conversation as it stands."""
        return [to_json(content) for content in self.agent.history]

    def recorded(self) -> list[dict[str, Any]]:
        """The lines of the transcript."""
        return [json.loads(line) for line in self.path.read_text().splitlines()]


@pytest.fixture
def stage(project: Path, hook_script: HookScript) -> Callable[..., Stage]:
    """Makes a stage from the model's answers and the hooks' scripts."""

    def make(*answers: Answer, hooks: Hooks | None = None, **options: Any) -> Stage:
        return Stage(project, hook_script, answers, hooks or {}, **options)

    return make


def user(*texts: str) -> dict[str, Any]:
    """A message of the user."""
    return {"role": "user", "parts": [{"text": text} for text in texts]}


def said(text: str) -> dict[str, Any]:
    """A message of the model."""
    return {"role": "model", "parts": [{"text": text}]}


def answers_with(answer: dict[str, Any]) -> str:
    """A hook's script that gives an answer."""
    return f"cat > /dev/null\ncat <<'END'\n{json.dumps(answer)}\nEND"


def written_pid(path: Path) -> int:
    """The process id that a script writes to a file, as soon as it is there."""
    deadline = time.monotonic() + 45
    while not (path.exists() and path.read_text().endswith("\n")):
        assert time.monotonic() < deadline, "the script was not started"
        time.sleep(0.01)
    return int(path.read_text())


STOP = answers_with({"continue": False, "stopReason": "enough"})
WRITE = calls(("write_file", {"file_path": "a.txt", "content": "hi\n"}))


def test_tools_are_run_and_answered_until_the_model_is_done(stage: Callable[..., Stage]) -> None:
    """The model's calls are run, their results sent back, and the next answer without calls ends it."""
    here = stage([WRITE], [says("Do", finish=None), says("ne.")])
    ended = here.run("write it")
    assert (here.project / "a.txt").read_text() == "hi\n"
    assert (ended.response, ended.stopped, ended.stop_reason, ended.turns) == ("Done.", False, None, 2)
    assert [(call.name, call.status) for call in ended.calls] == [("write_file", CallStatus.SUCCESS)]
    result = ended.calls[0].result
    assert result is not None
    answer = {"functionResponse": {"name": "write_file", "response": {"output": result.llm_content}}}
    assert here.sent(1) == [
        user("write it"),
        {"role": "model", "parts": WRITE["candidates"][0]["content"]["parts"]},
        {"role": "user", "parts": [answer]},
    ]
    assert here.history() == [*here.sent(1), said("Done.")]
    assert [event for event in here.events if isinstance(event, ModelText)] == [
        ModelText(text="Do", is_final=False),
        ModelText(text="ne.", is_final=False),
        ModelText(text=""),
    ]
    assert here.events[0] == SessionStarted(session_id="s1", transcript_path=str(here.path), model="scripted")
    assert here.events[-1] == ended


@pytest.mark.req("HOOK-140")
def test_a_tool_that_was_not_allowed_is_refused(stage: Callable[..., Stage]) -> None:
    """The allow-list is enforced here too, whatever the model calls."""
    choice = {"hookSpecificOutput": {"toolConfig": {"mode": "AUTO", "allowedFunctionNames": ["read_file"]}}}
    here = stage([WRITE], [says("ok")], hooks={"BeforeToolSelection": answers_with(choice)})
    ended = here.run("go")
    assert [call.status for call in ended.calls] == [CallStatus.ERROR]
    assert not (here.project / "a.txt").exists()


@pytest.mark.req("HOOK-134", "HOOK-040", "HOOK-048", "HOOK-058")
@pytest.mark.parametrize(
    ("event", "model_calls", "response", "was_written"),
    [
        ("BeforeToolSelection", 0, "", False),
        ("BeforeModel", 0, "", False),
        ("AfterModel", 1, "enough", False),
        ("BeforeTool", 1, "", False),
        ("AfterTool", 1, "", True),
    ],
)
def test_any_of_the_five_events_can_stop_the_agent(
    event: str, model_calls: int, response: str, was_written: bool, stage: Callable[..., Stage]
) -> None:
    """`continue: false` ends the loop after its event, with its reason, and the conversation stays usable."""
    here = stage([WRITE], [says("next time")], hooks={event: STOP})
    ended = here.run("go")
    assert (ended.stopped, ended.stop_reason, ended.response) == (True, "enough", response)
    assert len(here.model.requests) == model_calls
    assert (here.project / "a.txt").exists() is was_written
    opened = sum("functionCall" in part for content in here.history() for part in content["parts"])
    answered = sum("functionResponse" in part for content in here.history() for part in content["parts"])
    assert opened == answered


@pytest.mark.req("HOOK-159")
def test_a_note_after_the_model_goes_with_the_results_of_its_tools(stage: Callable[..., Stage]) -> None:
    """AfterModel's system message is the last part of the next message to the model."""
    here = stage([WRITE], [says("ok")], hooks={"AfterModel": answers_with({"systemMessage": "Careful."})})
    here.run("go")
    assert here.sent(1)[2]["parts"][1:] == [{"text": "[System] Careful."}]


@pytest.mark.req("HOOK-159")
def test_a_note_after_the_last_answer_goes_with_the_next_prompt(stage: Callable[..., Stage]) -> None:
    """Where no tool was called, the next message to the model is the next prompt."""
    here = stage([says("one")], [says("two")], hooks={"AfterModel": answers_with({"systemMessage": "Careful."})})
    here.run("first", "second")
    assert here.sent(1) == [user("first"), said("one"), user("second", "[System] Careful.")]


@pytest.mark.req("HOOK-159")
@pytest.mark.parametrize("event", ["BeforeToolSelection", "BeforeModel"])
def test_a_note_before_the_model_is_for_one_call_only(event: str, stage: Callable[..., Stage]) -> None:
    """It is in the request and never in the history."""
    here = stage([says("one")], hooks={event: answers_with({"systemMessage": "Careful."})})
    here.run("first")
    assert here.sent(0) == [user("first", "[System] Careful.")]
    assert here.history() == [user("first"), said("one")]


@pytest.mark.parametrize("event", ["BeforeToolSelection", "BeforeModel", "AfterModel", "BeforeTool", "AfterTool"])
def test_half_a_character_is_harmless(event: str, stage: Callable[..., Stage]) -> None:
    """JSON can hold half a character; from a hook it reaches the model as a replacement character."""
    note = r"""echo '{"systemMessage": "a\ud800z", "hookSpecificOutput": {"additionalContext": "b\ud800y"}}'"""
    here = stage([WRITE], [says("ok")], hooks={event: f"cat > /dev/null; {note}"})
    assert here.run("g\ud800o").response == "ok"
    assert "a\ufffdz" in json.dumps(here.sent(1), ensure_ascii=False)
    assert read_session(here.path).history == list(here.agent.history)


@pytest.mark.req("HOOK-037", "HOOK-202")
def test_an_empty_response_ends_the_turn(stage: Callable[..., Stage]) -> None:
    """A blocked call without a response ends the turn without a word, and leaves nothing empty in the history."""
    here = stage(hooks={"BeforeModel": answers_with({"decision": "block", "reason": "no"})})
    ended = here.run("go")
    assert (ended.response, ended.blocked, ended.reason, ended.stopped, ended.turns) == ("", True, "no", False, 1)
    assert here.history() == [user("go")]


@pytest.mark.req("HOOK-159")
@pytest.mark.parametrize(
    ("event", "answer"),
    [
        ("BeforeModel", {"decision": "block"}),
        ("BeforeModel", {"continue": False}),
        ("BeforeToolSelection", {"continue": False}),
    ],
)
def test_a_note_beside_a_block_or_a_stop_is_sent_with_the_next_message(
    event: str, answer: dict[str, Any], stage: Callable[..., Stage]
) -> None:
    """The call it was meant for is not made, so the model reads it once, in the next message of the session."""
    script = f"test -e seen && exit 0; touch seen; {answers_with({**answer, 'systemMessage': 'Careful.'})}"
    here = stage([says("two")], [says("three")], hooks={event: script})
    here.run("first", "second", "third")
    assert here.sent(0) == [user("first"), user("second", "[System] Careful.")]
    assert here.sent(1)[-1] == user("third")


@pytest.mark.req("HOOK-159")
def test_a_note_that_was_not_sent_is_resumed(stage: Callable[..., Stage]) -> None:
    """A session that ended before the next message sends the note when it is resumed, and then no more."""
    blocking = answers_with({"decision": "block", "systemMessage": "Careful."})
    stage(hooks={"BeforeModel": blocking}).run("first")
    past = read_session(transcript_path("s1"))
    assert past.notes == ["Careful."]
    again = stage([says("two")], history=past.history, notes=past.notes)
    again.run("second")
    assert again.sent(0) == [user("first"), user("second", "[System] Careful.")]
    assert read_session(again.path).notes == []


@pytest.mark.parametrize(
    ("chunk", "reason"),
    [
        ({"candidates": [{"finishReason": "MAX_TOKENS"}]}, "MAX_TOKENS"),
        ({"promptFeedback": {"blockReason": "SAFETY"}}, "SAFETY"),
    ],
)
def test_why_the_model_says_nothing_is_told(chunk: dict[str, Any], reason: str, stage: Callable[..., Stage]) -> None:
    """An answer without a word is not passed over in silence when the model gives a reason."""
    here = stage([chunk])
    assert here.run("go").response == ""
    assert Notice(text=f"The model gave no answer: {reason}.") in here.events


@pytest.mark.req("HOOK-046", "HOOK-049")
def test_what_after_model_changed_is_what_is_kept(stage: Callable[..., Stage]) -> None:
    """A redaction holds for the person, the history and the next request."""
    response = {"candidates": [{"content": {"role": "model", "parts": ["[redacted]"]}}]}
    redact = answers_with({"hookSpecificOutput": {"llm_response": response}})
    here = stage([says("secret")], [says("secret")], hooks={"AfterModel": redact})
    ended = here.run("first", "second")
    assert ended.response == "[redacted]"
    assert here.sent(1) == [user("first"), said("[redacted]"), user("second")]
    assert "secret" not in str(here.events) + here.path.read_text()


@pytest.mark.req("HOOK-049")
def test_a_suppressed_answer_is_kept_and_not_shown(stage: Callable[..., Stage]) -> None:
    """`suppressOutput` after the model hides the text; its tool calls are run as usual."""
    chunk = {"candidates": [{"content": {"role": "model", "parts": [{"text": "hidden"}, *_parts(WRITE)]}}]}
    here = stage([chunk], [says("hidden too")], hooks={"AfterModel": answers_with({"suppressOutput": True})})
    ended = here.run("go")
    assert (ended.response, len(ended.calls)) == ("", 1)
    assert [event for event in here.events if isinstance(event, ModelText)] == []
    assert here.history()[-1] == said("hidden too")


def _parts(chunk: dict[str, Any]) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = chunk["candidates"][0]["content"]["parts"]
    return parts


def test_the_turns_are_limited(stage: Callable[..., Stage]) -> None:
    """An agent that never comes to an end is ended with an error, and its conversation is whole."""
    here = stage([WRITE], [WRITE], max_turns=2)
    with pytest.raises(TurnLimitError, match="within 2 turns; allow it more with --max-turns"):
        here.run("go")
    assert len(here.history()) == 5


def test_a_failing_model_leaves_the_conversation_usable(stage: Callable[..., Stage]) -> None:
    """After an error the next prompt is answered from where things stood."""
    here = stage([WRITE], [says("Hal", finish=None), ModelError("cut")], [says("Hello")])

    async def session() -> TurnEnded:
        here.agent.start()
        with pytest.raises(ModelError, match="cut"):
            await here.agent.run("first")
        ended = await here.agent.run("second")
        await here.agent.close()
        return ended

    assert asyncio.run(session()).response == "Hello"
    assert [content["role"] for content in here.sent(2)] == ["user", "model", "user", "user"]


def test_a_cancelled_turn_leaves_the_conversation_usable(stage: Callable[..., Stage]) -> None:
    """Cancelling while a tool runs ends the tool with its group, and its call is answered in the history."""
    shell = calls(("run_shell_command", {"command": "echo $$ > pid; exec sleep 60"}))
    here = stage([shell], [says("Hello")])

    async def session() -> None:
        here.agent.start()
        turn = asyncio.ensure_future(here.agent.run("first"))
        pid = await asyncio.to_thread(written_pid, here.project / "pid")
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
        await here.agent.run("second")
        await here.agent.close()

    asyncio.run(session())
    (answer,) = here.sent(1)[2]["parts"]
    assert list(answer["functionResponse"]["response"]) == ["error"]
    assert here.history()[-1] == said("Hello")


@pytest.mark.req("HOOK-203")
def test_the_other_events_fire_at_their_moments(stage: Callable[..., Stage]) -> None:
    """Session, agent and compression events reach their hooks, with what they are about, and nobody waits for them."""
    # Into files of their own, because they run at the same time.
    tell = 'cat > told-$$.json\necho \'{"continue": false, "decision": "block"}\''
    events = ("SessionStart", "SessionEnd", "BeforeAgent", "AfterAgent", "PreCompress")
    here = stage([says("one")], [says("a summary")], hooks=dict.fromkeys(events, tell))

    async def session() -> None:
        here.agent.start(SessionStartSource.RESUME)
        await here.agent.run("first")
        await here.agent.compress(PreCompressTrigger.MANUAL)
        await here.agent.close(SessionEndReason.CLEAR)

    asyncio.run(session())
    told = [json.loads(path.read_text()) for path in here.project.glob("told-*.json")]
    facts = {"session_id", "cwd", "timestamp", "hook_event_name", "transcript_path"}
    own = [(one["hook_event_name"], {key: one[key] for key in one if key not in facts}) for one in told]
    assert sorted(own, key=repr) == [
        ("AfterAgent", {"prompt": "first", "prompt_response": "one", "stop_hook_active": False}),
        ("BeforeAgent", {"prompt": "first"}),
        ("PreCompress", {"trigger": "manual"}),
        ("SessionEnd", {"reason": "clear"}),
        ("SessionStart", {"source": "compress"}),
        ("SessionStart", {"source": "resume"}),
    ]


@pytest.mark.req("HOOK-203")
def test_an_endless_hook_of_the_other_events_is_not_waited_for(stage: Callable[..., Stage]) -> None:
    """The answer comes while such a hook still runs, and leaving at once ends it with its group."""
    here = stage([says("one")], hooks={"BeforeAgent": "echo $$ > pid; sleep 60"})

    async def session() -> TurnEnded:
        here.agent.start()
        ended = await here.agent.run("first")
        pid = await asyncio.to_thread(written_pid, here.project / "pid")
        await here.agent.abandon()
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
        return ended

    assert asyncio.run(session()).response == "one"


@pytest.mark.req("HOOK-161")
def test_hooks_are_told_where_the_transcript_is(stage: Callable[..., Stage]) -> None:
    """`transcript_path` leads to the session's record, which has the prompt in it when the model is asked."""
    copy = 'cat > told.json; cp "$(sed \'s/.*"transcript_path":"\\([^"]*\\)".*/\\1/\' told.json)" copy.jsonl'
    here = stage([says("one")], hooks={"BeforeModel": copy})
    here.run("first")
    kinds = [json.loads(line)["type"] for line in (here.project / "copy.jsonl").read_text().splitlines()]
    assert kinds == ["session", "user"]


def test_a_full_history_is_compressed(stage: Callable[..., Stage]) -> None:
    """When the model reports a nearly full context, a summary takes the place of the beginning."""
    here = stage(
        [says("x" * 2000, tokens=900)],
        [says("We talked.")],
        [says("two", tokens=100)],
        context_limit=1000,
    )
    here.run("first", "second")
    assert [len(request.contents) for request in here.model.requests] == [1, 3, 3]
    assert here.model.requests[1].config.tools is None
    opening = user("This is a summary of our conversation so far:\n\nWe talked.")
    assert here.sent(2) == [opening, said("I have read the summary and will continue from there."), user("second")]
    (told,) = [event for event in here.events if isinstance(event, HistoryCompressed)]
    assert (told.trigger, told.before_tokens >= 900, told.after_tokens < 200) == ("auto", True, True)


def test_a_server_with_less_room_is_asked_for_less(stage: Callable[..., Stage]) -> None:
    """`--context-limit` stands in place of the model's own limit."""
    here = stage([says("x" * 2000, tokens=900)], [says("We talked.")], [says("two", tokens=100)], limit=1000)
    here.run("first", "second")
    assert [len(request.contents) for request in here.model.requests] == [1, 3, 3]


@pytest.mark.parametrize(
    ("hooks", "why"),
    [
        pytest.param(
            {"BeforeModel": answers_with({"decision": "block", "reason": "Too late."})},
            "the model was not called: Too late.",
            id="blocked",
        ),
        pytest.param({}, "the model wrote no summary.", id="empty"),
    ],
)
def test_without_a_summary_the_history_stays(hooks: Hooks, why: str, stage: Callable[..., Stage]) -> None:
    """When a hook blocks the summary, or it is empty, the history stays as it is and a note says why."""
    here = stage([says("one")], [says("")])
    here.run("first")
    before = here.history()
    again = stage([says("")], hooks=hooks, history=here.agent.history)
    asyncio.run(again.agent.compress())
    assert again.history() == before
    assert again.events[-1] == Notice(text=f"The history was not compressed: {why}")


def test_a_stop_while_compressing_stops_the_agent(stage: Callable[..., Stage]) -> None:
    """The request for a summary is a model call like any other: a hook that stops it stops the agent."""
    here = stage([says("x" * 2000, tokens=900)], context_limit=1000)
    here.run("first")
    again = stage(hooks={"BeforeModel": STOP}, history=here.agent.history, context_limit=500)
    ended = again.run("second")
    assert (ended.stopped, ended.stop_reason, again.model.requests) == (True, "enough", [])


def test_a_note_after_the_summary_is_passed_on(stage: Callable[..., Stage]) -> None:
    """What AfterModel says about the summary reaches the model with the next message."""
    here = stage(
        [says("one")], [says("summary")], [says("two")], hooks={"AfterModel": answers_with({"systemMessage": "N"})}
    )

    async def session() -> None:
        here.agent.start()
        await here.agent.run("first")
        await here.agent.compress()
        await here.agent.run("second")
        await here.agent.close()

    asyncio.run(session())
    assert here.sent(2)[-1] == user("second", "[System] N", "[System] N")


def test_an_empty_history_is_not_compressed(stage: Callable[..., Stage]) -> None:
    """Where nothing was said yet, no call is made."""
    here = stage()
    asyncio.run(here.agent.compress())
    assert here.events == [Notice(text="There is nothing to compress yet.")]


@pytest.mark.req("HOOK-010")
def test_disabled_hooks_cost_nothing(project: Path) -> None:
    """With hooks disabled the agent does its work with nothing of the engine, the translator or the bus loaded."""
    code = f"""
import asyncio, sys
from hookline.apps.agent.loop import Agent
from hookline.apps.agent.toolbox import default_toolbox
from hookline.apps.agent.conversation.transcript import TranscriptWriter, transcript_path
from hookline.client.config import Config
from hookline.testing import ScriptedModel, calls, says

async def main():
    config = Config({str(project)!r}, settings={{"hooks": {{"BeforeTool": []}}}})
    write = calls(("write_file", {{"file_path": "a.txt", "content": "hi"}}))
    model = ScriptedModel([[write], [says("Done.")], [says("A summary.")]])
    path = transcript_path("s1")
    agent = Agent(config=config, model=model, toolbox=default_toolbox(), approves_all=True,
                  transcript=TranscriptWriter(path), listener=lambda event: None)
    agent.start()
    await agent.run("go")
    await agent.compress()
    await agent.close()

asyncio.run(main())
loaded = {{name.removeprefix("hookline.") for name in sys.modules if name.startswith("hookline.")}}
print(*sorted(name for name in loaded if name.partition(".")[0] in ("engine", "formats", "bus", "system")))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["formats", "formats.genai", "formats.genai.sdk"]
    assert (project / "a.txt").read_text() == "hi"
