"""`hookline doctor --prove`: transcripts in the agents' forms, and logs that our engine wrote for the same calls."""

import asyncio
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hookline.apps.cli.main import main
from hookline.bridge.call import Bridge, BridgeCall
from hookline.bridge.installation.install import install
from hookline.client.config import Config
from hookline.files import state_path
from hookline.inspect.proof.canary import command_line, wait_for
from hookline.inspect.proof.reconcile import Standing
from hookline.protocol.events import HookEventName
from hookline.protocol.text.json_text import utc_timestamp
from hookline.settings.canary import canary_at, canary_layers, new_canary, write_canary

DENY = 'case "$(cat)" in *secret*) echo no >&2; exit 2;; esac'


class Claude:
    """A stand-in for Claude Code: asks the bridge, and writes a transcript."""

    def __init__(self, home: Path, project: Path, session: str = "s1") -> None:
        self.project = project
        self.session = session
        self._file = home / ".claude" / "projects" / "p" / f"{session}.jsonl"
        self._file.parent.mkdir(parents=True, exist_ok=True)

    def ask(self, command: str, *words: str) -> bool:
        """Asks about a command; returns whether it was denied."""
        payload: dict[str, Any] = {
            "session_id": self.session,
            "cwd": str(self.project),
            "hook_event_name": "PreToolUse",
        }
        payload |= {"tool_name": "Bash", "tool_input": {"command": command}}
        call = BridgeCall(
            words=("claude", "PreToolUse", *words),
            stdin=json.dumps(payload).encode(),
            cwd=str(self.project),
            environ=dict(os.environ),
        )
        bridge = Bridge()
        try:
            return b'"deny"' in asyncio.run(bridge.answer(call)).stdout
        finally:
            bridge.systems.close()

    def wrote(self, *commands: str, refused: bool = False, version: str = "2.1.325") -> None:
        """Writes calls and their results into the transcript."""
        with self._file.open("a") as file:
            for command in commands:
                number = f"toolu_{time.time_ns()}"
                use = {"type": "tool_use", "id": number, "name": "Bash", "input": {"command": command}}
                facts = {"sessionId": self.session, "cwd": str(self.project), "version": version}
                facts["timestamp"] = utc_timestamp(time.time())
                file.write(json.dumps({**facts, "message": {"content": [use]}}) + "\n")
                end: dict[str, Any] = {"message": {"content": [{"type": "tool_result", "tool_use_id": number}]}}
                file.write(json.dumps(end | ({"toolDenialKind": "hook"} if refused else {})) + "\n")


@pytest.fixture
def claude(own_home: Path, project: Path) -> Claude:
    return Claude(own_home, project)


def configure(folder: Path, command: str = DENY, *, matcher: str = "run_shell_command", **more: Any) -> None:
    hook = {"type": "command", "name": "guard", "command": command, **more.pop("hook", {})}
    settings = {"enableHooks": True, "hooks": {"BeforeTool": [{"matcher": matcher, "hooks": [hook]}]}, **more}
    (folder / ".llxprt").mkdir(exist_ok=True)
    (folder / ".llxprt" / "settings.json").write_text(json.dumps(settings))


def prove(capsys: pytest.CaptureFixture[str], project: Path, *words: str) -> tuple[int, dict[str, Any]]:
    code = main(["doctor", "--prove", "--no-canary", "--json", "--project", str(project), *words])
    return code, json.loads(capsys.readouterr().out)


def counts(report: dict[str, Any], agent: str = "claude") -> dict[str, int]:
    found = next(row for row in report["agents"] if row["agent"] == agent)
    return {standing: count for standing, count in found["counts"].items() if count}


def causes(report: dict[str, Any]) -> Sequence[str]:
    return [finding["cause"] for row in report["agents"] for finding in row["notJudged"]]


def test_every_call_that_ran_has_a_decision(
    claude: Claude, own_home: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A call that was denied first and allowed later is judged; a refused one is not counted."""
    configure(own_home)
    assert not claude.ask("ls")
    assert claude.ask("cat secret")
    claude.wrote("ls")
    claude.wrote("cat secret", refused=True)
    code, report = prove(capsys, project)
    assert (code, counts(report)) == (0, {"judged": 1})
    words = next(row for row in report["words"] if row["agent"] == "claude")
    assert words["observed"]
    assert words["enforced"]


def test_a_tool_that_no_hook_is_for_is_said_apart(
    claude: Claude, own_home: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(own_home, matcher="write_file")
    claude.ask("ls")
    # The log counts the second together with the first, and names its session no more.
    claude.wrote("ls", "ls -l")
    assert prove(capsys, project)[1]["agents"][1]["counts"]["no hook is for it"] == 2


def test_a_bridge_that_is_not_installed(
    claude: Claude, own_home: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(own_home)
    claude.wrote("cat secret")
    code, report = prove(capsys, project)
    assert (code, counts(report), causes(report)) == (1, {"not judged": 1}, ["bridge"])
    assert report["agents"][1]["notJudged"][0]["remedy"] == "hookline bridge install claude"


def test_a_hook_that_times_out(
    claude: Claude, own_home: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(own_home, "exec sleep 20", hook={"timeout": 50})
    assert not claude.ask("cat secret")
    claude.wrote("cat secret")
    code, report = prove(capsys, project)
    assert (code, causes(report)) == (1, ["hook failed"])
    assert "guard timed out" in report["agents"][1]["notJudged"][0]["why"]


def test_hooks_that_the_agent_did_not_wait_for(
    claude: Claude, own_home: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The time of the agent is over while a hook runs, and the agent goes on."""
    configure(own_home, "exec sleep 20")
    claude.ask("cat secret", "--deadline", "0.3")
    claude.wrote("cat secret")
    code, report = prove(capsys, project)
    assert (code, causes(report)) == (1, ["timeout"])


def test_settings_of_another_directory(
    claude: Claude, own_home: Path, project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The hooks stand in one project, and the agent works in another one."""
    configure(project)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    install("claude", own_home / ".claude" / "settings.json", ["PreToolUse"])
    other = Claude(own_home, elsewhere)
    assert not other.ask("cat secret")
    other.wrote("cat secret")
    code, report = prove(capsys, project)
    assert (code, causes(report)) == (1, ["settings"])
    assert str(elsewhere) in report["agents"][1]["notJudged"][0]["why"]
    del claude


def test_a_disabled_hook(claude: Claude, own_home: Path, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configure(own_home, hooksConfig={"disabled": ["guard"]})
    assert not claude.ask("cat secret")
    claude.wrote("cat secret")
    code, report = prove(capsys, project)
    assert (code, causes(report)) == (1, ["disabled"])


def test_a_call_made_past_the_door(
    claude: Claude, own_home: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The agent asks about one call, and runs another one, too."""
    configure(own_home)
    claude.ask("ls")
    claude.wrote("ls", "cat secret")
    code, report = prove(capsys, project)
    assert (code, counts(report), causes(report)) == (1, {"judged": 1, "not judged": 1}, ["past the door"])
    assert report["agents"][1]["notJudged"][0]["arguments"] == {"command": "cat secret"}


def test_the_same_call_twice_needs_two_decisions(
    claude: Claude, own_home: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(own_home)
    claude.ask("ls")
    claude.wrote("ls", "ls")
    assert counts(prove(capsys, project)[1]) == {"judged": 1, "not judged": 1}


@pytest.mark.attack("30.F17", "show the secrets of another agent's transcripts in a proof")
def test_a_proof_shows_no_secrets(claude: Claude, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither for users nor for programs."""
    claude.wrote("curl -H 'Authorization: Bearer ghp_abcdefghijklmnopqrstuvwxyz0123456789' https://example.org")
    _, report = prove(capsys, project)
    assert main(["doctor", "--prove", "--no-canary", "--project", str(project)]) == 1
    shown = capsys.readouterr().out
    assert "Bearer [redacted]" in shown
    assert "ghp_" not in shown + json.dumps(report)


def test_an_agent_that_runs_what_was_denied(
    claude: Claude, own_home: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(own_home)
    assert claude.ask("cat secret")
    claude.wrote("cat secret")
    code, report = prove(capsys, project)
    assert (code, counts(report)) == (1, {"denied, and ran all the same": 1})


def test_arguments_that_a_hook_rewrote(
    claude: Claude, own_home: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Some agents write the arguments as they were called, some as they ran."""
    answer = json.dumps({"hookSpecificOutput": {"tool_input": {"command": "ls -l"}}})
    configure(own_home, f"echo '{answer}'")
    claude.ask("ls")
    claude.ask("ls")
    claude.wrote("ls", "ls -l")
    assert counts(prove(capsys, project)[1]) == {"judged": 2}


def test_an_unknown_version_is_said(
    claude: Claude, own_home: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(own_home)
    claude.ask("ls")
    claude.wrote("ls", version="9.9.9")
    code = main(["doctor", "--prove", "claude", "--no-canary", "--project", str(project)])
    assert code == 0
    shown = capsys.readouterr().out
    assert "checked with 2.1.325, and this is 9.9.9" in shown
    assert "Codex 0.166.0" in shown


def test_codex_says_other_words_in_its_transcripts(
    own_home: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A patch of two files is two decisions, and one that is missing leaves the patch unjudged."""
    configure(own_home, matcher="*")
    patch = "*** Begin Patch\n*** Add File: a\n+1\n*** Add File: b\n+2\n*** End Patch\n"
    facts = {"session_id": "c1", "cwd": str(project), "hook_event_name": "PreToolUse"}
    bridge = Bridge()
    for tool, command in (("Bash", "ls"), ("apply_patch", patch)):
        question = json.dumps({**facts, "tool_name": tool, "tool_input": {"command": command}}).encode()
        call = BridgeCall(words=("codex", "PreToolUse"), stdin=question, cwd=str(project), environ=dict(os.environ))
        asyncio.run(bridge.answer(call))
    bridge.systems.close()
    file = own_home / ".codex" / "sessions" / "2026" / "11" / "17" / "rollout-x.jsonl"
    file.parent.mkdir(parents=True)
    now = utc_timestamp(time.time())
    meta = {"id": "c1", "cwd": str(project), "cli_version": "0.166.0"}
    lines: list[dict[str, Any]] = [{"type": "session_meta", "payload": meta}]
    more = patch.replace("*** End", "*** Add File: c\n+3\n*** End")
    made = [("exec_command", {"arguments": '{"cmd": "ls"}'}), ("apply_patch", {"input": patch})]
    for number, (tool, arguments) in enumerate([*made, ("apply_patch", {"input": more})]):
        kind = "function_call" if "arguments" in arguments else "custom_tool_call"
        payload = {"type": kind, "name": tool, "call_id": str(number), **arguments}
        lines.append({"timestamp": now, "payload": payload})
        lines.append({"payload": {"type": f"{kind}_output", "call_id": str(number), "output": "fine"}})
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert counts(prove(capsys, project)[1], "codex") == {"judged": 2, "not judged": 1}


def test_a_tool_that_codex_asks_no_hook_about_is_not_past_the_door(
    own_home: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(own_home, matcher="*")
    file = own_home / ".codex" / "sessions" / "2026" / "11" / "17" / "rollout-x.jsonl"
    file.parent.mkdir(parents=True)
    lines: list[dict[str, Any]] = [{"type": "session_meta", "payload": {"id": "c1", "cwd": str(project)}}]
    now = utc_timestamp(time.time())
    for number, tool in enumerate(("update_plan", "write_stdin", "mcp__files__read")):
        call = {"type": "function_call", "name": tool, "call_id": str(number), "arguments": '{"chars": "x"}'}
        lines.append({"timestamp": now, "payload": call})
        lines.append({"payload": {"type": "function_call_output", "call_id": str(number), "output": "fine"}})
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert counts(prove(capsys, project)[1], "codex") == {str(Standing.NEVER_ASKED): 2, "not judged": 1}
    main(["doctor", "--prove", "codex", "--no-canary", "--project", str(project)])
    assert "2 of tools that the agent asks no hook about (update_plan, write_stdin)" in capsys.readouterr().out


@pytest.mark.parametrize("agent", ["cursor", "copilot"])
def test_an_agent_without_transcripts_is_said(
    agent: str, own_home: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(own_home)
    main(["doctor", "--prove", agent, "--wait", "0", "--project", str(project)])
    assert "hookline reads no transcripts of it" in " ".join(capsys.readouterr().out.split())


# What each agent asks before it runs a command, in its own words.
ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "claude": ("PreToolUse", {"hook_event_name": "PreToolUse", "tool_name": "Bash"}),
    "codex": ("PreToolUse", {"hook_event_name": "PreToolUse", "tool_name": "Bash"}),
    "gemini": ("BeforeTool", {"hook_event_name": "BeforeTool", "tool_name": "run_shell_command"}),
    "cursor": ("preToolUse", {"hook_event_name": "preToolUse", "tool_name": "Shell"}),
    "copilot": ("preToolUse", {"toolName": "bash"}),
}


@pytest.mark.parametrize("agent", sorted(ASKED))
def test_the_canary_comes_back_through_the_bridge_of_every_agent(
    agent: str, own_home: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Asked in the agent's own words, the bridge denies, and that is seen; `prove AGENT` prints the line to run."""
    configure(own_home)
    event, facts = ASKED[agent]
    with canary_at(own_home / ".llxprt" / "hookline-canary.json", 60) as canary:
        command = f"echo {canary.text}"
        assert command in command_line(agent, canary)
        arguments = "toolArgs" if agent == "copilot" else "tool_input"
        payload = {**facts, "session_id": "s", "cwd": str(project), arguments: {"command": command}}
        given = json.dumps(payload).encode()
        bridge = Bridge()
        call = BridgeCall(words=(agent, event), stdin=given, cwd=str(project), environ=dict(os.environ))
        reply = asyncio.run(bridge.answer(call))
        bridge.systems.close()
        flight = wait_for(agent, canary, state_path("hooks.jsonl"), 0)
    assert (flight.denied, bool(flight.log_id)) == (True, True)
    assert canary.word in (reply.stdout + reply.stderr).decode()
    assert main(["doctor", "--prove", agent, "--wait", "0", "--project", str(project)]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert f"Run this in {project}, in another terminal" in shown
    assert "no call with the canary came to a hook within 0 s" in shown


@pytest.mark.timeout(90)  # it starts the real agent
def test_the_canary_of_our_own_agent(own_home: Path, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The real agent makes the call, and the guard denies it; nothing of the canary stays."""
    (own_home / ".llxprt").mkdir()
    (own_home / ".llxprt" / "settings.json").write_text('{"enableHooks": true}')
    code = main(["doctor", "--prove", "hookline", "--json", "--project", str(project)])
    report = json.loads(capsys.readouterr().out)
    assert (code, report["canary"]["denied"], report["canary"]["message"]) == (0, True, "the call was denied")
    assert report["canary"]["event"]
    assert [file.name for file in (own_home / ".llxprt").iterdir()] == ["settings.json"]


@pytest.mark.parametrize(
    ("asks", "refused", "enabled", "denied", "message"),
    [
        pytest.param(True, True, True, True, "the call was denied", id="guarded"),
        pytest.param(False, False, True, False, "the call ran, and no hook saw it", id="past the door"),
        pytest.param(True, False, False, False, "the call ran, and no hook saw it", id="hooks disabled"),
        pytest.param(True, False, True, False, "although a hook denied it", id="not kept to"),
        pytest.param(False, None, True, False, "within 0 s", id="nobody ran the line"),
    ],
)
def test_the_canary_of_another_agent(
    claude: Claude, own_home: Path, *, asks: bool, refused: bool | None, enabled: bool, denied: bool, message: str
) -> None:
    """The evidence is in the log, and in the transcript of the agent."""
    configure(own_home, enableHooks=enabled)
    with canary_at(own_home / ".llxprt" / "hookline-canary.json", 60) as canary:
        command = f"echo {canary.text}"
        assert command in command_line("claude", canary)
        if asks:
            assert claude.ask(command) is enabled
        if refused is not None:
            claude.wrote(command, refused=refused)
        flight = wait_for("claude", canary, state_path("hooks.jsonl"), 0)
    assert flight.denied is denied
    assert message in flight.message


def test_an_earlier_canary_that_ran_is_no_call_to_answer_for(
    claude: Claude, own_home: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A guard that was not there last week, and is now, must not fail the proof; a call with more in it counts."""
    configure(own_home)
    text = new_canary(60).text
    claude.ask("ls")
    claude.wrote("ls", refused=True)
    claude.wrote(f"echo {text}")
    code, report = prove(capsys, project)
    assert (code, causes(report)) == (1, [])  # nothing that ran is left to compare
    claude.wrote(f"echo {text}; rm -rf build")
    code, report = prove(capsys, project)
    assert (code, len(causes(report))) == (1, 1)


def test_a_home_that_cannot_be_written_is_said(
    own_home: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A canary needs its file; the message names it, and what works without."""
    (own_home / ".llxprt").write_text("a file where the directory should be")
    assert main(["doctor", "--prove", "claude", "--wait", "0", "--project", str(project)]) == 1
    shown = " ".join(capsys.readouterr().err.split())
    assert "hookline-canary.json can't be written" in shown
    assert "--no-canary" in shown
    assert "bug in hookline" not in shown


def test_a_wrong_time_is_said_before_a_canary_flies(own_home: Path, project: Path) -> None:
    """Nothing is started, and nobody is asked to run a line."""
    configure(own_home)
    assert main(["doctor", "--prove", "--since", "yesterday", "--project", str(project)]) == 1
    assert not state_path("sessions").exists()


def test_a_canary_file_can_only_deny_its_own_text(tmp_path: Path) -> None:
    """It enables nothing, runs no command of its own, and counts only while it is fresh and nobody else's."""
    file = tmp_path / "canary.json"
    write_canary(file, new_canary(60))
    (layer,) = canary_layers(file)
    assert set(layer.values) == {"hooks"}
    file.chmod(0o666)
    assert canary_layers(file) == ()
    write_canary(file, new_canary(-1))
    assert canary_layers(file) == ()
    write_canary(file, new_canary(60)._replace(nonce="$(touch x)"))
    assert canary_layers(file) == ()
    for text in ("[]", "{", '{"nonce": 1}', ""):
        file.write_text(text)
        assert canary_layers(file) == ()


def test_a_running_program_sees_the_canary_come_and_go(own_home: Path, project: Path) -> None:
    (own_home / ".llxprt").mkdir()
    (own_home / ".llxprt" / "settings.json").write_text('{"enableHooks": true}')
    config = Config(project)
    system = config.get_hook_system()
    assert system is not None
    system.start()
    try:
        with canary_at(own_home / ".llxprt" / "hookline-canary.json", 60):
            time.sleep(0.01)  # a source looks again after 2 ms
            assert system.explain(HookEventName.BEFORE_TOOL, "x").labels == ("hookline-canary",)
        time.sleep(0.01)
        assert not system.explain(HookEventName.BEFORE_TOOL, "x").hooks
    finally:
        system.dispose()


def test_the_calls_of_subagents_are_compared(
    claude: Claude, own_home: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Claude Code keeps them in files of their own; one that is repeated in the session's transcript counts once."""
    configure(own_home)
    claude.ask("ls")
    claude.wrote("ls")
    session = own_home / ".claude/projects/p/s1.jsonl"
    folder = own_home / ".claude/projects/p/s1/subagents"
    for name in ("agent-a1.jsonl", "workflows/wf_1/agent-a2.jsonl"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(session.read_text().replace("toolu_", f"{Path(name).stem}_"))
    (folder / "agent-copy.jsonl").write_text(session.read_text())
    (folder / "agent-a1.meta.json").write_text("{}")
    code, report = prove(capsys, project)
    assert (code, counts(report)) == (1, {"judged": 1, "not judged": 2})
    row = next(row for row in report["agents"] if row["agent"] == "claude")
    assert row["unknownPlaces"] == []


def test_transcripts_in_an_unknown_place_are_read_and_named(
    claude: Claude, own_home: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A new version of an agent may keep calls where no reader looks."""
    configure(own_home)
    claude.wrote("ls")
    main_file = own_home / ".claude/projects/p/s1.jsonl"
    other = own_home / ".claude/projects/p/s1/teammates/deep/x.jsonl"
    other.parent.mkdir(parents=True)
    main_file.rename(other)
    code, report = prove(capsys, project)
    row = next(row for row in report["agents"] if row["agent"] == "claude")
    assert (code, row["calls"], row["unknownPlaces"]) == (1, 1, [str(other)])
    main(["doctor", "--prove", "--no-canary", "--project", str(project)])
    assert "that is not known" in capsys.readouterr().out
