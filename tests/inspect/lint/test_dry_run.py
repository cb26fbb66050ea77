import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from hookline.client.config import Config
from hookline.inspect.lint.dry_run import DryRun, dry_run
from hookline.inspect.lint.evidence import Did, by_hook, summary_of
from hookline.inspect.view import read_setup


def findings(config: Config) -> list[tuple[str, str, str]]:
    """What a dry run says: rule, path and message."""
    system = config.get_hook_system()
    assert system is not None
    found = asyncio.run(dry_run(system, read_setup(config))).findings
    return [(finding.rule, finding.problem.path, finding.problem.message) for finding in found]


def settings(event: str, *commands: str, **group: Any) -> dict[str, Any]:
    hooks = [{"type": "command", "command": command} for command in commands]
    return {"enableHooks": True, "hooks": {event: [{**group, "hooks": hooks}]}}


COMMAND = "hooks.{}[0].hooks[0].command"
DENY = """echo '{"decision": "deny"}'"""


@pytest.mark.parametrize(
    ("event", "command", "rule", "said"),
    [
        pytest.param(
            "BeforeTool",
            "grep -q '[.]env' && exit 1; exit 0",
            "run-exit-code",
            "exited with code 1, which blocks nothing; to block, exit with 2 (tried on read_file)",
            id="blocks-with-1",
        ),
        pytest.param(
            "AfterTool",
            "echo broken >&2; exit 3",
            "run-exit-code",
            "exited with code 3 (broken), which blocks nothing; exit with 0 when all is well (tried on read_file)",
            id="cannot-block-anyway",
        ),
        pytest.param(
            "BeforeTool",
            """echo '{"ready": true}'; while read -r line; do echo "$line"; done""",
            "run-answer",
            "answered, but this program is a worker, and decides nothing when it is started for one event; add"
            ' "worker": true (tried on read_file)',
            id="a-worker-without-the-key",
        ),
        pytest.param(
            "BeforeTool",
            f"{DENY}; exit 1",
            "run-exit-code",
            "printed a block but exited with code 1, so it was not read; exit with 0 or 2 (tried on read_file)",
            id="block-is-not-read",
        ),
        pytest.param(
            "BeforeTool",
            """echo '{"tool_input": {}}'""",
            "run-answer",
            "answered, but tool_input is at the top level; it is read only inside hookSpecificOutput"
            " (tried on read_file)",
            id="wrong-level",
        ),
        pytest.param(
            "BeforeModel",
            """echo '{"hookSpecificOutput": {"decision": "deny"}}'""",
            "run-answer",
            'answered, but hookSpecificOutput.decision "deny" is read only at the top level (tried on BeforeModel)',
            id="wrong-level-below",
        ),
        pytest.param(
            "AfterModel",
            DENY,
            "run-answer",
            "answered, but a block has no effect on AfterModel; to end the session answer"
            ' {"continue": false} (tried on AfterModel)',
            id="block-that-blocks-nothing",
        ),
        pytest.param(
            "PreCompress",
            "exec no-such-program 2>/dev/null",
            "run-failed",
            "exited with code 127; such a hook has no effect (tried on manual)",
            id="not-found",
        ),
        pytest.param(
            "Notification",
            "kill -KILL $$",
            "run-failed",
            "was killed by SIGKILL; such a hook has no effect (tried on ToolPermission)",
            id="killed",
        ),
        pytest.param(
            "BeforeModel",
            "cat >/dev/null; python3 -c 'import json; json.loads(1)'",
            "run-failed",
            "crashed: exited with code 1 (TypeError: the JSON object must be str, bytes or bytearray, not int);"
            ' such a hook has no effect; with "onError": "block" a crash would block (tried on BeforeModel)',
            id="crashes",
        ),
        pytest.param(
            "BeforeModel",
            "cat >/dev/null; python3 -c 'def f(:'",
            "run-failed",
            "crashed: exited with code 1 (SyntaxError: invalid syntax);"
            ' such a hook has no effect; with "onError": "block" a crash would block (tried on BeforeModel)',
            id="syntax-error",
        ),
        pytest.param(
            "BeforeModel",
            "cat >/dev/null; printf %s\\\\n x.js:1 'ReferenceError: f is not defined' ' at x' 'Node.js v2' >&2; exit 1",
            "run-failed",
            "crashed: exited with code 1 (ReferenceError: f is not defined);"
            ' such a hook has no effect; with "onError": "block" a crash would block (tried on BeforeModel)',
            id="crash-of-node",
        ),
        pytest.param(
            "BeforeModel",
            "cat >/dev/null; bash -c 'echo \"'",
            "run-crash",
            "exited with code 2, which blocks, but it seems to be a mistake in it"
            " (bash: -c: line 1: unexpected EOF while looking for matching `\"') (tried on BeforeModel)",
            id="blocks-by-an-open-quote",
        ),
        pytest.param(
            "BeforeModel",
            "cat >/dev/null; sh -c 'if then'",
            "run-crash",
            "exited with code 2, which blocks, but it seems to be a mistake in it"
            ' (sh: 1: Syntax error: "then" unexpected) (tried on BeforeModel)',
            id="blocks-by-mistake",
        ),
        pytest.param(
            "BeforeModel",
            "cat >/dev/null; echo 'guard: Blocked: passwords' >&2",
            "run-exit-code",
            "wrote to stderr (guard: Blocked: passwords) and exited with code 0, which blocks nothing; exit with 2"
            " (tried on BeforeModel)",
            id="says-no-and-exits-with-0",
        ),
        pytest.param(
            "BeforeModel",
            "echo '{}' | grep -q rm && exit 2; exit 0 # a comment",
            "run-input",
            "never reads its input, so it can't tell one call from another; read the event from stdin",
            id="never-reads",
        ),
    ],
)
def test_what_a_hook_does_wrong_is_told_once(event: str, command: str, rule: str, said: str, project: Path) -> None:
    """Each thing once, however many samples show it, at the hook's command."""
    assert findings(Config(project, settings=settings(event, command))) == [(rule, COMMAND.format(event), said)]


@pytest.mark.parametrize(
    ("event", "command"),
    [
        pytest.param("BeforeTool", "grep -q '[.]env' && exit 2; exit 0", id="guard"),
        pytest.param("BeforeTool", DENY, id="json"),
        pytest.param("BeforeModel", "head -c 1 >/dev/null", id="reads-a-little"),
        pytest.param("BeforeModel", "cat >/dev/null; echo 'nothing blocked' >&2", id="says-yes"),
        pytest.param("BeforeModel", "echo 'no model today' >&2; exit 2", id="denies-everything"),
        pytest.param("SessionEnd", "cat >/dev/null", id="silent"),
        pytest.param("BeforeAgent", "echo some text", id="text"),
    ],
)
def test_good_hooks_have_no_findings(event: str, command: str, project: Path) -> None:
    """A dry run has nothing to say about hooks that do what they should."""
    assert findings(Config(project, settings=settings(event, command))) == []


def test_an_erased_block_is_seen(project: Path) -> None:
    """On a model event the later hook's answer counts, and a dry run shows it."""
    config = Config(project, settings=settings("BeforeModel", "exit 2", """echo '{"decision": "allow"}'"""))
    ((rule, path, said),) = findings(config)
    assert (rule, path) == ("run-overridden", "hooks.BeforeModel[0].hooks[1].command")
    assert """echo '{"decision": "allow"}' overrode the decision of exit 2; the later one wins here""" in said


def test_a_hook_for_a_tool_of_its_own_is_tried(project: Path) -> None:
    """A tool that only the matcher names is a sample, too."""
    config = Config(project, settings=settings("BeforeTool", "exit 1", matcher="^mcp__git__push$"))
    ((_, _, said),) = findings(config)
    assert said.endswith("(tried on mcp__git__push)")


def test_untrusted_hooks_are_not_run(project: Path) -> None:
    """A dry run is no way around trust."""
    file = project / ".llxprt" / "settings.json"
    file.parent.mkdir()
    file.write_text(json.dumps(settings("BeforeTool", f"touch {project}/ran")))
    ((rule, path, said),) = findings(Config(project))
    assert (rule, path) == ("run-skipped", "hooks.BeforeTool[0].hooks[0]")
    assert said.startswith("was not tried (untrusted: ")
    assert not (project / "ran").exists()


def test_what_every_hook_did_is_evidence(project: Path) -> None:
    """Each hook with its samples, and which of them it was against."""
    command = "grep -qE '[.]env|rm -rf' && exit 2; exit 0"
    system = Config(project, settings=settings("BeforeTool", command)).get_hook_system()
    assert system is not None
    tried = asyncio.run(dry_run(system, read_setup(Config(project, settings=settings("BeforeTool", command)))))
    ((hook, trials),) = by_hook(tried.trials)
    assert (hook.command, tried.findings) == (command, [])
    assert summary_of(trials) == (
        "blocks read_file .env, write_file .env, `rm -rf / --no-preserve-root`; lets pass 8 others"
    )


def test_a_failing_guard_that_blocks_is_told_as_such(project: Path) -> None:
    """With `onError: block` a hook that can't run does have an effect: it blocks."""
    hook = {"type": "command", "command": "exec no-such-program 2>/dev/null", "onError": "block"}
    given = {"enableHooks": True, "hooks": {"BeforeTool": [{"matcher": "^glob$", "hooks": [hook]}]}}
    assert [text for _, _, text in findings(Config(project, settings=given))] == [
        "exited with code 127; its onError is block, so this failure blocks (tried on glob)"
    ]


CRASHES_WITHOUT_A_FILE = """
import json, sys
print('{"ready": true}', flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    asked["input"]["tool_input"]["file_path"]
    print(json.dumps({"id": asked["id"], "output": None}), flush=True)
"""


def worker(project: Path, text: str, **more: Any) -> Config:
    """A worker in Python for BeforeTool."""
    (project / "worker.py").write_text(text)
    hook = {"type": "command", "command": f"{sys.executable} worker.py", "worker": True, **more}
    given = {"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": [hook]}]}}
    return Config(project, settings=given)


def tried_by(config: Config) -> DryRun:
    system = config.get_hook_system()
    assert system is not None
    return asyncio.run(dry_run(system, read_setup(config)))


@pytest.mark.req("WARM-022")
def test_a_worker_that_crashed_is_asked_about_the_other_samples(project: Path) -> None:
    """However often it crashes: each sample is tried, and the crash is reported once."""
    tried = tried_by(worker(project, CRASHES_WITHOUT_A_FILE))
    ((_, trials),) = by_hook(tried.trials)
    failed = [trial.run.error for trial in trials if trial.did is Did.FAILS]
    assert failed == ["has no answer: its worker exited with code 1"] * 6
    assert summary_of(trials).endswith("; lets pass 5 others")
    assert len(tried.findings) == 1


@pytest.mark.req("WARM-022")
def test_samples_that_a_worker_was_not_asked_about_are_no_failures(project: Path) -> None:
    """One that hangs is not started again for each of them; a second warning would only repeat the first."""
    # More than twice as long as the pause before its third start.
    tried = tried_by(worker(project, "import time; time.sleep(600)", timeout=2200))
    ((_, trials),) = by_hook(tried.trials)
    assert summary_of(trials) == (
        "fails on read_file notes.txt, read_file .env, write_file notes.txt; was not asked about write_file .env, "
        "replace notes.txt, list_directory ., glob **/*.py, 4 more"
    )
    (finding,) = tried.findings
    assert finding.problem.message == (
        'timed out after 2200ms: the first line of its worker is to be {"ready": true}, and must be flushed; '
        'such a hook has no effect; with "onError": "block" it would block (tried on read_file)'
    )
