import asyncio
import os
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hookline.apps.agent.tool import ToolContext
from hookline.apps.agent.tools.search import GLOB, MAX_MATCHES, MAX_PATHS, SEARCH_FILE_CONTENT
from hookline.apps.agent.tools.seeker import glob_expression, run
from hookline.client.triggers.results import ToolResult


@pytest.fixture
def context(project: Path) -> ToolContext:
    return ToolContext(project=project, environ=dict(os.environ))


def do(tool: Any, context: ToolContext, **arguments: Any) -> ToolResult:
    result: ToolResult = asyncio.run(tool.execute(arguments, context))
    return result


def fill(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def found(root: Path, pattern: str, **job: Any) -> list[str]:
    """What the seeker finds for a pattern of paths, in this process."""
    usual = {"kind": "glob", "root": str(root), "is_file": False, "include": None, "case_sensitive": True}
    answer = run({**usual, "pattern": pattern, "limit": 100, "seconds": 5.0, **job})
    assert answer["fault"] is None
    return [one["path"] for one in answer["found"]]


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        pytest.param("*.py", ["a.py"], id="root-only"),
        pytest.param("**/*.py", ["a.py", "src/b.py", "src/deep/c.py"], id="any-depth"),
        pytest.param("src/**", ["src/b.py", "src/d.ts", "src/deep/c.py"], id="all-below"),
        pytest.param("src/*.{py,ts}", ["src/b.py", "src/d.ts"], id="either"),
        pytest.param("?.py", ["a.py"], id="one-letter"),
        pytest.param("src/[!b].*", ["src/d.ts"], id="not-these"),
        pytest.param("src/[a-c].py", ["src/b.py"], id="range"),
        pytest.param("SRC/B.py", [], id="case"),
        pytest.param("**", ["a.py", "src/b.py", "src/d.ts", "src/deep/c.py"], id="everything"),
        pytest.param("a.py(", [], id="no-regular-expression"),
        pytest.param("[", [], id="open-bracket"),
        pytest.param("{a", [], id="open-brace"),
    ],
)
def test_patterns_of_paths(project: Path, pattern: str, paths: list[str]) -> None:
    """They mean what they mean in a shell, and `**` any directories."""
    fill(project, {"a.py": "", "src/b.py": "", "src/d.ts": "", "src/deep/c.py": ""})
    assert found(project, pattern) == paths


@pytest.mark.parametrize(
    ("pattern", "expression"),
    [
        pytest.param("a,b}", r"a,b\}", id="no-group"),
        pytest.param("{a,{b,c}}", "(?:a|(?:b|c))", id="nested"),
        pytest.param("x**y", "x.*y", id="stars-inside"),
        pytest.param("{a{b}", "(?:a(?:b))", id="unclosed"),
    ],
)
def test_odd_patterns_still_compile(pattern: str, expression: str) -> None:
    """Every pattern becomes a regular expression that can be used."""
    assert glob_expression(pattern) == expression


def test_some_directories_are_left_out(project: Path) -> None:
    """Nobody looks for what git and package managers keep, unless they name the place."""
    fill(project, {".git/HEAD": "", "x/.venv/c.py": "", "x/node_modules/b.js": "", "a.py": ""})
    assert found(project, "**") == ["a.py"]
    assert found(project / "x/node_modules", "**") == ["b.js"]


def test_links_are_not_followed(project: Path, tmp_path: Path) -> None:
    """Neither into circles nor out of the project, not even to a single file."""
    (tmp_path / "secret").write_text("needle")
    fill(project, {"a.txt": "needle"})
    (project / "circle").symlink_to(".")
    (project / "out").symlink_to(tmp_path)
    (project / "file").symlink_to(tmp_path / "secret")
    assert found(project, "**") == ["a.txt", "file"]
    assert found(project, "needle", kind="search") == ["a.txt"]


def test_the_limit_and_the_time_are_told(project: Path) -> None:
    """The seeker stops at the limit, and when its time is over, with what it has."""
    fill(project, {"a": "x", "b": "x", "c": "x"})
    job: dict[str, Any] = {"root": str(project), "is_file": False, "include": None, "case_sensitive": True}
    limited = run({**job, "kind": "glob", "pattern": "*", "limit": 2, "seconds": 5.0})
    assert limited == {"found": [{"path": "a"}, {"path": "b"}], "stopped": "limit", "fault": None}
    exact = run({**job, "kind": "glob", "pattern": "*", "limit": 3, "seconds": 5.0})
    assert exact["stopped"] is None
    late = run({**job, "kind": "search", "pattern": "x", "limit": 2, "seconds": 0.0})
    assert late == {"found": [], "stopped": "time", "fault": None}


def test_glob_tells_files(context: ToolContext) -> None:
    """Paths from the project on, wherever the search began."""
    fill(context.project, {"src/b.py": "", "src/a.py": "", "c.py": ""})
    assert do(GLOB, context, pattern="*.py", path="src") == ToolResult(
        llm_content="Found 2 files for *.py.\nsrc/a.py\nsrc/b.py", return_display="Found 2 files for *.py."
    )


@pytest.mark.parametrize("pattern", ["/etc/*", "../*", "a/../../*"])
def test_a_pattern_cannot_lead_out(context: ToolContext, pattern: str) -> None:
    """The directory is what approval is asked for, so the pattern stays below it."""
    said = "pattern must not lead out of the directory; give the directory as path."
    assert do(GLOB, context, pattern=pattern) == ToolResult(llm_content=said, return_display=said, error=said)


def test_search_tells_lines(context: ToolContext) -> None:
    """Each file once, its lines with their numbers."""
    fill(context.project, {"a.py": "def one():\n    pass\ndef two():\n", "b.txt": "def three\n", "c.py": "nothing\n"})
    assert do(SEARCH_FILE_CONTENT, context, pattern=r"^def \w+") == ToolResult(
        llm_content=(
            r"Found 3 lines for ^def \w+." + "\na.py:\n  1: def one():\n  3: def two():\nb.txt:\n  1: def three"
        ),
        return_display=r"Found 3 lines for ^def \w+.",
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param({"include": "*.py"}, "Found 1 line for Def.\nsrc/a.py:\n  1: Def", id="by-name"),
        pytest.param({"include": "other/**"}, "Found no lines for Def.", id="by-path"),
        pytest.param(
            {"path": "src/a.py", "include": "*.txt"}, "Found 1 line for Def.\nsrc/a.py:\n  1: Def", id="one-file"
        ),
        pytest.param(
            {"case_sensitive": False}, "Found 2 lines for Def.\nb.txt:\n  1: def\nsrc/a.py:\n  1: Def", id="any-case"
        ),
        pytest.param({"path": None, "include": None}, "Found 1 line for Def.\nsrc/a.py:\n  1: Def", id="nulls"),
    ],
)
def test_search_can_be_narrowed(context: ToolContext, arguments: dict[str, Any], said: str) -> None:
    """By pattern, by directory, to one file; upper and lower case differ unless told."""
    fill(context.project, {"src/a.py": "Def\n", "b.txt": "def\n"})
    assert do(SEARCH_FILE_CONTENT, context, pattern="Def", **arguments).llm_content == said


def test_search_skips_what_is_not_text(context: ToolContext) -> None:
    """Binary files and pipes are passed over, without waiting."""
    (context.project / "bin").write_bytes(b"needle\0")
    os.mkfifo(context.project / "pipe")
    (context.project / "latin").write_bytes(b"needle \xe9\n")
    assert do(SEARCH_FILE_CONTENT, context, pattern="needle").llm_content == (
        "Found 1 line for needle.\nlatin:\n  1: needle \ufffd"
    )


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        pytest.param(
            SEARCH_FILE_CONTENT,
            {"pattern": "f("},
            "pattern can't be used: missing ), unterminated subpattern at position 1. "
            "Fix it; write a literal ( or [ as \\( or \\[.",
            id="bad-expression",
        ),
        pytest.param(SEARCH_FILE_CONTENT, {"pattern": "a", "path": "no"}, "There is no no.", id="missing"),
        pytest.param(GLOB, {"pattern": "a", "path": "a.txt"}, "a.txt is a file, not a directory.", id="file"),
    ],
)
def test_what_cannot_be_searched(context: ToolContext, tool: Any, arguments: dict[str, Any], said: str) -> None:
    """The model is told what is wrong with its arguments."""
    fill(context.project, {"a.txt": ""})
    assert do(tool, context, **arguments) == ToolResult(llm_content=said, return_display=said, error=said)


@pytest.mark.parametrize(
    ("tool", "most", "said"),
    [
        pytest.param(GLOB, MAX_PATHS, "Found 1000 files for {}, and there are more: narrow pattern."),
        pytest.param(
            SEARCH_FILE_CONTENT, MAX_MATCHES, "Found 300 lines for {}, and there are more: narrow path or include."
        ),
    ],
)
def test_results_are_bounded(context: ToolContext, tool: Any, most: int, said: str) -> None:
    """Past the limit the model is told to ask more narrowly."""
    for number in range(most + 1):
        (context.project / f"{number:04}.txt").write_text("line*\n")
    result = do(tool, context, pattern="*.txt" if tool is GLOB else ".*")
    assert result.return_display == said.format("*.txt" if tool is GLOB else ".*")


def test_an_endless_expression_is_ended(context: ToolContext) -> None:
    """A pattern that would take years is ended in time, and meanwhile the loop is free."""
    fill(context.project, {"a.txt": "a" * 60})
    search: Any = SEARCH_FILE_CONTENT.run
    impatient = replace(SEARCH_FILE_CONTENT, run=partial(search, seconds=0.2))
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0.01)
            turns += 1

    async def search_meanwhile() -> ToolResult:
        counting = asyncio.create_task(count_turns())
        try:
            return await impatient.execute({"pattern": "(a+)+$b"}, context)
        finally:
            counting.cancel()

    began = time.monotonic()
    result = asyncio.run(search_meanwhile())
    assert result.error == "The search took longer than 0.2 seconds; simplify the pattern, or narrow the path."
    assert time.monotonic() - began < 12
    assert turns > 5


def test_searching_outside_needs_approval(context: ToolContext) -> None:
    """Inside nobody is asked."""
    assert GLOB.needs_approval({"pattern": "*"}, context) is None
    assert GLOB.needs_approval({"pattern": "*", "path": ".."}, context) == (
        "look for files in .., which is outside the project"
    )
    assert SEARCH_FILE_CONTENT.needs_approval({"pattern": "*", "path": "/etc"}, context) == (
        "search /etc, which is outside the project"
    )
