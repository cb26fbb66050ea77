"""The promises of the README are tried, as a reader would."""

import ast
import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hookline import Hooks
from hookline.hook import Deny, Rewrite

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent


def example(name: str) -> str:
    found = re.search(rf"<!-- example: {name} -->\n```\w+\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert found, name
    return found[1]


def test_the_first_hook_works_as_shown(own_home: Path) -> None:
    """A reader who follows "Your first hook" gets the output that the page shows."""
    subprocess.run(["bash", "-ec", example("hook")], check=True, timeout=45)
    (own_home / ".llxprt" / "settings.json").write_text(example("settings"))
    command, *shown = example("fire").splitlines()
    done = subprocess.run(
        ["bash", "-c", command.removeprefix("$ ")],
        capture_output=True,
        text=True,
        check=False,
        timeout=45,
        env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"},
    )
    assert done.returncode == 2, done.stderr
    assert re.sub(r"exit 2  [\d.]+ ms", "exit 2  …", done.stdout).splitlines() == shown


def test_the_lines_to_a_blocked_command_lead_there(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the lines of "From nothing to a blocked `rm -rf /`" the bridge denies that call of the agent."""
    page = (ROOT / "README.md").read_text()
    script = re.search(r"^## From nothing .*?^```sh\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert script
    monkeypatch.setenv("PATH", f"{BIN}:{os.environ['PATH']}")
    subprocess.run(["bash", "-ec", script[1]], cwd=own_home, check=True, timeout=90, stdin=subprocess.DEVNULL)
    settings = json.loads((own_home / ".claude" / "settings.json").read_text())
    command = settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
    question = {
        "session_id": "s",
        "cwd": str(own_home),
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "rm -rf /"},
    }
    done = subprocess.run(
        ["bash", "-c", command], input=json.dumps(question), capture_output=True, text=True, check=False, timeout=45
    )
    answer = json.loads(done.stdout)["hookSpecificOutput"]
    assert answer["permissionDecision"] == "deny"
    assert "hookline:shell" in answer["permissionDecisionReason"]


def test_the_lines_for_a_loop_of_your_own_run(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Hooks block the model call and rewrite the arguments of the tool."""

    class HooksWithGuards(Hooks):
        def __init__(self, folder: Path) -> None:
            super().__init__(folder, settings={"enableHooks": True})
            self.on("BeforeModel")(lambda _: Deny("No model today."))
            self.on("BeforeTool")(lambda _: Rewrite(tool_input={"file_path": "b.txt"}))

    request = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    given: dict[str, Any] = {
        "project": project,
        "request": request,
        "my_tool": lambda arguments: arguments["file_path"],
    }
    code = f"{example('loop').replace('Hooks(project)', 'Guarded(project)')}\nhooks.close()"
    run = compile(code, "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    scope = {**given, "Guarded": HooksWithGuards}
    asyncio.run(eval(run, scope))  # noqa: S307 - the README's own lines
    assert scope["result"].llm_content == "b.txt"
    assert (scope["request"], capsys.readouterr().out) == (request, "No model today.\n")


def test_the_demo_blocks_one_call_and_rewrites_the_other() -> None:
    """`make demo` shows both effects and the log of both."""
    done = subprocess.run(
        [sys.executable, "examples/demo.py"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=45
    )
    for text in (
        "blocked, and the model reads: Files with secrets are off limits",
        "on disk: nothing",
        "on disk: 'two trailing spaces\\nno newline\\n'",
        "BeforeTool write_file: blocked: Files with secrets",
        "BeforeTool write_file: allowed, rewritten",
    ):
        assert text in done.stdout


@pytest.mark.parametrize("path", [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"], ids=lambda p: p.name)
def test_links_lead_somewhere(path: Path) -> None:
    """Every relative link in the documentation names a file, and a heading of it, that is there."""
    links = re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", prose_of(path))
    targets = [(path.parent / link if link else path, anchor) for link, anchor in links]
    assert [str(file) for file, _ in targets if not file.exists()] == []
    assert [(file.name, anchor) for file, anchor in targets if anchor and anchor not in anchors_of(file)] == []


def prose_of(path: Path) -> str:
    """The text of a page, without its blocks of code."""
    return re.sub(r"^```.*?^```", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)


def anchors_of(path: Path) -> set[str]:
    """The headings of a page as GitHub and the site address them."""
    headings = re.findall(r"^#+ (.*)$", prose_of(path), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
