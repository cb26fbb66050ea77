import os
import time
from pathlib import Path

import pytest

from hookline.protocol.constants import ConfigSource
from hookline.settings.read.files import Layer, Problem, read_layer


@pytest.mark.req("HOOK-080")
def test_a_file_becomes_a_layer(tmp_path: Path) -> None:
    """The layer has the file's values, its text and where it came from."""
    file = tmp_path / "settings.json"
    file.write_text('{"enableHooks": true, // yes\n}', encoding="utf-8-sig")
    assert read_layer(file, ConfigSource.USER, is_guest=True) == Layer(
        source=ConfigSource.USER,
        origin=str(file),
        values={"enableHooks": True},
        text='{"enableHooks": true, // yes\n}',
        is_guest=True,
    )


@pytest.mark.parametrize("name", ["none.json", "file/none.json"], ids=["no-file", "no-directory"])
def test_a_missing_file_is_an_empty_layer(tmp_path: Path, name: str) -> None:
    """A missing file is not a problem."""
    (tmp_path / "file").touch()
    path = tmp_path / name
    assert read_layer(path, ConfigSource.SYSTEM) == Layer(source=ConfigSource.SYSTEM, origin=str(path))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(
            b'{\n  "hooks": }',
            ":2:12: is not JSON (Expecting value), so none of its hooks run; fix it at this place",
            id="broken",
        ),
        pytest.param(b" \n", ": is empty, so none of its hooks run; write {} or remove it", id="empty"),
        pytest.param(b"[]", ": is not a JSON object, so none of its hooks run; start it with {", id="array"),
        pytest.param(
            b'{"a": NaN}', ": is not JSON (NaN is not JSON), so none of its hooks run; fix it", id="not-a-number"
        ),
        pytest.param(
            b'{"a": "\xff"}', ": is not UTF-8 (byte 7), so none of its hooks run; save it as UTF-8", id="encoding"
        ),
        pytest.param(
            b"[" * 100_000 + b"]" * 100_000,
            ": is nested too deeply, so none of its hooks run; fix it",
            id="too-deep",
        ),
    ],
)
def test_an_unusable_file_is_an_error_of_that_file(tmp_path: Path, content: bytes, said: str) -> None:
    """The one problem says which file, where in it, what is wrong and what to do; the layer is empty."""
    file = tmp_path / "settings.json"
    file.write_bytes(content)
    layer = read_layer(file, ConfigSource.PROJECT)
    assert [str(problem) for problem in layer.problems] == [f"{file}{said}"]
    assert all(problem.is_error for problem in layer.problems)
    assert layer.values == {}


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    """A directory in its place is named as such."""
    layer = read_layer(tmp_path, ConfigSource.USER)
    said = "is a directory, so none of its hooks run; put a settings file there"
    assert layer.problems == (Problem(origin=str(tmp_path), path="", message=said, is_error=True),)


def test_a_problem_is_found_in_the_text() -> None:
    """A problem at a path has the line and column where the layer has a text, and the path alone where it has none."""
    layer = Layer(source=ConfigSource.USER, origin="f", text='{\n "a": [5]}')
    assert str(layer.problem(["a", 0], "is 5")) == "f:2:8: a[0] is 5"
    assert str(layer.problem(["b"], "is missing")) == "f: b is missing"
    coded = Layer(source=ConfigSource.USER, origin="code")
    assert coded.problem(["a"], "is 5", is_error=True) == Problem(
        origin="code", path="a", message="is 5", is_error=True
    )


@pytest.mark.parametrize("kind", ["dangling", "endless", "pipe", "large"])
def test_what_is_no_settings_file_is_an_error_and_never_waited_for(tmp_path: Path, kind: str) -> None:
    """A link that leads nowhere is a mistake, not an absence; a device or a pipe would never end."""
    path = tmp_path / "settings.json"
    if kind == "dangling":
        path.symlink_to(tmp_path / "nowhere")
    elif kind == "endless":
        path.symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.write_bytes(b" " * (5 << 20))
    (problem,) = read_layer(path, ConfigSource.PROJECT).problems
    assert problem.is_error
    assert "so none of its hooks run" in problem.message


def test_a_repeated_key_is_reported(tmp_path: Path) -> None:
    """Of two equal keys the first is lost, and with it perhaps a guard."""
    path = tmp_path / "settings.json"
    path.write_text(
        '{"hooks": {"BeforeTool": [],\n // "BeforeTool": 1\n"AfterTool": [{"BeforeTool": 1}],\n "BeforeTool": []}}'
    )
    (problem,) = read_layer(path, ConfigSource.USER).problems
    assert (problem.line, problem.column, problem.is_error) == (4, 2, False)
    assert problem.message.startswith('the key "BeforeTool" appears twice in one object')


def test_unclosed_comments_are_read_in_no_time(tmp_path: Path) -> None:
    """An untrusted file must not delay a command, however many problems it has."""
    path = tmp_path / "settings.json"
    path.write_text("{" + "/* " * 300_000 + '"' * 100_001 + "}")
    began = time.monotonic()
    assert read_layer(path, ConfigSource.PROJECT).problems
    assert time.monotonic() - began < 10
