"""Every script in examples/ is run, as a reader would run it."""

import asyncio
import importlib.util
import json
import re
import stat
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from hookline import (
    Config,
    GenerateContentParameters,
    Hooks,
    ToolResult,
    execute_tool_with_hooks,
    fire_after_model_hook,
)
from hookline.apps.agent.conversation.contents import spoken_text
from hookline.formats.genai.sdk import response_from_json
from hookline.protocol.events import HookEventName
from hookline.testing import says

EXAMPLES = Path(__file__).parents[1] / "examples"
HOOKS = sorted((EXAMPLES / "hooks").iterdir())
BIN = Path(sys.executable).parent


@pytest.fixture(autouse=True)
def _our_formatter(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tools that come with the tests can be found."""
    monkeypatch.setenv("PATH", f"{BIN}:/usr/local/bin:/usr/bin:/bin")


def configured(project: Path, event: str, script: str) -> Config:
    """A session with one of the example hooks."""
    hook = {"type": "command", "name": script, "command": f"'{EXAMPLES}/hooks/{script}'"}
    return Config(project, session_id="s1", settings={"enableHooks": True, "hooks": {event: [{"hooks": [hook]}]}})


def call_tool(config: Config, name: str, **arguments: Any) -> tuple[ToolResult, dict[str, Any] | None]:
    """Return the result of a tool call, and the arguments that the tool was run with, or None."""
    ran: list[dict[str, Any]] = []

    async def run(given: dict[str, Any]) -> ToolResult:
        ran.append(given)
        return ToolResult(llm_content="Done.")

    result = asyncio.run(execute_tool_with_hooks(config, name, arguments, run))
    return result, ran[0] if ran else None


@pytest.mark.parametrize(
    ("path", "is_refused"),
    [
        (".env", True),
        ("config/.env.local", True),
        ("/home/me/.ssh/id_ed25519", True),
        ("tls/server.pem", True),
        ("server.key", True),
        ("environment.py", False),
        ("src/env/settings.env.md", False),
        ("docs/keys.md", False),
    ],
)
def test_guard_secrets(path: str, is_refused: bool, project: Path) -> None:
    """Files that hold secrets are refused, and others are not, even if they speak of them."""
    config = configured(project, "BeforeTool", "guard-secrets.sh")
    content = 'see "file_path":".env"'
    result, ran = call_tool(config, "write_file", file_path=path, content=content)
    assert (ran is None) is is_refused
    assert ("off limits" in result.llm_content) is is_refused


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("src/a.py", None),
        ("../elsewhere.txt", "../elsewhere.txt is outside the project; work on files inside it."),
        ("/etc/passwd", "/etc/passwd is outside the project; work on files inside it."),
        ("~/.profile", "~/.profile is outside the project; work on files inside it."),
        ("link/file", "link/file is outside the project; work on files inside it."),
        (".git/config", ".git/config belongs to git; use git commands instead."),
    ],
)
def test_guard_paths(path: str, reason: str | None, project: Path, tmp_path: Path) -> None:
    """Paths outside the project, also behind a link, and git's files are refused."""
    (project / "link").symlink_to(tmp_path)
    result, ran = call_tool(configured(project, "BeforeTool", "guard-paths.py"), "read_file", file_path=path)
    assert (result.llm_content, ran is None) == (reason or "Done.", reason is not None)


@pytest.mark.parametrize(
    ("content", "is_refused"),
    [("key = 'sk-abcdefghij0123456789'", True), ("-----BEGIN RSA PRIVATE KEY-----", True), ("sk-learn", False)],
)
def test_no_keys(content: str, is_refused: bool, project: Path) -> None:
    """A key in an argument is refused, with advice."""
    config = configured(project, "BeforeTool", "no-keys.py")
    result, ran = call_tool(config, "write_file", file_path="a", content=content)
    assert (ran is None) is is_refused
    assert ("content contains a key; put a placeholder there" in result.llm_content) is is_refused


def test_tidy_text(project: Path) -> None:
    """Trailing white space is gone before the file is written, and other characters stay."""
    config = configured(project, "BeforeTool", "tidy-text.py")
    _, ran = call_tool(config, "write_file", file_path="a", content="x  \n\u2028 y\t\nz")
    assert ran == {"file_path": "a", "content": "x\n\u2028 y\nz\n"}
    _, ran = call_tool(config, "write_file", file_path="a", content="")
    assert ran == {"file_path": "a", "content": ""}


def test_format_file(project: Path) -> None:
    """A file is formatted after it was written, and the model reads whether that changed it."""
    config = configured(project, "AfterTool", "format-file.py")
    (project / "a.py").write_text("x=1")
    result, _ = call_tool(config, "write_file", file_path="a.py", content="x=1")
    assert (project / "a.py").read_text() == "x = 1\n"
    assert result.llm_content == "Done.\n\na.py was formatted by ruff; read it again before you change it."
    result, _ = call_tool(config, "write_file", file_path="a.py", content="x = 1\n")
    assert result.llm_content == "Done."
    (project / "b.py").write_text("x = (")
    result, _ = call_tool(config, "write_file", file_path="b.py", content="x = (")
    assert result.llm_content == "Done."


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("echo fine", "The tests pass after this change."),
        (
            "echo 'test_a failed: 1 != \"2\"'; exit 1",
            'The tests FAIL after this change; the last lines are:\ntest_a failed: 1 != "2"',
        ),
    ],
)
def test_test_results(command: str, told: str, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model learns whether the tests pass after its change."""
    monkeypatch.setenv("HOOK_TEST_COMMAND", command)
    config = configured(project, "AfterTool", "test-results.sh")
    result, _ = call_tool(config, "write_file", file_path="a", content="")
    assert result.llm_content == f"Done.\n\n[System] {told}"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Nothing to hide: 12 345.", "Nothing to hide: 12 345."),
        ("The key is sk-abcdefghij0123456789.", "The key is [redacted]."),
        ("Pay with 4111 1111 1111 1111, please.", "Pay with [redacted], please."),
        ("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nEnd.", "[redacted]\nEnd."),
    ],
)
def test_redact_responses(text: str, shown: str, project: Path) -> None:
    """Keys and card numbers are taken out of an answer; what the model calls stays."""
    config = configured(project, "AfterModel", "redact-responses.py")
    response = response_from_json(says(text))
    request = GenerateContentParameters(model="m", contents="hello")
    after = asyncio.run(fire_after_model_hook(config, request, response))
    assert spoken_text(after.response) == shown


def test_tool_budget(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent is stopped when the calls of a session are used up."""
    monkeypatch.setenv("HOOK_TOOL_BUDGET", "2")
    config = configured(project, "BeforeTool", "tool-budget.py")
    results = [call_tool(config, "read_file", file_path="a")[0] for _ in range(3)]
    assert [(one.should_stop, one.stop_reason) for one in results] == [
        (False, None),
        (False, None),
        (True, "The budget of 2 tool calls is used up."),
    ]


@pytest.mark.parametrize(
    ("branch", "modes"),
    [("main", ["AUTO"]), ("release/1", ["AUTO"]), ("my-feature", [])],
)
def test_branch_tools(branch: str, modes: list[str], project: Path) -> None:
    """On a protected branch only tools that read are offered."""
    subprocess.run(["git", "init", "-q", "-b", branch], cwd=project, check=True, timeout=45)
    system = configured(project, "BeforeToolSelection", "branch-tools.sh").get_hook_system()
    assert system is not None
    asyncio.run(system.initialize())
    fired = asyncio.run(system.get_event_handler().fire_before_tool_selection_event({"model": "m", "messages": []}))
    specific = (fired.final_output and fired.final_output.to_dict().get("hookSpecificOutput")) or {}
    chosen = specific.get("toolConfig")
    names = ["glob", "list_directory", "read_file", "search_file_content"]
    assert ([chosen["mode"]] if chosen else []) == modes
    assert chosen is None or sorted(chosen["allowedFunctionNames"]) == names


def test_audit_trail(project: Path, own_home: Path) -> None:
    """Every call leaves a line in a private file, and no answer changes anything."""
    config = configured(project, "BeforeTool", "audit-trail.py")
    for number in range(2):
        result, ran = call_tool(config, "read_file", file_path=f"{number} ä")
        assert (result.llm_content, ran) == ("Done.", {"file_path": f"{number} ä"})
    trail = own_home / ".local/state/hook-audit.jsonl"
    lines = [json.loads(line) for line in trail.read_text().splitlines()]
    assert [line["tool_input"] for line in lines] == [{"file_path": "0 ä"}, {"file_path": "1 ä"}]
    assert stat.S_IMODE(trail.stat().st_mode) == 0o600


ODD: Sequence[dict[str, Any]] = (
    {"tool_name": "t", "tool_input": {}},
    {"tool_name": "t", "tool_input": {"file_path": 7, "content": None, "path": ["x"]}},
    {"tool_name": "t", "tool_input": {"file_path": "", "content": "\ud800\x00"}, "llm_response": {"candidates": [{}]}},
    {"tool_name": "t", "tool_input": {"file_path": "x" * 3000 + ".py", "path": "a\x00b"}, "llm_response": {}},
)


@pytest.mark.parametrize("script", HOOKS, ids=lambda path: path.name)
def test_odd_inputs_do_not_break_them(script: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No hook fails on a call without the usual arguments, or with strange ones."""
    monkeypatch.setenv("HOOK_TEST_COMMAND", "true")
    for fields in ODD:
        common = {"session_id": "../s 1", "cwd": str(project), "timestamp": "2025-02-18T16:30:00.000Z"}
        given = json.dumps({**common, "hook_event_name": "BeforeTool", "transcript_path": "", **fields})
        done = subprocess.run([script], input=given, capture_output=True, text=True, check=False, timeout=45)
        assert (done.returncode, done.stderr) == (0, ""), fields


@pytest.mark.parametrize("script", HOOKS, ids=lambda path: path.name)
def test_hooks_are_short_and_told_of(script: Path) -> None:
    """Each can be read at a glance, says its event, and has its line in the guide for hook authors."""
    text = script.read_text()
    assert len(text.splitlines()) <= 30
    assert re.search("|".join([*HookEventName, "Any event"]), text)
    assert f"](../examples/hooks/{script.name})" in (EXAMPLES.parent / "docs" / "hook-authors.md").read_text()


Ask = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


def scripted(*messages: dict[str, Any]) -> Ask:
    """A model that gives these messages in turn."""
    answers = iter(messages)

    async def ask(_request: dict[str, Any]) -> dict[str, Any]:
        return {"choices": [{"message": {"role": "assistant", **next(answers)}}]}

    return ask


def test_embedding_runs_as_it_is(project: Path) -> None:
    """In the example, the model can't write a file with secrets."""
    done = subprocess.run(
        [sys.executable, EXAMPLES / "embedding.py"], cwd=project, capture_output=True, text=True, check=True, timeout=45
    )
    assert done.stdout == "I was told: Files with secrets are off limits; ask the user to do this by hand.\n"
    assert list(project.iterdir()) == []


def test_callables_run_as_they_are(project: Path) -> None:
    """The functions of the example rewrite, add a text, and refuse."""
    done = subprocess.run(
        [sys.executable, EXAMPLES / "callables.py"], cwd=project, capture_output=True, text=True, check=True, timeout=45
    )
    first = "wrote 'text'\n\nnotes.txt was written; run the tests."
    assert (done.stdout, done.stderr) == (f"{first}\nFiles with secrets are off limits.\n", "")


@pytest.mark.parametrize(
    ("event", "hook_answer", "shown", "written"),
    [
        pytest.param("BeforeTool", {}, "Done.", "1", id="nothing-said"),
        pytest.param("BeforeTool", {"continue": False, "stopReason": "Stop."}, "Stop.", None, id="stop-before-tool"),
        pytest.param("AfterTool", {"continue": False, "stopReason": "Stop."}, "Stop.", "1", id="stop-after-tool"),
        pytest.param("BeforeToolSelection", {"continue": False, "stopReason": "Stop."}, "Stop.", None, id="stop-first"),
        pytest.param(
            "BeforeToolSelection",
            {"hookSpecificOutput": {"toolConfig": {"mode": "NONE"}}},
            "Done.",
            None,
            id="no-tools",
        ),
        pytest.param("BeforeModel", {"continue": False, "stopReason": "Stop."}, "Stop.", None, id="stop-before-model"),
        pytest.param("AfterModel", {"continue": False, "stopReason": "Stop."}, "Stop.", None, id="stop-after-model"),
        pytest.param("AfterModel", {"suppressOutput": True}, "", "1", id="suppressed"),
        pytest.param(
            "AfterModel", {"hookSpecificOutput": {"llm_response": {"text": "[gone]"}}}, "[gone]", "1", id="redacted"
        ),
        pytest.param(
            "BeforeModel",
            {
                "decision": "block",
                "hookSpecificOutput": {
                    "llm_response": {"candidates": [{"content": {"role": "model", "parts": ["From a hook."]}}]}
                },
            },
            "From a hook.",
            None,
            id="answered-by-a-hook",
        ),
        pytest.param(
            "BeforeTool", {"hookSpecificOutput": {"tool_input": {"content": "2"}}}, "Done.", "2", id="rewritten"
        ),
    ],
)
def test_embedding_applies_every_answer(
    event: str,
    hook_answer: dict[str, Any],
    shown: str,
    written: str | None,
    project: Path,
    hook_script: Callable[..., Path],
) -> None:
    """The loop of the example does what hooks say, at each of the five events."""
    spec = importlib.util.spec_from_file_location("embedding", EXAMPLES / "embedding.py")
    assert spec is not None
    assert spec.loader is not None
    embedding = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(embedding)
    script = hook_script(f"cat >/dev/null\ncat <<'END'\n{json.dumps(hook_answer)}\nEND")
    settings = {"enableHooks": True, "hooks": {event: [{"hooks": [{"type": "command", "command": str(script)}]}]}}
    file = project / "a.txt"
    arguments = json.dumps({"file_path": str(file), "content": "1"})
    call = {"id": "c1", "type": "function", "function": {"name": "write_file", "arguments": arguments}}
    ask = scripted({"content": None, "tool_calls": [call]}, {"content": "Done."})
    tools = {"write_file": embedding.write_file}
    with Hooks(project, settings=settings) as hooks:
        assert asyncio.run(embedding.answer(hooks.session(), ask, tools, "Write it.")) == shown
    assert (file.read_text() if file.exists() else None) == written
