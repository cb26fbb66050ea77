"""Hooks around somebody else's loop: hookline's trigger functions, and nothing of its agent.

`answer` is the loop. Each `if` in it is an answer of a hook taking effect; without hooks none of them is ever true.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from google.genai import types

from hookline import (
    Config,
    GenerateContentParameters,
    ToolResult,
    execute_tool_with_hooks,
    fire_after_model_hook,
    fire_before_model_hook,
    fire_before_tool_selection_hook,
)
from hookline.triggers.results import BeforeToolSelectionHookResult

Ask = Callable[[GenerateContentParameters], Awaitable[types.GenerateContentResponse]]
Tools = Mapping[str, Callable[[dict[str, Any]], Awaitable[ToolResult]]]


async def answer(config: Config, ask: Ask, tools: Tools, prompt: str) -> str:
    """Lets a model work on a prompt, and returns what the user is shown."""
    contents: list[types.Content] = [types.UserContent(prompt)]
    declared = types.Tool(function_declarations=[types.FunctionDeclaration(name=name) for name in tools])
    while True:
        request = GenerateContentParameters(
            model="some-model", contents=list(contents), config=types.GenerateContentConfig(tools=[declared])
        )
        selection = await fire_before_tool_selection_hook(config, request)
        if selection.should_stop:
            return selection.stop_reason or ""
        request = _with_selection(request, selection)
        before = await fire_before_model_hook(config, request)
        if before.blocked:
            said = before.stop_reason if before.should_stop else _text(before.synthetic_response)
            return said or before.reason or ""
        request = before.modified_request or request
        after = await fire_after_model_hook(config, request, await ask(request))
        if after.should_stop:
            return after.stop_reason or ""
        contents.append(types.ModelContent(_parts(after.response)))
        results: list[types.Part] = []
        for call in after.response.function_calls or []:
            name = call.name or ""
            if not _is_allowed(name, selection.tool_config):
                refused = {"error": f"{name} is not allowed now."}
                results.append(types.Part.from_function_response(name=name, response=refused))
                continue
            result = await execute_tool_with_hooks(config, name, call.args or {}, tools[name])
            if result.should_stop:
                return result.stop_reason or ""
            results.append(types.Part.from_function_response(name=name, response={"output": result.llm_content}))
        if not results:
            return "" if after.suppress_output else _text(after.response)
        notes = [types.Part(text=f"[System] {after.system_message}")] if after.system_message else []
        contents.append(types.UserContent([*results, *notes]))


def _with_selection(
    request: GenerateContentParameters, selection: BeforeToolSelectionHookResult
) -> GenerateContentParameters:
    if selection.tool_config:
        chosen = request.config.model_copy(update={"tool_config": selection.tool_config})
        request = replace(request, config=chosen)
    if selection.system_message:
        note = types.UserContent(f"[System] {selection.system_message}")
        request = replace(request, contents=[*request.contents, note])
    return request


def _is_allowed(name: str, tool_config: types.ToolConfig | None) -> bool:
    """A model may call what it was not offered; a hook that restricts tools means it."""
    choice = tool_config.function_calling_config if tool_config else None
    if choice is None:
        return True
    if choice.mode == types.FunctionCallingConfigMode.NONE:
        return False
    return choice.allowed_function_names is None or name in choice.allowed_function_names


def _parts(response: types.GenerateContentResponse | None) -> list[types.Part]:
    content = response.candidates[0].content if response and response.candidates else None
    return (content.parts if content else None) or []


def _text(response: types.GenerateContentResponse | None) -> str:
    return "".join(part.text or "" for part in _parts(response))


async def write_file(arguments: dict[str, Any]) -> ToolResult:
    """A tool like any agent has one."""
    await asyncio.to_thread(Path(arguments["file_path"]).write_text, arguments["content"])
    return ToolResult(llm_content=f"Wrote {arguments['file_path']}.")


async def main(guard: str) -> None:
    """A model that follows a script tries to write a file with secrets, and is kept from it."""
    hook = {"type": "command", "name": "guard-secrets", "command": f"'{guard}'"}
    settings = {"enableHooks": True, "hooks": {"BeforeTool": [{"matcher": "write_file", "hooks": [hook]}]}}
    config = Config(Path.cwd(), settings=settings)

    async def scripted(request: GenerateContentParameters) -> types.GenerateContentResponse:
        said = [part.function_response for part in request.contents[-1].parts or [] if part.function_response]
        arguments = {"file_path": ".env", "content": "TOKEN=abc"}
        part = types.Part.from_function_call(name="write_file", args=arguments)
        if said:
            part = types.Part(text=f"I was told: {(said[0].response or {})['output']}")
        return types.GenerateContentResponse(candidates=[types.Candidate(content=types.ModelContent(part))])

    print(await answer(config, scripted, {"write_file": write_file}, "Keep my token in a file."))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else str(Path(__file__).parent / "hooks" / "guard-secrets.sh")))
