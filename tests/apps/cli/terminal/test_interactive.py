"""The interactive mode, through a real pseudo-terminal."""

import json
import os
import signal
import stat
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookline.testing import Chunk, calls, says

if TYPE_CHECKING:
    from tests.conftest import Person

HookScript = Callable[..., Path]
Seat = Callable[..., "Person"]
Hooks = dict[str, list[dict[str, Any]]]


class Desk:
    """A project with settings and a model's script, and a terminal to work at."""

    def __init__(self, project: Path, person: Seat, hook_script: HookScript) -> None:
        self.project = project
        self._person = person
        self._hook_script = hook_script
        self._hooks: Hooks = {}

    def hook(self, event: str, body: str, *, name: str, matcher: str | None = None) -> None:
        """Configures a hook: a shell script from its lines."""
        script = self._hook_script(body, f"{name}.sh")
        group: dict[str, Any] = {"hooks": [{"type": "command", "name": name, "command": str(script)}]}
        self._hooks.setdefault(event, []).append(group if matcher is None else {**group, "matcher": matcher})

    def watch(self, *events: str) -> None:
        """Configures hooks that keep their inputs in `told.jsonl`."""
        for event in events:
            # In one write, because hooks of two events may run at the same time.
            self.hook(event, f"printf '%s\\n' \"$(cat)\" >> {self.project}/told.jsonl", name=event)

    def told(self) -> list[dict[str, Any]]:
        """Return the inputs of those hooks."""
        return [json.loads(line) for line in (self.project / "told.jsonl").read_text().splitlines()]

    def sit_down(self, *answers: Sequence[Chunk], words: tuple[str, ...] = (), **options: Any) -> "Person":
        """Starts the agent with a model that gives these answers."""
        settings = self.project.parent / "settings.json"
        settings.write_text(json.dumps({"enableHooks": True, "hooks": self._hooks}))
        replay = self.project.parent / "replay.jsonl"
        lines = ({"method": "generateContentStream", "response": answer} for answer in answers)
        replay.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        return self._person("agent", "--settings", str(settings), "--model", f"replay:{replay}", *words, **options)


@pytest.fixture
def desk(project: Path, person: Seat, hook_script: HookScript) -> Desk:
    """A desk with nothing on it."""
    return Desk(project, person, hook_script)


def writes(path: str, content: str) -> Sequence[Chunk]:
    """An answer in which the model writes a file."""
    return [calls(("write_file", {"file_path": path, "content": content}))]


def test_a_call_is_shown_approved_and_run(desk: Desk) -> None:
    """The person sees what would be written, says yes, and gets the tool's result and the model's answer."""
    (desk.project / "notes.txt").write_text("old\nkept\n")
    here = desk.sit_down(writes("notes.txt", "new\nkept\n"), [says("I wrote **it**.")])
    greeting = here.expect("\n>")
    assert [line.strip() for line in greeting.splitlines()] == [
        f"hookline {version('hookline')}, model replay",
        "hooks: 0 configured",
        "/help shows the commands",
    ]
    here.type("write it\r")
    here.expect("write_file wants to write notes.txt")
    diff = here.expect("[a]lways: write_file inside the project in this session")
    assert [line.strip() for line in diff.strip().splitlines()] == ["@@ -1,2 +1,2 @@", "-old", "+new", "kept"]
    here.expect("Allow write_file to write notes.txt? [y]es, [a]lways, [v]iew, [N]o:")
    here.type("y\r")
    here.expect("✓ write_file notes.txt")
    here.expect("I wrote it.")
    here.say("/quit")
    assert here.leaves_with() == 0
    assert (desk.project / "notes.txt").read_text() == "new\nkept\n"


def test_no_and_always(desk: Desk) -> None:
    """Enter refuses; always is for the rest of the session."""
    answers: list[Sequence[Chunk]] = [
        writes("a", "1"),
        [says("One.")],
        writes("b", "2"),
        [says("Two.")],
        writes("c", "3"),
        [says("Three.")],
    ]
    here = desk.sit_down(*answers)
    here.say("first")
    here.expect("[N]o:")
    here.type("\r")
    here.expect("write_file was not run: permission to write a was not given.")
    here.expect("One.")
    here.say("second")
    here.expect("[N]o:")
    here.type("always\r")
    here.expect("Two.")
    here.say("third")
    here.expect("Three.")
    assert sorted(path.name for path in desk.project.iterdir()) == ["b", "c"]


def test_what_was_typed_before_the_question_is_no_answer(desk: Desk) -> None:
    """A yes that was typed ahead approves nothing."""
    here = desk.sit_down(writes("a", "1"), [says("One.")])
    here.expect("\n>")
    here.type("do it\ry\r")
    here.expect("[N]o:")
    here.type("n\r")
    here.expect("One.")
    assert not (desk.project / "a").exists()


@pytest.mark.req("HOOK-159")
def test_notes_for_the_model_are_not_shown(desk: Desk) -> None:
    """A systemMessage reaches the model, never the user."""
    note = """echo '{"systemMessage": "for-the-model-only"}'"""
    for event in ("BeforeTool", "AfterTool", "BeforeModel", "AfterModel", "BeforeToolSelection"):
        desk.hook(event, note, name=f"note-{event}")
    here = desk.sit_down(writes("a", "1"), [says("Written.")], words=("--yes", "--session-id", "s1"))
    here.say("write it")
    here.expect("Written.")
    here.say("/hooks")
    here.say("/quit")
    assert here.leaves_with() == 0
    assert "for-the-model-only" not in here.shown
    transcript = (desk.project.parent / "state" / "sessions" / "s1.jsonl").read_text()
    assert transcript.count("[System] for-the-model-only") > 2


@pytest.mark.req("HOOK-049", "HOOK-173")
def test_the_answer_is_held_until_hooks_have_spoken(desk: Desk) -> None:
    """Nothing of an answer is shown before AfterModel hooks have answered, and nothing that they suppress or change."""
    desk.hook(
        "AfterModel",
        """case $(cat) in
*'"text":"secret'*) echo '{"suppressOutput": true}' ;;
*'"text":"card'*) echo '{"hookSpecificOutput": {"llm_response": {"candidates":
  [{"content": {"role": "model", "parts": ["card [redacted]"]}}]}}}' ;;
esac""",
        name="redact",
    )
    answers = [[says("secret-", finish=None), says("4711")], [says("card 1234")], [says("Bye.")]]
    here = desk.sit_down(*answers)
    for prompt in ("one", "two", "three"):
        here.say(prompt)
    here.expect("Bye.")
    assert "card [redacted]" in here.shown
    assert "secret-" not in here.shown
    assert "1234" not in here.shown


def test_a_long_output_can_be_expanded(desk: Desk) -> None:
    """Its first and last lines are shown, and a key shows all of it."""
    command = "seq -f line-%g-. 40"
    here = desk.sit_down([calls(("run_shell_command", {"command": command}))], [says("Done.")], words=("--yes",))
    here.say("run it")
    here.expect("line-12-.")
    assert "line-13-." not in here.expect("… 21 more lines; Ctrl-O shows them")
    here.expect("line-40-.")
    here.expect("\n>")
    here.type("\x0f")
    here.expect("All of run_shell_command:")
    here.expect("line-20-.")


def test_commands(desk: Desk) -> None:
    """/help, /hooks and a slip of the finger."""
    desk.hook("BeforeTool", "echo no >&2; exit 2", name="guard", matcher="write_file")
    desk.hook("AfterAgent", "exit 3", name="broken")
    desk.hook("PreCompress", "true", name="never")
    here = desk.sit_down(writes("a", "1"), [says("Then not.")], words=("--yes",))
    here.say("/help")
    for command in ("/hooks", "/compress", "/clear", "/quit", "Ctrl-C"):
        here.expect(command)
    here.say("/hook")
    here.expect("There is no /hook; did you mean /hooks?")
    here.say("write it")
    here.expect("Then not.")
    log = desk.project.parent / "state" / "hooks.jsonl"
    _wait_for(lambda: log.exists() and "broken" in log.read_text())
    here.say("/hooks")
    here.expect("guard  BeforeTool write_file  project")
    here.expect("ran once; last: blocked write_file")
    here.expect("broken  AfterAgent  project")
    here.expect("ran once, failed once; last: failed: it exited with code 3")
    here.expect("never  PreCompress  project")
    here.expect("has not run yet")


def test_hooks_that_do_not_run_are_told(desk: Desk, person: Seat) -> None:
    """Hooks that wait for trust, or are disabled, are counted once at the start and explained by /hooks."""
    folder = desk.project / ".llxprt"
    folder.mkdir()
    hooks = [{"type": "command", "name": name, "command": "true"} for name in ("new-one", "off-one")]
    settings = {
        "enableHooks": True,
        "hooks": {"SessionStart": [{"hooks": hooks}]},
        "hooksConfig": {"disabled": ["off-one"]},
    }
    (folder / "settings.json").write_text(json.dumps(settings))
    replay = desk.project / "replay.jsonl"
    replay.write_text("")
    here = person("agent", "--model", f"replay:{replay}")
    here.expect("hooks: 2 configured, 1 waiting for trust → hookline trust")
    here.say("/hooks")
    here.expect("new-one")
    here.expect("hooks of a project need trust; look at it and run: hookline trust")
    here.expect("off-one")
    here.expect("disabled by")
    here.say("/clear")
    here.expect("A new session")
    here.say("/quit")
    here.leaves_with()
    assert "not run" not in here.shown


def test_it_works_without_hooks(desk: Desk, person: Seat) -> None:
    """While hooks are disabled the agent works, and reports that."""
    replay = desk.project / "replay.jsonl"
    replay.write_text(json.dumps({"method": "generateContentStream", "response": [says("Grüße → 世界.")]}))
    here = person("agent", "--model", f"replay:{replay}", PYTHONIOENCODING="latin-1")
    here.expect("hooks: disabled")
    here.say("hello")
    here.expect("Gr")
    here.say("/hooks")
    here.expect("Hooks are disabled")
    here.say("/Exit")
    assert here.leaves_with() == 0


@pytest.mark.req("HOOK-203")
def test_clear_begins_a_new_session(desk: Desk) -> None:
    """/clear ends the session and starts another, with a new id, transcript and history."""
    desk.watch("SessionStart", "SessionEnd", "BeforeModel")
    here = desk.sit_down([says("One.")], [says("Two.")])
    here.say("first")
    here.expect("One.")
    here.say("/clear")
    here.expect("A new session: ")
    here.say("second")
    here.expect("Two.")
    here.expect("\n>")
    here.type("\x04")
    assert here.leaves_with() == 0
    told = desk.told()
    sessions = [
        (one["hook_event_name"], one.get("source") or one.get("reason"))
        for one in told
        if one["hook_event_name"] != "BeforeModel"
    ]
    # The end of a session and the beginning of the next are fired at the same time.
    assert sorted(sessions) == [
        ("SessionEnd", "clear"),
        ("SessionEnd", "prompt_input_exit"),
        ("SessionStart", "clear"),
        ("SessionStart", "startup"),
    ]
    first, second = (one for one in told if one["hook_event_name"] == "BeforeModel")
    assert first["session_id"] != second["session_id"]
    assert Path(first["transcript_path"]).is_file()
    assert first["transcript_path"] != second["transcript_path"]
    spoken = [one["content"] for one in second["llm_request"]["messages"] if one["role"] != "system"]
    assert spoken == ["second"]


def test_compress_has_a_summary_written(desk: Desk) -> None:
    """/compress tells PreCompress hooks that it was manual, and continues from the summary."""
    desk.watch("PreCompress", "BeforeModel")
    here = desk.sit_down([says("One.")], [says("We greeted each other.")], [says("Two.")])
    here.say("/compress")
    here.expect("There is nothing to compress yet.")
    here.say("hello")
    here.expect("One.")
    here.say("/compress")
    here.expect("The history was compressed")
    here.say("go on")
    here.expect("Two.")
    here.say("/quit")
    assert here.leaves_with() == 0  # PreCompress hooks are not waited for before that
    told = desk.told()
    assert [one["trigger"] for one in told if one["hook_event_name"] == "PreCompress"] == ["manual"]
    messages = [one for one in told if one["hook_event_name"] == "BeforeModel"][-1]["llm_request"]["messages"]
    assert any("We greeted each other." in one["content"] for one in messages)


def test_ctrl_c_cancels_a_slow_hook(desk: Desk) -> None:
    """Ctrl-C ends the hook with everything it started, and the conversation continues; twice at the prompt leaves."""
    pids = desk.project / "pids"
    desk.hook("BeforeTool", f"sleep 300 & echo $$ $! > {pids}.new; mv {pids}.new {pids}; wait", name="sleepy")
    here = desk.sit_down(writes("a", "1"), [says("Here I am.")], words=("--yes",))
    here.say("write it")
    here.expect("waiting for hook sleepy (BeforeTool)")
    started = [int(pid) for pid in pids.read_text().split()]
    here.type("\x03")
    here.expect("Cancelled.")
    here.say("are you there?")
    here.expect("Here I am.")
    _wait_for(lambda: not any(_is_alive(pid) for pid in started))
    assert not (desk.project / "a").exists()
    here.expect("\n>")
    here.type("\x03")
    here.expect("Press Ctrl-C again to leave.")
    here.expect("\n>")
    here.type("\x03")
    assert here.leaves_with() == 130


def test_ctrl_c_cancels_a_tool_and_then_leaves(desk: Desk) -> None:
    """Ctrl-C ends a running command with its group; the next one, while nothing runs, leaves with 130."""
    pids = desk.project / "pids"
    command = f"sleep 300 & echo $$ $! > {pids}.new; mv {pids}.new {pids}; wait"
    here = desk.sit_down([calls(("run_shell_command", {"command": command}))], words=("--yes",))
    here.say("run it")
    here.expect("run_shell_command…")
    _wait_for(pids.exists)
    started = [int(pid) for pid in pids.read_text().split()]
    here.type("\x03")
    here.expect("Cancelled.")
    here.expect("\n>")
    here.type("\x03")
    assert here.leaves_with() == 130
    assert not any(_is_alive(pid) for pid in started)


def test_ctrl_c_at_a_question_cancels_the_turn(desk: Desk) -> None:
    """Ctrl-C in place of an answer ends the turn, and nothing is run."""
    here = desk.sit_down(writes("a", "1"), [says("Fine.")])
    here.say("write it")
    here.expect("[N]o:")
    here.type("\x03")
    here.expect("Cancelled.")
    here.say("hello")
    here.expect("Fine.")
    assert not (desk.project / "a").exists()


def test_ctrl_c_ends_waiting_for_servers(desk: Desk, person: Seat) -> None:
    """Somebody who does not want to wait for an MCP server can leave."""
    settings, replay = desk.project / "settings.json", desk.project / "replay.jsonl"
    settings.write_text(json.dumps({"mcpServers": {"silent": {"command": "sleep", "args": ["300"]}}}))
    replay.write_text("")
    here = person("agent", "--settings", str(settings), "--model", f"replay:{replay}")
    here.expect("connecting to MCP servers")
    here.type("\x03")
    assert here.leaves_with() == 130


def test_ctrl_c_drops_a_half_written_line(desk: Desk) -> None:
    """Ctrl-C on a line that is not empty drops the line only."""
    here = desk.sit_down([says("Fine.")])
    here.expect("\n>")
    here.type("half a li")
    here.expect("half a li")
    here.type("\x03")
    here.say("hello")
    here.expect("Fine.")


def test_a_terminal_that_is_closed_leaves_nothing_behind(desk: Desk) -> None:
    """A hangup ends running hooks with everything they started."""
    pids = desk.project / "pids"
    desk.hook("BeforeTool", f"sleep 300 & echo $$ $! > {pids}.new; mv {pids}.new {pids}; wait", name="sleepy")
    here = desk.sit_down(writes("a", "1"), words=("--yes",))
    here.say("write it")
    here.expect("waiting for hook sleepy")
    started = [int(pid) for pid in pids.read_text().split()]
    os.kill(here.process.pid, signal.SIGHUP)
    here.leaves_with()
    assert not any(_is_alive(pid) for pid in started)


def test_lines_are_remembered_privately(desk: Desk) -> None:
    """The arrow up brings back a line of an earlier session, and the file is for its owner alone."""
    first = desk.sit_down([says("One.")])
    first.say("what I said")
    first.expect("One.")
    first.say("/quit")
    assert first.leaves_with() == 0
    history = desk.project.parent / "state" / "history"
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    second = desk.sit_down([says("Two.")])
    second.expect("\n>")
    second.type("\x1b[A\x1b[A")
    second.expect("what I said")
    second.type("\r")
    second.expect("Two.")


def test_a_session_is_gone_on_with(desk: Desk) -> None:
    """--resume continues the project's latest session, under its id."""
    desk.watch("SessionStart", "BeforeModel")
    first = desk.sit_down([says("One.")], words=("--session-id", "s1"))
    first.say("first")
    first.expect("One.")
    first.say("/quit")
    first.expect("To resume: hookline agent --resume s1")
    assert first.leaves_with() == 0
    second = desk.sit_down([says("Two.")], words=("--resume",))
    second.expect("resuming session s1; /help shows the commands")
    assert [line.strip() for line in second.expect("\n>").split("\n") if line.strip()] == ["> first", "One."]
    second.type("second\r")
    second.expect("Two.")
    second.say("/quit")
    assert second.leaves_with() == 0
    told = desk.told()
    assert [one["source"] for one in told if "source" in one] == ["startup", "resume"]
    request = [one for one in told if one["hook_event_name"] == "BeforeModel"][-1]["llm_request"]
    spoken = [one["content"] for one in request["messages"] if one["role"] != "system"]
    assert spoken == ["first", "One.", "second"]


@pytest.mark.parametrize(
    ("environ", "columns"),
    [
        pytest.param({"TERM": "dumb"}, 80, id="dumb"),
        pytest.param({"NO_COLOR": "1"}, 80, id="no-colour"),
        pytest.param({}, 24, id="narrow"),
    ],
)
def test_plain_terminals(desk: Desk, environ: dict[str, Any], columns: int) -> None:
    """It can be used without colours, without a cursor to move, and with hardly any room."""
    here = desk.sit_down(writes("a", "1"), [says("**Done**.")], columns=columns, **environ)
    here.say("write")
    here.expect("[N]o:")
    here.type("y\r")
    here.expect("Done.")
    here.say("/help")
    here.say("/quit")
    assert here.leaves_with() == 0
    assert (desk.project / "a").read_text() == "1"


def _is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def _wait_for(claim: Callable[[], bool], within_s: float = 45) -> None:
    deadline = time.monotonic() + within_s
    while not claim():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.02)
