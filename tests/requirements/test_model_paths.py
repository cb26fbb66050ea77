"""Every path to the model applies the same verdicts: what the model is sent, and which of its calls run."""

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from google.genai import types
from msgspec.structs import replace

from hookline import (
    Config,
    GenerateContentParameters,
    Hooks,
    ToolResult,
    execute_tool_with_hooks,
    fire_before_model_hook,
    fire_before_tool_selection_hook,
)
from hookline.adapters.blocking import finished
from hookline.adapters.run import AgentRun
from hookline.adapters.table import Adapter
from hookline.apps.agent.pipeline import call_model
from hookline.formats import openai
from hookline.settings.read.paths import SettingsPaths
from hookline.testing import ScriptedModel, says

TOOLS = ("read_file", "write_file", "run_shell")
ADAPTER = Adapter(name="o", framework="O", extra="", package="o", since="1", front="o", use="o", go_on="go on")

Answers = Mapping[str, Mapping[str, Any]]
Seen = tuple[list[str] | None, set[str], set[str]]
"""The texts that the model is sent, the tools that it may call, and those of its calls that run."""


def layered(project: Path, answers: Answers) -> SettingsPaths:
    """A settings file for each layer, with one hook per event that gives this answer."""
    paths = {}
    for layer in ("project", "user", "system"):
        hooks = {}
        for event, config in answers.get(layer, {}).items():
            answer = project / f"{layer}-{event}.json"
            answer.write_text(json.dumps({"hookSpecificOutput": config}))
            hooks[event] = [{"hooks": [{"type": "command", "command": f"cat {answer.name}", "name": layer}]}]
        paths[layer] = project / f"{layer}.json"
        paths[layer].write_text(json.dumps({"enableHooks": True, "hooks": hooks}))
    return SettingsPaths(paths["project"], paths["user"], paths["system"])


def sdk_request() -> GenerateContentParameters:
    """A user's text and a tool call with its result, and three tools."""
    call = types.Part(function_call=types.FunctionCall(name="read_file", args={}))
    result = types.Part(function_response=types.FunctionResponse(name="read_file", response={}))
    return GenerateContentParameters(
        model="scripted",
        contents=[
            types.Content(role="user", parts=[types.Part(text="secret")]),
            types.Content(role="model", parts=[call]),
            types.Content(role="user", parts=[result]),
        ],
        config=types.GenerateContentConfig(
            tools=[types.Tool(function_declarations=[types.FunctionDeclaration(name=name) for name in TOOLS])]
        ),
    )


def texts_of(request: GenerateContentParameters) -> list[str]:
    return [part.text for content in request.contents for part in content.parts or () if part.text]


def callable_tools(request: GenerateContentParameters) -> set[str]:
    config = request.config.tool_config
    calling = None if config is None else config.function_calling_config
    if calling is None:
        return {*TOOLS}
    if calling.mode is not None and calling.mode.value == "NONE":
        return set()
    return {*TOOLS} if calling.allowed_function_names is None else {*calling.allowed_function_names} & {*TOOLS}


async def _ran(config: Config) -> set[str]:
    ran = set[str]()

    async def tool(name: str) -> ToolResult:
        ran.add(name)
        return ToolResult(llm_content="done")

    for name in TOOLS:
        await execute_tool_with_hooks(config, name, {}, lambda _, name=name: tool(name))  # type: ignore[misc]
    return ran


async def by_triggers(project: Path, paths: SettingsPaths) -> Seen:
    config = Config(project, settings_paths=paths)
    request = sdk_request()
    selection = await fire_before_tool_selection_hook(config, request)
    if selection.tool_config is not None:
        update = {"tool_config": selection.tool_config, "tools": selection.tools}
        request = replace(request, config=request.config.model_copy(update=update))
    before = await fire_before_model_hook(config, request)
    request = before.modified_request or request
    return texts_of(request), callable_tools(request), await _ran(config)


async def by_agent(project: Path, paths: SettingsPaths) -> Seen:
    config, model = Config(project, settings_paths=paths), ScriptedModel([[says("Done.")]])
    answer = await call_model(config, model, sdk_request())
    (request,) = model.requests
    allowed = {*TOOLS} if answer.allowed is None else {*TOOLS} & answer.allowed
    return texts_of(request), callable_tools(request), allowed & await _ran(config)


async def by_session(project: Path, paths: SettingsPaths) -> Seen:
    with Hooks(project, settings_paths=paths) as hooks:
        session = hooks.session()
        request: Any = {"model": "m", "messages": [{"role": "user", "content": "secret"}]}
        chosen = await session.select_tools(request, TOOLS)
        gate = await session.before_model(request)
        allowed = gate.selection or chosen
        ran = {name for name in TOOLS if (await session.run_tool(name, {}, lambda _: "ran")).llm_content == "ran"}
        return [one["content"] for one in gate.request["messages"]], {*allowed.allowed}, ran


def by_sync(project: Path, paths: SettingsPaths) -> Seen:
    with Hooks(project, settings_paths=paths) as hooks:
        session = hooks.session().sync
        request: Any = {"model": "m", "messages": [{"role": "user", "content": "secret"}]}
        chosen = session.select_tools(request, TOOLS)
        gate = session.before_model(request)
        allowed = gate.selection or chosen
        ran = {name for name in TOOLS if not session.before_tool(name, {}).blocked}
        return [one["content"] for one in gate.request["messages"]], {*allowed.allowed}, ran


async def _adapted(project: Path, paths: SettingsPaths, *, is_blocking: bool) -> Seen:
    with Hooks(project, settings_paths=paths) as hooks:
        run = AgentRun(ADAPTER, openai, hooks, "s-1", is_blocking=is_blocking)
        native = {
            "model": "m",
            "messages": [{"role": "user", "content": "secret"}],
            "tools": [{"type": "function", "function": {"name": name}} for name in TOOLS],
        }
        sent = await run.before_model(native)
        offered = {tool["function"]["name"] for tool in sent.get("tools") or ()}
        if sent.get("tool_choice") == "none":
            offered = set()
        ran = {name for name in TOOLS if not isinstance(await run.before_tool(name, {}), ToolResult)}
        return [one["content"] for one in sent["messages"]], offered, ran


PATHS: Mapping[str, Callable[[Path, SettingsPaths], Seen]] = {
    "triggers": lambda project, paths: asyncio.run(by_triggers(project, paths)),
    "agent": lambda project, paths: asyncio.run(by_agent(project, paths)),
    "session": lambda project, paths: asyncio.run(by_session(project, paths)),
    "sync": by_sync,
    "adapter": lambda project, paths: asyncio.run(_adapted(project, paths, is_blocking=False)),
    "blocking-adapter": lambda project, paths: finished(_adapted(project, paths, is_blocking=True)),
}
READ, READ_ONLY = {"read_file"}, {"mode": "AUTO", "allowedFunctionNames": ["read_file"]}
WRITE = {"mode": "AUTO", "allowedFunctionNames": ["write_file"]}


def selects(layer: str, selected: Any, model_layer: str, changed: Any) -> Answers:
    """The answers of a BeforeToolSelection hook of one layer and a BeforeModel hook of another, or of the same."""
    before: dict[str, dict[str, Any]] = {layer: {"BeforeToolSelection": {"toolConfig": selected}}}
    before.setdefault(model_layer, {})["BeforeModel"] = {"llm_request": {"toolConfig": changed}}
    return before


SELECTIONS: list[Any] = [
    pytest.param(selects("user", READ_ONLY, "user", {"allowedFunctionNames": ["read_file"]}), READ, id="same"),
    pytest.param(selects("system", {"mode": "NONE"}, "user", WRITE), set(), id="none-to-a-list"),
    pytest.param(selects("system", {"mode": "NONE"}, "user", {"mode": "AUTO"}), set(), id="none-to-auto"),
    pytest.param(selects("system", {"mode": "NONE"}, "user", {"mode": None}), set(), id="none-to-null"),
    pytest.param(selects("system", {"mode": "NONE"}, "user", None), set(), id="none-to-no-config"),
    pytest.param(
        selects("system", {"mode": "NONE"}, "user", {"mode": None, "allowedFunctionNames": None}), set(), id="nulls"
    ),
    pytest.param(selects("system", {"allowedFunctionNames": []}, "user", WRITE), set(), id="an-empty-list"),
    pytest.param(selects("system", READ_ONLY, "user", WRITE), set(), id="other-names"),
    pytest.param(selects("user", READ_ONLY, "user", WRITE), set(), id="other-names-of-the-same-layer"),
    pytest.param(selects("system", READ_ONLY, "user", {"allowedFunctionNames": None}), READ, id="names-to-null"),
    pytest.param(selects("system", READ_ONLY, "user", {"allowedFunctionNames": [*TOOLS]}), READ, id="more-names"),
    pytest.param(selects("system", READ_ONLY, "user", {"functionCallingConfig": WRITE}), set(), id="nested"),
    pytest.param(
        selects("system", READ_ONLY, "user", {"functionCallingConfig": {"allowedFunctionNames": None, "mode": "ANY"}}),
        READ,
        id="nested-null",
    ),
    pytest.param(
        selects("system", {"allowedFunctionNames": ["read_file", "write_file"]}, "user", WRITE),
        {"write_file"},
        id="narrowed",
    ),
    pytest.param(selects("system", READ_ONLY, "user", {"mode": "NONE"}), set(), id="narrowed-to-none"),
    pytest.param(selects("user", READ_ONLY, "system", WRITE), {"write_file"}, id="a-more-trusted-layer-chooses-anew"),
    pytest.param(selects("user", {"mode": "NONE"}, "system", WRITE), {"write_file"}, id="also-after-none"),
    pytest.param({"user": {"BeforeModel": {"llm_request": {"toolConfig": WRITE}}}}, {"write_file"}, id="no-selection"),
    pytest.param(
        {
            "system": {"BeforeToolSelection": {"toolConfig": READ_ONLY}},
            "user": {"BeforeModel": {"llm_request": {"tool_config": WRITE, "config": {"toolConfig": WRITE}}}},
        },
        READ,
        id="other-places",
    ),
]


@pytest.mark.req("DELTA-GUARD-001")
@pytest.mark.attack("30.A4", "a BeforeModel hook that brings back tools which a BeforeToolSelection hook took away")
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("answers", "tools"), SELECTIONS)
def test_a_selection_is_only_narrowed(project: Path, path: str, answers: Answers, tools: set[str]) -> None:
    """Only a more trusted layer adds tools again; what the model was not offered does not run."""
    _, offered, ran = PATHS[path](project, layered(project, answers))
    assert (offered, ran) == (tools, tools)


REWRITES: list[Any] = [
    pytest.param({"messages": []}, [], id="empty"),
    pytest.param({"contents": []}, [], id="empty-contents"),
    pytest.param({"messages": [{"role": "user", "content": ""}]}, [], id="empty-text"),
    pytest.param({"contents": [{"role": "user", "parts": [{"text": ""}]}]}, [], id="empty-part"),
    pytest.param({"messages": [{"role": "user", "content": "redacted"}]}, ["redacted"], id="redacted"),
    pytest.param({"messages": None}, ["secret"], id="null"),
    pytest.param({"messages": "odd"}, ["secret"], id="wrong-type"),
]


@pytest.mark.req("DELTA-GUARD-002")
@pytest.mark.attack("30.A5", "a redaction that is lost on one of the paths to the model")
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("change", "texts"), REWRITES)
def test_rewritten_messages_are_what_the_model_is_sent(
    project: Path, path: str, change: dict[str, Any], texts: list[str]
) -> None:
    """An empty list of messages is a rewrite: the text is gone on every path."""
    seen, _, _ = PATHS[path](project, layered(project, {"user": {"BeforeModel": {"llm_request": change}}}))
    assert seen == texts
