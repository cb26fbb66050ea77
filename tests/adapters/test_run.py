"""The decisions that all adapters share, with OpenAI's format in place of a framework's."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hookline import FormatError, Hooks
from hookline.adapters.blocking import finished
from hookline.adapters.run import AgentRun, CannedResponse, SharedRun
from hookline.adapters.table import Adapter
from hookline.client.triggers.results import ToolResult
from hookline.errors import AgentStoppedError
from hookline.formats import openai
from hookline.hook import AfterModel, BeforeModel, Deny, Stop

SELF = Adapter(
    name="own", framework="My framework", extra="", package="own", since="1", front="own", use="own", go_on="go on"
)
UNKNOWN: Any = {"model": "m", "messages": [{"role": "user", "content": [{"type": "mystery", "body": "hi"}]}]}
KNOWN: Any = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
ANSWER: Any = {"choices": [{"message": {"role": "assistant", "content": "s3cret"}}]}
ODD: Any = {"choices": [{"message": {"role": "assistant", "content": [{"type": "mystery"}]}}]}


def run_of(hooks: Hooks, session_id: str | None = "s-1", **options: Any) -> AgentRun:
    """An agent on requests of OpenAI."""
    return AgentRun(SELF, openai, hooks, session_id, **options)


def hooks_of(project: Path, *events: str) -> Hooks:
    """A hook for each of the events that does nothing."""
    group = [{"hooks": [{"type": "command", "command": "true"}]}]
    return Hooks(project, settings={"enableHooks": True, "hooks": dict.fromkeys(events, group)})


@pytest.mark.parametrize("events", [(), ("BeforeTool", "AfterTool")], ids=["no-hooks", "tool-hooks"])
def test_nothing_is_read_where_no_hook_would_run(tmp_path: Path, events: tuple[str, ...]) -> None:
    """A message of an unknown shape does not break an agent that has no hooks around its model."""

    async def converse() -> None:
        run = run_of(hooks_of(tmp_path, *events))
        assert await run.before_model(UNKNOWN) is UNKNOWN
        assert await run.after_model(ODD) is ODD
        await run.resume(lambda: UNKNOWN)
        assert not isinstance(await run.before_tool("read_file", {}), ToolResult)

    asyncio.run(converse())


@pytest.mark.parametrize("event", ["BeforeToolSelection", "BeforeModel", "AfterModel"])
def test_an_unknown_shape_is_an_error_where_a_hook_would_miss_it(tmp_path: Path, event: str) -> None:
    """Hooks around the model never get an empty conversation."""

    async def converse() -> None:
        run = run_of(hooks_of(tmp_path, event))
        await run.before_model(UNKNOWN)
        await run.after_model(ANSWER)

    with pytest.raises(FormatError, match="unknown type 'mystery'"):
        asyncio.run(converse())


def test_an_unknown_answer_is_an_error(tmp_path: Path) -> None:
    """The same for what the model says."""

    async def converse() -> None:
        run = run_of(hooks_of(tmp_path, "AfterModel"))
        await run.before_model(KNOWN)
        await run.after_model(ODD)

    with pytest.raises(FormatError, match="unknown type 'mystery'"):
        asyncio.run(converse())


def test_a_hook_that_comes_during_the_call_is_told_the_request(tmp_path: Path) -> None:
    """It was not read before, because no hook existed then."""
    hooks, told = Hooks(tmp_path, settings={}), list[Any]()

    async def converse() -> Any:
        run = run_of(hooks)
        await run.before_model(KNOWN)

        @hooks.on(AfterModel)
        def see(event: AfterModel) -> None:
            told.append(event.llm_request["messages"])

        return await run.after_model(ANSWER)

    assert asyncio.run(converse()) is ANSWER
    assert told == [[{"role": "user", "content": "hi"}]]


def test_settings_that_can_not_be_read_block_as_asked(tmp_path: Path) -> None:
    """Where faults block and it is unknown whether hooks exist, the request is not sent without them."""
    settings = tmp_path / "settings.json"
    settings.write_text("{")
    hooks = Hooks(tmp_path, settings_files=[settings], on_fault="block", quiet=True)
    assert isinstance(asyncio.run(run_of(hooks).before_model(KNOWN)), CannedResponse)


def test_a_stop_ends_the_run_for_all_of_its_agents(tmp_path: Path) -> None:
    """The first reason counts, for models and for tools, in a thread without a loop as well."""
    hooks = Hooks(tmp_path, settings={})
    hooks.on(BeforeModel)(lambda _event: Stop("enough"))
    whole = SharedRun()
    first, second = (
        whole.agent(name, lambda stop, name=name: run_of(hooks, agent=name, stop=stop, is_blocking=True))  # type: ignore[misc]
        for name in ("first", "second")
    )
    assert whole.agent("first", lambda _: pytest.fail("there is one already")) is first
    said = finished(first.before_model(KNOWN))
    assert (said.text, said.is_answer) == ("enough", False)
    assert said.response()["choices"][0]["message"]["content"] == "enough"
    with pytest.raises(AgentStoppedError, match="enough"):
        said.response(is_text=False)
    refused = finished(second.before_tool("read_file", {}))
    assert (refused.llm_content, finished(second.before_model(KNOWN)).text) == ("enough", "enough")


def test_a_dropped_note_is_reported_where_the_session_ends_with_the_run(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A run without a session of the framework's own has no next request; with one the note waits for it."""
    hooks = Hooks(tmp_path, settings={})

    def texts(request: Any) -> list[str]:
        return [one["content"] for one in request["messages"]]

    async def converse() -> None:
        lasting = run_of(hooks)
        lasting.keep("Be brief.")
        lasting.end()
        assert texts(await run_of(hooks).before_model(KNOWN)) == ["hi", "[System] Be brief."]
        assert await run_of(hooks).before_model(KNOWN) is KNOWN
        alone = run_of(hooks, None)
        alone.keep("Be brief.")
        alone.end()

    asyncio.run(converse())
    assert capfd.readouterr().err.count("the model never reads it; go on") == 1


def test_a_block_is_an_answer_only_if_a_hook_gave_one(tmp_path: Path) -> None:
    """A reason is not data that the run could return."""
    hooks = Hooks(tmp_path, settings={})
    hooks.on(BeforeModel)(lambda _event: Deny("not now"))
    said = asyncio.run(run_of(hooks).before_model(KNOWN))
    assert (said.text, said.is_answer) == ("not now", False)
