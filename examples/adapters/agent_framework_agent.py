"""Hooks in an agent of Agent Framework: a tool call is refused, and an answer redacted, while it is streamed.

The chat client follows a script, so this needs neither a key nor a network. The hooks are those of examples/hooks.
"""

import asyncio
import json
import shlex
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    ResponseStream,
    tool,
)

from hookline import Hooks
from hookline.adapters.agent_framework import hookline_middleware

SCRIPTS = Path(__file__).parents[1] / "hooks"


def hook(script: str) -> dict[str, Any]:
    """One of the example hooks, for every tool."""
    return {"hooks": [{"type": "command", "name": script, "command": shlex.quote(str(SCRIPTS / script))}]}


# Without `settings`, Hooks reads the settings of the project, the user and the system.
SETTINGS = {
    "enableHooks": True,
    "hooks": {"BeforeTool": [hook("guard-secrets.sh")], "AfterModel": [hook("redact-responses.py")]},
}


@tool(approval_mode="never_require")
def write_file(path: str, text: str) -> str:
    """Writes a text to a file."""
    return f"Wrote {len(text)} characters to {path}."


class ScriptedClient(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):
    """Tries to write two files, whatever it is asked, and then answers."""

    def __init__(self) -> None:
        super().__init__()
        self.paths = iter((".env", "notes.txt"))

    def _inner_get_response(self, **_: Any) -> Any:
        return ResponseStream(self._updates(next(self.paths, None)), finalizer=ChatResponse.from_updates)

    async def _updates(self, path: str | None) -> AsyncIterator[Any]:
        if path is not None:
            arguments = json.dumps({"path": path, "text": "card"})
            call = Content.from_function_call(f"call-{path}", "write_file", arguments=arguments)
            yield ChatResponseUpdate(role="assistant", contents=[call])
            return
        for word in ("The card is", " 4111 1111", " 1111 1111."):
            yield ChatResponseUpdate(role="assistant", contents=[Content.from_text(word)])


async def main() -> None:
    """Streams the agent's updates."""
    with Hooks(".", settings=SETTINGS) as hooks:
        agent = Agent(client=ScriptedClient(), tools=[write_file], middleware=hookline_middleware(hooks))
        async for update in agent.run("Write my card to a file.", stream=True):
            if update.text:
                print(f"ai: {update.text}")
            for content in update.contents:
                if content.type == "function_result":
                    print(f"tool: {content.result}")


if __name__ == "__main__":
    asyncio.run(main())
