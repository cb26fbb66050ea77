"""Hooks in an agent of LangChain: a tool call is refused, and an answer redacted, while it is streamed.

The model is LangChain's own fake one, so this needs neither a key nor a network. The hooks are those of examples/hooks.
"""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from hookline import Hooks
from hookline.adapters.langchain import HooklineMiddleware

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


class ScriptedModel(GenericFakeChatModel):
    """Answers in turn, whatever it is asked."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:  # noqa: ARG002 - the script knows its tools
        """The model itself."""
        return self


def script() -> Iterator[AIMessage]:
    """Return the model's answer."""
    for number, path in enumerate((".env", "notes.txt")):
        call = {"name": "write_file", "args": {"path": path, "text": "card"}, "id": f"call-{number}"}
        yield AIMessage("", tool_calls=[call])
    yield AIMessage("The card is 4111 1111 1111 1111.")


def main() -> None:
    """Streams the agent's messages."""
    with Hooks(".", settings=SETTINGS) as hooks:
        agent = create_agent(ScriptedModel(messages=script()), [write_file], middleware=[HooklineMiddleware(hooks)])
        question = {"messages": [{"role": "user", "content": "Write my card to a file."}]}
        for message, _ in agent.stream(question, stream_mode="messages"):
            if message.text:
                print(f"{message.type}: {message.text}")


if __name__ == "__main__":
    main()
