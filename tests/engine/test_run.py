import asyncio
import json
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.patience import with_enough_time

from hookline.engine.decide import decide
from hookline.engine.outcome import to_result
from hookline.engine.plan import plan
from hookline.engine.run import HookRunner, blocked_by, skips
from hookline.protocol.answers import HookAnswer, deny, read_object, warning_from_stderr
from hookline.protocol.constants import ConfigSource, HookType, OnError
from hookline.protocol.events import HookEventName
from hookline.protocol.hook_entry import CommandLine, HookEntry, HookRun, HttpTarget, Unsupported
from hookline.protocol.text.json_text import stringify_json
from hookline.protocol.verdict import HookExecutionResult, Skip, SkipKind
from hookline.runners.dialect import prepare
from hookline.runners.process.batch import ChildLimits, ChildOutcome


def hook(run: str | HookRun, *, event: HookEventName = HookEventName.BEFORE_TOOL, **options: Any) -> HookEntry:
    run = CommandLine(run) if isinstance(run, str) else run
    return HookEntry(
        event=event, source=ConfigSource.USER, origin="settings.json", location="hooks", run=run, **options
    )


def says(answer: object) -> str:
    """A command that answers this."""
    return f"printf %s {shlex.quote(json.dumps(answer))}"


def told(project: Path, **fields: Any) -> dict[str, Any]:
    """An event's input, as far as the runner looks at it."""
    return {"session_id": "s1", "cwd": str(project), **fields}


def parallel(
    hooks: Sequence[HookEntry], event_input: Mapping[str, Any], environ: Mapping[str, str] | None = None
) -> list[HookExecutionResult]:
    runner = HookRunner(environ=environ)
    return asyncio.run(runner.execute_hooks_parallel(hooks, event_input))


def sequential(hooks: Sequence[HookEntry], event_input: Mapping[str, Any]) -> list[HookExecutionResult]:
    return asyncio.run(HookRunner().execute_hooks_sequential(hooks, event_input))


def stdins(results: Sequence[HookExecutionResult]) -> list[Any]:
    """Return what each hook read; only of hooks that copy their input to stderr."""
    return [json.loads(result.stderr) for result in results]


def plain_text(text: str) -> HookAnswer:
    given = {"decision": "allow", "systemMessage": text}
    return HookAnswer(decision="allow", note=text, is_explicit=False, rank=3, given=given)


@pytest.mark.req("HOOK-108")
def test_parallel_hooks_run_at_the_same_time(project: Path) -> None:
    """Two hooks that each wait for the other can only end if both run."""
    wait = "touch {0}; until [ -e {1} ]; do sleep 0.01; done; echo {0}"
    hooks = [hook(wait.format("a", "b"), timeout_ms=10_000), hook(wait.format("b", "a"), timeout_ms=10_000)]
    assert [result.stdout for result in parallel(hooks, told(project))] == ["a\n", "b\n"]


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"tool_input": {"content": "é\n" * 600_000}}, id="argument"),
        pytest.param({"prompt": "x" * 100_000}, id="prompt"),
        pytest.param({"tool_input": {"content": {"deep": "x" * 100_000}}}, id="deeper"),
    ],
)
def test_hooks_read_a_long_input_as_it_is_recorded(project: Path, fields: dict[str, Any], count: int) -> None:
    """It is the JSON of the event."""
    results = parallel([hook(f"cat >&2; exit {number}") for number in range(count)], told(project, **fields))
    expected = stringify_json(told(project, **fields))
    assert [(run.stderr.encode(), run.stdin) for run in results] == [(expected, expected)] * count


@pytest.mark.req("HOOK-108")
def test_parallel_results_stand_in_plan_order(project: Path) -> None:
    """A hook that ends last still has its result where the plan has the hook."""
    hooks = [hook("until [ -e second ]; do sleep 0.01; done; echo first"), hook("echo second; touch second")]
    results = parallel(hooks, told(project))
    assert [(result.hook, result.stdout) for result in results] == [(hooks[0], "first\n"), (hooks[1], "second\n")]


@pytest.mark.req("HOOK-103")
def test_sequential_hooks_run_one_after_the_other(project: Path) -> None:
    """The second hook starts when the first has ended."""
    sequential([hook("sleep 0.2; echo 1 >> order"), hook("echo 2 >> order")], told(project))
    assert (project / "order").read_text() == "1\n2\n"


@pytest.mark.req("HOOK-061", "HOOK-155")
def test_stdin_is_one_line_of_json_and_then_its_end(project: Path) -> None:
    """A hook reads the bytes of `JSON.stringify`, whole, and `cat` comes to an end."""
    event_input = told(project, tool_name="wörk", tool_input={"a": [1.0, None, 'q"'], "big": "x" * 200_000})
    (result,) = parallel([hook("cat > got")], event_input)
    assert (project / "got").read_bytes() == result.stdin == stringify_json(event_input)
    assert b"\n" not in result.stdin
    assert result.success


@pytest.mark.req("HOOK-188", "HOOK-155")
def test_the_environment_of_a_hook(tmp_path: Path) -> None:
    """A hook inherits the given environment, adds its own variables, and gets the project in three more."""
    project = tmp_path / "it's a $(touch trap) project"
    project.mkdir()
    (project / "inside").write_text("found\n")
    names = ("LLXPRT_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR", "INHERITED", "OWN", "BOTH", "PWD")
    script = "; ".join(f'printf "%s\\n" "${name}"' for name in names) + "; cat $LLXPRT_PROJECT_DIR/inside"
    environ = {"PATH": os.environ["PATH"], "INHERITED": "i", "BOTH": "inherited", "GEMINI_PROJECT_DIR": "elsewhere"}
    own = {"OWN": "o", "BOTH": "own", "CLAUDE_PROJECT_DIR": "elsewhere"}
    (result,) = parallel([hook(script, env=own)], told(project), environ)
    assert result.stdout.splitlines() == [*[str(project)] * 3, "i", "o", "own", str(project), "found"]
    assert sorted(path.name for path in project.iterdir()) == ["inside"]


@pytest.mark.req("HOOK-188")
def test_the_own_environment_is_the_default(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without another environment hooks inherit this program's, as it is when they start."""
    monkeypatch.setenv("SET_LATE", "yes")
    assert parallel([hook('echo "$SET_LATE"')], told(project))[0].stdout == "yes\n"


@pytest.mark.req("HOOK-024", "HOOK-106", "HOOK-211", "HOOK-216")
def test_a_chain_of_tool_inputs(project: Path) -> None:
    """Each hook reads the arguments as they would go on now: key by key, nested objects whole, null as a value."""
    changes: list[Any] = [{"a": 2, "nested": {"new": 1}}, {"b": None}, "no object", None, {"c": 3}]
    hooks = [
        hook(f"cat >&2; {says({'hookSpecificOutput': {'tool_input': change}})}", name=str(index))
        for index, change in enumerate(changes)
    ]
    event_input = told(project, tool_input={"a": 1, "b": 1, "nested": {"old": 1}})
    read = stdins(sequential([*hooks, hook("cat >&2")], event_input))
    changed = {"a": 2, "b": 1, "nested": {"new": 1}}
    assert [seen["tool_input"] for seen in read] == [
        event_input["tool_input"],
        changed,
        {**changed, "b": None},
        {**changed, "b": None},
        event_input["tool_input"],
        {**event_input["tool_input"], "c": 3},
    ]
    assert event_input["tool_input"] == {"a": 1, "b": 1, "nested": {"old": 1}}


@pytest.mark.req("HOOK-105", "HOOK-211")
def test_a_chain_of_requests(project: Path) -> None:
    """The next BeforeModel hook reads the request as it would be sent now, its config laid over key by key."""
    request = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "config": {"temperature": 1}}
    answer = {"hookSpecificOutput": {"llm_request": {"config": {"topP": 0.5}}}}
    event = HookEventName.BEFORE_MODEL
    hooks = [hook(f"cat >&2; {says(answer)}", event=event), hook("cat >&2", event=event)]
    first, second = stdins(sequential(hooks, told(project, llm_request=request)))
    assert first["llm_request"] == request
    assert second["llm_request"] == {**request, "config": {"temperature": 1, "topP": 0.5}}


@pytest.mark.req("HOOK-104", "HOOK-105")
def test_a_chain_of_requests_adds_up(project: Path) -> None:
    """A later hook reads the changes of all hooks before it, also behind one that failed or changed nothing."""
    event, request = HookEventName.BEFORE_MODEL, {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    changes: list[dict[str, Any]] = [{"model": "n"}, {"config": {"topP": 0.5}}, {}, {"config": {"temperature": 1}}]
    commands = [f"cat >&2; {says({'hookSpecificOutput': {'llm_request': change}})}" for change in changes]
    hooks = [hook(command, event=event) for command in (*commands, "cat >&2; exit 1", "cat >&2")]
    read = [seen["llm_request"] for seen in stdins(sequential(hooks, told(project, llm_request=request)))]
    second, third = {**request, "model": "n"}, {**request, "model": "n", "config": {"topP": 0.5}}
    last = {**third, "config": {"topP": 0.5, "temperature": 1}}
    assert read == [request, second, third, third, last, last]


@pytest.mark.req("HOOK-104")
def test_a_chain_of_arguments_adds_up(project: Path) -> None:
    """The last hook reads what the first and the third have changed; the second has failed, the fourth said nothing."""
    answers = [says({"hookSpecificOutput": {"tool_input": {name: 2}}}) for name in ("a", "b", "c")]
    hooks = [hook(answers[0]), hook(f"{answers[1]}; exit 1"), hook(answers[2]), hook("true"), hook("cat >&2")]
    *_, last = sequential(hooks, told(project, tool_input={"a": 1, "b": 1, "c": 1}))
    assert json.loads(last.stderr)["tool_input"] == {"a": 2, "b": 1, "c": 2}


@pytest.mark.req("HOOK-016a", "HOOK-066", "HOOK-067a", "HOOK-189")
def test_all_of_stderr_is_the_reason(project: Path) -> None:
    """Every line of it, as it was written, and nothing of stdout."""
    (result,) = parallel([hook("echo out; printf 'Denied:\\n  - ä\\n\\n  - b  c\\n' >&2; exit 2")], told(project))
    assert result.answer is not None
    assert (result.blocks, result.answer.reason) == (True, "Denied:\n  - ä\n\n  - b  c")


@pytest.mark.req("HOOK-209")
def test_all_of_stderr_is_the_warning(project: Path) -> None:
    """Every line of it, behind the word that says what it is."""
    (result,) = parallel([hook("printf 'first\\n\\n  second\\n' >&2; exit 1")], told(project))
    assert result.answer is not None
    assert result.answer.note == "Warning: first\n\n  second"


@pytest.mark.req("HOOK-063", "HOOK-064")
def test_all_of_stdout_is_the_answer(project: Path) -> None:
    """An object over several lines is JSON, and a text over several lines is one message."""
    pretty = json.dumps({"decision": "deny", "reason": "no"}, indent=2)
    answers = [
        run.answer
        for run in parallel([hook(f"printf %s {shlex.quote(pretty)}"), hook("printf 'a\\nb\\n'")], told(project))
    ]
    assert answers[0] is not None
    assert answers[1] is not None
    assert (answers[0].decision, answers[0].reason) == ("deny", "no")
    assert answers[1].note == "a\nb"


@pytest.mark.req("HOOK-211")
def test_a_chain_of_prompts(project: Path) -> None:
    """The next BeforeAgent hook reads the prompt with the context of the one before, if it gave any, at its end."""
    event = HookEventName.BEFORE_AGENT
    answers: list[dict[str, Any]] = [{"hookSpecificOutput": {"additionalContext": "It is raining."}}, {}]
    hooks = [*(hook(f"cat >&2; {says(answer)}", event=event) for answer in answers), hook("cat >&2", event=event)]
    read = stdins(sequential(hooks, told(project, prompt="Go out?")))
    assert [seen["prompt"] for seen in read] == ["Go out?", *["Go out?\n\nIt is raining."] * 2]


@pytest.mark.parametrize(
    ("first", "second", "read"),
    [
        pytest.param(True, True, "Stay.\n\nIt is raining.", id="both-applied"),
        pytest.param(False, True, "Go out?", id="a-guard-after-a-watcher"),
        pytest.param(False, False, "Stay.\n\nIt is raining.", id="both-watch"),
    ],
)
def test_a_guard_reads_the_prompt_that_is_sent(project: Path, first: bool, second: bool, read: str) -> None:
    """The change of a hook that only watches is not sent, so guards don't see it; watchers chain among themselves."""
    event = HookEventName.BEFORE_AGENT
    change = says({"hookSpecificOutput": {"prompt": "Stay.", "additionalContext": "It is raining."}})
    hooks = [
        hook(f"cat >&2; {change}", event=event, is_applied=first),
        hook("cat >&2", event=event, is_applied=second),
    ]
    assert stdins(sequential(hooks, told(project, prompt="Go out?")))[1]["prompt"] == read


def test_a_watcher_keeps_no_hook_from_running_and_is_never_a_closed_door(project: Path) -> None:
    """While nothing is applied, a block ends no chain and `onError` blocks nothing."""
    event = HookEventName.BEFORE_AGENT
    blocks = hook("exit 2", event=event, is_applied=False)
    crashes = hook("exit 1", event=event, is_applied=False, on_error=OnError.BLOCK)
    assert [run.blocks for run in sequential([blocks, crashes], told(project, prompt="x"))] == [True, False]
    crashes = hook("exit 1", event=event, on_error=OnError.BLOCK)
    assert [run.blocks for run in sequential([blocks, crashes], told(project, prompt="x"))] == [True, True]


def test_a_prompt_passes_the_less_trusted_layers_first(project: Path) -> None:
    """The user's guard reads the prompt as the project's hooks leave it, whether or not they run as a chain."""
    event = HookEventName.BEFORE_AGENT
    rewrites = hook(says({"hookSpecificOutput": {"prompt": "rm -rf"}}), event=event, rank=1)
    guard = hook("cat >&2", event=event, rank=2)
    made = plan([rewrites, guard], event)
    runs = asyncio.run(HookRunner().run(made, told(project, prompt="ls")))
    assert json.loads(runs[1].stderr)["prompt"] == "rm -rf"


@pytest.mark.req("HOOK-211")
@pytest.mark.parametrize(
    "event", [HookEventName.AFTER_TOOL, HookEventName.BEFORE_TOOL_SELECTION, HookEventName.AFTER_MODEL]
)
def test_other_events_pass_their_input_on_unchanged(project: Path, event: HookEventName) -> None:
    """Where nothing is chained all hooks read the same."""
    specific = {"tool_input": {"a": 2}, "llm_request": {"model": "other"}, "llm_response": {"text": "other"}}
    hooks = [
        hook(f"cat >&2; {says({'hookSpecificOutput': specific})}", event=event),
        hook("cat >&2", event=event),
    ]
    event_input = told(project, tool_input={"a": 1}, llm_request={"model": "m"}, llm_response={"text": "t"})
    assert stdins(sequential(hooks, event_input)) == [event_input, event_input]


@pytest.mark.req("HOOK-104")
@pytest.mark.parametrize(
    "command",
    [
        pytest.param(f"{says({'hookSpecificOutput': {'tool_input': {'a': 2}}})}; exit 1", id="failed"),
        pytest.param(f"{says({'hookSpecificOutput': {'tool_input': {'a': 2}}})}; kill -9 $$", id="killed"),
        pytest.param("true", id="silent"),
        pytest.param("echo plain text", id="text"),
    ],
)
def test_only_an_answer_on_exit_0_changes_the_chain(project: Path, command: str) -> None:
    """After a hook that failed or said nothing the next one reads what that one read."""
    event_input = told(project, tool_input={"a": 1})
    first, second = sequential([hook(command), hook("cat >&2")], event_input)
    assert json.loads(second.stderr) == event_input
    assert first.stdin == second.stdin


@pytest.mark.req("HOOK-107")
@pytest.mark.parametrize(
    "command",
    [
        pytest.param("exit 2", id="exit 2"),
        pytest.param(says({"decision": "block"}), id="block"),
        pytest.param(says({"decision": "deny"}), id="deny"),
        pytest.param(says({"hookSpecificOutput": {"permissionDecision": "deny"}}), id="permissionDecision"),
    ],
)
def test_a_block_ends_the_chain(project: Path, command: str) -> None:
    """The hooks after a block are not started."""
    hooks = [hook("true"), hook(command), hook("touch started")]
    assert [result.hook for result in sequential(hooks, told(project))] == hooks[:2]
    assert not (project / "started").exists()


@pytest.mark.req("HOOK-107")
@pytest.mark.parametrize(
    ("event", "ranks", "started"),
    [
        pytest.param(HookEventName.BEFORE_TOOL, (1, 1), False, id="same-rank"),
        pytest.param(HookEventName.BEFORE_TOOL, (2, 1), False, id="less-trusted"),
        pytest.param(HookEventName.BEFORE_TOOL, (1, 2), True, id="more-trusted"),
        pytest.param(HookEventName.BEFORE_MODEL, (1, 1), False, id="before-the-model"),
        pytest.param(HookEventName.AFTER_TOOL, (1, 1), True, id="cannot-block"),
        pytest.param(HookEventName.AFTER_MODEL, (2, 1), True, id="cannot-block-either"),
        pytest.param(HookEventName.BEFORE_AGENT, (1, 1), False, id="before-a-prompt"),
        pytest.param(HookEventName.SESSION_END, (1, 1), True, id="only-watches"),
    ],
)
def test_whom_a_block_keeps_from_running(
    project: Path, event: HookEventName, ranks: tuple[int, int], started: bool
) -> None:
    """A block ends the chain for its own and less trusted layers, and only where the event can block at all."""
    first, second = (
        hook(command, event=event, rank=rank) for command, rank in zip(("exit 2", "touch ran"), ranks, strict=True)
    )
    runs = sequential([first, second], told(project))
    assert [run.hook for run in runs] == ([first, second] if started else [first])
    assert (project / "ran").exists() is started
    assert (blocked_by(second, runs[:1]) is None) is started
    skip = Skip(hook=second, kind=SkipKind.CHAIN_STOPPED, detail="exit 2 blocked")
    assert skips([first, second], runs, {}) == (() if started else (skip,))


def test_the_chain_goes_on_for_each_hook_by_its_own_rank(project: Path) -> None:
    """After a project's block the user's guard still runs, with the changed input, and later project hooks do not."""
    change = says({"decision": "deny", "hookSpecificOutput": {"tool_input": {"a": 2}}})
    hooks = [hook(change, rank=1), hook("cat >&2", rank=2), hook("touch ran", rank=1)]
    runs = sequential(hooks, told(project, tool_input={"a": 1}))
    assert [run.hook for run in runs] == hooks[:2]
    assert json.loads(runs[1].stderr)["tool_input"] == {"a": 2}
    assert [skip.hook for skip in skips(hooks, runs, {})] == [hooks[2]]
    assert not (project / "ran").exists()


def test_the_chain_is_told_by_rank(project: Path) -> None:
    """The next hook doesn't see a change that a project's hook can't make in the end."""
    hooks = [
        hook(f"cat >&2; {says({'hookSpecificOutput': {'tool_input': {'a': 'user'}}})}", rank=2),
        hook(f"cat >&2; {says({'hookSpecificOutput': {'tool_input': {'a': 'project', 'b': 1}}})}", rank=1),
        hook("cat >&2", rank=1),
    ]
    read = stdins(sequential(hooks, told(project, tool_input={"a": 0})))
    assert [seen["tool_input"] for seen in read] == [{"a": 0}, {"a": "user"}, {"a": "user", "b": 1}]


@pytest.mark.req("HOOK-195")
def test_a_plugin_hook_fails_and_blocks_nothing(project: Path) -> None:
    """A plugin cannot be run: it fails in its place, and the hooks around it run."""
    plugin = hook(Unsupported(HookType.PLUGIN))
    before, failed, after = parallel([hook("echo 1"), plugin, hook("echo 2")], told(project))
    assert [before.stdout, after.stdout] == ["1\n", "2\n"]
    assert failed == HookExecutionResult(
        hook=plugin,
        event=HookEventName.BEFORE_TOOL,
        success=False,
        exit_code=None,
        stdin=before.stdin,
        error='could not be started: hooks of type "plugin" cannot be run; use "type": "command"',
    )
    assert not (project / "started").exists()


@pytest.mark.req("HOOK-112")
def test_a_failing_hook_costs_the_others_nothing(project: Path) -> None:
    """Beside a crash, a missing command and a timeout, the answer of the fourth is there."""
    hooks = [hook("kill -9 $$"), hook("no-such-command-here"), hook("sleep 9", timeout_ms=50), hook(says({"a": 1}))]
    results = parallel(hooks, told(project))
    assert [result.success for result in results] == [False, False, False, True]
    assert results[3].answer == read_object({"a": 1})


def test_a_hook_that_cannot_be_started_has_an_error(tmp_path: Path) -> None:
    """A command that no process can have does not start: no exit code, and the error says why."""
    (result,) = parallel([hook("a null\0character")], told(tmp_path))
    assert (result.success, result.exit_code) == (False, None)
    assert result.error is not None
    assert "null" in result.error


def test_a_plugin_hook_that_must_not_fail_blocks(project: Path) -> None:
    """It is never run, so what it was to guard is not let through."""
    (result,) = parallel([hook(Unsupported(HookType.PLUGIN), on_error=OnError.BLOCK)], told(project))
    assert result.blocks
    assert result.answer is not None
    assert result.answer.why is not None
    assert result.answer.why.endswith("and its onError is block")


def test_a_hook_that_blocks_because_its_settings_are_wrong_says_so(project: Path) -> None:
    """Its file may say that its onError is allow."""
    wrong: dict[str, Any] = {"refusal": "its worker is a string", "on_error": OnError.BLOCK, "is_misconfigured": True}
    (result,) = parallel([hook("true", name="guard", **wrong)], told(project))
    why = "could not be started: its worker is a string, and a hook whose settings are wrong blocks until you fix them"
    assert result.answer is not None
    assert result.answer.why == f"guard {why}"


def test_on_error_block_counts_only_where_a_hook_can_block(project: Path) -> None:
    """After the fact there is nothing to block."""
    guard = hook("exit 1", event=HookEventName.AFTER_TOOL, on_error=OnError.BLOCK)
    assert parallel([guard], told(project))[0].answer is None


def test_no_hooks_no_results(project: Path) -> None:
    """An empty plan has no results and starts nothing."""
    assert parallel([], told(project)) == []
    assert sequential([], told(project)) == []


@pytest.mark.parametrize("fails", [False, True], ids=["sound", "failing"])
def test_the_end_of_each_hook_is_told_as_it_comes(project: Path, fails: bool) -> None:
    """Somebody who watches sees which hooks still run; what goes wrong with watching changes nothing."""
    ended: list[str | None] = []

    def tell(one: HookEntry) -> None:
        ended.append(one.command)
        if fails:
            raise RuntimeError("cannot look")

    # The first waits for what the second leaves behind, so the second ends first.
    slow = hook("while [ ! -e done ]; do sleep 0.02; done; sleep 0.1")
    quick = hook("touch done")
    runner = HookRunner(on_end=tell)
    results = asyncio.run(
        runner.execute_hooks_parallel([slow, hook(Unsupported(HookType.PLUGIN)), quick], told(project))
    )
    # One that can't be run does not count as running either.
    assert ended == [None, quick.command, slow.command]
    assert [result.success for result in results] == [True, False, True]


def test_whoever_watches_cannot_break_a_run(project: Path) -> None:
    """A watcher that fails, or is false, is notified of the hook all the same."""

    class Watcher(list[HookEntry]):
        def __call__(self, ended: HookEntry) -> None:
            self.append(ended)
            raise RuntimeError("not interested")

    watcher, one = Watcher(), hook("true")
    asyncio.run(HookRunner(on_end=watcher).execute_hooks_parallel([one], told(project)))
    assert watcher == [one]


DENY = '{"decision":"deny","reason":"json"}'


def prints(stdout: str = "", stderr: str = "", then: str = "exit 0") -> str:
    """A command that writes these bytes and ends so."""
    return f"printf %s {shlex.quote(stdout)}; printf %s {shlex.quote(stderr)} >&2; {then}"


@pytest.mark.req(
    "HOOK-016a",
    "HOOK-063",
    "HOOK-064",
    "HOOK-065",
    "HOOK-066",
    "HOOK-067a",
    "HOOK-067b",
    "HOOK-068",
    "HOOK-069",
    "HOOK-070",
    "HOOK-189",
    "HOOK-196",
    "HOOK-198",
    "HOOK-209",
    "HOOK-212",
    "HOOK-214",
)
@pytest.mark.parametrize(
    ("command", "success", "exit_code", "answer"),
    [
        pytest.param(prints(DENY), True, 0, read_object({"decision": "deny", "reason": "json"}, rank=3), id="0-json"),
        pytest.param(prints("hi\n", "noise"), True, 0, plain_text("hi"), id="0-text"),
        pytest.param(prints(" \n", DENY), True, 0, None, id="0-silent"),
        pytest.param(
            'printf \'{"reason":"\\377"}\'', True, 0, read_object({"reason": "\ufffd"}, rank=3), id="0-undecodable"
        ),
        pytest.param(prints('{"decision":"allow"}', " no\n", "exit 2"), False, 2, deny("no", rank=3), id="2-stderr"),
        pytest.param(prints(DENY, then="exit 2"), False, 2, deny("Blocked by hook", rank=3), id="2-silent"),
        pytest.param(prints(DENY, "boom", "exit 1"), False, 1, warning_from_stderr("boom", rank=3), id="1-stderr"),
        pytest.param(prints(DENY, then="exit 1"), False, 1, None, id="1-json-means-nothing"),
        pytest.param(
            prints("", DENY, "exit 127"), False, 127, warning_from_stderr(DENY, rank=3), id="127-stderr-is-never-read"
        ),
        pytest.param(prints(DENY, then="kill -9 $$"), False, 0, None, id="signal-silent"),
        pytest.param(
            prints("", "dying", "kill -15 $$"), False, 0, warning_from_stderr("dying", rank=3), id="signal-stderr"
        ),
    ],
)
def test_what_an_exit_code_means(
    project: Path, command: str, success: bool, exit_code: int, answer: HookAnswer | None
) -> None:
    """0 reads stdout, 2 denies for what stderr says, anything else is a failure that only warns."""
    (result,) = parallel([hook(command, rank=3)], told(project))
    assert (result.success, result.exit_code, result.error) == (success, exit_code, None)
    assert result.answer == answer
    assert (result.timed_out, result.truncated, result.advice) == (False, False, ())
    assert (result.signal is not None) is ("kill" in command)


@pytest.mark.req("HOOK-119", "HOOK-110")
@pytest.mark.parametrize(
    "command",
    [
        pytest.param(f"{prints(DENY, 'x', 'touch printed; sleep 9')}", id="timeout"),
        pytest.param(
            f"trap 'exit 2' TERM; {prints(DENY, 'x', 'touch printed; while :; do sleep 0.05; done')}",
            id="exits-2-then",
        ),
    ],
)
def test_a_hook_that_timed_out_says_nothing(project: Path, command: str) -> None:
    """A timeout is an error without an answer, whatever was printed and however the hook ended then."""
    result = with_enough_time(
        300, project / "printed", lambda ms: parallel([hook(command, timeout_ms=ms)], told(project))[0]
    )
    assert (result.success, result.answer, result.timed_out) == (False, None, True)
    assert re.fullmatch(r"timed out after \d+ms", result.error or "")
    assert DENY in result.stdout


CUT = "stdout was cut after 40 bytes, so nothing was read from it; print less, or raise hooksConfig.outputLimit"


@pytest.mark.req("HOOK-212")
@pytest.mark.parametrize(
    ("command", "answer", "advice"),
    [
        pytest.param(
            prints(DENY + " " * 100),
            None,
            (CUT,),
            id="stdout",
        ),
        pytest.param(prints(DENY, "x" * 100), read_object({"decision": "deny", "reason": "json"}), (), id="stderr"),
        pytest.param(prints("x" * 100, "no", "exit 2"), deny("no"), (), id="exit-2"),
    ],
)
def test_what_was_cut_is_not_read(
    project: Path, command: str, answer: HookAnswer | None, advice: tuple[str, ...]
) -> None:
    """Cut stdout is never taken for a whole answer, and its author is advised; a block by exit code is kept."""
    runner = HookRunner(limits=ChildLimits(output_bytes=40))
    (result,) = asyncio.run(runner.execute_hooks_parallel([hook(command)], told(project)))
    assert (result.answer, result.advice, result.truncated) == (answer, advice, True)


CHOICES = "is not one of block, deny, allow, approve, ask; nothing was decided"


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        pytest.param(prints(DENY, "boom", "exit 1"), "guard exited with code 1, and its onError is block", id="crash"),
        pytest.param("sleep 9", "guard timed out after 200ms, and its onError is block", id="timeout"),
        pytest.param("kill -9 $$", "guard was killed by SIGKILL, and its onError is block", id="signal"),
        pytest.param(prints("x" * 200), "guard printed more than is read, and its onError is block", id="cut"),
        pytest.param(prints("", "own words", "exit 2"), "own words", id="its-own-deny"),
        pytest.param(prints(DENY), "json", id="its-own-answer"),
        pytest.param(
            prints('{"decision": "deny"'),
            "guard can't be understood (it printed '{\"decision\": \"deny\"', which can't be read as an answer), and"
            " its onError is block",
            id="broken-json",
        ),
        pytest.param(
            prints('{"decision": "DENY"}'),
            f"guard can't be understood (decision 'DENY' {CHOICES}), and its onError is block",
            id="unknown-decision",
        ),
        pytest.param(
            prints('{"continue": "false"}'),
            'guard can\'t be understood (continue is a string ("false"), expected true or false; ignored), and its'
            " onError is block",
            id="wrong-type",
        ),
        pytest.param(
            prints('{"permissionDecision": "deny"}'),
            'guard can\'t be understood (permissionDecision "deny" is at the top level; it is read only inside'
            " hookSpecificOutput), and its onError is block",
            id="wrong-place",
        ),
    ],
)
def test_a_strict_hook_blocks_unless_it_clearly_says_yes(project: Path, command: str, reason: str) -> None:
    """With `onError: block` a failure, a cut answer and an answer in doubt block, where an event can block."""
    runner = HookRunner(limits=ChildLimits(output_bytes=100))

    def run(event: HookEventName, on_error: OnError) -> HookExecutionResult:
        timeout_ms = 200 if command.startswith("sleep") else 30_000
        guard = hook(command, event=event, name="guard", timeout_ms=timeout_ms, on_error=on_error, rank=2)
        return asyncio.run(runner.execute_hooks_parallel([guard], told(project)))[0]

    strict = run(HookEventName.BEFORE_TOOL, OnError.BLOCK)
    assert strict.blocks
    assert strict.answer is not None
    assert (strict.answer.why, strict.answer.rank) == (reason, 2)
    # After the fact there is nothing to block.
    assert run(HookEventName.AFTER_TOOL, OnError.BLOCK).answer == run(HookEventName.AFTER_TOOL, OnError.ALLOW).answer


@pytest.mark.parametrize(
    "command", ["true", "echo all good", prints('{"reason": 5}'), prints('{"decision": "ask"}'), prints('"text"')]
)
def test_a_strict_hook_that_does_well_blocks_nothing(project: Path, command: str) -> None:
    """`onError` is about failures and doubts only: silence, text and a harmless fault are a yes."""
    (result,) = parallel([hook(command, on_error=OnError.BLOCK)], told(project))
    assert not result.blocks


def test_authors_are_advised(project: Path) -> None:
    """A problem with an answer, or one without effect on this event, is reported beside the result."""
    answer = {"decision": "maybe", "hookSpecificOutput": {"tool_input": {}}}
    (result,) = parallel([hook(says(answer), event=HookEventName.AFTER_TOOL)], told(project))
    reads = "additionalContext, tool_output, updatedToolOutput"
    assert result.advice == (
        f"decision 'maybe' {CHOICES}",
        f"hookSpecificOutput.tool_input changes nothing; this event reads {reads}",
    )


def test_a_final_guard_judges_what_will_run(project: Path) -> None:
    """It runs after all others, gets the arguments as they will run, and can't rewrite them."""
    rewrite = says({"hookSpecificOutput": {"tool_input": {"command": "rm -rf /"}}})
    undo = says({"hookSpecificOutput": {"tool_input": {"command": "ls"}}})
    hooks = [hook(f"cat >&2; {undo}", name="guard", final=True), hook(rewrite, name="rewrites")]
    made = plan(hooks, HookEventName.BEFORE_TOOL)
    assert [one.name for one in made.hooks] == ["rewrites", "guard"]
    runs = asyncio.run(HookRunner().run(made, told(project, tool_input={"command": "ls"})))
    assert json.loads(runs[1].stderr)["tool_input"] == {"command": "rm -rf /"}
    verdict = decide(HookEventName.BEFORE_TOOL, told(project, tool_input={"command": "ls"}), runs, plan=made)
    assert verdict.arguments == {"command": "rm -rf /"}
    assert "tool_input changes nothing" in runs[1].advice[0]


def test_final_guards_come_after_a_chain(project: Path) -> None:
    """A final guard in a sequential plan gets the arguments that the chain made."""
    add = says({"hookSpecificOutput": {"tool_input": {"b": 2}}})
    hooks = [hook("cat >&2", name="guard", final=True), hook(add, sequential=True), hook("true")]
    runs = asyncio.run(HookRunner().run(plan(hooks, HookEventName.BEFORE_TOOL), told(project, tool_input={"a": 1})))
    assert json.loads(runs[-1].stderr)["tool_input"] == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    ("body", "blocks"),
    [(b"<html>Log in</html>", True), (b'"yes"', True), (b"[]", True), (b"", False), (b" \n", False), (b"{}", False)],
)
@pytest.mark.parametrize("dialect", ["hookline", "claude"])
def test_a_text_over_http_is_no_yes(body: bytes, blocks: bool, dialect: str, tmp_path: Path) -> None:
    """With onError block: a login page also has the status 200."""
    target = HttpTarget(url="http://localhost/")
    server = hook(target, on_error=OnError.BLOCK, dialect=dialect)
    given = told(tmp_path, transcript_path="", tool_name="write_file", tool_input={})
    (invocation,) = prepare([server], given, b"{}", {})
    result = to_result(invocation, ChildOutcome(exit_code=0, stdout=body))
    assert result.blocks is blocks
