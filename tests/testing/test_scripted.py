import asyncio
from typing import Any

import pytest

from hookline.apps.agent.conversation.contents import to_json
from hookline.protocol.llm import GenerateContentParameters
from hookline.testing import ScriptedModel, calls, says

REQUEST = GenerateContentParameters(model="m", contents="Hi")


def ask(model: ScriptedModel) -> list[dict[str, Any]]:
    """The chunks of one answer."""

    async def stream() -> list[dict[str, Any]]:
        return [to_json(chunk) async for chunk in model.stream(REQUEST)]

    return asyncio.run(stream())


def test_a_scripted_model_follows_its_script() -> None:
    """It gives its answers in turn and remembers what it was asked."""
    model = ScriptedModel([[says("a", finish=None), says("b", tokens=3)], [calls(("f", {"n": 1}))]], context_limit=5)
    assert ask(model) == [says("a", finish=None), says("b", tokens=3)]
    assert ask(model) == [calls(("f", {"n": 1}))]
    assert (model.requests, model.context_limit) == ([REQUEST, REQUEST], 5)


def test_a_script_can_break_off() -> None:
    """An exception in an answer is raised where it stands."""
    with pytest.raises(OSError, match="cut"):
        ask(ScriptedModel([[says("a", finish=None), OSError("cut")]]))


def test_more_calls_than_answers_fail_the_test() -> None:
    """A model that is called more often than its script says is a mistake of the test."""
    with pytest.raises(AssertionError, match="called 1 times, more often than the script says"):
        ask(ScriptedModel([]))
