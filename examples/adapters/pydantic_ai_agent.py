"""Hooks in an agent of Pydantic AI: a tool call is refused, and an answer redacted.

The model is a function, so this needs neither a key nor a network. The hooks are those of examples/hooks.
"""

import shlex
from pathlib import Path
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from hookline import Hooks
from hookline.adapters.pydantic_ai import HooklineCapability

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
    print(f"write_file: {path}")
    return f"Wrote {len(text)} characters to {path}."


def answer(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """Calls the tool twice, and then repeats what the tools said."""
    turn = len(messages) // 2
    paths = (".env", "notes.txt")
    if turn < len(paths):
        return ModelResponse([ToolCallPart("write_file", {"path": paths[turn], "text": "card"})])
    results = [str(part.content) for message in messages for part in message.parts if part.part_kind == "tool-return"]
    return ModelResponse([TextPart("\n".join([*results, "The card is 4111 1111 1111 1111."]))])


def main() -> None:
    """Runs the agent and prints its answer."""
    with Hooks(".", settings=SETTINGS) as hooks:
        agent = Agent(FunctionModel(answer), tools=[write_file], capabilities=[HooklineCapability(hooks)])
        print(agent.run_sync("Write my card to a file.").output)


if __name__ == "__main__":
    main()
