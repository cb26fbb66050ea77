"""The tools that search many files."""

import json
import shlex
import sys
from functools import partial
from pathlib import Path
from typing import Any

from hookline.agent.tool import ToolContext, failure
from hookline.agent.tools import _seeker
from hookline.agent.tools._builtin import (
    DIRECTORY_ALIASES,
    Arguments,
    BuiltInTool,
    parameters,
    reading,
    string,
)
from hookline.agent.tools._child import run_child
from hookline.agent.tools.paths import locate, printable, shown
from hookline.triggers.results import ToolResult

MAX_PATHS = 1000
MAX_MATCHES = 300
SECONDS = 15.0

# Time for the seeker to stop by itself and report the matches so far.
_GRACE_S = 3.0


async def _glob(arguments: Arguments, context: ToolContext, *, seconds: float = SECONDS) -> ToolResult:
    pattern = arguments["pattern"]
    if pattern.startswith("/") or ".." in pattern.split("/"):
        return failure("pattern must not lead out of the directory; give the directory as path.")
    answer = await _seek("glob", arguments, context, MAX_PATHS, seconds)
    if isinstance(answer, ToolResult):
        return answer
    root = locate(arguments.get("path") or ".", context)
    names = [shown(root / one["path"], context) for one in answer["found"]]
    message = f"Found {_count(len(names), 'file')} for {pattern}{_stopped(answer, 'pattern')}."
    return ToolResult(llm_content="\n".join([message, *names]), return_display=message)


async def _search(arguments: Arguments, context: ToolContext, *, seconds: float) -> ToolResult:
    answer = await _seek("search", arguments, context, MAX_MATCHES, seconds)
    if isinstance(answer, ToolResult):
        return answer
    root = locate(arguments.get("path") or ".", context)
    lines: list[str] = []
    last = None
    for one in answer["found"]:
        if one["path"] != last:
            last = one["path"]
            lines.append(f"{shown(root / last, context)}:")
        lines.append(f"  {one['line']}: {printable(one['text'])}")
    message = (
        f"Found {_count(len(answer['found']), 'line')} for {arguments['pattern']}{_stopped(answer, 'path or include')}."
    )
    return ToolResult(llm_content="\n".join([message, *lines]), return_display=message)


async def _seek(
    kind: str, arguments: Arguments, context: ToolContext, limit: int, seconds: float
) -> dict[str, Any] | ToolResult:
    """The seeker's answer, or an error that says why there is none."""
    root = locate(arguments.get("path") or ".", context)
    if not root.exists():
        return failure(f"There is no {shown(root, context)}.")
    if kind == "glob" and not root.is_dir():
        return failure(f"{shown(root, context)} is a file, not a directory.")
    job = {
        "kind": kind,
        "root": str(root.resolve()),
        "is_file": not root.is_dir(),
        "pattern": arguments["pattern"],
        "include": arguments.get("include"),
        "case_sensitive": arguments.get("case_sensitive") is not False,
        "limit": limit,
        "seconds": seconds,
    }
    outcome = await run_child(
        shlex.join([sys.executable, "-I", "-S", str(Path(_seeker.__file__))]),
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
        what = outcome.error or outcome.stderr.decode(errors="replace").strip()
        return failure(f"The search failed: {what}")
    if answer["fault"] is not None:
        return failure(f"pattern can't be used: {answer['fault']}. Fix it; write a literal ( or [ as \\( or \\[.")
    return answer


def _stopped(answer: dict[str, Any], narrower: str) -> str:
    match answer["stopped"]:
        case "limit":
            return f", and there are more: narrow {narrower}"
        case "time":
            return f" before the time was up, and did not search everywhere: narrow {narrower}"
        case _:
            return ""


def _count(number: int, what: str) -> str:
    return f"1 {what}" if number == 1 else f"{number or 'no'} {what}s"


_ELSEWHERE = f"Directories named {', '.join(sorted(_seeker.SKIPPED))} are skipped, and links are not followed."
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
    aliases=DIRECTORY_ALIASES,
    approval=reading("path", "look for files in"),
    run=_glob,
)


def search_file_content(*, seconds: float = SECONDS) -> BuiltInTool:
    """The tool that searches the content of files, for at most so many seconds."""
    return BuiltInTool(
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
        aliases=DIRECTORY_ALIASES,
        approval=reading("path", "search"),
        run=partial(_search, seconds=seconds),
    )


SEARCH_FILE_CONTENT = search_file_content()
SEARCH_TOOLS = (GLOB, SEARCH_FILE_CONTENT)
