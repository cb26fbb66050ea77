"""The installed command and the real SDK, against a local server in Gemini's place: what really goes over the wire."""

import json
import os
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests import warm

from hookline.testing import calls, says

HookScript = Callable[..., Path]

WRITE = calls(("write_file", {"file_path": "a.txt", "content": "hi\n"}))


@contextmanager
def gemini(answers: Sequence[Sequence[dict[str, Any]]]) -> Iterator[tuple[str, list[tuple[str, dict[str, Any]]]]]:
    """A server that answers each request with the next chunks, its address, and what it was asked."""
    remaining = iter(answers)
    asked: list[tuple[str, dict[str, Any]]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append((self.path.rpartition("/models/")[2], body))
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            for chunk in next(remaining):
                self.wfile.write(f"data: {json.dumps(chunk)}\r\n\r\n".encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def run(address: str, project: Path, hooks: dict[str, Path], *options: str) -> subprocess.CompletedProcess[str]:
    """One prompt, answered by the installed command with the server as its model."""
    settings = project.parent / "settings.json"
    groups = {event: [{"hooks": [{"type": "command", "command": str(script)}]}] for event, script in hooks.items()}
    settings.write_text(json.dumps({"enableHooks": True, "hooks": groups}))
    given = ["--project", str(project), "--settings", str(settings), "--model", "gemini:gemini-test"]
    env = {name: value for name, value in os.environ.items() if not name.startswith("GOOGLE_")}
    env |= {"GEMINI_API_KEY": "a-key", "GOOGLE_GEMINI_BASE_URL": address, "NO_PROXY": "127.0.0.1"}
    return warm.run(["agent", *given, "--yes", "--prompt", "go", *options], env=env)


@pytest.mark.req("HOOK-139", "HOOK-140")
def test_what_hooks_decide_goes_over_the_wire(project: Path, hook_script: HookScript) -> None:
    """Requests go to the streaming method alone, with the hooks' choice of tools, messages and parameters in them."""
    choice = {"hookSpecificOutput": {"toolConfig": {"mode": "AUTO", "allowedFunctionNames": ["write_file"]}}}
    change = {"systemMessage": "Briefly.", "hookSpecificOutput": {"llm_request": {"config": {"temperature": 0}}}}
    hooks = {
        "BeforeToolSelection": hook_script(f"echo '{json.dumps(choice)}'", "choice.sh"),
        "BeforeModel": hook_script(f"echo '{json.dumps(change)}'", "change.sh"),
    }
    with gemini([[WRITE], [says("Do", finish=None), says("ne.")]]) as (address, asked):
        done = run(address, project, hooks)
    assert (done.returncode, done.stdout) == (0, "Done.\n"), done.stderr
    assert [path for path, _ in asked] == ["gemini-test:streamGenerateContent?alt=sse"] * 2
    first, second = (body for _, body in asked)
    assert first["contents"] == [{"role": "user", "parts": [{"text": "go"}, {"text": "[System] Briefly."}]}]
    calling = first["toolConfig"]["functionCallingConfig"]
    assert (calling["mode"], calling["allowedFunctionNames"]) == ("VALIDATED", ["write_file"])
    assert first["generationConfig"]["temperature"] == 0
    declared = {one["name"] for tool in first["tools"] for one in tool["functionDeclarations"]}
    assert {"read_file", "write_file", "run_shell_command"} <= declared
    answer = {"name": "write_file", "response": {"output": "Created a.txt with 1 line."}}
    assert second["contents"] == [
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": WRITE["candidates"][0]["content"]["parts"]},
        {"role": "user", "parts": [{"functionResponse": answer}, {"text": "[System] Briefly."}]},
    ]


@pytest.mark.req("HOOK-207")
def test_a_broken_stream_is_exit_code_1(project: Path, hook_script: HookScript) -> None:
    """A response that breaks off is reported, not requested again and not kept; AfterModel hooks don't get it."""
    hooks = {"AfterModel": hook_script("touch ran")}
    with gemini([[says("Hal", finish=None)]]) as (address, asked):
        done = run(address, project, hooks, "--session-id", "s1")
    assert (done.returncode, done.stdout, len(asked)) == (1, "", 1)
    assert done.stderr == (
        "hookline: the answer of gemini-test was cut off: the stream ended without a finish reason;"
        " the partial answer is unused\n"
    )
    assert not (project / "ran").exists()


@pytest.mark.req("HOOK-174")
def test_a_blocked_call_reaches_no_server(project: Path, hook_script: HookScript) -> None:
    """Blocked means that no request is made at all."""
    with gemini([]) as (address, asked):
        done = run(address, project, {"BeforeModel": hook_script("echo no >&2; exit 2")})
    assert (done.returncode, asked) == (0, [])
    assert done.stdout.startswith("The model was not called: no (blocked by ")
