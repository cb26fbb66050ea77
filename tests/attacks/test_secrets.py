"""Plants secrets wherever hooks and tools can have them, and looks for them in everything that is written."""

import asyncio
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hookline.apps.agent.conversation.transcript import TranscriptWriter, transcript_path
from hookline.apps.agent.loop import Agent
from hookline.apps.agent.toolbox import default_toolbox
from hookline.apps.cli.main import main
from hookline.client.bus import InProcessBus
from hookline.client.config import Config
from hookline.client.triggers.tools import ToolResult, execute_tool_with_hooks
from hookline.testing import ScriptedModel, calls, says

KEY_BLOCK = "-----BEGIN RSA PRIVATE KEY-----\nMIIPLANTEDabcdefghijklmnopqrstuv\n-----END RSA PRIVATE KEY-----"


def printed(text: str) -> str:
    return f"printf '%s\\n' {shlex.quote(text)}"


# A command, the tool's arguments, the hook's own variables. The secret in it is always recognized by "PLANTED".
PLANTED: Mapping[str, tuple[str, dict[str, Any], dict[str, str]]] = {
    "inherited-variable": ('echo "$START_TOKEN" >&2', {}, {}),
    "inherited-variable-in-the-arguments": ("true", {"note": "PLANTED-start"}, {}),
    "own-variable": ("true", {}, {"OWN_TOKEN": "PLANTED-own"}),
    "own-variable-on-stderr": ('echo "got $OWN_TOKEN" >&2', {}, {"OWN_TOKEN": "PLANTED-own"}),
    "variable-set-after-start": ('echo "$LATE_TOKEN"', {}, {}),
    "nested-key": ("true", {"n": [{"api_key": "PLANTED-nested"}]}, {}),
    "value-of-a-key-on-stdout": ("echo PLANTED-echo", {"password": "PLANTED-echo"}, {}),
    "value-of-a-key-on-stderr": ("echo PLANTED-echo >&2", {"password": "PLANTED-echo"}, {}),
    "value-of-a-key-in-a-reason": ("echo no: PLANTED-echo >&2; exit 2", {"password": "PLANTED-echo"}, {}),
    "value-of-a-key-in-a-system-message": (
        printed('{"systemMessage": "use PLANTED-echo", "stopReason": "PLANTED-echo"}'),
        {"password": "PLANTED-echo"},
        {},
    ),
    "value-with-quotes-in-a-reason": (
        printed(json.dumps({"decision": "deny", "reason": 'PLANTED"1\\2'})),
        {"password": 'PLANTED"1\\2'},
        {},
    ),
    "value-behind-a-long-text": ("echo PLANTED-echo", {"content": "x" * 200_000, "password": "PLANTED-echo"}, {}),
    "assignment": (printed("API_TOKEN=PLANTED-assign"), {}, {}),
    "line-of-yaml": (printed("password: PLANTED-1"), {}, {}),
    "line-of-yaml-in-the-arguments": ("true", {"content": "a: b\npassword: PLANTED-1\n"}, {}),
    "assignment-in-a-later-line-of-the-arguments": ("true", {"content": "A=x\nDB_PASSWORD=PLANTED-file\nB=y"}, {}),
    "authorization": (printed("Authorization: Bearer PLANTED-bearer"), {}, {}),
    "openai-key": (printed("sk-proj-PLANTEDabcdefghijklmnopqrstuvwxyz0123456789"), {}, {}),
    "github-token": (printed("ghp_PLANTEDabcdefghijklmnopqrstuvwxyz012345"), {}, {}),
    "aws-key": (printed("AKIAPLANTEDABCDEFGHI"), {}, {}),
    "private-key": (printed(KEY_BLOCK), {}, {}),
    "private-key-in-the-arguments": ("true", {"content": KEY_BLOCK}, {}),
    "slack-token": (printed("xoxb-PLANTED-1234567890-abcdefghijkl"), {}, {}),
    "google-key": (printed("AIzaSyPLANTEDabcdefghijklmnopqrstuvwxyz01234"), {}, {}),
    "command-text": (": --password PLANTED-cmdtext1", {}, {}),
    "url": (printed("postgres://u:PLANTED@h"), {"command": "curl -u ann:PLANTED-1 h"}, {}),
    "netrc": ("true", {"content": "machine h\n  login u\n  password PLANTED\n"}, {}),
    "across-the-cut": ("true", {"content": " AKIAPLANTEDABCDEFGHI" * 4000}, {}),
}


@pytest.fixture(params=[*PLANTED.values()], ids=[*PLANTED])
def planted(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("START_TOKEN", "PLANTED-start")
    return request.param


def settings(command: str, env: Mapping[str, str], **options: Any) -> dict[str, Any]:
    hook = {"type": "command", "command": command, "name": "planter", "env": env}
    groups = [{"hooks": [hook]}]
    return {"enableHooks": True, "hooksConfig": options, "hooks": {"BeforeTool": groups, "AfterTool": groups}}


async def run_tool(config: Config, arguments: dict[str, Any]) -> ToolResult:
    async def run(_: dict[str, Any]) -> ToolResult:
        return ToolResult(llm_content="ran")

    system = config.get_hook_system()
    assert system is not None
    await system.initialize()
    os.environ["LATE_TOKEN"] = "PLANTED-late"  # noqa: S105 - that is the point
    try:
        return await execute_tool_with_hooks(config, "some_tool", arguments, run)
    finally:
        del os.environ["LATE_TOKEN"]  # before the log is written
        system.dispose()


def written(folder: Path) -> str:
    texts = [path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()]
    assert texts
    return "\n".join(texts)


def test_no_secret_is_in_the_log(planted: Any, project: Path, tmp_path: Path) -> None:
    """Without any setting; the hook ran, and what readers select by is there."""
    command, arguments, env = planted
    asyncio.run(run_tool(Config(project, session_id="s1", settings=settings(command, env)), arguments))
    text = written(tmp_path / "state")
    assert "PLANTED" not in text
    records = [json.loads(line) for line in text.splitlines()]
    first = next(record for record in records if record["kind"] == "hook")
    assert (first["hook"], first["event"], first["session"]) == ("planter", "BeforeTool", "s1")
    assert first["message"].startswith("BeforeTool: planter ")
    assert all(record["time"].startswith("20") for record in records)


def test_no_secret_of_a_hook_without_a_name_is_in_the_record_of_its_start(project: Path, tmp_path: Path) -> None:
    """Its name is its command, and that is written before the run tells which variables it has."""
    given = settings("true PLANTED-own", {"OWN_TOKEN": "PLANTED-own"})
    del given["hooks"]["BeforeTool"][0]["hooks"][0]["name"]
    asyncio.run(run_tool(Config(project, settings=given), {}))
    text = written(tmp_path / "state")
    assert '"kind":"start"' in text
    assert "PLANTED" not in text


def test_a_model_cannot_hide_its_later_calls_by_calling_a_tool_s_name_a_secret(project: Path, tmp_path: Path) -> None:
    """A value found under a secret's name is removed everywhere, except where readers look for a tool or a hook."""
    given = settings("true", {})
    given["hooks"]["BeforeTool"][0]["hooks"][0]["name"] = "no-rm.sh"
    names = f"A_TOKEN=some_tool B_TOKEN=no-rm.sh C_TOKEN={os.path.realpath(project)} D_TOKEN=decision"
    asyncio.run(run_tool(Config(project, settings=given), {"content": names}))
    records = [json.loads(line) for line in written(tmp_path / "state").splitlines()]
    assert {record["subject"] for record in records} == {"some_tool"}
    assert {record["project"] for record in records} == {os.path.realpath(project)}
    assert {record["hook"] for record in records if record["kind"] == "hook"} == {"no-rm.sh"}


def test_no_secret_is_in_a_rotated_log_or_in_what_the_command_shows(
    planted: Any, project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Old files are like new ones, and `hookline log` shows no more than they have."""
    command, arguments, env = planted
    log = tmp_path / "logs" / "own.jsonl"
    given = settings(command, env, log={"path": str(log), "maxBytes": 1000, "backups": 3})
    for _ in range(2):
        asyncio.run(run_tool(Config(project, settings=given), arguments))
    assert log.with_name("own.jsonl.1").exists()
    assert "PLANTED" not in written(log.parent)
    assert main(["log", "--source", str(log), "--json", "-n", "0"]) == 0
    shown = capsys.readouterr().out
    assert "planter" in shown
    assert "PLANTED" not in shown


def test_no_secret_is_in_what_fire_prints_for_programs(
    planted: Any, project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results, reasons and effects are cleaned like the log; the exit code is the hook's."""
    monkeypatch.setenv("LATE_TOKEN", "PLANTED-late")
    command, arguments, env = planted
    file = tmp_path / "hooks.json"
    file.write_text(json.dumps(settings(command, env)))
    event = json.dumps({"tool_name": "t", "tool_input": arguments})
    code = main(["fire", "BeforeTool", "--settings", str(file), "--project", str(project), "--input", event, "--json"])
    shown = capsys.readouterr().out
    assert code == (2 if "exit 2" in command or "deny" in command else 0)
    assert json.loads(shown)["plan"]["hooks"]
    assert "PLANTED" not in shown
    assert "PLANTED" not in written(tmp_path / "state")


def test_no_secret_of_a_request_on_the_bus_is_in_the_log(planted: Any, project: Path, tmp_path: Path) -> None:
    """Requests are logged like events, also bad ones."""
    command, arguments, env = planted
    os.environ["LATE_TOKEN"] = "PLANTED-late"  # noqa: S105 - that is the point

    async def ask() -> None:
        bus = InProcessBus()
        config = Config(project, settings=settings(command, env), message_bus=bus)
        for name in ("BeforeTool", "password: PLANTED-1"):
            request = {"type": "hook-execution-request", "correlationId": "c", "eventName": name}
            await bus.publish({**request, "input": {"tool_name": "t", "tool_input": arguments}})
        system = config.get_hook_system()
        assert system is not None
        system.dispose()

    try:
        asyncio.run(ask())
    finally:
        del os.environ["LATE_TOKEN"]
    assert "PLANTED" not in written(tmp_path / "state")


def test_hooks_and_the_model_get_everything(planted: Any, project: Path, tmp_path: Path) -> None:
    """Only what is written is changed: the hook reads its input, and its reason reaches the model."""
    command, arguments, env = planted
    copy = tmp_path / "copy.json"
    config = Config(project, settings=settings(f"cat > {copy}; {command}", env))
    result = asyncio.run(run_tool(config, arguments))
    assert json.loads(copy.read_text())["tool_input"] == arguments
    if "exit 2" in command:
        assert result.llm_content == "no: PLANTED-echo"


TRANSCRIBED = {
    "key-of-a-call": ({"password": "PLANTED-echo"}, "echo PLANTED-echo"),
    "assignment": ({}, "echo API_TOKEN=PLANTED-1"),
    "token": ({}, "echo ghp_PLANTEDabcdefghijklmnopqrstuvwxyz012345"),
    "variable": ({}, "echo $START_TOKEN"),
    "private-key": ({}, printed(KEY_BLOCK)),
}


@pytest.mark.parametrize("hooks", [True, False], ids=["hooks", "no-hooks"])
@pytest.mark.parametrize(("arguments", "command"), TRANSCRIBED.values(), ids=TRANSCRIBED)
def test_no_secret_is_in_the_transcript(
    arguments: dict[str, Any], command: str, hooks: bool, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither in what the model said, nor in what a tool printed; the model itself gets the output as it is."""
    monkeypatch.setenv("START_TOKEN", "PLANTED-start")
    given = {**settings("true", {}), "enableHooks": hooks}
    config = Config(project, session_id="s1", settings=given)
    model = ScriptedModel(
        [[calls(("run_shell_command", {"command": command, **arguments}))], [says("It was PLANTED.")]]
    )
    agent = Agent(
        config=config,
        model=model,
        toolbox=default_toolbox(),
        approves_all=True,
        transcript=TranscriptWriter(transcript_path("s1"), config.get_redactor()),
        listener=list[Any]().append,
    )

    async def session() -> None:
        agent.start()
        await agent.run("go; password: PLANTED-1")
        await agent.close()

    asyncio.run(session())
    text = written(tmp_path / "state")
    assert "It was PLANTED." in text
    assert "PLANTED-" not in text
    assert "PLANTEDabc" not in text
    assert "PLANTED" in json.dumps([str(content) for content in model.requests[1].contents])


def test_no_secret_is_in_the_transcript_of_the_command(project: Path, tmp_path: Path) -> None:
    """The command's agent uses the redactor of its settings."""
    replay = tmp_path / "replay.jsonl"
    part = {"text": "pin: 1, PLANTED-pin1234"}
    chunk = {"candidates": [{"content": {"role": "model", "parts": [part]}}]}
    replay.write_text(json.dumps({"method": "generateContentStream", "response": [chunk]}) + "\n")
    file = tmp_path / "settings.json"
    file.write_text(json.dumps(settings("true", {}, redact=["*PIN*"])))
    options = ["--model", f"replay:{replay}", "--settings", str(file), "--session-id", "s1", "--prompt", "go"]
    subprocess.run(
        [sys.executable, "-m", "hookline", "agent", *options],
        cwd=project,
        env={**os.environ, "MY_PIN": "PLANTED-pin1234"},
        check=True,
        timeout=45,
        capture_output=True,
    )
    text = transcript_path("s1").read_text()
    assert "pin: 1, [redacted]" in text
    assert "PLANTED" not in text
