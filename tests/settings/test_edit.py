import json
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.errors import HooklineError
from hookline.settings.edit import add_to_list, edit_file, remove_from_list
from hookline.settings.read import jsonc

DISABLED = ("hooksConfig", "disabled")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param('{"hooksConfig": {"disabled": []}}', '{"hooksConfig": {"disabled": ["x"]}}', id="empty"),
        pytest.param('{"hooksConfig": {"disabled": ["a"]}}', '{"hooksConfig": {"disabled": ["a", "x"]}}', id="inline"),
        pytest.param(
            '{"hooksConfig": {"disabled": ["a", ]}}', '{"hooksConfig": {"disabled": ["a", "x", ]}}', id="inline-comma"
        ),
        pytest.param(
            '{"hooksConfig": {"disabled": [\n  "a" // why\n]}}',
            '{"hooksConfig": {"disabled": [\n  "a", // why\n  "x"\n]}}',
            id="lines",
        ),
        pytest.param(
            '{"hooksConfig": {"disabled": [\n\t"a", /* why */\n]}}',
            '{"hooksConfig": {"disabled": [\n\t"a", /* why */\n\t"x",\n]}}',
            id="lines-comma",
        ),
        pytest.param(
            '{"hooksConfig": {"disabled": [\r\n  "a"\r\n]}}',
            '{"hooksConfig": {"disabled": [\r\n  "a",\r\n  "x"\r\n]}}',
            id="crlf",
        ),
        pytest.param(
            '{"hooksConfig": {"disabled": [\n  "a" /* long\n  story */\n]}}',
            '{"hooksConfig": {"disabled": [\n  "a", "x" /* long\n  story */\n]}}',
            id="long-comment",
        ),
        pytest.param(
            '{"hooksConfig": {"disabled": [ /* none */ ]}}',
            '{"hooksConfig": {"disabled": ["x" /* none */ ]}}',
            id="empty-comment",
        ),
        pytest.param(
            '{"hooksConfig": {"disabled": [\n    // none\n  ]}}',
            '{"hooksConfig": {"disabled": [\n  "x"\n    // none\n  ]}}',
            id="empty-lines",
        ),
        pytest.param(
            '{\n  "hooksConfig": {\n    "redact": ["*TOKEN*"]\n  }\n}\n',
            '{\n  "hooksConfig": {\n    "redact": ["*TOKEN*"],\n    "disabled": ["x"]\n  }\n}\n',
            id="no-list",
        ),
        pytest.param(
            '{\n    "enableHooks": true, // on\n}\n',
            '{\n    "enableHooks": true, // on\n    "hooksConfig": {"disabled": ["x"]},\n}\n',
            id="no-options",
        ),
        pytest.param("{\n}\n", '{\n  "hooksConfig": {"disabled": ["x"]}\n}\n', id="nothing"),
        pytest.param("{}", '{"hooksConfig": {"disabled": ["x"]}}', id="nothing-inline"),
        pytest.param(
            '{"hooksConfig": {"disabled": ["x"]}}', '{"hooksConfig": {"disabled": ["x"]}}', id="there-already"
        ),
        pytest.param(
            '{"hooksConfig": {"disabled": ["o"]}, "hooksConfig": {"disabled": []}}',
            '{"hooksConfig": {"disabled": ["o"]}, "hooksConfig": {"disabled": ["x"]}}',
            id="the-last-of-two-counts",
        ),
    ],
)
def test_a_value_is_added_in_the_style_of_the_file(before: str, after: str) -> None:
    """The new value is where a user would have written it, and nothing else moves."""
    assert add_to_list(before, DISABLED, "x") == after
    assert "x" in jsonc.parse(after)["hooksConfig"]["disabled"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param('["x"]', "[]", id="only"),
        pytest.param('["x", "b"]', '["b"]', id="first"),
        pytest.param('["a", "x"]', '["a"]', id="last"),
        pytest.param('["a", "x", ]', '["a", ]', id="last-with-comma"),
        pytest.param('["a", "x", "x", "b"]', '["a", "b"]', id="twice"),
        pytest.param('[\n  "a", // one\n  "x" // two\n]', '[\n  "a" // one\n]', id="last-line"),
        pytest.param('[\n  "x", // one\n  "b", // two\n]', '[\n  "b", // two\n]', id="first-line"),
        pytest.param('["a"]', '["a"]', id="not-there"),
        pytest.param('[\r\n  "x",\r\n  "b"\r\n]', '[\r\n  "b"\r\n]', id="crlf"),
        pytest.param('["a"\n  , "x"\n  ]', '["a"\n  \n  ]', id="leading-comma"),
    ],
)
def test_a_value_is_removed_with_its_comma(before: str, after: str) -> None:
    """The rest looks as if edited by hand."""
    text = '{"hooksConfig": {"disabled": %s}} // end'
    assert remove_from_list(text % before, DISABLED, "x") == text % after
    jsonc.parse(text % after)


@pytest.mark.parametrize("text", ["{}", '{"hooksConfig": {}}', '{"hooksConfig": []}'])
def test_removing_from_a_list_that_is_not_there_changes_nothing(text: str) -> None:
    """There is nothing to remove, so nothing is touched."""
    assert remove_from_list(text, DISABLED, "x") == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"hooksConfig": null}', "hooksConfig is null, expected an object; fix it first"),
        ('{"hooksConfig": {"disabled": "x"}}', "hooksConfig.disabled is a string, expected an array; fix it first"),
        ("[]", "it is an array, expected an object; fix it first"),
    ],
)
def test_what_stands_in_the_way_is_told(text: str, said: str) -> None:
    """A value of another kind is not overwritten."""
    with pytest.raises(HooklineError) as raised:
        add_to_list(text, DISABLED, "x")
    assert str(raised.value) == said


def test_only_a_list_can_lose_a_value() -> None:
    """A value that is not a list stays for the user to fix."""
    with pytest.raises(HooklineError, match="is a string, expected an array"):
        remove_from_list('{"hooksConfig": {"disabled": "x"}}', DISABLED, "x")


SPACES = st.sampled_from(["", " ", "\n", "\n    ", " // note, [x]\n", "/* , */", "\r\n  ", "/* a\n, b */\n"])
ITEMS = st.lists(st.sampled_from(["a", "x", "b // c", 'q"uote', "ä"]), max_size=4)


@given(ITEMS, st.lists(SPACES, min_size=12, max_size=12), st.booleans())
def test_any_layout_survives(items: list[str], spaces: list[str], trailing: bool) -> None:
    """However a list is laid out, adding and removing change that value alone, and adding is undone by removing."""
    gaps = iter(spaces)
    body = ",".join(f"{next(gaps)}{json.dumps(item)}{next(gaps)}" for item in items)
    tail = "," if trailing and items else ""
    text = f'{{"hooksConfig": {{"disabled": [{body}{tail}{next(gaps)}] // end\n}}, "other": [1, 2]}}'
    added = jsonc.parse(add_to_list(text, DISABLED, "new"))
    assert added == {"hooksConfig": {"disabled": [*items, "new"]}, "other": [1, 2]}
    removed = jsonc.parse(remove_from_list(text, DISABLED, "x"))
    assert removed == {"hooksConfig": {"disabled": [item for item in items if item != "x"]}, "other": [1, 2]}
    back = remove_from_list(add_to_list(text, DISABLED, "new"), DISABLED, "new")
    assert jsonc.parse(back) == jsonc.parse(text)


def test_a_file_keeps_its_mark_and_permissions(tmp_path: Path) -> None:
    """A byte-order mark, the permissions and a link that leads to the file stay."""
    real, link = tmp_path / "real.json", tmp_path / "settings.json"
    real.write_bytes(b'\xef\xbb\xbf{"hooksConfig": {}}')
    real.chmod(0o640)
    link.symlink_to(real)
    edit_file(link, lambda text: add_to_list(text, DISABLED, "x"))
    assert real.read_bytes() == b'\xef\xbb\xbf{"hooksConfig": {"disabled": ["x"]}}'
    assert (real.stat().st_mode & 0o777, link.is_symlink()) == (0o640, True)


def test_a_missing_file_is_made(tmp_path: Path) -> None:
    """The first change makes the file, and its directory, for the owner alone."""
    path = tmp_path / "new" / "settings.json"
    edit_file(path, lambda text: add_to_list(text, DISABLED, "x"))
    assert path.read_text() == '{\n  "hooksConfig": {"disabled": ["x"]}\n}\n'
    assert (path.stat().st_mode & 0o777, sorted(path.parent.iterdir())) == (0o600, [path])


def test_nothing_is_written_when_nothing_changes(tmp_path: Path) -> None:
    """A change that changes nothing leaves the very same file."""
    path = tmp_path / "settings.json"
    path.write_text("{}")
    before = path.stat()
    edit_file(path, str)
    assert path.stat() == before


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"{", r"settings.json is not JSON \(Expecting property name .*\); fix it first"),
        (b"\xff", r"settings.json is not JSON \(.*codec can't decode.*\); fix it first"),
    ],
)
def test_a_broken_file_is_not_touched(data: bytes, said: str, tmp_path: Path) -> None:
    """A file that can't be read is not written."""
    path = tmp_path / "settings.json"
    path.write_bytes(data)
    with pytest.raises(HooklineError, match=said):
        edit_file(path, lambda text: add_to_list(text, DISABLED, "x"))
    assert path.read_bytes() == data


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """The message names the file and the reason."""
    (tmp_path / "file").write_text("")
    with pytest.raises(HooklineError, match=r"settings.json could not be changed: "):
        edit_file(tmp_path / "file" / "settings.json", str)


def test_two_writers_both_count(tmp_path: Path) -> None:
    """The second process reads what the first has written."""
    path = tmp_path / "settings.json"
    writers = [
        threading.Thread(target=edit_file, args=(path, lambda text, name=name: add_to_list(text, DISABLED, name)))
        for name in ("a", "b", "c", "d")
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert sorted(jsonc.parse(path.read_text())["hooksConfig"]["disabled"]) == ["a", "b", "c", "d"]
