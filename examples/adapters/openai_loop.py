"""A loop of one's own around `openai`, with every effect of hooks.

    OPENAI_API_KEY=... python examples/adapters/openai_loop.py "What is in notes.txt?"

Hooks are those of the settings of this directory, the user and the system. OPENAI_BASE_URL names another server that
speaks the same protocol.
"""

import asyncio
import inspect
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from openai import AsyncOpenAI

from hookline import Hooks, LLMRequest, Session, ToolResult
from hookline.formats import openai

MODEL = "gpt-6.1-sol"
Show = Callable[[str], None]
Tools = Mapping[str, Callable[..., str]]


async def converse(client: AsyncOpenAI, hooks: Hooks, tools: Tools, messages: list[Any], show: Show) -> None:
    """Asks the model until it calls no tool any more, or a hook ends the loop."""
    note = None
    async with hooks.session() as session:
        while True:
            request: Any = {"model": MODEL, "messages": messages, "tools": [described(*one) for one in tools.items()]}
            ready = await prepared(session, request, note)
            if isinstance(ready, str):
                return show(ready)
            request, told = ready

            # A text that a hook may redact must not be shown before the hook has seen all of it.
            is_held = hooks.must_hold_stream
            response = await asked(client, request, None if is_held else show)

            answer = await session.after_model(told, openai.to_hook_llm_response(response))
            if answer.stop:
                return show(answer.text or answer.stop_reason or "")
            if answer.response is not None:
                response = openai.from_hook_llm_response(answer.response, response)
            note = answer.note
            message = response.choices[0].message
            if is_held and message.content and not answer.suppress:
                show(message.content)

            messages.append(remembered(message))
            for call in message.tool_calls or ():
                result = await called(session, tools, call)
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result.llm_content})
                if result.should_stop:
                    return show(result.stop_reason or "")
            if not message.tool_calls:
                return None


async def prepared(session: Session, request: Any, note: str | None) -> tuple[Any, LLMRequest] | str:
    """The request to send, also as hooks see it; or the text with which they end the loop."""
    if note:
        request = openai.with_note(request, note)
    selection = await session.select_tools(openai.to_hook_llm_request(request), openai.tool_names(request))
    if selection.stop:
        return selection.stop_reason or ""
    request = openai.offer(request, selection.permits, selection.mode)
    if selection.note:
        request = openai.with_note(request, selection.note)
    gate = await session.before_model(openai.to_hook_llm_request(request))
    if gate.blocked:
        return gate.stop_reason or (gate.response or {}).get("text") or gate.reason or ""
    return openai.from_hook_llm_request(gate.request, request), gate.request


async def asked(client: AsyncOpenAI, request: Any, show: Show | None) -> Any:
    """The model's whole response; its text is shown as it comes, if it may be."""
    if show is None:
        return await client.chat.completions.create(**request)
    async with client.chat.completions.stream(**request) as stream:
        async for event in stream:
            if event.type == "content.delta":
                show(event.delta)
        return await stream.get_final_completion()


def remembered(message: Any) -> dict[str, Any]:
    """The message as the API takes it back, without the fields that the SDK's streams add."""
    parts = {"role": True, "content": True, "refusal": True, "tool_calls": {"__all__": {"id", "type", "function"}}}
    kept: dict[str, Any] = message.model_dump(include=parts, exclude_none=True)
    return kept


async def called(session: Session, tools: Tools, call: Any) -> Any:
    """Return the result of a tool call, with everything that hooks decide."""
    name, text = call.function.name, call.function.arguments
    if name not in tools:
        return ToolResult(llm_content=f"There is no tool {name}.")
    try:
        arguments = json.loads(text or "{}")
    except ValueError:
        arguments = text  # no mapping, so the call is refused
    return await session.run_tool(name, arguments, lambda checked: tools[name](**checked), call_id=call.id)


def described(name: str, tool: Callable[..., str]) -> dict[str, Any]:
    """A function whose parameters are texts, as the API wants it."""
    names = list(inspect.signature(tool).parameters)
    parameters = {"type": "object", "properties": {one: {"type": "string"} for one in names}, "required": names}
    function = {"name": name, "description": inspect.getdoc(tool) or "", "parameters": parameters}
    return {"type": "function", "function": function}


def read_file(path: str) -> str:
    """Reads a file of this directory."""
    return Path(path).read_text(encoding="utf-8")


async def main() -> None:
    """Answers one question."""
    messages = [{"role": "system", "content": "You help."}, {"role": "user", "content": " ".join(sys.argv[1:])}]
    with Hooks(".") as hooks:
        async with AsyncOpenAI() as client:
            await converse(
                client, hooks, {"read_file": read_file}, messages, lambda text: print(text, end="", flush=True)
            )
    print()


if __name__ == "__main__":
    asyncio.run(main())
