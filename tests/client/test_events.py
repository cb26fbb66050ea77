import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.answers import says

from hookline import FormatError, Hooks, LLMRequest, LLMResponse, ToolResult
from hookline.errors import SessionClosedError
from hookline.log.write.logger import MemorySink

from .conftest import MakeHooks, hook

REQUEST: LLMRequest = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "config": {"topP": 0.5}}
DENY = "echo 'Not here.' >&2; exit 2"
STOP = says({"continue": False, "stopReason": "Enough."})


def specific(**fields: object) -> str:
    return says({"hookSpecificOutput": fields})


def test_a_block_keeps_the_tool_from_running(make_hooks: MakeHooks) -> None:
    """The reason is for the model, and the tool is never called."""
    hooks = make_hooks({"BeforeTool": [hook(DENY, name="guard", matcher="write_file")]})

    async def main() -> None:
        session = hooks.session()
        call = await session.before_tool("write_file", {"path": "a"}, call_id="c1")
        assert (call.blocked, call.reason, call.decided_by, call.call_id) == (True, "Not here.", ("guard",), "c1")
        ran: list[Any] = []

        def tool(arguments: dict[str, Any]) -> str:
            ran.append(arguments)
            return "ran"

        result = await session.run_tool("write_file", {"path": "a"}, tool)
        assert (result.llm_content, result.decided_by, ran) == ("Not here.", ("guard",), [])
        assert await session.after_tool(call, "ran after all") == call.refusal

    asyncio.run(main())


def test_rewritten_arguments_are_whole(make_hooks: MakeHooks) -> None:
    """The changes of hooks are laid over the arguments; the program's own object stays as it is."""
    answer = specific(tool_input={"path": "b"}, additionalContext="Use b.")
    hooks = make_hooks({"BeforeTool": [hook(answer)]})
    given = {"path": "a", "mode": "w"}

    async def main() -> None:
        session = hooks.session()
        call = await session.before_tool("write_file", given)
        assert (call.arguments, call.changed, call.blocked) == ({"path": "b", "mode": "w"}, True, False)
        result = await session.after_tool(call, ToolResult(llm_content="ok"))
        assert result.llm_content == "ok\n\nUse b."
        assert given == {"path": "a", "mode": "w"}

    asyncio.run(main())


@pytest.mark.parametrize(
    ("output", "content"),
    [
        pytest.param("a text", "a text", id="text"),
        pytest.param({"lines": 2}, '{"lines":2}', id="mapping"),
        pytest.param(ToolResult(llm_content="kept", metadata={"a": 1}), "kept", id="result"),
    ],
)
@pytest.mark.parametrize("is_async", [True, False])
def test_a_tool_may_return_any_of_three_things(
    make_hooks: MakeHooks, output: Any, content: str, is_async: bool
) -> None:
    """A tool is a function or an async function, and returns a text, a mapping or a result."""
    hooks = make_hooks({"AfterTool": [hook(specific(additionalContext="Seen."))]})

    async def tool(_: dict[str, Any]) -> Any:
        return output

    async def main() -> ToolResult:
        return await hooks.session().run_tool("t", {}, tool if is_async else lambda _: output)

    assert asyncio.run(main()).llm_content == f"{content}\n\nSeen."


def test_after_tool_hooks_see_the_arguments_that_the_tool_got(make_hooks: MakeHooks, tmp_path: Path) -> None:
    """A tool that changes its arguments does not change the input of hooks."""
    hooks = make_hooks({"AfterTool": [hook(f"cat > {tmp_path}/told")]})

    def tool(arguments: dict[str, Any]) -> str:
        arguments["path"] = "elsewhere"
        return "ok"

    asyncio.run(hooks.session().run_tool("t", {"path": "a"}, tool))
    told = json.loads((tmp_path / "told").read_text())
    assert (told["tool_input"], told["tool_response"]["llmContent"]) == ({"path": "a"}, "ok")


def test_invalid_rewrites_keep_the_tool_from_running(make_hooks: MakeHooks, memory: MemorySink) -> None:
    """Arguments that a hook rewrote are normalized and validated; the log names the hook and the session."""
    hooks = make_hooks({"BeforeTool": [hook(specific(tool_input={"path": 7}), name="bad")]})

    async def main() -> ToolResult:
        session = hooks.session("s-1", agent="planner")
        return await session.run_tool("t", {"path": "a"}, lambda _: "ran", validate=lambda _: "path is no text")

    result = asyncio.run(main())
    assert result.error is not None
    assert "path is no text" in result.error
    (record,) = [record for record in memory.records if "not valid" in record.message]
    assert (record.hook, record.session, record.agent) == ("bad", "s-1", "planner")


def test_what_a_tool_raises_reaches_the_caller(make_hooks: MakeHooks, tmp_path: Path) -> None:
    """An exception of the tool comes out as it is, and AfterTool is not fired."""
    hooks = make_hooks({"AfterTool": [hook(f"touch {tmp_path}/fired")]})

    def tool(_: dict[str, Any]) -> str:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        asyncio.run(hooks.session().run_tool("t", {}, tool))
    assert not (tmp_path / "fired").exists()


def test_a_stop_before_a_tool(make_hooks: MakeHooks) -> None:
    """`continue: false` blocks the tool and says why the agent stops."""
    hooks = make_hooks({"BeforeTool": [hook(STOP, name="enough")]})
    result = asyncio.run(hooks.session().run_tool("t", {}, lambda _: "ran"))
    assert (result.should_stop, result.stop_reason, result.decided_by) == (True, "Enough.", ("enough",))
    call = asyncio.run(hooks.session().before_tool("t", {}))
    assert (call.blocked, call.stop, call.stop_reason) == (True, True, "Enough.")


@pytest.mark.parametrize("is_async", [True, False])
@pytest.mark.parametrize("is_allowed", [True, False])
def test_a_person_is_asked(make_hooks: MakeHooks, is_async: bool, is_allowed: bool) -> None:
    """`on_ask` gets the reason, the hooks and the arguments; a no blocks the call for that reason."""
    asked: list[Any] = []

    def ask(reason: Any, arguments: Any) -> bool:
        asked.append((str(reason), reason.hooks, dict(arguments)))
        return is_allowed

    async def ask_async(reason: Any, arguments: Any) -> bool:
        return ask(reason, arguments)

    events = {"BeforeTool": [hook(says({"decision": "ask", "reason": "Sure?"}), name="careful")]}
    hooks = make_hooks(events, on_ask=ask_async if is_async else ask)
    call = asyncio.run(hooks.session().before_tool("t", {"a": 1}))
    assert asked == [("Sure?", ("careful",), {"a": 1})]
    assert (call.ask, call.blocked, call.reason) == (False, not is_allowed, "Sure?")
    if not is_allowed:
        assert call.refusal.llm_content == "Sure?"


@pytest.mark.parametrize("is_sync", [True, False])
@pytest.mark.parametrize("answer", [None, "no", 1])
def test_an_answer_that_is_neither_yes_nor_no_is_an_error(make_hooks: MakeHooks, answer: Any, is_sync: bool) -> None:
    """A function without a `return` must not let the call go on, and neither must the text "no"."""
    hooks = make_hooks({"BeforeTool": [hook(says({"decision": "ask"}))]}, on_ask=lambda _reason, _arguments: answer)
    session, ran = hooks.session(), list[Any]()

    def tool(arguments: Any) -> str:
        ran.append(arguments)
        return "ran"

    with pytest.raises(TypeError, match=r"the answer of on_ask is .*; expected True or False"):
        session.sync.run_tool("t", {}, tool) if is_sync else asyncio.run(session.run_tool("t", {}, tool))
    assert ran == []


@pytest.mark.parametrize("is_allowed", [False, True])
def test_without_a_question_the_call_is_refused(make_hooks: MakeHooks, memory: MemorySink, is_allowed: bool) -> None:
    """Where no user can be asked the call is blocked, with a record in the log, unless the program gives "allow"."""
    given = {"on_ask": "allow"} if is_allowed else {}
    hooks = make_hooks({"BeforeTool": [hook(says({"decision": "ask", "reason": "Sure?"}))]}, **given)
    call = asyncio.run(hooks.session("s-9").before_tool("t", {}))
    assert (call.ask, call.blocked, str(call.reason).startswith("Sure?")) == (True, not is_allowed, True)
    records = [record for record in memory.records if "nobody can be asked here" in record.message]
    facts = [("warn", "s-9", "t", True)]
    assert [(one.level, one.session, one.subject, one.blocked) for one in records] == ([] if is_allowed else facts)


def test_a_selection_filters_the_offer_and_is_enforced(make_hooks: MakeHooks, memory: MemorySink) -> None:
    """Models call tools that they were not offered: the call is refused, and no hook has to run for that."""
    restrict = specific(toolConfig={"mode": "ANY", "allowedFunctionNames": ["read", "list"]})
    hooks = make_hooks({"BeforeToolSelection": [hook(restrict, name="restrict")], "BeforeTool": [hook("true")]})

    async def main() -> None:
        session, other = hooks.session("s-1"), hooks.session("s-2")
        selection = await session.select_tools(REQUEST, ["write", "read", "move"])
        assert (selection.allowed, selection.mode) == (("read",), "ANY")
        assert [selection.permits(name) for name in ("read", "list", "write")] == [True, True, False]
        call = await session.before_tool("write", {})
        assert (call.blocked, call.decided_by) == (True, ("restrict",))
        assert call.reason == "write is not allowed now: the tools were restricted by restrict."
        assert (await session.run_tool("write", {}, lambda _: "ran")).llm_content == call.reason
        assert not (await session.before_tool("read", {})).blocked
        assert not (await other.before_tool("write", {})).blocked

    asyncio.run(main())
    refused = [record for record in memory.records if "blocked: write is not allowed" in record.message]
    assert [record.session for record in refused] == ["s-1", "s-1"]


@pytest.mark.parametrize(
    ("config", "own", "allowed", "mode"),
    [
        pytest.param({"mode": "NONE"}, None, (), "NONE", id="none"),
        pytest.param({"allowedFunctionNames": []}, None, (), "NONE", id="an-empty-list"),
        pytest.param({"mode": "ANY"}, {"allowedFunctionNames": ["a"]}, ("a",), "ANY", id="mode-alone"),
        pytest.param({"allowedFunctionNames": ["b"]}, {"mode": "ANY"}, ("b",), "ANY", id="names-alone"),
    ],
)
def test_how_a_selection_is_read(
    make_hooks: MakeHooks, config: dict[str, Any], own: Any, allowed: tuple[str, ...], mode: str
) -> None:
    """The hooks' configuration is laid over the request's own, key by key."""
    hooks = make_hooks({"BeforeToolSelection": [hook(specific(toolConfig=config))]})
    request: Any = REQUEST if own is None else {**REQUEST, "toolConfig": own}
    selection = asyncio.run(hooks.session().select_tools(request, ["a", "b"]))
    assert (selection.allowed, selection.mode) == (allowed, mode)


def test_a_later_selection_lifts_the_restriction(make_hooks: MakeHooks, tmp_path: Path) -> None:
    """The last selection counts; hooks that restrict nothing permit everything, also tools that were not given."""
    restrict = specific(toolConfig={"mode": "NONE"})
    hooks = make_hooks({"BeforeToolSelection": [hook(f"test -e {tmp_path}/free || {restrict}")]})

    async def main() -> None:
        session = hooks.session()
        assert (await session.select_tools(REQUEST, ["a"])).allowed == ()
        assert (await session.before_tool("a", {})).blocked
        (tmp_path / "free").touch()
        selection = await session.select_tools(REQUEST, ["a"])
        assert (selection.allowed, selection.mode, selection.permits("z")) == (("a",), None, True)
        assert not (await session.before_tool("a", {})).blocked

    asyncio.run(main())


def test_a_selection_can_stop_and_has_a_note(make_hooks: MakeHooks) -> None:
    """Stop, reason and note are read as everywhere."""
    answer = says({"continue": False, "stopReason": "Enough.", "systemMessage": "Hm."})
    selection = asyncio.run(make_hooks({"BeforeToolSelection": [hook(answer)]}).session().select_tools(REQUEST, ["a"]))
    assert (selection.stop, selection.stop_reason, selection.note) == (True, "Enough.", "Hm.")


def test_a_request_is_changed(make_hooks: MakeHooks) -> None:
    """The request to send is whole: what hooks changed, what they left alone, and their note as the last message."""
    changes = {"config": {"temperature": 0.1}, "messages": [{"role": "user", "content": "ho"}]}
    answer = says({"systemMessage": "Be brief.", "hookSpecificOutput": {"llm_request": changes}})
    gate = asyncio.run(make_hooks({"BeforeModel": [hook(answer)]}).session().before_model(REQUEST))
    assert gate.request == {
        "model": "m",
        "messages": [{"role": "user", "content": "ho"}, {"role": "user", "content": "[System] Be brief."}],
        "config": {"topP": 0.5, "temperature": 0.1},
    }
    assert (gate.changed, gate.blocked, gate.note) == (True, False, None)
    assert REQUEST["messages"] == [{"role": "user", "content": "hi"}]


def test_a_hook_can_drop_every_message(make_hooks: MakeHooks, memory: MemorySink) -> None:
    """An empty list is a rewrite: no text is sent, as verdict, log and advice report."""
    gate = asyncio.run(
        make_hooks({"BeforeModel": [hook(specific(llm_request={"messages": []}), name="wipe")]})
        .session()
        .before_model(REQUEST)
    )
    assert (gate.request["messages"], gate.changed, gate.blocked) == ([], True, False)
    assert gate.verdict is not None
    assert gate.verdict.request == {**REQUEST, "messages": []}
    (advice,) = gate.verdict.runs[0].advice
    assert "drops every message" in advice
    assert any(record.message == f"BeforeModel: wipe: {advice}" for record in memory.records)


def test_an_unchanged_request_is_the_same_object(make_hooks: MakeHooks) -> None:
    """A hook that changes nothing costs the caller nothing."""
    gate = asyncio.run(make_hooks({"BeforeModel": [hook("true")]}).session().before_model(REQUEST))
    assert gate.request is REQUEST
    assert not gate.changed


def test_a_model_call_is_blocked(make_hooks: MakeHooks) -> None:
    """A block has a reason, maybe a response in the model's place, and a note for the next message."""
    response = {"text": "Try later."}
    answer = {"decision": "deny", "reason": "Budget.", "systemMessage": "Hm."}
    block = says({**answer, "hookSpecificOutput": {"llm_response": response}})
    gate = asyncio.run(make_hooks({"BeforeModel": [hook(block, name="budget")]}).session().before_model(REQUEST))
    assert (gate.blocked, gate.reason, gate.note, gate.decided_by) == (True, "Budget.", "Hm.", ("budget",))
    assert gate.response is not None
    assert gate.response["text"] == "Try later."
    bare = asyncio.run(make_hooks({"BeforeModel": [hook(DENY)]}).session().before_model(REQUEST))
    assert (bare.blocked, bare.reason, bare.response) == (True, "Not here.", None)
    stop = asyncio.run(make_hooks({"BeforeModel": [hook(STOP)]}).session().before_model(REQUEST))
    assert (stop.blocked, stop.stop, stop.stop_reason) == (True, True, "Enough.")


@pytest.mark.parametrize(
    "response",
    [
        pytest.param({"text": "secret"}, id="text"),
        pytest.param({"candidates": [{"content": {"role": "model", "parts": ["sec", "ret"]}}]}, id="candidates"),
    ],
)
def test_a_response_is_redacted(make_hooks: MakeHooks, tmp_path: Path, response: LLMResponse) -> None:
    """Hooks get text and candidates, whichever the program gave, and their text replaces the model's."""
    redact = specific(llm_response={"text": "[gone]"})
    hooks = make_hooks({"AfterModel": [hook(f"cat > {tmp_path}/told; {redact}")]})
    answer = asyncio.run(hooks.session().after_model(REQUEST, response))
    assert answer.text == "[gone]"
    told = json.loads((tmp_path / "told").read_text())["llm_response"]
    assert told["text"] == "secret"
    assert "".join(told["candidates"][0]["content"]["parts"]) == "secret"


def test_a_response_without_text_is_told_as_it_is(make_hooks: MakeHooks, tmp_path: Path) -> None:
    """A model that only calls tools says nothing; its hooks run all the same."""
    hooks = make_hooks({"AfterModel": [hook(f"cat > {tmp_path}/told")]})
    answer = asyncio.run(hooks.session().after_model(REQUEST, {}))
    assert (answer.text, answer.suppress, answer.stop) == (None, False, False)
    assert json.loads((tmp_path / "told").read_text())["llm_response"] == {"candidates": []}


def test_what_else_comes_after_a_model_call(make_hooks: MakeHooks) -> None:
    """Suppression, a note for the next message, and a stop, whose reason takes the place of the text."""
    hush = says({"suppressOutput": True, "systemMessage": "Hm."})
    answer = asyncio.run(make_hooks({"AfterModel": [hook(hush)]}).session().after_model(REQUEST, {"text": "a"}))
    assert (answer.text, answer.suppress, answer.note) == (None, True, "Hm.")
    stop = asyncio.run(make_hooks({"AfterModel": [hook(STOP)]}).session().after_model(REQUEST, {"text": "a"}))
    assert (stop.stop, stop.stop_reason, stop.text) == (True, "Enough.", "Enough.")


def test_disabled_hooks_change_nothing(tmp_path: Path) -> None:
    """While hooks are disabled every method answers as if nothing had to be done."""
    hooks = Hooks(tmp_path, settings={})

    async def main() -> None:
        async with hooks.session("s") as session:
            assert (await session.select_tools(REQUEST, ["a"])).allowed == ("a",)
            assert (await session.before_model(REQUEST)).request is REQUEST
            assert (await session.after_model(REQUEST, {"text": "a"})).text is None
            call = await session.before_tool("t", {"a": 1})
            assert (call.blocked, call.arguments) == (False, {"a": 1})
            result = ToolResult(llm_content="ok")
            assert await session.after_tool(call, result) is result
            assert (await session.run_tool("t", {}, lambda _: "ran")).llm_content == "ran"

    asyncio.run(main())
    assert not hooks.has_hooks("AfterModel")
    assert not hooks.must_hold_stream


BAD_REQUESTS: list[Any] = [
    pytest.param("hello", "the request is of the type str", id="text"),
    pytest.param({"model": "m"}, "the request's messages is missing", id="no-messages"),
    pytest.param({"messages": [], "tools": []}, "an object with messages, tools", id="unknown-key"),
    pytest.param({"messages": [{"role": "assistant", "content": "a"}]}, "with the role 'assistant'", id="role"),
    pytest.param(
        {"messages": [{"role": "user", "content": [{"text": "a"}]}]}, r"messages\[0\] is a content", id="parts"
    ),
    pytest.param({"messages": [{"role": "user", "parts": []}]}, "an object with role, parts", id="genai"),
    pytest.param({"messages": [{"role": [], "content": "a"}]}, r"with the role \[\]", id="no-role"),
    pytest.param({"messages": [], "config": 1}, "the request's config", id="config"),
]


@pytest.mark.parametrize(("request_", "message"), BAD_REQUESTS)
def test_unknown_requests_are_refused(make_hooks: MakeHooks, request_: Any, message: str) -> None:
    """A request that hooks could not read raises an error that says what is wrong and where; no hook is asked."""
    session = make_hooks({}).session()
    for method in (
        session.before_model(request_),
        session.select_tools(request_, []),
        session.after_model(request_, {}),
    ):
        with pytest.raises(FormatError, match=message):
            asyncio.run(method)


@pytest.mark.parametrize(
    ("response", "message"),
    [
        pytest.param("hello", "the response is of the type str", id="text"),
        pytest.param({"choices": []}, "an object with choices", id="openai"),
        pytest.param({"text": 1}, "the response's text", id="number"),
        pytest.param({"candidates": {}}, "candidates", id="no-list"),
        pytest.param({"candidates": [{"content": {"parts": [{"text": "a"}]}}]}, r"candidates\[0\]", id="sdk-parts"),
    ],
)
def test_unknown_responses_are_refused(make_hooks: MakeHooks, response: Any, message: str) -> None:
    """The same for responses."""
    with pytest.raises(FormatError, match=message):
        asyncio.run(make_hooks({}).session().after_model(REQUEST, response))


@pytest.mark.parametrize("tools", ["read_file", ["read_file", 7], [{"type": "function"}], None, {"read_file": 1}])
def test_tools_that_are_no_names_are_an_error(make_hooks: MakeHooks, tools: Any) -> None:
    """No name would be permitted or offered as it was meant; a mapping by name is a list of names."""
    session = make_hooks({}).session()
    if isinstance(tools, dict):
        assert asyncio.run(session.select_tools(REQUEST, tools)).allowed == ("read_file",)
        return
    with pytest.raises(TypeError, match="tool"):
        asyncio.run(session.select_tools(REQUEST, tools))
    assert session.selection is None


@pytest.mark.parametrize("name", [None, 7, "", b"ls"])
def test_a_tool_without_a_name_is_an_error(make_hooks: MakeHooks, name: Any) -> None:
    """No matcher could be compared with it."""
    with pytest.raises(TypeError, match="the tool's name is"):
        asyncio.run(make_hooks({}).session().before_tool(name, {}))


@pytest.mark.parametrize("arguments", ["{}", [], None, 7])
def test_arguments_that_are_no_mapping_block_the_call(
    make_hooks: MakeHooks, memory: MemorySink, arguments: Any
) -> None:
    """Such arguments come from models: the call is refused with that reason, and logged; no hook could check it."""
    session = make_hooks({}).session()
    call = asyncio.run(session.before_tool("t", arguments))
    assert call.blocked
    assert call.reason is not None
    assert "can't be read as a mapping" in call.reason
    assert asyncio.run(session.run_tool("t", arguments, lambda _: "ran")).llm_content == call.reason
    assert any("can't be read as a mapping" in record.message for record in memory.records)


def test_a_closed_session_is_an_error(make_hooks: MakeHooks) -> None:
    """Nothing is fired, and nothing is allowed, after the end."""
    hooks = make_hooks({"BeforeTool": [hook("true")]})

    async def main() -> None:
        async with hooks.session("s-1") as session:
            call = await session.before_tool("t", {})
        for late in (session.before_tool("t", {}), session.after_tool(call, "a"), session.before_model(REQUEST)):
            with pytest.raises(SessionClosedError, match="the session s-1 is closed"):
                await late

    asyncio.run(main())
    open_session = hooks.session()
    hooks.close()
    with pytest.raises(SessionClosedError):
        asyncio.run(open_session.before_tool("t", {}))


def test_on_fault_block(tmp_path: Path) -> None:
    """A settings file that can't be read blocks what can be blocked, if the program says so."""
    (tmp_path / "settings.json").write_text("{")
    hooks = Hooks(tmp_path, settings_files=[tmp_path / "settings.json"], on_fault="block", quiet=True)
    call = asyncio.run(hooks.session().before_tool("t", {}))
    assert call.blocked
    assert call.reason is not None
    assert "onFault is block" in call.reason
    assert asyncio.run(hooks.session().before_model(REQUEST)).blocked
    hooks.close()


def test_a_before_model_hook_can_take_tools_away(make_hooks: MakeHooks) -> None:
    """Its choice of tools is enforced when a tool is called, and adds none that the selection took away."""
    chosen = specific(toolConfig={"allowedFunctionNames": ["read", "write"]})
    changed = specific(llm_request={"toolConfig": {"allowedFunctionNames": ["read", "move"]}})
    hooks = make_hooks({"BeforeToolSelection": [hook(chosen)], "BeforeModel": [hook(changed)]})

    async def main() -> None:
        session = hooks.session()
        await session.select_tools(REQUEST, ["move", "read", "write"])
        gate = await session.before_model(REQUEST)
        assert gate.selection == session.selection
        assert gate.selection is not None
        assert gate.selection.allowed == ("read",)
        calls = [await session.before_tool(name, {}) for name in ("read", "write", "move")]
        assert [call.blocked for call in calls] == [False, True, True]

    asyncio.run(main())


def test_a_session_can_take_over_a_selection(make_hooks: MakeHooks) -> None:
    """A turn that continues in another session has the same tools."""
    hooks = make_hooks({"BeforeToolSelection": [hook(specific(toolConfig={"allowedFunctionNames": ["read"]}))]})

    async def main() -> None:
        first, second = hooks.session(), hooks.session()
        second.selection = await first.select_tools(REQUEST, ["read", "write"])
        assert [(await second.before_tool(name, {})).blocked for name in ("read", "write")] == [False, True]

    asyncio.run(main())
