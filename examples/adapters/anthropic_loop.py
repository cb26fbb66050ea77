"""A loop of one's own around `anthropic`, with every effect of hooks.

    ANTHROPIC_API_KEY=... python examples/adapters/anthropic_loop.py "What is in notes.txt?"

Hooks are those of the settings of this directory, the user and the system. ANTHROPIC_BASE_URL names another server that
speaks the same protocol.
"""

import asyncio
import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from anthropic import AsyncAnthropic

from hookline import Hooks, LLMRequest, Session, ToolResult
from hookline.formats import anthropic

MODEL = "claude-sonnet-5-5"
Show = Callable[[str], None]
Tools = Mapping[str, Callable[..., str]]


async def converse(client: AsyncAnthropic, hooks: Hooks, tools: Tools, messages: list[Any], show: Show) -> None:
    """Asks the model until it calls no tool any more, or a hook ends the loop."""
    note = None
    async with hooks.session() as session:
        while True:
            request: Any = {
                "model": MODEL,
                "max_tokens": 4096,
                "system": "You help.",
                "messages": messages,
                "tools": [described(*one) for one in tools.items()],
            }
            ready = await prepared(session, request, note)
            if isinstance(ready, str):
                return show(ready)
            request, told = ready

            # A text that a hook may redact must not be shown before the hook has seen all of it.
            is_held = hooks.must_hold_stream
            response = await asked(client, request, None if is_held else show)

            answer = await session.after_model(told, anthropic.to_hook_llm_response(response))
            if answer.stop:
                return show(answer.text or answer.stop_reason or "")
            if answer.response is not None:
                response = anthropic.from_hook_llm_response(answer.response, response)
            note = answer.note
            if is_held and not answer.suppress:
                show("".join(block.text for block in response.content if block.type == "text"))

            messages.append({"role": "assistant", "content": response.content})
            calls = [block for block in response.content if block.type == "tool_use"]
            if not calls:
                return None
            results: list[Any] = []
            messages.append({"role": "user", "content": results})
            for call in calls:
                result = await called(session, tools, call)
                results.append({"type": "tool_result", "tool_use_id": call.id, "content": result.llm_content})
                if result.should_stop:
                    return show(result.stop_reason or "")


async def prepared(session: Session, request: Any, note: str | None) -> tuple[Any, LLMRequest] | str:
    """The request to send, also as hooks see it; or the text with which they end the loop."""
    if note:
        request = anthropic.with_note(request, note)
    selection = await session.select_tools(anthropic.to_hook_llm_request(request), anthropic.tool_names(request))
    if selection.stop:
        return selection.stop_reason or ""
    request = anthropic.offer(request, selection.permits, selection.mode)
    if selection.note:
        request = anthropic.with_note(request, selection.note)
    gate = await session.before_model(anthropic.to_hook_llm_request(request))
    if gate.blocked:
        return gate.stop_reason or (gate.response or {}).get("text") or gate.reason or ""
    return anthropic.from_hook_llm_request(gate.request, request), gate.request


async def asked(client: AsyncAnthropic, request: Any, show: Show | None) -> Any:
    """The model's whole response; its text is shown as it comes, if it may be."""
    if show is None:
        return await client.messages.create(**request)
    async with client.messages.stream(**request) as stream:
        async for text in stream.text_stream:
            show(text)
        return await stream.get_final_message()


async def called(session: Session, tools: Tools, call: Any) -> Any:
    """Return the result of a tool call, with everything that hooks decide."""
    if call.name not in tools:
        return ToolResult(llm_content=f"There is no tool {call.name}.")
    return await session.run_tool(call.name, call.input, lambda checked: tools[call.name](**checked), call_id=call.id)


def described(name: str, tool: Callable[..., str]) -> dict[str, Any]:
    """A function whose parameters are texts, as the API wants it."""
    names = list(inspect.signature(tool).parameters)
    schema = {"type": "object", "properties": {one: {"type": "string"} for one in names}, "required": names}
    return {"name": name, "description": inspect.getdoc(tool) or "", "input_schema": schema}


def read_file(path: str) -> str:
    """Reads a file of this directory."""
    return Path(path).read_text(encoding="utf-8")


async def main() -> None:
    """Answers one question."""
    messages = [{"role": "user", "content": " ".join(sys.argv[1:])}]
    with Hooks(".") as hooks:
        async with AsyncAnthropic() as client:
            await converse(
                client, hooks, {"read_file": read_file}, messages, lambda text: print(text, end="", flush=True)
            )
    print()


if __name__ == "__main__":
    asyncio.run(main())
