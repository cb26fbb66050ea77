"""For any output of any number of hooks in any order: no exception, and no lost deny."""

import asyncio
import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from msgspec import UNSET

from hookline.client.config import Config
from hookline.engine.decide import HookAggregator, decide
from hookline.engine.event_table import EVENT_TABLE
from hookline.engine.merge import merge_last_wins
from hookline.engine.notices.advice import advise
from hookline.protocol.answers import (
    HookAnswer,
    ToolSelection,
    deny,
    read_stdout,
    warning_from_stderr,
)
from hookline.protocol.constants import ConfigSource
from hookline.protocol.events import HookEventName
from hookline.protocol.hook_entry import CommandLine, HookEntry
from hookline.protocol.results import process_common_hook_output_fields
from hookline.protocol.text.json_text import stringify_json, trim
from hookline.protocol.verdict import HookExecutionResult, Verdict

# Making the data takes long on a busy machine, the first time above all.
pytestmark = pytest.mark.timeout(120)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["deny", "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
SPECIFIC_FIELDS = (
    "tool_input", "llm_request", "llm_response", "toolConfig", "additionalContext", "permissionDecision",
    "permissionDecisionReason", "clearContext", "hookEventName", "messages", "contents", "mode", "allowedFunctionNames",
)  # fmt: skip
WORDS = st.sampled_from(["block", "deny", "allow", "approve", "ask", "", None, "DENY"])
TOOL_CONFIG = st.fixed_dictionaries(
    {},
    optional={
        "mode": st.sampled_from(["AUTO", "ANY", "NONE", "any", None]) | JSON,
        "allowedFunctionNames": st.lists(st.sampled_from(["a", "b", "c"]) | JSON, max_size=4) | JSON,
    },
)
REQUEST = st.dictionaries(
    st.sampled_from(["model", "messages", "contents", "config", "generationConfig", "systemInstruction", "toolConfig"]),
    JSON,
    max_size=3,
)
SPECIFIC = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(SPECIFIC_FIELDS, JSON),
        "permissionDecision": WORDS | JSON,
        "tool_input": st.dictionaries(st.sampled_from("ab"), JSON, max_size=2) | JSON,
        "toolConfig": TOOL_CONFIG | JSON,
        "llm_request": REQUEST | JSON,
    },
)
ANSWER = st.fixed_dictionaries(
    {},
    optional={
        "decision": WORDS | JSON,
        "reason": st.text(max_size=5) | JSON,
        "continue": st.booleans() | JSON,
        "stopReason": JSON,
        "suppressOutput": JSON,
        "systemMessage": JSON,
        "hookSpecificOutput": SPECIFIC | JSON,
        "unknown": JSON,
    },
)
TOLD: Mapping[str, Any] = {
    "tool_name": "t",
    "tool_input": {"a": 1},
    "llm_request": {"model": "m", "messages": [{"role": "user", "content": "hi"}]},
    "llm_response": {"text": "hi"},
    "prompt": "p",
}


def hook(event: HookEventName, rank: int = 0) -> HookEntry:
    return HookEntry(event=event, source=ConfigSource.USER, origin="o", location="l", run=CommandLine("c"), rank=rank)


def ran(
    event: HookEventName, stdout: bytes, *, exit_code: int | None = 0, stderr: bytes = b"", rank: int = 0
) -> HookExecutionResult:
    """The run of a hook that wrote this and ended so; tests/engine/test_run.py shows the same with real processes."""
    text, error = stdout.decode("utf-8", "replace"), stderr.decode("utf-8", "replace")
    answer: HookAnswer | None
    match exit_code:
        case 0:
            answer = read_stdout(text, EVENT_TABLE[event].reads, rank=rank)
        case 2:
            answer = deny(error, rank=rank)
        case _:
            answer = warning_from_stderr(error, rank=rank)
    return HookExecutionResult(
        hook=hook(event, rank),
        event=event,
        success=exit_code == 0,
        exit_code=exit_code or 0,
        signal=9 if exit_code is None else None,
        stdout=text,
        stderr=error,
        answer=answer,
        advice=() if answer is None else advise(hook(event, rank), answer),
    )


RUN = st.tuples(
    ANSWER.map(stringify_json) | st.binary(max_size=30), st.sampled_from([0, 0, 0, 1, 2, None]), st.binary(max_size=5)
)


def assert_typed(answer: HookAnswer) -> None:
    """After reading, every field has its type, and no text is blank."""
    for text in (answer.reason, answer.stop_reason, answer.note, answer.permission_reason, answer.context):
        assert text is UNSET or text is None or trim(text)
    for decision in (answer.decision, answer.permission):
        assert decision is UNSET or decision is None or decision in ("block", "deny", "allow", "approve", "ask")
    for flag in (answer.proceed, answer.suppress, answer.clear_context):
        assert flag in (UNSET, None, True, False)
        assert not isinstance(flag, int | float) or isinstance(flag, bool)
    for value in (answer.tool_input, answer.llm_request, answer.llm_response):
        assert value is UNSET or value is None or isinstance(value, dict)
    assert answer.tools is UNSET or answer.tools is None or isinstance(answer.tools, ToolSelection)
    assert all(isinstance(complaint, str) for complaint in answer.complaints)
    assert answer.doubt is None or answer.complaints


@given(st.binary() | JSON.map(stringify_json) | ANSWER.map(stringify_json))
def test_any_output_is_read(stdout: bytes) -> None:
    """Any bytes on stdout make an answer or none, and every question to it has an answer of the right type."""
    answer = read_stdout(stdout.decode("utf-8", "replace")) or HookAnswer()
    assert_typed(answer)
    for kind in {row.output for row in EVENT_TABLE.values()}:
        asked = kind(answer.to_dict())
        assert_typed(asked.answer)
        assert isinstance(asked.is_blocking_decision(), bool)
        assert isinstance(asked.should_stop_execution(), bool)
        assert isinstance(asked.suppress_output, bool)
        assert isinstance(asked.get_effective_reason(), str)
        assert isinstance(asked.get_blocking_error().reason, str)
        assert isinstance(asked.hook_specific_output, dict)
        for text in (asked.reason, asked.stop_reason, asked.system_message, asked.get_additional_context()):
            assert text is None or isinstance(text, str)
        assert hash(asked) == hash(kind(answer.to_dict()))
        json.dumps(stringify_json(asked.to_dict()).decode())


@given(st.sampled_from(HookEventName), st.lists(RUN, max_size=6))
def test_any_runs_of_any_hooks_are_merged(event: HookEventName, runs: list[tuple[bytes, int | None, bytes]]) -> None:
    """However many hooks answer whatever with whatever exit code, there is one result, in plan order."""
    results = [ran(event, stdout, exit_code=code, stderr=stderr) for stdout, code, stderr in runs]
    merged = HookAggregator().aggregate_results(results, event, TOLD)
    assert merged.results == tuple(results)
    assert merged.success is all(result.success for result in results)
    assert (merged.final_output is None) is all(result.answer is None for result in results)
    processed = process_common_hook_output_fields(merged)
    assert (processed.stop_reason is not None) is processed.should_stop
    assert processed.stop_reason != ""
    stringify_json({**merged.to_dict(), "effect": merged.effect, **processed.to_dict()})
    row = EVENT_TABLE[event]
    answers = [result.answer for result in results if result.answer is not None]
    assert row.change(TOLD, row.merge(answers).answer, answers).keys() <= TOLD.keys()


@given(st.sampled_from(HookEventName), st.lists(RUN, min_size=1, max_size=3), st.booleans())
def test_a_hook_that_says_nothing_changes_nothing(
    event: HookEventName, runs: list[tuple[bytes, int | None, bytes]], first: bool
) -> None:
    """An empty answer before or behind the others leaves the merged answer, and who said what, as it was."""
    results = [ran(event, stdout, exit_code=code, stderr=stderr) for stdout, code, stderr in runs]
    answers = [result.answer for result in results if result.answer is not None]
    assume(answers)
    merge = EVENT_TABLE[event].merge
    alone = merge(answers)
    beside = merge([HookAnswer(given={}), *answers] if first else [*answers, HookAnswer(given={})])
    assert stringify_json(beside.answer.to_dict()) == stringify_json(alone.answer.to_dict())
    assert {path: tuple(index - first for index in held) for path, held in beside.holders.items()} == alone.holders


RANKED = st.tuples(RUN, st.integers(0, 3))


@example(
    HookEventName.BEFORE_MODEL,
    [((b"{}", 2, b"first"), 0), ((b'{"decision":"allow"}', 0, b""), 0), ((b"", 2, b"last"), 0)],
)
@given(st.sampled_from(HookEventName), st.lists(RANKED, max_size=4))
def test_a_verdict_says_one_thing(
    event: HookEventName, runs: list[tuple[tuple[bytes, int | None, bytes], int]]
) -> None:
    """For any answers, the verdict's fields agree with each other, with the result and with the hooks that decided."""
    results = [ran(event, out, exit_code=code, stderr=err, rank=rank) for (out, code, err), rank in runs]
    verdict = decide(event, TOLD, results)
    row = EVENT_TABLE[event]
    answers = [result.answer for result in results if result.answer is not None]
    assert verdict.blocked is ((row.can_block and verdict.denied) or (row.is_pre and verdict.stop))
    assert verdict.go_on is (row.block_continues_turn and verdict.denied and not verdict.stop)
    assert (verdict.stop_reason is not None) is verdict.stop
    if verdict.denied:
        assert verdict.reason is not None
        for answer in answers:
            assert not answer.blocks or answer.why is None or answer.why in verdict.reason
        assert not verdict.ask
    assert bool(verdict.deciders) is (verdict.blocked or verdict.stop or verdict.ask or verdict.go_on)
    if verdict.blocked:
        assert (verdict.arguments, verdict.request, verdict.prompt) == (None, None, None)
    for path, holders in verdict.decided_by.items():
        assert holders, path
    assert verdict.overridden == () or row.replaces_fields


@given(st.sampled_from(HookEventName), st.lists(RANKED, max_size=4))
def test_a_verdict_goes_through_json_unchanged(
    event: HookEventName, runs: list[tuple[tuple[bytes, int | None, bytes], int]]
) -> None:
    """`from_dict` reads the verdict that was written; only values that JSON can't hold differ."""
    results = [ran(event, out, exit_code=code, stderr=err, rank=rank) for (out, code, err), rank in runs]
    verdict = decide(event, TOLD, results)
    written = json.dumps(verdict.to_dict(), allow_nan=False)
    again = Verdict.from_dict(json.loads(written))
    assert json.dumps(again.to_dict(), allow_nan=False) == written
    assert again == verdict


@pytest.mark.req("HOOK-098")
@given(st.sampled_from(HookEventName), st.lists(RANKED, max_size=5), st.booleans())
def test_no_less_trusted_hook_undoes_a_block_or_a_stop(
    event: HookEventName, runs: list[tuple[tuple[bytes, int | None, bytes], int]], stops: bool
) -> None:
    """Before or after a guard of the system, hooks of other layers change nothing of what it forbids."""
    assume(EVENT_TABLE[event].merge is not merge_last_wins)
    assume(not EVENT_TABLE[event].observe_only if stops else event is not HookEventName.BEFORE_TOOL_SELECTION)
    guard = ran(event, b'{"continue":false}' if stops else b'{"decision":"deny"}', rank=4)
    others = [ran(event, out, exit_code=code, stderr=err, rank=rank) for (out, code, err), rank in runs]
    for results in ([guard, *others], [*others, guard]):
        verdict = decide(event, TOLD, results)
        assert verdict.stop if stops else verdict.denied


DENIALS = st.builds(
    lambda answer, denial: {**answer, **denial}, ANSWER, st.sampled_from([{"decision": "deny"}, {"decision": "block"}])
)
PERMISSION_DENIALS = st.builds(
    lambda answer, specific, word: {**answer, "hookSpecificOutput": {**specific, "permissionDecision": word}},
    ANSWER,
    SPECIFIC,
    st.sampled_from(["deny", "block"]),
)


@pytest.mark.req("HOOK-092", "HOOK-110", "HOOK-171")
@given(st.data(), st.lists(RUN, max_size=5))
def test_no_deny_is_lost_before_a_tool(data: st.DataObject, others: list[tuple[bytes, int | None, bytes]]) -> None:
    """One deny, in either field or by exit code, in any position, among any others: the tool is blocked."""
    event = HookEventName.BEFORE_TOOL
    denial = data.draw(
        (DENIALS | PERMISSION_DENIALS).map(lambda answer: ran(event, stringify_json(answer)))
        | st.binary(max_size=5).map(lambda stderr: ran(event, b"", exit_code=2, stderr=stderr))
    )
    results = [ran(event, stdout, exit_code=code, stderr=stderr) for stdout, code, stderr in others]
    results.insert(data.draw(st.integers(0, len(results))), denial)
    merged = HookAggregator().aggregate_results(results, event, TOLD)
    assert merged.final_output is not None
    assert merged.final_output.is_blocking_decision()
    assert merged.final_output.decision in ("deny", "block")
    assert merged.final_output.get_effective_reason() != ""
    assert merged.effect is None


@pytest.mark.req("HOOK-092")
@given(st.data(), st.lists(ANSWER, max_size=5), DENIALS)
def test_no_deny_is_lost_on_other_or_merged_events(
    data: st.DataObject, others: list[dict[str, Any]], denial: dict[str, Any]
) -> None:
    """The same holds for `decision` on every other event whose answers are OR-merged."""
    event = data.draw(
        st.sampled_from(
            [
                HookEventName.AFTER_TOOL,
                HookEventName.BEFORE_AGENT,
                HookEventName.AFTER_AGENT,
                HookEventName.SESSION_START,
            ]
        )
    )
    others.insert(data.draw(st.integers(0, len(others))), denial)
    final = HookAggregator().aggregate_results([ran(event, stringify_json(o)) for o in others], event).final_output
    assert final is not None
    assert final.is_blocking_decision()


@pytest.mark.req("HOOK-058", "HOOK-097")
@given(st.data(), st.lists(ANSWER, max_size=5), ANSWER)
def test_no_stop_is_lost(data: st.DataObject, others: list[dict[str, Any]], stop: dict[str, Any]) -> None:
    """One `continue: false` stops, wherever it stands, on every event but those where later fields win."""
    event = data.draw(
        st.sampled_from(
            [name for name, row in EVENT_TABLE.items() if row.merge.__name__.endswith(("or_decision", "selection"))]
        )
    )
    others.insert(data.draw(st.integers(0, len(others))), {**stop, "continue": False})
    merged = HookAggregator().aggregate_results([ran(event, stringify_json(o)) for o in others], event)
    assert process_common_hook_output_fields(merged).should_stop


@pytest.mark.req("HOOK-098", "HOOK-110")
@given(st.lists(RUN, max_size=5))
def test_only_an_explicit_answer_undoes_a_block_of_a_model_call(runs: list[tuple[bytes, int | None, bytes]]) -> None:
    """Hooks that crash or print plain text after a deny leave the model call blocked."""
    event = HookEventName.BEFORE_MODEL
    later = [ran(event, stdout, exit_code=code, stderr=stderr) for stdout, code, stderr in runs]
    assume(not any(r.answer and r.answer.is_explicit and "decision" in r.answer.to_dict() for r in later))
    final = HookAggregator().aggregate_results([ran(event, b'{"decision":"deny"}'), *later], event).final_output
    assert final is not None
    assert final.is_blocking_decision()


@pytest.mark.req("HOOK-099", "HOOK-100", "HOOK-101", "HOOK-102", "HOOK-210")
@given(st.lists(TOOL_CONFIG, min_size=1, max_size=6))
def test_tool_selections_are_united(configs: list[dict[str, Any]]) -> None:
    """Most restrictive mode, sorted union, nothing under NONE, and no selection without a usable one."""
    event = HookEventName.BEFORE_TOOL_SELECTION
    answers = [stringify_json({"hookSpecificOutput": {"toolConfig": config}}) for config in configs]
    final = HookAggregator().aggregate_results([ran(event, answer) for answer in answers], event).final_output
    assert final is not None
    merged = final.hook_specific_output.get("toolConfig")
    read = [json.loads(answer)["hookSpecificOutput"]["toolConfig"] for answer in answers]
    modes = [trim(config["mode"]).upper() for config in read if isinstance(config.get("mode"), str)]
    modes = [mode for mode in modes if mode in ("AUTO", "ANY", "NONE")]
    given_lists = [config.get("allowedFunctionNames") for config in read]
    lists = [[one] if isinstance(one, str) else one for one in given_lists if isinstance(one, str | list)]
    names = sorted({name for given_names in lists for name in given_names if isinstance(name, str)})
    if not modes and not lists:
        assert merged is None
    elif "NONE" in modes:
        assert merged == {"mode": "NONE", "allowedFunctionNames": []}
    else:
        mode = "ANY" if "ANY" in modes else "AUTO"
        assert merged == ({"mode": mode, "allowedFunctionNames": names} if lists else {"mode": mode})


@given(st.sampled_from(HookEventName), st.lists(RUN, max_size=5), st.randoms(use_true_random=False))
def test_merging_the_same_results_again_gives_the_same(
    event: HookEventName, runs: list[tuple[bytes, int | None, bytes]], shuffler: random.Random
) -> None:
    """The result is a function of the results in plan order: no state, no clock, and no order of merging matters."""
    results = [ran(event, stdout, exit_code=code, stderr=stderr) for stdout, code, stderr in runs]
    aggregator = HookAggregator()
    once = aggregator.aggregate_results(results, event, TOLD)
    scrambled = list(results)
    shuffler.shuffle(scrambled)
    aggregator.aggregate_results(scrambled, event, TOLD)
    again = aggregator.aggregate_results(list(results), event, TOLD)
    assert stringify_json(again.to_dict()) == stringify_json(once.to_dict())
    assert stringify_json(again.effect) == stringify_json(once.effect)


@pytest.mark.req("HOOK-108", "HOOK-112")
@pytest.mark.parametrize("seed", range(3))
def test_the_finishing_order_changes_nothing(
    project: Path, tmp_path: Path, hook_script: Callable[..., Path], seed: int
) -> None:
    """Real hooks that finish in any order, each waiting for the one before it, are merged in plan order."""
    order = list(range(5))
    random.Random(seed).shuffle(order)  # noqa: S311 - any order will do
    scripts = []
    for place in range(5):
        rank = order.index(place)
        wait = f"until [ -e {tmp_path}/done.{rank - 1} ]; do sleep 0.01; done" if rank else ":"
        answer = {"systemMessage": str(place), "decision": "deny" if place == 2 else "allow", "reason": f"r{place}"}
        body = f"{wait}\necho '{json.dumps(answer)}'\ntouch {tmp_path}/done.{rank}"
        scripts.append({"type": "command", "command": str(hook_script(body, f"hook{place}.sh"))})
    config = Config(project, settings={"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": scripts}]}})

    async def fire() -> dict[str, Any]:
        system = config.get_hook_system()
        assert system is not None
        await system.initialize()
        result = await system.get_event_handler().fire_before_tool_event("t", {})
        system.dispose()
        assert result.final_output is not None
        return result.final_output.to_dict()

    assert asyncio.run(fire()) == {
        "continue": True,
        "suppressOutput": False,
        "decision": "deny",
        "reason": "r0\nr1\nr2\nr3\nr4",
        "systemMessage": "0\n1\n2\n3\n4",
    }
