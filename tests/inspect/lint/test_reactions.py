"""Hooks that are told samples in two agents' words."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from hookline.client.config import Config
from hookline.inspect.lint.dry_run import dry_run
from hookline.inspect.view import read_setup

COMMAND = "hooks.{}[0].hooks[0].command"
CLAUDE_GUARD = """input=$(cat)
[ "$(jq -r .tool_name <<<"$input")" = Bash ] || exit 0
jq -r .tool_input.command <<<"$input" | grep -q "rm -rf" && { echo No. >&2; exit 2; }
exit 0"""


def both(project: Path, text: str, event: str = "BeforeTool", **more: Any) -> list[str]:
    """What a dry run says of a script that waits for another agent's words."""
    (project / "guard.sh").write_text(text)
    group = {key: more.pop(key) for key in ("matcher",) if key in more}
    hooks = {event: [{**group, "hooks": [{"type": "command", "command": "bash ./guard.sh", **more}]}]}
    config = Config(project, settings={"enableHooks": True, "hooks": hooks})
    system = config.get_hook_system()
    assert system is not None
    found = asyncio.run(dry_run(system, read_setup(config))).findings
    tried = [finding.problem for finding in found if finding.rule == "run-dialect"]
    assert {problem.path for problem in tried} <= {COMMAND.format(event)}
    return [problem.message for problem in tried]


def test_a_guard_that_only_claude_would_have(project: Path) -> None:
    """It blocks in the words that it was written for, and with the remedy it would block here."""
    (message,) = both(project, CLAUDE_GUARD)
    assert message == (
        "blocks `rm -rf / --no-preserve-root` when told Claude Code's words, and reacts to no sample when told "
        'hookline\'s; add "dialect": "claude" to this hook'
    )


def test_with_the_remedy_there_is_nothing_to_say(project: Path) -> None:
    """A hook that is told the words that it waits for is no suspect any more."""
    assert both(project, CLAUDE_GUARD, dialect="claude") == []


def test_a_guard_that_was_given_the_wrong_dialect(project: Path) -> None:
    """The other way round: our names, told in Claude Code's."""
    (message,) = both(project, CLAUDE_GUARD.replace("Bash", "run_shell_command"), dialect="claude")
    assert message == (
        "blocks `rm -rf / --no-preserve-root` when told hookline's words, and reacts to no sample when told "
        'Claude Code\'s; write "dialect": "hookline" in this hook'
    )


def test_a_suspect_that_does_the_same_in_both(project: Path) -> None:
    """Where the search for names is wrong, the runs say so."""
    text = 'grep -q "rm -rf" && exit 2\n[ "$tool_name" = Bash ] && echo shell\nexit 0'
    assert both(project, text) == [
        "blocks `rm -rf / --no-preserve-root`, whether told Claude Code's words or hookline's"
    ]


def test_a_suspect_that_does_nothing(project: Path) -> None:
    """No sample may be what it looks for."""
    text = '[ "$(jq -r .tool_name)" = Bash ] && [ -e /no/such/file ] && exit 2\nexit 0'
    assert both(project, text) == ["reacts to no sample, whether told Claude Code's words or hookline's"]


@pytest.mark.parametrize(
    ("event", "text", "said"),
    [
        pytest.param(
            "AfterTool",
            "jq -e '.tool_response.stdout == \"hello\"' >/dev/null || exit 0\n"
            """echo '{"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "Hi."}}'""",
            "answers `ls`, `rm -rf / --no-preserve-root` when told Claude Code's words, and reacts to no sample",
            id="result",
        ),
        pytest.param(
            "AfterAgent",
            "jq -e '.last_assistant_message | test(\"hello\")' >/dev/null || exit 0\nexit 2",
            "blocks AfterAgent when told Claude Code's words, and reacts to no sample",
            id="last-message",
        ),
        pytest.param(
            "BeforeTool",
            '[ "$(jq -r .tool_name)" = apply_patch ] || exit 0\necho No patches. >&2\nexit 2',
            "blocks write_file notes.txt, write_file .env, replace notes.txt when told Codex's words, and reacts to no",
            id="codex",
        ),
    ],
)
def test_other_events_and_agents(event: str, text: str, said: str, project: Path) -> None:
    """The table of the agent makes the sample."""
    (message,) = both(project, text, event)
    assert message.startswith(said)


@pytest.mark.parametrize(
    "text",
    [
        'for each in Write Edit Bash; do [ "$(jq -r .tool_name <<<"$i")" = "$each" ] && exit 2; done; exit 0',
        """python3 -c 'import os, sys; sys.exit(2 * any(name in os.environ["i"] for name in "Bash Edit".split()))'""",
        ". ./rules.sh",
    ],
    ids=["loop", "words", "sourced"],
)
def test_a_guard_in_which_no_search_finds_the_names(text: str, project: Path) -> None:
    """A guard that never reacts is run in the other agents' formats, whatever is in its script."""
    (project / "rules.sh").write_text('case "$(jq -r .tool_name <<<"$i")" in Bash) exit 2 ;; esac; exit 0')
    (message,) = both(project, f"export i=$(cat)\n{text}")
    assert message.startswith("blocks ")
    assert message.endswith('when told hookline\'s; add "dialect": "claude" to this hook')


def test_a_guard_that_never_reacts_in_any_format(project: Path) -> None:
    """There is nothing to say about its format."""
    assert both(project, "cat >/dev/null; exit 0") == []


def test_a_matcher_in_the_other_agents_words_counts_there(project: Path) -> None:
    """In its own words the matcher is compared with its own names."""
    (message,) = both(project, CLAUDE_GUARD, matcher="Bash")
    assert message.startswith("blocks `rm -rf / --no-preserve-root` when told Claude Code's words, and reacts to no")


def test_the_comparison_is_not_in_the_log(project: Path, tmp_path: Path) -> None:
    """Only the runs of the dry run itself are logged, as before."""
    (project / "guard.sh").write_text(f"echo run >>{tmp_path}/runs\n{CLAUDE_GUARD}")
    log = tmp_path / "log.jsonl"
    hook = {"type": "command", "command": "bash ./guard.sh"}
    hooks = {"BeforeTool": [{"matcher": "^run_shell_command$", "hooks": [hook]}]}
    options = {"log": {"path": str(log)}}
    config = Config(project, settings={"enableHooks": True, "hooks": hooks, "hooksConfig": options})
    system = config.get_hook_system()
    assert system is not None
    asyncio.run(dry_run(system, read_setup(config)))
    logged = [json.loads(line)["kind"] for line in log.read_text().splitlines()]
    # Two samples: fired, in ours, in theirs; one look whether stdin is read; and all dangerous calls.
    assert len((tmp_path / "runs").read_text().splitlines()) > 20
    assert logged.count("hook") == 2
