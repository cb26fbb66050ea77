"""Hooks around a loop of one's own: `Hooks`, messages as dictionaries, no SDK, and nothing of hookline's agent.

`answer` is the loop. Each `if` about hooks applies one of their answers; without hooks none is ever true.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from hookline import Hooks, Session
from hookline.client import Selection
from hookline.formats import openai

Ask = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]
Tools = Mapping[str, Callable[[dict[str, Any]], str]]


async def answer(session: Session, ask: Ask, tools: Tools, prompt: str) -> str:
    """Lets a model work on a prompt, and returns what the user is shown."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": prompt}]
    declared = [{"type": "function", "function": {"name": name}} for name in tools]
    while True:
        request: dict[str, Any] = {"model": "some-model", "messages": messages, "tools": declared}
        selection = await session.select_tools(openai.to_hook_llm_request(request), tools)
        if selection.stop:
            return selection.stop_reason or ""
        request = _selected(request, selection)
        gate = await session.before_model(openai.to_hook_llm_request(request))
        if gate.blocked:
            return gate.stop_reason or (gate.response or {}).get("text") or gate.reason or ""
        response = await ask(openai.from_hook_llm_request(gate.request, request))
        after = await session.after_model(gate.request, openai.to_hook_llm_response(response))
        if after.stop:
            return after.stop_reason or ""
        if after.response is not None:
            response = openai.from_hook_llm_response(after.response, response)
        message = response["choices"][0]["message"]
        messages.append(message)
        for call in message.get("tool_calls") or ():
            name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
            # It refuses tools that are not permitted: models call tools that they were not offered.
            result = await session.run_tool(name, arguments, tools.get(name, _unknown), call_id=call["id"])
            if result.should_stop:
                return result.stop_reason or ""
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result.llm_content})
        if after.note:
            messages.append({"role": "user", "content": f"[System] {after.note}"})
        if not message.get("tool_calls"):
            return "" if after.suppress else message["content"] or ""


def _selected(request: dict[str, Any], selection: Selection) -> dict[str, Any]:
    offered = openai.offer(request, selection.permits, selection.mode)
    return openai.with_note(offered, selection.note) if selection.note else offered


def _unknown(_arguments: dict[str, Any]) -> str:
    return "There is no such tool."


def write_file(arguments: dict[str, Any]) -> str:
    """A tool like any agent has one."""
    Path(arguments["file_path"]).write_text(arguments["content"], encoding="utf-8")
    return f"Wrote {arguments['file_path']}."


async def scripted(request: dict[str, Any]) -> dict[str, Any]:
    """A model that follows a script: it tries to write a file with secrets."""
    last = request["messages"][-1]
    if last["role"] == "tool":
        return {"choices": [{"message": {"role": "assistant", "content": f"I was told: {last['content']}"}}]}
    arguments = json.dumps({"file_path": ".env", "content": "TOKEN=abc"})
    call = {"id": "c1", "type": "function", "function": {"name": "write_file", "arguments": arguments}}
    return {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [call]}}]}


async def main(guard: str) -> None:
    """The model is kept from writing the file."""
    hook = {"type": "command", "name": "guard-secrets", "command": f"'{guard}'"}
    settings = {"enableHooks": True, "hooks": {"BeforeTool": [{"matcher": "write_file", "hooks": [hook]}]}}
    with Hooks(Path.cwd(), settings=settings) as hooks:
        async with hooks.session() as session:
            print(await answer(session, scripted, {"write_file": write_file}, "Keep my token in a file."))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else str(Path(__file__).parent / "hooks" / "guard-secrets.sh")))
