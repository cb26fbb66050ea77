import asyncio
import json
from typing import Any

import pytest
from google.genai import types

from hookline import (
    AggregatedHookResult,
    Config,
    GenerateContentParameters,
    InProcessBus,
    ToolResult,
    execute_tool_with_hooks,
    fire_after_model_hook,
    fire_before_tool_selection_hook,
)


def fire(config: Config, tool: str = "ls", **arguments: Any) -> AggregatedHookResult:
    """BeforeTool."""

    async def main() -> AggregatedHookResult:
        system = config.get_hook_system()
        assert system is not None
        await system.initialize()
        return await system.get_event_handler().fire_before_tool_event(tool, arguments)

    return asyncio.run(main())


def request_with(calling: types.FunctionCallingConfig | None) -> GenerateContentParameters:
    config = types.GenerateContentConfig(
        temperature=0.5,
        max_output_tokens=100,
        tool_config=types.ToolConfig(function_calling_config=calling) if calling else None,
    )
    return GenerateContentParameters(
        model="m", contents=[types.Content(role="user", parts=[types.Part(text="hi")])], config=config
    )


@pytest.mark.req("HOOK-015", "HOOK-062")
def test_hooks_are_told_what_the_tool_is_called_with(scene: Any) -> None:
    """A hook before a tool gets the tool's name and all its arguments."""
    config = scene.config({"BeforeTool": ["cat > told"]})

    async def tool(_: dict[str, Any]) -> str:
        return "done"

    asyncio.run(execute_tool_with_hooks(config, "ls", {"path": ".", "all": True}, tool))
    told = json.loads((scene.project / "told").read_text())
    assert (told["tool_name"], told["tool_input"]) == ("ls", {"path": ".", "all": True})


@pytest.mark.req("HOOK-062", "HOOK-144", "HOOK-215")
def test_nobody_can_change_the_facts_of_the_session(scene: Any) -> None:
    """A request on the bus can't set the session, directory, time or event that a hook reads."""
    false = {"session_id": "x", "cwd": "/", "timestamp": "x", "hook_event_name": "x", "transcript_path": "x"}
    bus = InProcessBus()
    config = scene.config({"BeforeAgent": ["cat > told"]}, message_bus=bus, session_id="s1")

    async def main() -> None:
        system = config.get_hook_system()
        await system.initialize()
        fields = {**false, "prompt": "go"}
        await bus.publish({"type": "hook-execution-request", "eventName": "BeforeAgent", "input": fields})
        system.dispose()

    asyncio.run(main())
    told = json.loads((scene.project / "told").read_text())
    assert list(told) == [*false, "prompt"]
    assert (told["session_id"], told["cwd"], told["hook_event_name"]) == ("s1", str(scene.project), "BeforeAgent")
    assert told["timestamp"].endswith("Z")
    assert told["transcript_path"] == ""


# As the specification tells authors to write one: read stdin, look at it, answer by exit code and streams.
GUARD = """\
input=$(cat)
case "$input" in
  *'"hook_event_name":"BeforeTool"'*'"tool_name":"rm"'*) echo "not in $LLXPRT_PROJECT_DIR" >&2; exit 2 ;;
  *'"tool_name":"mv"'*) echo '{"decision":"block","reason":"no moves"}' ;;
  *'"tool_name":"cp"'*) echo '{"hookSpecificOutput":{"tool_input":{"to":"safe"}}}' ;;
  *'"tool_name":"cat"'*) echo 'take care' ;;
  *'"tool_name":"dd"'*) echo 'broken' >&2; exit 1 ;;
esac
"""


@pytest.mark.req("HOOK-155", "HOOK-156")
@pytest.mark.parametrize(
    ("tool", "content", "ran_with"),
    [
        pytest.param("rm", "not in {project}", None, id="exit 2"),
        pytest.param("mv", "no moves", None, id="block"),
        pytest.param("cp", "done", {"to": "safe"}, id="rewrite"),
        pytest.param("cat", "done\n\n[System] take care", {"to": "x"}, id="text"),
        pytest.param("dd", "done\n\n[System] Warning: broken", {"to": "x"}, id="exit 1"),
        pytest.param("ls", "done", {"to": "x"}, id="nothing"),
    ],
)
def test_a_script_written_for_the_specification(
    scene: Any, hook_script: Any, tool: str, content: str, ran_with: dict[str, Any] | None
) -> None:
    """Stdin, environment, exit codes, stdout and stderr mean what the specification says, and take effect."""
    ran: list[dict[str, Any]] = []

    async def execute(arguments: dict[str, Any]) -> ToolResult:
        ran.append(arguments)
        return ToolResult(llm_content="done")

    config = scene.config({"BeforeTool": [str(hook_script(GUARD))]})
    result = asyncio.run(execute_tool_with_hooks(config, tool, {"to": "x"}, execute))
    assert result.llm_content == content.format(project=scene.project)
    assert ran == ([] if ran_with is None else [ran_with])


@pytest.mark.req("HOOK-069")
@pytest.mark.parametrize("code", [0, 1, 2])
def test_stderr_decides_nothing(scene: Any, says: Any, code: int) -> None:
    """With any exit code, JSON on stderr is plain text; only exit 2 blocks, with it as the reason."""
    answer = {"decision": "deny", "continue": False, "hookSpecificOutput": {"tool_input": {"path": "/"}}}
    result = fire(scene.config({"BeforeTool": [f"{says(answer)} >&2; exit {code}"]}), path=".")
    output = result.final_output
    assert result.results[0].stderr == json.dumps(answer)
    assert [record["stderr"] for record in scene.records("hook")] == [json.dumps(answer)]
    assert result.effect is None
    assert output is None or not (output.should_stop_execution() or output.hook_specific_output)
    assert (output is not None and output.is_blocking_decision()) is (code == 2)
    if code == 2:
        assert output is not None
        assert output.get_effective_reason() == json.dumps(answer)


@pytest.mark.req("HOOK-071", "HOOK-072", "HOOK-074")
@pytest.mark.parametrize(
    ("calling", "tool_config"),
    [
        pytest.param(None, None, id="none"),
        pytest.param(
            types.FunctionCallingConfig(
                mode=types.FunctionCallingConfigMode.ANY, allowed_function_names=["ls", "grep"]
            ),
            {"mode": "ANY", "allowedFunctionNames": ["ls", "grep"]},
            id="mode and names",
        ),
        pytest.param(
            types.FunctionCallingConfig(mode=types.FunctionCallingConfigMode.NONE), {"mode": "NONE"}, id="mode"
        ),
    ],
)
def test_hooks_are_told_the_whole_request(
    scene: Any, calling: types.FunctionCallingConfig | None, tool_config: dict[str, Any] | None
) -> None:
    """A hook reads model, messages, generation parameters and tool configuration in the stable form."""
    config = scene.config({"BeforeToolSelection": ["cat > told"]})
    asyncio.run(fire_before_tool_selection_hook(config, request_with(calling)))
    assert json.loads((scene.project / "told").read_text())["llm_request"] == {
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
        "config": {"temperature": 0.5, "maxOutputTokens": 100},
        **({"toolConfig": tool_config} if tool_config else {}),
    }


@pytest.mark.req("HOOK-074")
@pytest.mark.parametrize(
    ("answer", "mode", "names"),
    [
        pytest.param({"allowedFunctionNames": []}, "NONE", (), id="an empty list"),
        pytest.param({"mode": "ANY"}, "ANY", (), id="no list"),
        pytest.param({"allowedFunctionNames": ["ls"]}, "AUTO", ("ls",), id="a list"),
    ],
)
def test_what_a_list_of_tools_means(
    scene: Any, says: Any, answer: dict[str, Any], mode: str, names: tuple[str, ...]
) -> None:
    """An explicit empty list allows nothing, which only the mode can say; no list restricts nothing."""
    command = says({"hookSpecificOutput": {"toolConfig": answer}})
    result = asyncio.run(
        fire_before_tool_selection_hook(scene.config({"BeforeToolSelection": [command]}), request_with(None))
    )
    assert result.tool_config is not None
    calling = result.tool_config.function_calling_config
    assert calling is not None
    assert calling.mode is not None
    assert (calling.mode.value, tuple(calling.allowed_function_names or ())) == (mode, names)


@pytest.mark.req("HOOK-055", "HOOK-137", "HOOK-167", "HOOK-168")
@pytest.mark.parametrize("mode", ["ANY", "NONE"])
def test_tool_definitions_are_never_taken_away(scene: Any, says: Any, mode: str) -> None:
    """However tools are restricted, their definitions come back as they were."""
    tools: list[Any] = [types.Tool(function_declarations=[types.FunctionDeclaration(name=n) for n in ("ls", "rm")])]
    request = GenerateContentParameters(model="m", contents="hi", config=types.GenerateContentConfig(tools=tools))
    answer = says({"hookSpecificOutput": {"toolConfig": {"mode": mode, "allowedFunctionNames": ["ls"]}}})
    result = asyncio.run(fire_before_tool_selection_hook(scene.config({"BeforeToolSelection": [answer]}), request))
    assert result.tool_config is not None
    assert [declared.name for tool in result.tools for declared in tool.function_declarations] == ["ls", "rm"]


@pytest.mark.req("HOOK-083")
@pytest.mark.parametrize(
    ("hook", "runs"),
    [
        pytest.param({"type": "command"}, True, id="command"),
        pytest.param({"type": "Command"}, False, id="capital"),
        pytest.param({"type": "script"}, False, id="unknown"),
        pytest.param({"type": None}, False, id="null"),
        pytest.param({"type": "command", "command": None}, False, id="no command"),
    ],
)
def test_a_hook_needs_its_type_and_command(scene: Any, hook: dict[str, Any], runs: bool) -> None:
    """Only a hook of a known type with a command is one; the one beside it runs anyway."""
    config = scene.config({"BeforeTool": [{"command": "true", **hook}, "echo other"]})
    commands = [result.hook.command for result in fire(config).results]
    assert commands == (["true", "echo other"] if runs else ["echo other"])
    assert bool(scene.records("settings")) is not runs


@pytest.mark.req("HOOK-157")
@pytest.mark.parametrize("value", ["true", 1, None, [True], {}])
def test_only_true_suppresses_and_only_false_stops(scene: Any, says: Any, value: Any) -> None:
    """A value of another type has no effect, also on the events that keep an answer's fields as they are."""
    answer = says({"suppressOutput": value, "continue": 0 if value == 1 else value})
    reply = types.GenerateContentResponse(
        candidates=[types.Candidate(content=types.Content(role="model", parts=[types.Part(text="ho")]))]
    )
    result = asyncio.run(fire_after_model_hook(scene.config({"AfterModel": [answer]}), request_with(None), reply))
    assert (result.suppress_output, result.should_stop, result.response.text) == (False, False, "ho")
    assert bool([record for record in scene.records("advice") if "suppressOutput" in record["message"]]) is (
        value is not None
    )
