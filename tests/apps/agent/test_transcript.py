import json
import os
import stat
from pathlib import Path

import pytest

from hookline.apps.agent.conversation.contents import answer_calls, content_from_json, to_json, user_content
from hookline.apps.agent.conversation.transcript import TranscriptWriter, find_session, read_session, transcript_path
from hookline.apps.agent.tool import AgentCall, CallStatus
from hookline.client.triggers.results import ToolResult
from hookline.errors import UsageError

CALL = content_from_json({"role": "model", "parts": [{"functionCall": {"name": "ls", "args": {"path": "/p"}}}]})
DONE = AgentCall(
    id="c1",
    name="ls",
    arguments={"path": "/p"},
    status=CallStatus.SUCCESS,
    result=ToolResult(llm_content="a\nb", return_display="2 entries"),
)


def begin(session_id: str, project: str = "/p", source: str = "startup") -> TranscriptWriter:
    """The transcript of a session that has just begun."""
    transcript = TranscriptWriter(transcript_path(session_id))
    transcript.write("session", id=session_id, project=project, model="m", source=source)
    return transcript


def test_everything_is_one_line(tmp_path: Path) -> None:
    """Each thing that happens is appended as one JSON object with its kind and its time."""
    transcript = begin("s1")
    transcript.write("user", content=user_content(["Hi"]))
    transcript.write("model", content=CALL)
    transcript.write("tool", id="c1", status="success")
    transcript.write("tool_results", content=answer_calls(CALL, [DONE]))
    transcript.write("compression", trigger="auto", history=[user_content(["short"])])
    transcript.write("end", reason="exit")
    assert transcript.path == tmp_path / "state" / "sessions" / "s1.jsonl"
    records = [json.loads(line) for line in transcript.path.read_text().splitlines()]
    assert all(record.pop("timestamp").endswith("Z") for record in records)
    response = {"functionResponse": {"name": "ls", "response": {"output": "a\nb"}}}
    assert records == [
        {"type": "session", "id": "s1", "project": "/p", "model": "m", "source": "startup"},
        {"type": "user", "content": {"role": "user", "parts": [{"text": "Hi"}]}},
        {"type": "model", "content": to_json(CALL)},
        {"type": "tool", "id": "c1", "status": "success"},
        {"type": "tool_results", "content": {"role": "user", "parts": [response]}},
        {"type": "compression", "trigger": "auto", "history": [{"role": "user", "parts": [{"text": "short"}]}]},
        {"type": "end", "reason": "exit"},
    ]


def test_only_the_owner_can_read_it() -> None:
    """Conversations are private: neither the file nor its folder is open to others."""
    path = begin("s1").path
    assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)) == (0o600, 0o700)


def test_a_compression_replaces_what_was_before() -> None:
    """The history is read back as it stood after the compression, with what came later."""
    transcript = begin("s1")
    transcript.write("user", content=user_content(["long"]))
    transcript.write("compression", trigger="manual", history=[user_content(["short"])])
    transcript.write("user", content=user_content(["next"]))
    assert read_session(transcript.path).history == [user_content(["short"]), user_content(["next"])]


@pytest.mark.parametrize(
    ("records", "end"),
    [
        pytest.param(
            [("user", {}, "Hi"), ("model", {}, "One."), ("user", {}, "More"), ("model", {}, "Two.")],
            ("More", "Two."),
            id="last",
        ),
        pytest.param([("user", {}, "Hi"), ("model", {"hidden": True}, "secret")], ("Hi", None), id="hidden-by-a-hook"),
        pytest.param([("user", {}, "Hi")], ("Hi", ""), id="no-answer"),
        pytest.param([], ("", ""), id="nothing"),
    ],
)
def test_the_end_of_the_conversation_can_be_shown(
    records: list[tuple[str, dict[str, bool], str]], end: tuple[str, str | None]
) -> None:
    """The last prompt without what hooks added to it, and the last answer unless hooks hid it."""
    transcript = begin("s1")
    for kind, facts, text in records:
        parts = [text, "[System] a note"] if kind == "user" else [text]
        transcript.write(kind, content=user_content(parts), **facts)
    past = read_session(transcript.path)
    assert (past.prompt, past.answer) == end


def test_going_on_keeps_the_history_and_starting_anew_does_not() -> None:
    """A file may hold several sessions under one id; only what was resumed goes on."""
    transcript = begin("s1")
    transcript.write("user", content=user_content(["one"]))
    begin("s1", source="resume").write("user", content=user_content(["two"]))
    assert read_session(transcript.path).history == [user_content(["one"]), user_content(["two"])]
    begin("s1").write("user", content=user_content(["three"]))
    assert read_session(transcript.path).history == [user_content(["three"])]


def test_half_a_last_line_is_forgiven() -> None:
    """A program that was killed while it wrote costs no more than what it was writing."""
    transcript = begin("s1")
    transcript.write("user", content=user_content(["one"]))
    with transcript.path.open("a") as file:
        file.write('{"type":"user","cont')
    assert read_session(transcript.path).history == [user_content(["one"])]


def test_calls_without_results_are_left_out() -> None:
    """A session that ended while its tools ran goes on from before them: the model takes no unanswered calls."""
    transcript = begin("s1")
    transcript.write("user", content=user_content(["one"]))
    transcript.write("model", content=CALL)
    assert read_session(transcript.path).history == [user_content(["one"])]


def test_a_broken_line_in_the_middle_is_told() -> None:
    """What cannot be read is an error with file and line, not a conversation with a hole."""
    transcript = begin("s1")
    with transcript.path.open("a") as file:
        file.write("oops\n")
    with pytest.raises(UsageError, match=r"s1\.jsonl:2 is not JSON"):
        read_session(transcript.path)


@pytest.mark.parametrize("line", ['{"type":"user"}', '{"type":"user","content":{"parts":3}}', '{"type":"compression"}'])
def test_a_line_that_is_no_message_is_told(line: str) -> None:
    """A record that does not hold what it should is an error with file and line."""
    transcript = begin("s1")
    with transcript.path.open("a") as file:
        file.write(f"{line}\n")
    with pytest.raises(UsageError, match=r"s1\.jsonl:2 is not a message"):
        read_session(transcript.path)


def test_a_broken_record_of_another_project_is_not_in_the_way() -> None:
    """Looking for the latest session passes over files that cannot be read."""
    begin("mine")
    transcript_path("broken").write_bytes(b"\xff\n")
    assert find_session(None, "/p").session_id == "mine"


def test_the_latest_session_of_the_project_is_found() -> None:
    """Without an id, the session of this project that was written last is gone on with."""
    for age, (session_id, project) in enumerate([("other", "/q"), ("new", "/p"), ("old", "/p")]):
        transcript = begin(session_id, project)
        os.utime(transcript.path, (1_000_000 - age, 1_000_000 - age))
    found = find_session(None, "/p")
    assert (found.session_id, found.history) == ("new", [])


@pytest.mark.parametrize(
    ("session_id", "said"), [(None, "there is no session of /p"), ("s9", "there is no session s9")]
)
def test_no_session_is_an_error(session_id: str | None, said: str) -> None:
    """Where there is nothing to go on with, that is said."""
    with pytest.raises(UsageError, match=said):
        find_session(session_id, "/p")


@pytest.mark.parametrize("session_id", ["../../etc/passwd", "", "a/b", ".hidden", "x" * 200, "a\0b"])
def test_an_id_is_a_plain_name(session_id: str) -> None:
    """An id that would lead elsewhere is refused."""
    with pytest.raises(UsageError, match="can't be a session id"):
        transcript_path(session_id)


def test_what_cannot_be_written_is_said_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A full or missing disk costs the record, not the session."""
    (tmp_path / "state").write_text("in the way")
    transcript = begin("s1")
    transcript.write("end", reason="exit")
    assert capsys.readouterr().err.count("the session is not recorded") == 1


def test_a_transcript_that_is_a_pipe_is_not_waited_for(capsys: pytest.CaptureFixture[str]) -> None:
    """Neither for writing, nor for finding the latest session, nor for resuming it."""
    kept = begin("kept").path
    pipe = transcript_path("pipe")
    os.mkfifo(pipe)
    TranscriptWriter(pipe).write("user")
    said = f"hookline: the session is not recorded: {pipe}: it is a FIFO, not a regular file\n"
    assert capsys.readouterr().err == said
    assert find_session(None, "/p").session_id == kept.stem
    with pytest.raises(UsageError, match="it is a FIFO, not a regular file"):
        read_session(pipe)
