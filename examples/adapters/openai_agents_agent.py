"""Hooks in an agent of OpenAI's Agents SDK: a tool call is refused, and an answer redacted, while it is streamed.

The model is the SDK's scripted one, so this needs neither a key nor a network. The hooks are those of examples/hooks.
"""

import asyncio
import json
import shlex
from pathlib import Path
from typing import Any

from agents import Agent, Runner, function_tool, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call

from hookline import Hooks
from hookline.adapters.openai_agents import with_hooks

SCRIPTS = Path(__file__).parents[1] / "hooks"


def hook(script: str) -> dict[str, Any]:
    """One of the example hooks, for every tool."""
    return {"hooks": [{"type": "command", "name": script, "command": shlex.quote(str(SCRIPTS / script))}]}


# Without `settings`, Hooks reads the settings of the project, the user and the system.
SETTINGS = {
    "enableHooks": True,
    "hooks": {"BeforeTool": [hook("guard-secrets.sh")], "AfterModel": [hook("redact-responses.py")]},
}


@function_tool
def write_file(path: str, text: str) -> str:
    """Writes a text to a file."""
    return f"Wrote {len(text)} characters to {path}."


def call(path: str) -> Any:
    """The model's call of the tool."""
    return function_call("write_file", json.dumps({"path": path, "text": "card"}), call_id=f"call-{path}")


async def main() -> None:
    """Streams the agent's run."""
    set_tracing_disabled(disabled=True)
    said = assistant_message("The card is 4111 1111 1111 1111.")
    model = ScriptedModel([[call(".env")], [call("notes.txt")], [said]])
    with Hooks(".", settings=SETTINGS) as hooks:
        agent = with_hooks(Agent(name="writer", model=model, tools=[write_file]), hooks)
        async for event in Runner.run_streamed(agent, "Write my card to a file.").stream_events():
            if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                print(f"model: {event.data.delta}")
            elif event.type == "run_item_stream_event" and event.name == "tool_output":
                print(f"tool: {event.item.output}")


if __name__ == "__main__":
    asyncio.run(main())
