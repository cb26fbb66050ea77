import asyncio
import os
import re
import stat
from pathlib import Path
from typing import Any

import pytest

from hookline.apps.agent.tool import ToolContext
from hookline.apps.agent.tools.files import LIST_DIRECTORY, MAX_ENTRIES, READ_FILE, REPLACE, WRITE_FILE
from hookline.apps.agent.tools.paths import resolve_paths
from hookline.apps.agent.tools.search import GLOB, SEARCH_FILE_CONTENT
from hookline.client.triggers.results import ToolResult


@pytest.fixture
def context(project: Path, own_home: Path) -> ToolContext:
    return ToolContext(project=project, environ={"HOME": str(own_home)})


def do(tool: Any, context: ToolContext, **arguments: Any) -> ToolResult:
    result: ToolResult = asyncio.run(tool.execute(arguments, context))
    return result


def told(text: str) -> ToolResult:
    """A success that the model and the person are told in the same words."""
    return ToolResult(llm_content=text, return_display=text)


def refused(text: str) -> ToolResult:
    return ToolResult(llm_content=text, return_display=text, error=text)


def test_reading_gives_the_text(context: ToolContext) -> None:
    """The model gets the text, the person a summary."""
    (context.project / "a.txt").write_text("one\ntwo\n")
    assert do(READ_FILE, context, file_path="a.txt") == ToolResult(
        llm_content="one\ntwo\n", return_display="Read 2 lines of a.txt."
    )


@pytest.mark.parametrize(
    ("arguments", "content"),
    [
        pytest.param({"offset": 1, "limit": 1}, "[Lines 2 to 2 of a.txt; more follow: continue with offset 2.]\ntwo\n"),
        pytest.param({"offset": 2}, "[Lines 3 to 3 of a.txt, the end of the file.]\nthree"),
        pytest.param({"limit": 3}, "one\ntwo\nthree"),
        pytest.param({"offset": 3}, "a.txt has no line 4: it has 3 lines."),
        pytest.param(
            {"offset": 1.0, "limit": 1.0}, "[Lines 2 to 2 of a.txt; more follow: continue with offset 2.]\ntwo\n"
        ),
        pytest.param({"offset": None, "limit": None}, "one\ntwo\nthree"),
    ],
)
def test_reading_some_lines(context: ToolContext, arguments: dict[str, Any], content: str) -> None:
    """A part is named, and whether more follows."""
    (context.project / "a.txt").write_text("one\ntwo\nthree")
    assert do(READ_FILE, context, file_path="a.txt", **arguments).llm_content == content


def test_reading_a_very_long_line_keeps_its_beginning(context: ToolContext) -> None:
    """The rest of the line is passed over, the next line is itself again, and the cut is told."""
    with (context.project / "wide.txt").open("wb") as file:
        file.write(b"x" * 10_000)
        file.write(b"\nsecond\n")
    content = do(READ_FILE, context, file_path="wide.txt").llm_content
    assert content == f"[Very long lines were cut.]\n{'x' * 4000}...\nsecond\n"


def _make_pipe(path: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        pytest.param(
            lambda path: path.write_bytes(b"\x7fELF\0\1"), "thing is a binary file; it can't be read as text."
        ),
        pytest.param(Path.mkdir, "thing is a directory; it can't be read as text."),
        pytest.param(
            _make_pipe,
            "thing is not a regular file (a pipe, a socket or a device); it can't be read as text.",
            id="pipe-without-writer",
        ),
        pytest.param(
            lambda _: None,
            "There is no thing; the nearest directory that exists is the project's directory.",
            id="missing",
        ),
    ],
)
def test_what_cannot_be_read(context: ToolContext, make: Any, said: str) -> None:
    """It is told in words, and nothing is waited for."""
    make(context.project / "thing")
    assert do(READ_FILE, context, file_path="thing") == refused(said)


def test_bytes_that_are_not_text_are_replaced(context: ToolContext) -> None:
    """A stray byte costs itself."""
    (context.project / "a.txt").write_bytes(b"caf\xe9\n")
    assert do(READ_FILE, context, file_path="a.txt").llm_content == "caf\ufffd\n"


def test_a_link_in_a_circle_is_an_error(context: ToolContext) -> None:
    """What the system refuses is told with the file's name."""
    (context.project / "loop").symlink_to("loop")
    error = do(READ_FILE, context, file_path="loop").error
    assert error == f"read_file failed: Too many levels of symbolic links ({context.project}/loop)."


def test_a_name_that_no_file_has(context: ToolContext) -> None:
    """A NUL in a path is an error of the call, not of ours."""
    error = do(READ_FILE, context, file_path="a\0b").error
    assert error is not None
    assert re.fullmatch(r"read_file failed: .*embedded null .*\.", error)


def test_writing_a_new_file(context: ToolContext) -> None:
    """Directories are made, and the person's umask decides who may read it."""
    before = os.umask(0o027)
    try:
        assert do(WRITE_FILE, context, file_path="a/b/c.txt", content="é\n") == told("Created a/b/c.txt with 1 line.")
    finally:
        os.umask(before)
    written = context.project / "a/b/c.txt"
    assert written.read_bytes() == "é\n".encode()
    assert stat.S_IMODE(written.stat().st_mode) == 0o640


def test_overwriting_keeps_permissions_and_links(context: ToolContext) -> None:
    """A script stays executable, and a link stays a link."""
    script, link = context.project / "run.sh", context.project / "link.sh"
    script.write_text("old")
    script.chmod(0o751)
    link.symlink_to("run.sh")
    assert do(WRITE_FILE, context, file_path="link.sh", content="") == told("Overwrote link.sh with 0 lines.")
    assert link.is_symlink()
    assert script.read_text() == ""
    assert stat.S_IMODE(script.stat().st_mode) == 0o751
    assert sorted(path.name for path in context.project.iterdir()) == ["link.sh", "run.sh"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        pytest.param("dir", "x", "dir is a directory; nothing was written."),
        pytest.param("pipe", "x", "pipe is not a regular file (a pipe, a socket or a device); nothing was written."),
        pytest.param("new.txt", "\ud800", "surrogates not allowed"),
    ],
)
def test_what_cannot_be_written(context: ToolContext, name: str, content: str, said: str) -> None:
    """Nothing is left behind, not even an empty file."""
    (context.project / "dir").mkdir()
    os.mkfifo(context.project / "pipe")
    error = do(WRITE_FILE, context, file_path=name, content=content).error
    assert error is not None
    assert said in error
    assert sorted(path.name for path in context.project.iterdir()) == ["dir", "pipe"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_read_only_file_stays_as_it_is(context: ToolContext) -> None:
    """Replacing it would work, but is not what its permissions say."""
    path = context.project / "a.txt"
    path.write_text("kept")
    path.chmod(0o444)
    assert do(WRITE_FILE, context, file_path="a.txt", content="x") == refused(
        f"write_file failed: the file is read-only ({path})."
    )
    assert path.read_text() == "kept"


@pytest.mark.parametrize(
    ("arguments", "after"),
    [
        pytest.param({"old_string": "b", "new_string": "X"}, "a X a\n", id="once"),
        pytest.param({"old_string": "a", "new_string": "", "expected_replacements": 2}, " b \n", id="twice"),
        pytest.param({"old_string": "b a\n", "new_string": "$0\\1\n"}, "a $0\\1\n", id="no-patterns"),
    ],
)
def test_replacing(context: ToolContext, arguments: dict[str, Any], after: str) -> None:
    """The text is replaced as often as expected, letter by letter."""
    (context.project / "a.txt").write_text("a b a\n")
    assert do(REPLACE, context, file_path="a.txt", **arguments).error is None
    assert (context.project / "a.txt").read_text() == after


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(
            {"old_string": "a", "new_string": "x"},
            "old_string occurs 2 times in a.txt, not 1; nothing was replaced. Give more of the text around the right "
            "place, or expected_replacements: 2 to replace them all.",
            id="too-often",
        ),
        pytest.param(
            {"old_string": "b", "new_string": "x", "expected_replacements": 3},
            "old_string occurs once in a.txt, not 3; nothing was replaced. Give more of the text around the right "
            "place, or expected_replacements: 1 to replace them all.",
            id="too-seldom",
        ),
        pytest.param(
            {"old_string": "a  b", "new_string": "x"},
            "old_string does not occur in a.txt; nothing was replaced. The same text with other spaces "
            "or line breaks is there: read the file and copy it exactly.",
            id="other-spaces",
        ),
        pytest.param(
            {"old_string": "zz", "new_string": "x"},
            "old_string does not occur in a.txt; nothing was replaced. Read the file again: it may have changed.",
            id="absent",
        ),
        pytest.param(
            {"old_string": "b", "new_string": "b"},
            "old_string and new_string are the same, so nothing would change.",
            id="no-change",
        ),
    ],
)
def test_replacing_what_is_not_there(context: ToolContext, arguments: dict[str, Any], said: str) -> None:
    """The file stays as it is, and the model is told how to do better."""
    (context.project / "a.txt").write_text("a b a\n")
    assert do(REPLACE, context, file_path="a.txt", **arguments) == refused(said)
    assert (context.project / "a.txt").read_text() == "a b a\n"


def test_replacing_in_a_missing_file(context: ToolContext) -> None:
    """The model is told which tool makes files."""
    error = do(REPLACE, context, file_path="no.txt", old_string="a", new_string="b").error
    assert error is not None
    assert error.endswith("To create a file, use write_file.")


def test_replacing_keeps_line_endings(context: ToolContext) -> None:
    """A file with CRLF keeps them, though the model writes LF."""
    (context.project / "a.txt").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    assert do(REPLACE, context, file_path="a.txt", old_string="one\ntwo\n", new_string="1\n2\n").error is None
    assert (context.project / "a.txt").read_bytes() == b"1\r\n2\r\nthree\r\n"


def test_replacing_in_what_is_not_utf8(context: ToolContext) -> None:
    """It would spoil the bytes that are not understood."""
    (context.project / "a.txt").write_bytes(b"caf\xe9")
    error = do(REPLACE, context, file_path="a.txt", old_string="c", new_string="k").error
    assert error == "a.txt is not UTF-8 text (byte 3); nothing was replaced."
    assert (context.project / "a.txt").read_bytes() == b"caf\xe9"


def test_listing(context: ToolContext) -> None:
    """Directories first, with a slash, then files, in order; odd names are shown as well as they can be."""
    for name in ("b", "a"):
        (context.project / name).mkdir()
    for file in (b"z.txt", b"c.txt", b"\xff"):
        (context.project / os.fsdecode(file)).touch()
    assert do(LIST_DIRECTORY, context) == ToolResult(
        llm_content="a/\nb/\nc.txt\nz.txt\n?", return_display="Listed 5 entries of the project's directory."
    )


def test_listing_is_bounded(context: ToolContext) -> None:
    """Very many entries are counted, not shown."""
    for number in range(MAX_ENTRIES + 2):
        (context.project / f"{number:05}").touch()
    lines = do(LIST_DIRECTORY, context, path=".").llm_content.splitlines()
    assert len(lines) == MAX_ENTRIES + 1
    assert lines[-1] == "[2 more; use glob with a pattern to see them.]"


@pytest.mark.parametrize(
    ("path", "said"),
    [
        pytest.param("file", "file is a file, not a directory; read it with read_file."),
        pytest.param("a/b/c", "There is no a/b/c; the nearest directory that exists is the project's directory."),
    ],
)
def test_listing_what_is_no_directory(context: ToolContext, path: str, said: str) -> None:
    """The model is told what there is instead."""
    (context.project / "file").touch()
    assert do(LIST_DIRECTORY, context, path=path) == refused(said)


@pytest.mark.parametrize("tool", [READ_FILE, WRITE_FILE, REPLACE], ids=lambda tool: tool.name)
@pytest.mark.parametrize("alias", ["path", "absolute_path"])
def test_other_names_of_file_path(tool: Any, alias: str) -> None:
    """Whatever a model calls it, hooks see `file_path`; where both are given, that one counts."""
    assert tool.normalize({alias: "a.txt", "content": "x"}) == {"file_path": "a.txt", "content": "x"}
    assert tool.normalize({"file_path": "a.txt", alias: "b.txt"}) == {"file_path": "a.txt"}


@pytest.mark.parametrize(
    ("path", "is_asked"),
    [
        pytest.param("a.txt", False, id="inside"),
        pytest.param("sub/../a.txt", False, id="detour"),
        pytest.param("../beside.txt", True, id="above"),
        pytest.param("/etc/hostname", True, id="absolute"),
        pytest.param("~/notes", True, id="home"),
        pytest.param("out/file", True, id="through-a-link"),
        pytest.param("inner", False, id="link-inside"),
        pytest.param("a\0b", True, id="no-name"),
    ],
)
def test_reading_outside_the_project_needs_approval(context: ToolContext, path: str, is_asked: bool) -> None:
    """What counts is where the path leads in the end."""
    (context.project / "out").symlink_to("/etc")
    (context.project / "inner").symlink_to("a.txt")
    question = READ_FILE.needs_approval({"file_path": path}, context)
    assert question == (f"read {path}, which is outside the project" if is_asked else None)
    assert (LIST_DIRECTORY.needs_approval({"path": path}, context) is not None) == is_asked


def test_a_project_reached_through_a_link(context: ToolContext, tmp_path: Path) -> None:
    """The project's own files are inside, however the project was named."""
    link = tmp_path / "link"
    link.symlink_to(context.project)
    linked = ToolContext(project=link, environ={})
    assert READ_FILE.needs_approval({"file_path": "a.txt"}, linked) is None
    assert READ_FILE.needs_approval({"file_path": str(context.project / "a.txt")}, linked) is None


def test_writing_always_needs_approval(context: ToolContext) -> None:
    """Inside and outside, with the difference said."""
    assert WRITE_FILE.needs_approval({"file_path": "a.txt"}, context) == "write a.txt"
    assert REPLACE.needs_approval({"file_path": "/a.txt"}, context) == "change /a.txt, which is outside the project"


def test_the_home_directory_is_understood(context: ToolContext, own_home: Path) -> None:
    """`~/` is the person's home, not a directory of that name."""
    (own_home / "notes").write_text("hello")
    assert do(READ_FILE, context, file_path="~/notes").llm_content == "hello"


@pytest.mark.attack("30.F16", "a link that is swapped between the check and the use")
@pytest.mark.parametrize("swapped", ["sub", "sub/deep", "sub/deep/file.txt"])
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        pytest.param(READ_FILE, {}, id="read"),
        pytest.param(WRITE_FILE, {"content": "owned"}, id="write"),
        pytest.param(REPLACE, {"old_string": "old", "new_string": "owned"}, id="replace"),
    ],
)
def test_what_was_checked_is_what_is_opened(
    context: ToolContext, tool: Any, arguments: dict[str, Any], swapped: str
) -> None:
    """A component that became a link after the path was resolved is not followed, wherever it leads."""
    for place in ("sub", "other"):
        (context.project / place / "deep").mkdir(parents=True)
        (context.project / place / "deep" / "file.txt").write_text("old")
    given = {"file_path": "sub/deep/file.txt", **arguments}
    resolve_paths(given, context)
    there = context.project / swapped
    there.rename(context.project / "moved")
    there.symlink_to(context.project / swapped.replace("sub", "other"))
    result = do(tool, context, **given)
    assert "was replaced by a link after it was checked" in str(result.error)
    assert (context.project / "other" / "deep" / "file.txt").read_text() == "old"


@pytest.mark.attack("30.F16", "a link that is swapped between the check and the use")
def test_a_swapped_directory_is_not_listed(context: ToolContext, tmp_path: Path) -> None:
    """Listing and searching follow no link that came later."""
    (context.project / "sub").mkdir()
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key.txt").write_text("key")
    resolve_paths({"path": "sub"}, context)
    (context.project / "sub").rmdir()
    (context.project / "sub").symlink_to(tmp_path / "secret")
    assert "key.txt" not in str(do(LIST_DIRECTORY, context, path="sub").llm_content)
    assert "key.txt" not in str(do(GLOB, context, path="sub", pattern="*").llm_content)
    assert "key.txt" not in str(do(SEARCH_FILE_CONTENT, context, path="sub", pattern="key").llm_content)


def test_a_new_file_below_new_directories_of_a_linked_one(context: ToolContext, tmp_path: Path) -> None:
    """A link that was there when the path was checked is followed."""
    (context.project / "link").symlink_to(tmp_path)
    assert do(WRITE_FILE, context, file_path="link/a/b/c.txt", content="x").error is None
    assert (tmp_path / "a" / "b" / "c.txt").read_text() == "x"
