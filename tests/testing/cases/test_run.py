"""Cases are fired on the engine's own path, and judged by the verdict alone."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hookline.client.config import Config
from hookline.testing.cases.coverage import Shown, coverage_of
from hookline.testing.cases.read import read_text
from hookline.testing.cases.run import HooksDisabledError, Result, run_cases

PYTHON_CRASH = """python3 -c 'raise ValueError("no luck")'"""


def settings_of(event: str, *commands: str, **options: Any) -> dict[str, Any]:
    hooks = [{"type": "command", "name": f"h{at}", "command": one, **options} for at, one in enumerate(commands)]
    return {"enableHooks": True, "hooksConfig": {"lifecycle": "apply"}, "hooks": {event: [{"hooks": hooks}]}}


def results_of(text: str, project: Path, settings: Mapping[str, Any], **options: Any) -> list[Result]:
    def make(environment: Mapping[str, str]) -> Config:
        return Config(project, settings=settings, environ={"PATH": "/usr/bin:/bin", **environment}, log_file=False)

    return asyncio.run(run_cases(read_text(text, "f"), make, **options))


def differences_of(text: str, project: Path, settings: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    (result,) = results_of(f"[[case]]\n{text}", project, settings)
    assert result.problem is None
    return [(one.what, one.expected, one.got) for one in result.differences]


def answer(**fields: Any) -> str:
    return f"cat >/dev/null; echo '{json.dumps(fields)}'"


def specific(**fields: Any) -> str:
    return answer(hookSpecificOutput=fields)


TOOL = 'tool = "t"\narguments.a = 1\n'
AFTER = 'event = "AfterTool"\ntool = "t"\nanswer = "x"\n'
MODEL = 'event = "BeforeModel"\nprompt = "p"\n'


@pytest.mark.parametrize(
    ("event", "command", "text"),
    [
        ("BeforeTool", "echo no >&2; exit 2", f'{TOOL}expect = {{ outcome = "blocked", reason = "^n", by = "h0" }}'),
        ("BeforeTool", "exit 0", f'{TOOL}expect = {{ outcome = "allowed", ran = "h0", unchanged = true }}'),
        (
            "BeforeTool",
            answer(decision="ask", reason="sure?"),
            f'{TOOL}expect = {{ outcome = "asked", reason = "sure" }}',
        ),
        (
            "BeforeTool",
            answer(**{"continue": False, "stopReason": "enough"}),
            f'{TOOL}expect = {{ outcome = "stopped", reason = "enough", by = "h0" }}',
        ),
        ("BeforeTool", answer(**{"continue": False}), f'{TOOL}expect = "blocked"'),
        (
            "BeforeTool",
            specific(tool_input={"a": 2}),
            f'{TOOL}expect = {{ outcome = "allowed", arguments = {{ a = 2 }}, by = "h0" }}',
        ),
        ("BeforeTool", "exit 7", f'{TOOL}expect = {{ outcome = "allowed", fails = "h0" }}'),
        (
            "AfterTool",
            specific(additionalContext="more"),
            f'{AFTER}expect = {{ outcome = "allowed", context = "mor" }}',
        ),
        ("AfterTool", specific(tool_output="[gone]"), f'{AFTER}expect.output = "gone"'),
        ("AfterTool", answer(decision="deny", reason="bad"), f'{AFTER}expect = {{ outcome = "denied", by = "h0" }}'),
        ("AfterTool", answer(systemMessage="psst"), f'{AFTER}expect.note = "psst"'),
        (
            "BeforeModel",
            specific(llm_request={"messages": [{"role": "user", "content": "q"}]}),
            f'{MODEL}expect.request = {{ model = "test-model", messages = [{{ role = "user", content = "q" }}] }}',
        ),
        (
            "AfterModel",
            specific(llm_response={"text": "[gone]"}),
            'event = "AfterModel"\nprompt = "p"\nanswer = "x"\nexpect.response.text = "[gone]"',
        ),
        (
            "BeforeToolSelection",
            specific(toolConfig={"allowedFunctionNames": ["ls"]}),
            'event = "BeforeToolSelection"\nprompt = "p"\nexpect.tools = ["ls"]',
        ),
        (
            "BeforeToolSelection",
            specific(toolConfig={"mode": "NONE"}),
            'event = "BeforeToolSelection"\nprompt = "p"\nexpect.tools = []',
        ),
        ("BeforeAgent", specific(prompt="better"), 'event = "BeforeAgent"\nprompt = "p"\nexpect.prompt = "better"'),
        (
            "AfterAgent",
            answer(decision="block", reason="test first"),
            'event = "AfterAgent"\nprompt = "p"\nanswer = "a"\nexpect = { outcome = "continues", by = "h0" }',
        ),
        (
            "SessionEnd",
            "exit 2",
            'event = "SessionEnd"\ntrigger = "exit"\nexpect = { outcome = "denied", ran = "h0" }',
        ),
    ],
)
def test_what_is_expected_can_be_said(event: str, command: str, text: str, project: Path) -> None:
    """Every effect has its words."""
    assert differences_of(text, project, settings_of(event, command)) == []


@pytest.mark.parametrize(
    ("event", "command", "text", "difference"),
    [
        ("BeforeTool", "exit 0", f'{TOOL}expect = "blocked"', ("outcome", "blocked", "allowed")),
        (
            "BeforeTool",
            "echo no >&2; exit 2",
            f'{TOOL}expect = "allowed"',
            ("outcome", "allowed", "blocked: no"),
        ),
        (
            "AfterTool",
            answer(decision="deny", reason="b"),
            f'{AFTER}expect = "allowed"',
            ("outcome", "allowed", "denied: b"),
        ),
        ("BeforeTool", "echo no >&2; exit 2", f'{TOOL}expect.reason = "yes"', ("reason", "matches yes", "no")),
        ("BeforeTool", "exit 0", f'{TOOL}expect.context = "x"', ("context", "matches x", "nothing")),
        ("BeforeTool", "exit 2", f'{TOOL}expect.by = "other"', ("decided by", "other", "h0")),
        ("BeforeTool", "exit 0", f'{TOOL}expect.ran = ["h0", "h9"]', ("ran", "h0, h9", "h0")),
        ("BeforeTool", "exit 0", f'{TOOL}expect.fails = "h0"', ("fails", "h0", "it did not fail")),
        ("BeforeTool", "exit 0", f'{TOOL}expect.fails = "h1"', ("fails", "h1", "it did not run")),
        (
            "BeforeTool",
            specific(tool_input={"a": 2}),
            f"{TOOL}expect.arguments.a = 1",
            ("arguments", '{\n  "a": 1\n}', '{\n  "a": 2\n}'),
        ),
        (
            "BeforeTool",
            specific(tool_input={"a": 2}),
            f'{TOOL}expect = {{ outcome = "allowed", unchanged = true }}',
            ("unchanged", "nothing is changed or added", '{\n  "tool_input": {\n    "a": 2\n  }\n}'),
        ),
        (
            "BeforeModel",
            "exit 0",
            f'{MODEL}expect.request.model = "m"',
            ("request", '{\n  "model": "m"\n}', '{\n  "model": "test-model"\n}'),
        ),
        (
            "BeforeToolSelection",
            "exit 0",
            'event = "BeforeToolSelection"\nprompt = "p"\nexpect.tools = []',
            ("tools", "[]", "not restricted"),
        ),
    ],
)
def test_what_is_not_as_expected_is_told(
    event: str, command: str, text: str, difference: tuple[str, str, str], project: Path
) -> None:
    """Both sides of it."""
    assert differences_of(text, project, settings_of(event, command)) == [difference]


@pytest.mark.parametrize(
    ("command", "options", "got"),
    [
        ("exit 7", {}, "h0 exited with code 7, so it decided nothing"),
        (PYTHON_CRASH, {}, "h0 exited with code 1 (ValueError: no luck), so it decided nothing"),
        ("exit 7", {"onError": "block"}, "h0 exited with code 7, and blocks, because its onError is block"),
    ],
)
def test_a_crash_is_never_what_was_expected(command: str, options: dict[str, Any], got: str, project: Path) -> None:
    """A guard that fails lets harmless calls pass, and dangerous ones too: the case must not look green."""
    outcome = "blocked" if options else "allowed"
    text = f'{TOOL}expect = "{outcome}"'
    found = differences_of(text, project, settings_of("BeforeTool", command, **options))
    assert found == [("no failure", "h0 does its work", got)]


def test_time_is_bounded_where_the_case_says_so(project: Path) -> None:
    """A hook that takes longer than an impossible bound is reported."""
    ((what, expected, _),) = differences_of(
        f"{TOOL}expect.within_ms = 0.001", project, settings_of("BeforeTool", "exit 0")
    )
    assert (what, expected) == ("time", "at most 0.001 ms")


def test_an_untrusted_hook_is_an_error_and_not_a_pass(project: Path) -> None:
    """Without its guard a case shows nothing: it says which hook is missing and how to trust it."""
    file = project / ".llxprt" / "settings.json"
    file.parent.mkdir()
    file.write_text(json.dumps(settings_of("BeforeTool", f"touch {project}/ran; exit 2")))
    cases = read_text(f'[[case]]\n{TOOL}expect = "allowed"', "f")
    (result,) = asyncio.run(run_cases(cases, lambda _: Config(project, log_file=False)))
    assert not result.passed
    assert result.problem is not None
    assert result.problem.startswith("not tried, because a hook does not run: h0: untrusted: ")
    assert "hookline trust" in result.problem
    assert not (project / "ran").exists()


def test_disabled_hooks_are_an_error(project: Path) -> None:
    """All harmless calls would go on, and that would prove nothing."""
    with pytest.raises(HooksDisabledError, match="hooks are disabled"):
        results_of(f'[[case]]\n{TOOL}expect = "allowed"', project, {})


def test_cases_keep_their_order_and_have_their_own_environment_and_session(project: Path) -> None:
    """Several at a time; results come back in the order of the file."""
    command = 'read -r line; echo "$WHO $line" >&2; exit 2'
    text = f'[[case]]\n{TOOL}each.environment.WHO = ["ann", "bob", "cy"]\nexpect = "blocked"'
    done: list[Result] = []
    results = results_of(text, project, settings_of("BeforeTool", command), jobs=3, on_result=done.append)
    reasons = [str(result.verdict and result.verdict.reason) for result in results]
    assert [reason.split()[0] for reason in reasons] == ["ann", "bob", "cy"]
    assert len({json.loads(reason.split(maxsplit=1)[1])["session_id"] for reason in reasons}) == 3
    assert {id(result) for result in done} == {id(result) for result in results}


def test_nothing_is_written_to_the_log(project: Path, tmp_path: Path) -> None:
    """A run of cases is not a run of an agent."""
    results_of(f'[[case]]\n{TOOL}expect = "blocked"', project, settings_of("BeforeTool", "exit 2"))
    assert not (tmp_path / "state").exists()


def test_coverage_says_what_no_case_has_shown(project: Path) -> None:
    """Of each hook: how often it did what, and what of that is left."""
    settings = settings_of("BeforeTool", "grep -q rm && exit 2; exit 0", "exit 0")
    settings["hooks"]["AfterTool"] = [{"hooks": [{"type": "command", "name": "idle", "command": "exit 0"}]}]
    text = '[[case]]\neach.tool = ["rm", "ls", "cat"]\nexpect.ran = "h0"'
    verdicts = [result.verdict for result in results_of(text, project, settings) if result.verdict]
    found = coverage_of(Config(project, settings=settings).get_settings().hooks, verdicts)
    assert [(entry.hook.label, entry.runs, entry.shown, entry.gaps) for entry in found] == [
        ("h0", 3, {Shown.BLOCK: 1, Shown.ALLOW: 2}, (Shown.REWRITE, Shown.FAILURE)),
        ("h1", 3, {Shown.ALLOW: 3}, (Shown.BLOCK, Shown.REWRITE, Shown.FAILURE)),
        ("idle", 0, {}, (Shown.ALLOW, Shown.REWRITE, Shown.FAILURE)),
    ]
