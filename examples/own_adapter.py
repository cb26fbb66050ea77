"""An adapter of your own, and the table of effects that proves it: `python examples/own_adapter.py`.

The framework here lets a program wrap its tools and nothing else. So the adapter has four effects, and declares that it
can't have the others; the table checks both.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from hookline import Hooks
from hookline.adapters.table import report_inabilities
from hookline.errors import AgentStoppedError
from hookline.testing import effects
from hookline.testing.effects import Conversation, Request, RunOutcome, Turn

Tool = Callable[..., Any]


class Framework:
    """Somebody's framework: it asks a model, and runs the tools that the model calls."""

    def __init__(self, model: Callable[[list[str], list[str]], Turn], tools: dict[str, Tool]) -> None:
        """`model` gets the texts and the tool results so far."""
        self.model, self.tools, self.said = model, tools, list[str]()

    async def run(self, *texts: str) -> None:
        """Runs until the model calls no tool."""
        told, results = list(texts), list[str]()
        while True:
            answer = self.model(told, results)
            told.append(answer.text)
            self.said.append(answer.text)
            if answer.call is None:
                return
            name, arguments = answer.call
            results.append(await self.tools[name](**arguments))


NO_MODEL = "Framework lets nobody between itself and its model"
CANNOT = {
    "request rewrite": NO_MODEL,
    "response redaction": NO_MODEL,
    "synthetic response": NO_MODEL,
    "tool restriction": NO_MODEL,
    "stop: BeforeToolSelection": NO_MODEL,
    "stop: BeforeModel": NO_MODEL,
    "stop: AfterModel": NO_MODEL,
}


def with_hooks(tools: Sequence[Tool], hooks: Hooks) -> dict[str, Tool]:
    """The adapter: the tools between their hooks."""
    report_inabilities(hooks, "Framework", CANNOT)
    session = hooks.session()

    def hooked(tool: Tool) -> Tool:
        async def call(**arguments: Any) -> str:
            result = await session.run_tool(tool.__name__, arguments, lambda given: tool(**given))
            if result.should_stop:
                raise AgentStoppedError(result.stop_reason or "")
            return str(result.llm_content)

        return call

    return {tool.__name__: hooked(tool) for tool in tools}


class FrameworkHost:
    """How the table runs a conversation in the framework, with a model that follows the script."""

    async def run(self, hooks: Hooks, conversation: Conversation, tools: Sequence[Tool]) -> RunOutcome:
        """The conversation in a new agent."""
        turns, requests = iter(conversation.turns), list[Request]()

        def model(texts: list[str], results: list[str]) -> Turn:
            names = tuple(tool.__name__ for tool in tools)
            requests.append(Request(texts=tuple(texts), results=tuple(results), tools=names))
            return next(turns)

        agent = Framework(model, with_hooks(tools, hooks))
        try:
            await agent.run(conversation.system, conversation.prompt)
        except AgentStoppedError as stop:
            agent.said.append(str(stop))
        return RunOutcome(shown=tuple(agent.said), requests=tuple(requests))


async def main() -> None:
    """Checks every row."""
    impossible = {key.partition(": ")[0] for key in CANNOT if ": " not in key}
    for effect in effects.ROWS:
        await effects.check(FrameworkHost(), effect, cannot=CANNOT)
        print(f"{effect}: {'impossible, and reported' if effect.name in impossible else 'holds'}")


if __name__ == "__main__":
    asyncio.run(main())
