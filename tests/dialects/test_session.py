"""Facilities for hooks of other agents besides stdin: a transcript, a file for variables, an approval, a server."""

import asyncio
import json
import shlex
import subprocess
import sys
import textwrap
from collections import UserDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hookline import Config
from hookline.apps.agent.approval.approver import Approval, ApprovalRequest, Approver, Permissions, UserReply
from hookline.apps.agent.background import BackgroundHooks
from hookline.apps.agent.conversation.contents import content_from_json, user_content
from hookline.apps.agent.conversation.transcript import TranscriptWriter
from hookline.apps.agent.scheduler import ToolScheduler
from hookline.apps.agent.tool import AgentCall, CallStatus, ToolContext
from hookline.apps.agent.toolbox import default_toolbox
from hookline.apps.agent.tools.shell import RUN_SHELL_COMMAND
from hookline.client.triggers.tools import fire_permission_hook
from hookline.hook import Ask
from hookline.protocol.events import HookEventName
from hookline.protocol.verdict import Verdict


def configured(project: Path, event: str, command: str, dialect: str = "claude", **options: Any) -> Config:
    groups = [{"hooks": [{"type": "command", "command": command}]}]
    settings = {"enableHooks": True, "dialect": dialect, "hooks": {event: groups}}
    return Config(settings=settings, working_dir=str(project), **options)


def fire(config: Config, event: HookEventName, **fields: Any) -> Verdict:
    """Fires one event."""

    async def run() -> Verdict:
        system = config.get_hook_system()
        assert system is not None
        await system.initialize()
        return await system.get_event_handler().fire(event, fields)

    return asyncio.run(run())


@pytest.mark.parametrize("dialect", ["claude", "codex"])
def test_context_at_the_start_may_come_with_suppress_output(project: Path, dialect: str) -> None:
    """That key hides the hook's own output, and voids an answer of Codex on tool events only."""
    specific = {"hookEventName": "SessionStart", "additionalContext": "remember"}
    answer = json.dumps({"continue": True, "suppressOutput": True, "hookSpecificOutput": specific})
    config = configured(project, "SessionStart", f"echo '{answer}'", dialect)
    assert fire(config, HookEventName.SESSION_START, source="startup").context == "remember"


@pytest.mark.parametrize(("event", "ours"), [("Stop", "AfterAgent"), ("UserPromptSubmit", "BeforeAgent")])
def test_a_missing_script_is_no_block_of_claude_code_at_a_prompt_or_stop(project: Path, event: str, ours: str) -> None:
    """Python exits with 2 for it, and the agent would go on for ever."""
    verdict = fire(configured(project, event, "python3 missing.py"), HookEventName(ours), prompt="Hi")
    assert not verdict.denied
    assert not verdict.success


LAST_MESSAGE = r"""
import json, sys
told = json.load(sys.stdin)
lines = [json.loads(line) for line in open(told["transcript_path"])]
last = [line for line in lines if line["type"] == "assistant"][-1]["message"]["content"]
tools = [block["name"] for line in lines if line["type"] == "assistant" for block in line["message"]["content"]
         if block["type"] == "tool_use"]
text = "".join(block["text"] for block in last if block["type"] == "text")
first = lines[0]["message"]["content"]
print(json.dumps({"decision": "block", "reason": f"{first} / {tools} / {text}"}))
"""


def test_a_stop_hook_of_claude_code_can_read_the_transcript(project: Path, tmp_path: Path) -> None:
    """Its own form of messages and tool calls, kept up to date from one event to the next."""
    transcript = TranscriptWriter(tmp_path / "s" / "one.jsonl")
    transcript.write("session", id="one", project=str(project), model="m", source="startup")
    transcript.write("user", content=user_content(["Hi"]))
    call = {"functionCall": {"name": "write_file", "args": {"file_path": "a"}}}
    transcript.write("model", content=content_from_json({"role": "model", "parts": [call]}))
    script = project / "stop.py"
    script.write_text(LAST_MESSAGE)
    config = configured(project, "Stop", f"python3 {script}", transcript_path=str(transcript.path))
    for text in ("first", "second"):
        transcript.write("model", content=content_from_json({"role": "model", "parts": [{"text": text}]}))
        verdict = fire(config, HookEventName.AFTER_AGENT, prompt="Hi", prompt_response=text)
        assert verdict.reason == f"Hi / ['Write'] / {text}"
    copy = tmp_path / "s" / "claude" / "one.jsonl"
    assert copy.stat().st_mode & 0o077 == 0
    ids = [json.loads(line)["uuid"] for line in copy.read_text().splitlines()]
    assert len(ids) == len(set(ids)) == 4


def test_a_broken_line_costs_a_stop_hook_that_line_only(project: Path, tmp_path: Path) -> None:
    """A crash may have cut it; the hook still reads all others in its own form."""
    transcript = TranscriptWriter(tmp_path / "s" / "one.jsonl")
    transcript.write("session", id="one", project=str(project), model="m", source="startup")
    with transcript.path.open("a") as file:
        file.write('{"type": "user", "content": {"par\n[]\n{"type": ["user"]}\n')
    transcript.write("user", content=user_content(["Hi"]))
    config = configured(project, "Stop", "cat > told.json", transcript_path=str(transcript.path))
    fire(config, HookEventName.AFTER_AGENT)
    copy = Path(json.loads((project / "told.json").read_text())["transcript_path"])
    assert [json.loads(line)["message"]["content"] for line in copy.read_text().splitlines()] == ["Hi"]


@pytest.mark.parametrize("text", ["", '{"type":"user","message":{"content":"theirs"}}\n', "no JSON\n"])
def test_a_transcript_that_is_not_ours_is_left_as_it_is(project: Path, tmp_path: Path, text: str) -> None:
    """A program may have one in that form already."""
    path = tmp_path / "theirs.jsonl"
    path.write_text(text)
    fire(configured(project, "Stop", "cat > told.json", transcript_path=str(path)), HookEventName.AFTER_AGENT)
    assert json.loads((project / "told.json").read_text())["transcript_path"] == str(path)


def test_hooks_of_our_own_get_our_own_transcript(project: Path, tmp_path: Path) -> None:
    """No copy is made for them."""
    transcript = TranscriptWriter(tmp_path / "one.jsonl")
    transcript.write("session", id="one", project=str(project), model="m", source="startup")
    config = configured(project, "AfterAgent", "true", "hookline", transcript_path=str(transcript.path))
    fire(config, HookEventName.AFTER_AGENT)
    assert not (tmp_path / "claude").exists()


def test_variables_of_a_session_start_hook_are_in_force_in_the_shell(project: Path) -> None:
    """With any content of their values, and only in that session."""
    command = """echo 'export GREETING="it'"'"'s; $(echo fine)"' >> "$CLAUDE_ENV_FILE" """
    config = configured(project, "SessionStart", command, session_id="s/1")
    fire(config, HookEventName.SESSION_START, source="startup")

    def shell(session: Config) -> str:
        given = {"command": "echo [$GREETING]"}
        result = asyncio.run(RUN_SHELL_COMMAND.execute(given, ToolContext.of(session)))
        return str(result.llm_content)

    assert shell(config).startswith("[it's; fine]\n")
    assert shell(configured(project, "SessionStart", command, session_id="s/2")).startswith("[]\n")
    (file,) = (project.parent / "state" / "session-env").rglob("*.sh")
    assert file.stat().st_mode & 0o077 == 0
    assert file.parent.stat().st_mode & 0o077 == 0
    fire(configured(project, "SessionStart", "true", session_id="s/1"), HookEventName.SESSION_START, source="clear")
    assert file.read_text() == ""


PERMISSION = """printf '{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":%s}}'"""


@pytest.mark.parametrize(
    ("command", "is_allowed", "reason"),
    [
        ("echo not by me >&2; exit 2", False, "not by me"),
        (f'{PERMISSION} \'{{"behavior":"deny","message":"never"}}\'', False, "never"),
        (f'{PERMISSION} \'{{"behavior":"allow"}}\'', True, None),
        (f'{PERMISSION} \'{{"behavior":"allow","updatedInput":{{"command":"y"}}}}\'', False, None),
        (f'{PERMISSION} \'{{"behavior":"allow"}}\'; exit 1', False, None),
        ("true", False, None),
        ("exit 1", False, None),
    ],
)
def test_a_permission_request_hook_is_asked_before_the_user_is(
    project: Path, command: str, is_allowed: bool, reason: str | None
) -> None:
    """Its deny refuses, its allow of these arguments saves the question; other BeforeTool events leave it alone."""
    config = configured(project, "PermissionRequest", f"touch asked; {command}")
    verdict = fire(config, HookEventName.BEFORE_TOOL, tool_name="run_shell_command", tool_input={"command": "x"})
    assert not verdict.blocked
    assert not (project / "asked").exists()
    answer = asyncio.run(fire_permission_hook(config, "run_shell_command", {"command": "x"}))
    assert (answer.allowed, answer.refusal) == (is_allowed, reason)
    assert answer.refusal is None or len(answer.refusal.hooks) == 1
    assert (project / "asked").exists()


class Unreadable(UserDict[str, Any]):
    """Arguments whose own code fails."""

    def __iter__(self) -> Iterator[str]:
        raise OSError("gone")


def test_unreadable_arguments_are_refused_and_not_judged_as_empty(project: Path) -> None:
    """A hook that allows `{}` does not allow arguments that it was not shown."""
    config = configured(project, "PermissionRequest", f'touch asked; {PERMISSION} \'{{"behavior":"allow"}}\'')
    answer = asyncio.run(fire_permission_hook(config, "run_shell_command", Unreadable(command="rm -rf /")))
    assert not answer.allowed
    assert answer.refusal is not None
    assert not (project / "asked").exists()


def decided(config: Config, approve: Approver, call: AgentCall) -> AgentCall:
    permissions = Permissions(config=config, person=approve, background=BackgroundHooks())
    scheduler = ToolScheduler(
        config=config, toolbox=default_toolbox(), permissions=permissions, on_change=lambda _call: None
    )
    (done,) = asyncio.run(scheduler.run([call]))
    return done


@dataclass
class User:
    """Says no to everything, and remembers the questions."""

    asked: list[ApprovalRequest] = field(default_factory=list)

    async def __call__(self, request: ApprovalRequest) -> UserReply:
        """A no."""
        self.asked.append(request)
        return UserReply(Approval.REFUSE)


def write(path: str = "a") -> AgentCall:
    return AgentCall(id="1", name="write_file", arguments={"file_path": path, "content": "b"})


def test_a_refused_permission_names_its_hook(project: Path) -> None:
    """The call counts as blocked, with the hook and its reason, and the user is not asked."""
    config, user = configured(project, "PermissionRequest", "echo not by me >&2; exit 2"), User()
    done = decided(config, user, write())
    assert done.result is not None
    assert (done.status, len(done.result.decided_by), user.asked) == (CallStatus.IDLE, 1, [])
    assert done.result.return_display == "write_file was not run: not by me"


@pytest.mark.parametrize(("path", "questions"), [("a", 0), (".git/hooks/pre-commit", 1)], ids=["plain", "protected"])
def test_a_permission_that_a_hook_gives_saves_the_question(project: Path, path: str, questions: int) -> None:
    """As in Claude Code the user is not asked then; but a protected place needs the user's own yes."""
    config, user = configured(project, "PermissionRequest", f'{PERMISSION} \'{{"behavior":"allow"}}\''), User()
    done = decided(config, user, write(path))
    assert len(user.asked) == questions
    assert (done.status is CallStatus.SUCCESS, (project / path).exists()) == (questions == 0,) * 2


def test_a_permission_does_not_answer_a_guard_that_asks(project: Path) -> None:
    """A guard that wants the user to be asked gets the user's answer, and not another hook's."""
    allow = f'{PERMISSION} \'{{"behavior":"allow"}}\''
    config, user = configured(project, "PermissionRequest", allow), User()
    config.add_hook("BeforeTool", lambda _event: Ask("sure?"))
    done = decided(config, user, write())
    assert [request.asked and request.asked for request in user.asked] == ["sure?"]
    assert not (project / "a").exists()
    assert done.status is CallStatus.IDLE


def test_updated_input_replaces_the_arguments_whole(project: Path) -> None:
    """As in Claude Code, what `updatedInput` leaves out is gone: guards and tool see no old `offset` and `limit`."""
    (project / "long.txt").write_text("".join(f"line {number}\n" for number in range(9)))
    answer = {"hookEventName": "PreToolUse", "updatedInput": {"file_path": str(project / "long.txt")}}
    command = f"printf %s {shlex.quote(json.dumps({'hookSpecificOutput': answer}))}"
    config, user, seen = configured(project, "PreToolUse", command), User(), list[Any]()
    config.add_hook("BeforeTool", lambda event: seen.append(dict(event.tool_input)), final=True)
    call = AgentCall(id="1", name="read_file", arguments={"file_path": "long.txt", "offset": 3, "limit": 1})
    done = decided(config, user, call)
    assert seen == [done.arguments] == [{"file_path": "long.txt"}]
    assert done.result is not None
    assert "line 0" in str(done.result.llm_content)
    assert "line 8" in str(done.result.llm_content)


SERVER = """
import http.server, json, sys

class Guard(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        told = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        deny = told["tool_name"] in ("Bash", "run_shell_command")
        body = json.dumps({"decision": "block", "reason": "by a server"}).encode() if deny else b""
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass

server = http.server.HTTPServer(("127.0.0.1", 0), Guard)
print(server.server_port, flush=True)
server.serve_forever()
"""


@pytest.mark.parametrize("dialect", ["claude", "hookline"])
def test_a_server_guards(project: Path, dialect: str) -> None:
    """In hookline's format and in Claude Code's."""
    with subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        hook = {"type": "http", "url": f"http://127.0.0.1:{port}/"}
        settings = {"enableHooks": True, "dialect": dialect, "hooks": {"BeforeTool": [{"hooks": [hook]}]}}
        config = Config(settings=settings, working_dir=str(project))
        blocked = fire(config, HookEventName.BEFORE_TOOL, tool_name="run_shell_command", tool_input={})
        passed = fire(config, HookEventName.BEFORE_TOOL, tool_name="read_file", tool_input={})
        server.terminate()
    assert (blocked.blocked, blocked.reason, passed.blocked) == (True, "by a server", False)
    after = fire(config, HookEventName.BEFORE_TOOL, tool_name="run_shell_command", tool_input={})
    assert not after.blocked
    assert f"could not be asked: no server answers at 127.0.0.1:{port}" in str(after.runs[0].error)


def test_no_async_hook_outlives_the_program(project: Path) -> None:
    """It is given a moment, and then killed with everything that it started."""
    program = f"""
        import asyncio, sys
        from hookline import Config, execute_tool_with_hooks
        hook = {{"type": "command", "command": "echo $$ > pid; sleep 60", "async": True}}
        settings = {{"enableHooks": True, "dialect": "claude", "hooks": {{"PostToolUse": [{{"hooks": [hook]}}]}}}}
        async def tool(_):
            return "fine"
        config = Config(settings=settings, working_dir={str(project)!r})
        print(asyncio.run(execute_tool_with_hooks(config, "ls", {{}}, tool)).llm_content)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=45, check=True
    )
    assert done.stdout == "fine\n"
    pid = int((project / "pid").read_text())
    assert not Path(f"/proc/{pid}").exists()


def test_a_message_for_the_person_is_not_for_the_model(project: Path) -> None:
    """A systemMessage of another agent's hook is the verdict's own field."""
    config = configured(project, "PreToolUse", """echo '{"systemMessage": "look here"}'""")
    verdict = fire(config, HookEventName.BEFORE_TOOL, tool_name="run_shell_command", tool_input={})
    assert (verdict.user_message, verdict.note, verdict.context) == ("look here", None, None)


@pytest.mark.parametrize(
    ("dialect", "matcher", "source", "runs"),
    [
        ("claude", "startup|resume", "resume", True),
        ("claude", "startup|resume", "clear", False),
        ("claude", "compact", "compress", True),
        ("codex", "compact", "compress", True),
        ("gemini", "startup", "startup", True),
        ("gemini", "startup|resume", "startup", False),
        ("hookline", "startup|resume", "startup", False),
    ],
)
def test_matchers_of_lifecycle_events(project: Path, dialect: str, matcher: str, source: str, runs: bool) -> None:
    """Alternations and other words count where the agent has them."""
    hook = {"type": "command", "command": "cat > told.json"}
    groups = [{"matcher": matcher, "hooks": [hook]}]
    settings = {"enableHooks": True, "dialect": dialect, "hooks": {"SessionStart": groups}}
    fire(Config(settings=settings, working_dir=str(project)), HookEventName.SESSION_START, source=source)
    assert (project / "told.json").exists() is runs
    if runs and source == "compress":
        assert json.loads((project / "told.json").read_text())["source"] == "compact"


PROGRAM = """
import hookline.runners.background, asyncio, sys
from hookline import Config, ToolResult, execute_tool_with_hooks
hooks = {"PreToolUse": [{"hooks": [{"type": "command", "command": "echo $$ >> pids; sleep 60", "async": True}]}]}

async def execute(_arguments):
    return ToolResult(llm_content="", return_display="")

async def main():
    config = Config(sys.argv[1], settings={"enableHooks": True, "dialect": "claude", "hooks": hooks})
    for number in range(9):
        await execute_tool_with_hooks(config, "run_shell_command", {"command": str(number)}, execute)

asyncio.run(main())
"""


def test_async_hooks_end_with_the_program(project: Path) -> None:
    """All of them, also those that were just about to start, and in whatever order modules were loaded."""
    subprocess.run([sys.executable, "-c", PROGRAM, str(project)], check=True, timeout=45)
    pids = (project / "pids").read_text().split() if (project / "pids").exists() else []
    alive = [
        pid for pid in pids if Path("/proc", pid, "cmdline").exists() and Path("/proc", pid, "cmdline").read_bytes()
    ]
    assert not alive
