"""Hooks in an agent of Strands: a tool call is refused, and an answer redacted, while it is streamed.

The model follows a script, so this needs neither a key nor a network. The hooks are those of examples/hooks.
"""

import asyncio
import json
import shlex
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from strands import Agent, tool
from strands.models import Model

from hookline import Hooks
from hookline.adapters.strands import HooklineHooks

SCRIPTS = Path(__file__).parents[1] / "hooks"


def hook(script: str) -> dict[str, Any]:
    """One of the example hooks, for every tool."""
    return {"hooks": [{"type": "command", "name": script, "command": shlex.quote(str(SCRIPTS / script))}]}


# Without `settings`, Hooks reads the settings of the project, the user and the system.
SETTINGS = {
    "enableHooks": True,
    "hooks": {"BeforeTool": [hook("guard-secrets.sh")], "AfterModel": [hook("redact-responses.py")]},
}


@tool
def write_file(path: str, text: str) -> str:
    """Writes a text to a file."""
    return f"Wrote {len(text)} characters to {path}."


class ScriptedModel(Model):
    """Tries to write two files, whatever it is asked, and then answers."""

    def __init__(self) -> None:
        self.paths = iter((".env", "notes.txt"))

    def update_config(self, **_: Any) -> None:
        """Nothing to configure."""

    def get_config(self) -> Any:
        """The configuration."""
        return {}

    def structured_output(self, *_: Any, **__: Any) -> Any:
        """Not in this script."""
        raise NotImplementedError

    async def stream(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        """One answer, in pieces."""
        path = next(self.paths, None)
        yield {"messageStart": {"role": "assistant"}}
        if path is None:
            yield {"contentBlockStart": {"start": {}}}
            for word in ("The card is", " 4111 1111", " 1111 1111."):
                yield {"contentBlockDelta": {"delta": {"text": word}}}
        else:
            yield {"contentBlockStart": {"start": {"toolUse": {"name": "write_file", "toolUseId": path}}}}
            arguments = json.dumps({"path": path, "text": "card"})
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": arguments}}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if path else "end_turn"}}


async def main() -> None:
    """Streams the agent's events."""
    with Hooks(".", settings=SETTINGS) as hooks:
        agent = Agent(ScriptedModel(), tools=[write_file], hooks=[HooklineHooks(hooks)], callback_handler=None)
        async for event in agent.stream_async("Write my card to a file."):
            if "data" in event:
                print(f"ai: {event['data']}")
            for block in event.get("message", {}).get("content", ()):
                if "toolResult" in block:
                    print(f"tool: {block['toolResult']['content'][0]['text']}")


if __name__ == "__main__":
    asyncio.run(main())
