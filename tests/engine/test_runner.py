import asyncio
import json
import os
import shlex
from collections import UserDict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from hookline.contract.events import HookEventName
from hookline.contract.hooks import ConfigSource, HookEntry, HookType, OnError
from hookline.contract.results import HookExecutionResult
from hookline.contract.wire import stringify_json
from hookline.engine.runner import HookRunner, snapshots_of


def hook(command: str | None, *, event: HookEventName = HookEventName.BEFORE_TOOL, **options: Any) -> HookEntry:
    return HookEntry(
        event=event, source=ConfigSource.USER, origin="settings.json", location="hooks", command=command, **options
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
    """What each hook read; only of hooks that copy their input to stderr."""
    return [json.loads(result.stderr) for result in results]


@pytest.mark.req("HOOK-108")
def test_parallel_hooks_run_at_the_same_time(project: Path) -> None:
    """Two hooks that each wait for the other can only end if both run."""
    wait = "touch {0}; until [ -e {1} ]; do sleep 0.01; done; echo {0}"
    hooks = [hook(wait.format("a", "b"), timeout_ms=10_000), hook(wait.format("b", "a"), timeout_ms=10_000)]
    assert [result.stdout for result in parallel(hooks, told(project))] == ["a\n", "b\n"]


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
    """A hook inherits the given environment, has variables of its own, and is told the project in three more."""
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
    """Each hook reads the arguments as changed so far: key by key, nested objects whole, null as a value."""
    changes: list[Any] = [{"a": 2, "nested": {"new": 1}}, {"b": None}, "no object"]
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
    ]
    assert event_input["tool_input"] == {"a": 1, "b": 1, "nested": {"old": 1}}


@pytest.mark.req("HOOK-105", "HOOK-211")
def test_a_chain_of_requests(project: Path) -> None:
    """The next BeforeModel hook reads the request with the answer of the one before laid over it."""
    request = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "config": {"temperature": 1}}
    answer = {"hookSpecificOutput": {"llm_request": {"config": {"topP": 0.5}}}}
    event = HookEventName.BEFORE_MODEL
    hooks = [hook(f"cat >&2; {says(answer)}", event=event), hook("cat >&2", event=event)]
    first, second = stdins(sequential(hooks, told(project, llm_request=request)))
    assert first["llm_request"] == request
    assert second["llm_request"] == {**request, "config": {"temperature": 1, "topP": 0.5}}


@pytest.mark.req("HOOK-211")
def test_a_chain_of_prompts(project: Path) -> None:
    """The next BeforeAgent hook reads the prompt with the context of the one before, if it gave any, at its end."""
    event = HookEventName.BEFORE_AGENT
    answers: list[dict[str, Any]] = [{"hookSpecificOutput": {"additionalContext": "It is raining."}}, {}]
    hooks = [*(hook(f"cat >&2; {says(answer)}", event=event) for answer in answers), hook("cat >&2", event=event)]
    read = stdins(sequential(hooks, told(project, prompt="Go out?")))
    assert [seen["prompt"] for seen in read] == ["Go out?", *["Go out?\n\nIt is raining."] * 2]


@pytest.mark.req("HOOK-211")
@pytest.mark.parametrize("event", [HookEventName.AFTER_TOOL, HookEventName.BEFORE_TOOL_SELECTION])
def test_other_events_pass_their_input_on_unchanged(project: Path, event: HookEventName) -> None:
    """Where nothing is chained all hooks read the same."""
    answer = {"hookSpecificOutput": {"tool_input": {"a": 2}, "llm_request": {"model": "other"}}}
    hooks = [hook(f"cat >&2; {says(answer)}", event=event), hook("cat >&2", event=event)]
    event_input = told(project, tool_input={"a": 1}, llm_request={"model": "m"})
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


@pytest.mark.req("HOOK-195")
@pytest.mark.parametrize("command", [None, "touch started"])
def test_a_plugin_hook_fails_and_blocks_nothing(project: Path, command: str | None) -> None:
    """A plugin cannot be run: it fails in its place, and the hooks around it run."""
    plugin = hook(command, type=HookType.PLUGIN)
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
    assert results[3].output is not None
    assert results[3].output.to_dict() == {"a": 1}


def test_a_hook_that_cannot_be_started_has_an_error(tmp_path: Path) -> None:
    """Without its directory a hook does not start: no exit code, and the error says why."""
    (result,) = parallel([hook("true")], told(tmp_path / "gone"))
    assert (result.success, result.exit_code) == (False, None)
    assert result.error is not None
    assert str(tmp_path / "gone") in result.error


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        pytest.param("exit 1", "exited with code 1", id="exit 1"),
        pytest.param("kill -9 $$", "was killed by SIGKILL", id="killed"),
        pytest.param("sleep 9", "timed out after 100ms", id="timeout"),
    ],
)
def test_on_error_block_turns_a_failure_into_a_deny(project: Path, command: str, reason: str) -> None:
    """Where its author says so, a hook that could not do its work blocks what it was to guard."""
    guard = hook(command, name="guard", timeout_ms=100, on_error=OnError.BLOCK)
    (result,) = parallel([guard], told(project))
    assert result.output is not None
    assert result.output.to_dict() == {
        "decision": "deny",
        "reason": f"guard {reason}, and its onError is block",
    }


def test_a_plugin_hook_that_must_not_fail_blocks(project: Path) -> None:
    """It is never run, so what it was to guard is not let through."""
    (result,) = parallel([hook(None, type=HookType.PLUGIN, on_error=OnError.BLOCK)], told(project))
    assert result.output is not None
    assert result.output.is_blocking_decision()


def test_on_error_block_counts_only_where_a_hook_can_block(project: Path) -> None:
    """After the fact there is nothing to block."""
    guard = hook("exit 1", event=HookEventName.AFTER_TOOL, on_error=OnError.BLOCK)
    assert parallel([guard], told(project))[0].output is None


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
    results = asyncio.run(runner.execute_hooks_parallel([slow, hook(None, type=HookType.PLUGIN), quick], told(project)))
    assert ended == [quick.command, slow.command]
    assert [result.success for result in results] == [True, False, True]


def test_hooks_inherit_the_environment_as_it_is_now(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that is set, changed or removed between two events is so for the hooks of the second."""
    runner = HookRunner()
    seen = []
    for value in ("one", "two", None):
        if value is None:
            monkeypatch.delenv("HOOKLINE_TEST_WORD")
        else:
            monkeypatch.setenv("HOOKLINE_TEST_WORD", value)
        show = hook('echo "${HOOKLINE_TEST_WORD-gone}"')
        (result,) = asyncio.run(runner.execute_hooks_parallel([show], told(project)))
        seen.append(result.stdout.strip())
    assert seen == ["one", "two", "gone"]


def test_a_changed_environment_is_seen_by_the_next_hooks(project: Path, tmp_path: Path) -> None:
    """What hooks inherit is looked at for every event, and so is where they run."""
    environ = {**os.environ, "COLOUR": "one"}
    runner = HookRunner(environ=environ)
    printing = [hook('echo "$COLOUR $CLAUDE_PROJECT_DIR"')]

    def said(where: Path) -> str:
        return asyncio.run(runner.execute_hooks_parallel(printing, told(where)))[0].stdout

    assert said(project) == f"one {project}\n"
    environ["COLOUR"] = "two"
    assert [said(project), said(tmp_path)] == [f"two {project}\n", f"two {tmp_path}\n"]


class _Blunt(UserDict[str, str]):
    def __eq__(self, other: object) -> bool:
        return self.data == other.data  # type: ignore[attr-defined,no-any-return]

    __hash__ = None  # type: ignore[assignment]


class _Computed(dict[str, str]):
    """Has other values than it holds."""

    turn = 0

    def __getitem__(self, name: str) -> str:
        return str(self.turn) if name == "COLOUR" else super().__getitem__(name)

    def __iter__(self) -> Iterator[str]:
        self.turn += 1
        return iter([*super().__iter__(), "COLOUR"])

    def keys(self) -> Any:
        return list(self)


class _Odd:
    def __eq__(self, other: object) -> bool:
        raise TypeError("can't be compared")

    __hash__ = None  # type: ignore[assignment]


def test_an_environment_with_its_own_ideas_costs_no_guard(project: Path) -> None:
    """It is asked for its variables only, never whether it is equal to something."""
    show = [hook('echo "${COLOUR-none}"; exit 2')]

    def seen(environ: Any) -> list[tuple[int | None, str]]:
        runner = HookRunner(environ=environ)
        results = []
        for _ in range(2):
            (result,) = asyncio.run(runner.execute_hooks_parallel(show, told(project)))
            results.append((result.exit_code, result.stdout.strip()))
            if type(environ) is dict:
                environ["ODD"] = _Odd()
        return results

    assert seen(_Blunt(os.environ, COLOUR="red")) == [(2, "red")] * 2
    assert seen(_Computed(os.environ)) == [(2, "1"), (2, "2")]
    assert seen({**os.environ, "ODD": _Odd()}) == [(2, "none")] * 2


def test_whoever_watches_cannot_break_a_run(project: Path) -> None:
    """A watcher that fails, or counts as false, is told of the hook all the same."""

    class Watcher(list[HookEntry]):
        def __call__(self, ended: HookEntry) -> None:
            self.append(ended)
            raise RuntimeError("not interested")

    watcher, one = Watcher(), hook("true")
    asyncio.run(HookRunner(on_end=watcher).execute_hooks_parallel([one], told(project)))
    assert watcher == [one]


def test_a_thread_that_changes_the_environment_costs_no_hook() -> None:
    """The environment is read as it was at one moment."""

    class Changing(dict[bytes, bytes]):
        """Loses its variables between the look at their names and the look at their values."""

        def __iter__(self) -> Iterator[bytes]:
            names = list(super().__iter__())
            self.clear()
            return iter(names)

    environ: Any = os._Environ[Any](Changing({b"A": b"1"}), os.fsencode, os.fsdecode, os.fsencode, os.fsdecode)
    assert snapshots_of(environ)() == {"A": "1"}
