"""Attacks on the rebuilt core: each test fails on the code that it was written against."""

import asyncio
import enum
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hookline.client.config import Config
from hookline.client.triggers.model import BeforeModelHookResult, fire_before_model_hook
from hookline.client.triggers.tools import ToolResult, execute_tool_with_hooks, fire_before_tool_hook
from hookline.protocol.llm import GenerateContentParameters


def _config(directory: Path, event: str, answers: Sequence[Any], *, options: Any = None, **group: Any) -> Config:
    extra = group.pop("hook", {})
    hooks = []
    for index, answer in enumerate(answers):
        file = directory / f"answer{index}.json"
        file.write_text(json.dumps(answer))
        hooks.append({"type": "command", "command": f"cat >/dev/null; cat '{file}'", "name": f"h{index}", **extra})
    settings = {
        "enableHooks": True,
        "hooksConfig": {"log": {"enabled": False}, **(options or {})},
        "hooks": {event: [{"hooks": hooks, **group}]},
    }
    return Config(directory, settings=settings)


async def _run(arguments: dict[str, Any]) -> ToolResult:
    return ToolResult(llm_content=f"ran with {arguments}")


def _execute(config: Config, tool_name: str = "x") -> ToolResult:
    return asyncio.run(execute_tool_with_hooks(config, tool_name, {}, _run))


def _before_model(config: Config) -> BeforeModelHookResult:
    request = GenerateContentParameters(model="m", contents="hi", config=None)
    return asyncio.run(fire_before_model_hook(config, request))


def test_closing_an_unclear_answer_keeps_its_stop_and_its_note(tmp_path: Path) -> None:
    """With onError block, an answer with an unreadable decision still stops the agent if it has `continue: false`."""
    answer = {"decision": "Deny", "continue": False, "stopReason": "halt", "systemMessage": "for the model"}
    config = _config(tmp_path, "BeforeTool", [answer], hook={"onError": "block"})
    result = _execute(config)
    assert "ran with" not in result.llm_content
    assert result.should_stop
    assert result.stop_reason is not None
    assert "halt" in result.stop_reason
    assert "for the model" in result.llm_content


def test_a_later_hook_of_a_chain_can_redact_an_earlier_hooks_system_message(tmp_path: Path) -> None:
    """The next hook of a chain reads the system message, so leaving it out or changing it removes it."""
    user = {"role": "user", "content": "hi"}
    first = {"messages": [{"role": "system", "content": "SECRET"}, user]}
    for later in ([{"role": "system", "content": "[hidden]"}, user], [user]):
        answers = [{"hookSpecificOutput": {"llm_request": request}} for request in (first, {"messages": later})]
        config = _config(tmp_path, "BeforeModel", answers, sequential=True)
        result = _before_model(config)
        assert "SECRET" not in repr(result.modified_request)


def test_a_tool_name_of_a_str_enum_is_matched_by_its_value(tmp_path: Path) -> None:
    """Hooks read the same tool_name that matchers are compared with, whatever str() makes of a subclass."""

    class Tool(str, enum.Enum):  # noqa: UP042 - str() of such a member is "Tool.BASH"
        BASH = "bash"

    config = _config(tmp_path, "BeforeTool", [{"decision": "deny", "reason": "no shell"}], matcher="^bash$")
    assert _execute(config, Tool.BASH).llm_content == "no shell"


def test_a_fault_with_on_fault_block_blocks_for_callers_of_the_trigger_and_the_handler(tmp_path: Path) -> None:
    """A caller of the specification's output, not of the verdict, is also blocked by onFault."""
    config = _config(tmp_path, "BeforeTool", [{}], options={"onFault": "block"})
    system = config.get_hook_system()
    assert system is not None
    asyncio.run(system.initialize())
    handler = system.get_event_handler()

    def fail(*_: Any) -> Any:
        raise RuntimeError("a fault of hookline")

    handler._build_input = fail  # type: ignore[method-assign,assignment]
    output = asyncio.run(fire_before_tool_hook(config, "x", {}))
    assert output is not None
    assert output.is_blocking_decision()
    final = asyncio.run(handler.fire_before_tool_event("x", {})).final_output
    assert final is not None
    assert final.is_blocking_decision()


def test_a_reason_that_is_part_of_another_ones_text_is_not_lost(tmp_path: Path) -> None:
    """Every reason of a hook that blocks is heard; "no" inside "not now" is not the same reason."""
    answers = [{"continue": False, "stopReason": "not now"}, {"decision": "deny", "reason": "no"}]
    result = _execute(_config(tmp_path, "BeforeTool", answers))
    assert "no" in result.llm_content.splitlines()


def test_an_approving_hooks_reason_is_not_the_reason_of_a_stop(tmp_path: Path) -> None:
    """The user reads why the hook that stops does so, not why another one approves."""
    approving = {"hookSpecificOutput": {"permissionDecision": "allow", "permissionDecisionReason": "looks fine"}}
    answers = [{"continue": False, "reason": "disk is full"}, approving]
    result = _execute(_config(tmp_path, "BeforeTool", answers))
    assert result.should_stop
    assert result.stop_reason == "disk is full"


def test_the_stop_reasons_of_all_hooks_that_stop_are_shown(tmp_path: Path) -> None:
    """One hook says why in stopReason, the other in reason: both are heard."""
    answers = [{"continue": False, "stopReason": "one"}, {"continue": False, "reason": "two"}]
    result = _execute(_config(tmp_path, "BeforeTool", answers))
    assert result.stop_reason is not None
    assert {"one", "two"} <= set(result.stop_reason.splitlines())


def test_a_hook_whose_block_was_overridden_decided_nothing(tmp_path: Path) -> None:
    """`decided_by` names whose decision stands, and the reason is that of the decision that stands."""
    answers = [{"decision": "deny", "reason": "old"}, {"decision": "allow"}, {"continue": False, "stopReason": "new"}]
    config = _config(tmp_path, "BeforeModel", answers)
    result = _before_model(config)
    assert result.decided_by == ("h2",)
    assert result.reason == "new"
