"""The tools `glob` and `search_file_content`."""

import json
import shlex
import sys
from collections.abc import Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from hookline.apps.agent.tool import ToolContext, failure, success
from hookline.apps.agent.tools import seeker
from hookline.apps.agent.tools.builtin import Arguments, BuiltInTool, counted, parameters, run_child, string
from hookline.apps.agent.tools.paths import locate, printable, real_path, shown
from hookline.client.triggers.results import ToolResult

MAX_PATHS = 1000
MAX_MATCHES = 300
SECONDS = 15.0

# Time for the search process to stop by itself and report the matches so far.
_GRACE_S = 3.0
_STOPPED: Mapping[str | None, str] = {
    None: "",
    "limit": ", and there are more: narrow {}",
    "time": " before the time limit, and did not search everywhere: narrow {}",
}


async def _glob(arguments: Arguments, context: ToolContext) -> ToolResult:
    pattern = arguments["pattern"]
    if pattern.startswith("/") or ".." in pattern.split("/"):
        return failure("pattern must not lead out of the directory; give the directory as path.")
    return await _seek(arguments, context, is_glob=True)


async def _seek(
    arguments: Arguments, context: ToolContext, *, is_glob: bool = False, seconds: float = SECONDS
) -> ToolResult:
    """Return the matching paths, or the matching lines of files."""
    root = locate(arguments.get("path") or ".", context)
    if not root.exists():
        return failure(f"There is no {shown(root, context)}.")
    if is_glob and not root.is_dir():
        return failure(f"{shown(root, context)} is a file, not a directory.")
    job = {
        "kind": "glob" if is_glob else "search",
        "root": real_path(arguments.get("path") or ".", context),
        "is_file": not root.is_dir(),
        "pattern": arguments["pattern"],
        "include": arguments.get("include"),
        "case_sensitive": arguments.get("case_sensitive") is not False,
        "limit": MAX_PATHS if is_glob else MAX_MATCHES,
        "seconds": seconds,
    }
    outcome = await run_child(
        shlex.join([sys.executable, "-I", "-S", str(Path(seeker.__file__))]),
        stdin=json.dumps(job).encode(),
        directory=context.project,
        context=context,
        timeout_ms=(seconds + _GRACE_S) * 1000,
    )
    if outcome.timed_out:
        return failure(f"The search took longer than {seconds:g} seconds; simplify the pattern, or narrow the path.")
    try:
        answer: dict[str, Any] = json.loads(outcome.stdout)
    except ValueError:
        return failure(f"The search failed: {outcome.error or outcome.stderr.decode(errors='replace').strip()}")
    if answer["fault"] is not None:
        return failure(f"pattern can't be used: {answer['fault']}. Fix it; write a literal ( or [ as \\( or \\[.")
    found, narrower = answer["found"], "pattern" if is_glob else "path or include"
    count = counted(len(found), "file" if is_glob else "line") if found else "no files" if is_glob else "no lines"
    message = f"Found {count} for {arguments['pattern']}{_STOPPED[answer['stopped']].format(narrower)}."
    return success("\n".join([message, *_lines(found, root, context)]), message)


def _lines(found: list[dict[str, Any]], root: Path, context: ToolContext) -> Iterator[str]:
    for path, matches in groupby(found, key=itemgetter("path")):
        lines = [f"  {one['line']}: {printable(one['text'])}" for one in matches if "line" in one]
        yield shown(root / path, context) + (":" if lines else "")
        yield from lines


_ELSEWHERE = f"Directories named {', '.join(sorted(seeker.SKIPPED))} are skipped, and links are not followed."
_DIRECTORY = string("The directory to search; the project's if not given.")
_CASE = {"type": "boolean", "description": "Whether upper and lower case are different; true if not given."}

GLOB = BuiltInTool(
    name="glob",
    description=f"Finds files by a path pattern, such as src/**/*.py or **/*.{{ts,tsx}}. {_ELSEWHERE}",
    parameters=parameters(
        ("pattern",),
        pattern=string(
            "The pattern: * ? [abc] within a name, ** for any directories, {a,b} for alternatives.", minLength=1
        ),
        path=_DIRECTORY,
        case_sensitive=_CASE,
    ),
    is_read_only=True,
    question=lambda given: f"look for files in {given.get('path') or '.'}",
    run=_glob,
)

SEARCH_FILE_CONTENT = BuiltInTool(
    name="search_file_content",
    description=f"Finds the lines of text files that match a regular expression. {_ELSEWHERE}",
    parameters=parameters(
        ("pattern",),
        pattern=string("A Python regular expression, searched in each line.", minLength=1),
        path=string("The directory or file to search; the project's directory if not given."),
        include=string("Only files that match this pattern, such as *.py or src/**/*.js."),
        case_sensitive=_CASE,
    ),
    is_read_only=True,
    question=lambda given: f"search {given.get('path') or '.'}",
    run=_seek,
)

SEARCH_TOOLS = (GLOB, SEARCH_FILE_CONTENT)
