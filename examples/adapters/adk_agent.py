"""Hooks in an agent of Google ADK: a tool call is refused, and an answer redacted, while it is streamed.

The model is a class of this file, so this needs neither a key nor a network. The hooks are those of examples/hooks.
"""

import asyncio
import shlex
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from google.adk.agents import Agent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types

from hookline import Hooks
from hookline.adapters.adk import HooklinePlugin

SCRIPTS = Path(__file__).parents[1] / "hooks"


def hook(script: str) -> dict[str, Any]:
    """One of the example hooks, for every tool."""
    return {"hooks": [{"type": "command", "name": script, "command": shlex.quote(str(SCRIPTS / script))}]}


# Without `settings`, Hooks reads the settings of the project, the user and the system.
SETTINGS = {
    "enableHooks": True,
    "hooks": {"BeforeTool": [hook("guard-secrets.sh")], "AfterModel": [hook("redact-responses.py")]},
}


def write_file(path: str, text: str) -> str:
    """Writes a text to a file."""
    return f"Wrote {len(text)} characters to {path}."


class ScriptedModel(BaseLlm):
    """Calls the tool twice, and then says a text, in pieces if it has to stream."""

    model: str = "scripted"

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: FBT001, FBT002 - as ADK calls it
    ) -> AsyncIterator[LlmResponse]:
        """The next answer: the number of the model's contents says which."""
        turn = sum(content.role == "model" for content in llm_request.contents)
        paths = (".env", "notes.txt")
        if turn < len(paths):
            part = types.Part.from_function_call(name="write_file", args={"path": paths[turn], "text": "card"})
            yield LlmResponse(content=types.Content(role="model", parts=[part]))
            return
        text = "The card is 4111 1111 1111 1111."
        for word in text.split(" ") if stream else ():
            yield LlmResponse(content=types.ModelContent(word), partial=True)
        yield LlmResponse(content=types.ModelContent(text))


async def main() -> None:
    """Runs the agent and prints its events."""
    with Hooks(".", settings=SETTINGS) as hooks:
        agent = Agent(name="writer", model=ScriptedModel(), tools=[write_file])
        runner = InMemoryRunner(agent, plugins=[HooklinePlugin(hooks)])
        session = await runner.session_service.create_session(app_name=runner.app_name, user_id="me")
        question = types.UserContent("Write my card to a file.")
        streamed = RunConfig(streaming_mode=StreamingMode.SSE)
        async for event in runner.run_async(
            user_id="me", session_id=session.id, new_message=question, run_config=streamed
        ):
            for part in event.content.parts if event.content else ():
                if part.function_response:
                    print(f"tool: {part.function_response.response}")
                elif part.text:
                    print(f"model: {part.text}")


if __name__ == "__main__":
    asyncio.run(main())
