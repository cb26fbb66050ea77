import asyncio
import json
import stat
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from hookline.apps.agent.conversation.contents import to_json
from hookline.apps.agent.models.client import Model
from hookline.apps.agent.models.replay import Recorder, ReplayModel
from hookline.errors import ModelError
from hookline.protocol.llm import GenerateContentParameters
from hookline.testing import ScriptedModel, calls, says

REQUEST = GenerateContentParameters(model="m", contents="Hi")


def ask(model: Model) -> list[dict[str, Any]]:
    """The chunks of one answer, as JSON."""

    async def stream() -> list[dict[str, Any]]:
        async with aclosing(model.stream(REQUEST)) as chunks:
            return [to_json(chunk) async for chunk in chunks]

    return asyncio.run(stream())


def recording(folder: Path, *lines: Any) -> Path:
    """A replay file with these lines, in JSON unless they are text."""
    path = folder / "replay.jsonl"
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    return path


def line(*chunks: Any) -> dict[str, Any]:
    """One line of a replay file."""
    return {"method": "generateContentStream", "response": list(chunks)}


def test_each_call_is_answered_by_the_next_line(tmp_path: Path) -> None:
    """Calls are answered in the order of the lines, chunk by chunk; empty lines count for nothing."""
    model = ReplayModel(
        recording(tmp_path, line(says("Hel", finish=None), says("lo")), "", line(says("Bye"))), project_dir="/p"
    )
    assert [ask(model), ask(model)] == [[says("Hel", finish=None), says("lo")], [says("Bye")]]


def test_a_whole_response_is_a_single_chunk(tmp_path: Path) -> None:
    """A recording of the method that does not stream has one object, which is taken as the only chunk."""
    path = recording(tmp_path, {"method": "generateContent", "response": says("Hello")})
    assert ask(ReplayModel(path, project_dir="/p")) == [says("Hello")]


def test_the_project_directory_is_filled_in(tmp_path: Path) -> None:
    """`{{CWD}}` stands for the project's directory in every string value, and nowhere else."""
    path = recording(tmp_path, line(calls(("read_file", {"file_path": "{{CWD}}/a", "{{CWD}}": ["{{CWD}}{{CWD}}"]}))))
    expected = calls(("read_file", {"file_path": "/my project/a", "{{CWD}}": ["/my project/my project"]}))
    assert ask(ReplayModel(path, project_dir="/my project")) == [expected]


def test_fields_that_the_sdk_does_not_know_are_left_out(tmp_path: Path) -> None:
    """A recording made with a newer SDK can be replayed."""
    path = recording(tmp_path, line({**says("Hello"), "somethingNew": {"a": 1}}))
    assert ask(ReplayModel(path, project_dir="/p")) == [says("Hello")]


def test_no_line_left_is_an_error(tmp_path: Path) -> None:
    """One call too many is an error that names the file and the call."""
    path = recording(tmp_path, line(says("Hello")))
    model = ReplayModel(path, project_dir="/p")
    ask(model)
    with pytest.raises(ModelError) as caught:
        ask(model)
    assert str(caught.value) == (f"{path} has 1 line, but this is model call 2; add a line with its response")


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        pytest.param("{oops", "is not JSON: ", id="not-json"),
        pytest.param("[" * 100_000, "is not JSON: ", id="nested-too-deeply"),
        pytest.param([], 'expected an object with "method": "generateContentStream"', id="array"),
        pytest.param({"method": "countTokens"}, 'expected an object with "method"', id="another-method"),
        pytest.param({"method": "generateContentStream"}, 'expected "response" to be an array', id="no-response"),
        pytest.param(line(), 'expected "response" to be an array', id="no-chunks"),
    ],
)
def test_a_bad_line_is_an_error_with_its_place(bad: Any, said: str, tmp_path: Path) -> None:
    """A line that is no recording is told with file and line number, before anything is replayed."""
    path = recording(tmp_path, line(says("Hello")), bad)
    with pytest.raises(ModelError) as caught:
        ReplayModel(path, project_dir="/p")
    assert str(caught.value).startswith(f"{path}:2")
    assert said in str(caught.value)


def test_a_bad_chunk_is_an_error_with_its_place(tmp_path: Path) -> None:
    """A chunk that is no response is told with file, line and number."""
    path = recording(tmp_path, line(says("Hello", finish=None), {"candidates": 3}))
    with pytest.raises(ModelError, match=r"replay\.jsonl:1: chunk 2 is not a Gemini response: "):
        ask(ReplayModel(path, project_dir="/p"))


def test_a_chunk_that_would_be_an_empty_answer_is_an_error(tmp_path: Path) -> None:
    """An object without any field of a response is told with its place, and not taken for an empty answer."""
    path = recording(tmp_path, line(says("Hello")), line({"text": "Hello"}))
    model = ReplayModel(path, project_dir="/p")
    ask(model)
    with pytest.raises(ModelError, match=r'replay\.jsonl:2: chunk 1 is not a Gemini response: it has none of "cand'):
        ask(model)


def test_only_a_newline_ends_a_line(tmp_path: Path) -> None:
    """A recording may have any other character in its texts, as the recorder writes them."""
    path = recording(tmp_path, json.dumps(line(says("a\u2028b\x85c")), ensure_ascii=False), "{oops")
    with pytest.raises(ModelError, match=r"replay\.jsonl:2 is not JSON"):
        ReplayModel(path, project_dir="/p")


def test_what_is_recorded_can_be_replayed_elsewhere(tmp_path: Path) -> None:
    """A recording gives the same chunks again, with another project's directory in place of the first one's."""
    path = tmp_path / "recorded.jsonl"
    script = ScriptedModel([[says("Hel", finish=None), says("lo", tokens=7)], [calls(("ls", {"path": "/one/src"}))]])
    recorder = Recorder(script, path, project_dir="/one")
    first = [ask(recorder), ask(recorder)]
    model = ReplayModel(path, project_dir="/two")
    assert first == [[says("Hel", finish=None), says("lo", tokens=7)], [calls(("ls", {"path": "/one/src"}))]]
    assert [ask(model), ask(model)] == [first[0], [calls(("ls", {"path": "/two/src"}))]]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_broken_answer_is_not_recorded(tmp_path: Path) -> None:
    """Only complete answers are written, and a new recording begins with an empty file."""
    path = recording(tmp_path, "old")
    recorder = Recorder(ScriptedModel([[says("Hel", finish=None), ModelError("cut")]]), path, project_dir="/one")
    with pytest.raises(ModelError, match="cut"):
        ask(recorder)
    assert path.read_text() == ""


def test_a_recording_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    """Where no file can be made, that is said before the first call."""
    with pytest.raises(ModelError, match=r"can't record to .*: No such file or directory"):
        Recorder(ScriptedModel([]), tmp_path / "no" / "r", project_dir="/one")
