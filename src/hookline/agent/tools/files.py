"""The tools that read and change single files."""

import os
import threading
from pathlib import Path

from hookline.agent.tool import ToolContext, failure
from hookline.agent.tools._builtin import (
    DIRECTORY_ALIASES,
    FILE_ALIASES,
    Arguments,
    BuiltInTool,
    in_thread,
    integer,
    parameters,
    reading,
    string,
    writing,
)
from hookline.agent.tools._reading import read_lines
from hookline.agent.tools._text import NotTextError, read_text, write_text
from hookline.agent.tools.paths import locate, printable, shown
from hookline.triggers.results import ToolResult

MAX_ENTRIES = 1000


def _read_file(arguments: Arguments, context: ToolContext, stop: threading.Event) -> ToolResult:
    path = locate(arguments["file_path"], context)
    skipped = int(arguments.get("offset") or 0)
    try:
        excerpt = read_lines(path, skipped, arguments.get("limit"), stop)
    except FileNotFoundError:
        return failure(_missing(path, context))
    except NotTextError as error:
        return failure(f"{shown(path, context)} {error}; it can't be read as text.")
    name, last = shown(path, context), skipped + excerpt.count
    if not excerpt.count:
        message = (
            f"{name} is empty." if not skipped else f"{name} has no line {skipped + 1}: it has {excerpt.skipped} lines."
        )
        return ToolResult(llm_content=message, return_display=message)
    notes = []
    if skipped or excerpt.has_more:
        rest = f"; more follow: continue with offset {last}" if excerpt.has_more else ", the end of the file"
        notes.append(f"[Lines {skipped + 1} to {last} of {name}{rest}.]")
    if excerpt.has_cut_lines:
        notes.append("[Very long lines were cut.]")
    content = "\n".join([*notes, excerpt.text])
    return ToolResult(llm_content=content, return_display=f"Read {_lines(excerpt.count)} of {name}.")


def _write_file(arguments: Arguments, context: ToolContext, _stop: threading.Event) -> ToolResult:
    path, content = locate(arguments["file_path"], context), arguments["content"]
    is_new = not path.exists()
    try:
        write_text(path, content)
    except NotTextError as error:
        return failure(f"{shown(path, context)} {error}; nothing was written.")
    what = "Created" if is_new else "Overwrote"
    message = f"{what} {shown(path, context)} with {_lines(_count_lines(content))}."
    return ToolResult(llm_content=message, return_display=message)


def _replace(arguments: Arguments, context: ToolContext, _stop: threading.Event) -> ToolResult:
    path = locate(arguments["file_path"], context)
    name, old, new = shown(path, context), arguments["old_string"], arguments["new_string"]
    expected = int(arguments.get("expected_replacements") or 1)
    try:
        text = read_text(path)
    except FileNotFoundError:
        return failure(f"{_missing(path, context)} To create a file, use write_file.")
    except NotTextError as error:
        return failure(f"{name} {error}; nothing was replaced.")
    if "\r\n" in text and "\r\n" not in old:
        # Models write plain line feeds, even for files with CRLF.
        old, new = old.replace("\n", "\r\n"), new.replace("\r\n", "\n").replace("\n", "\r\n")
    found = text.count(old)
    if found != expected:
        return failure(_miscounted(name, text, old, found, expected))
    if old == new:
        return failure("old_string and new_string are the same, so nothing would change.")
    write_text(path, text.replace(old, new))
    message = f"Replaced {found} occurrence{'s' if found > 1 else ''} in {name}."
    return ToolResult(llm_content=message, return_display=message)


def _list_directory(arguments: Arguments, context: ToolContext, _stop: threading.Event) -> ToolResult:
    path = locate(arguments.get("path") or ".", context)
    name = shown(path, context)
    try:
        with os.scandir(path) as found:
            entries = sorted((not entry.is_dir(), entry.name) for entry in found)
    except FileNotFoundError:
        return failure(_missing(path, context))
    except NotADirectoryError:
        return failure(f"{name} is a file, not a directory; read it with read_file.")
    if not entries:
        return ToolResult(llm_content=f"{name} is empty.", return_display=f"{name} is empty.")
    names = [printable(entry) + ("" if is_file else "/") for is_file, entry in entries[:MAX_ENTRIES]]
    if len(entries) > MAX_ENTRIES:
        names.append(f"[{len(entries) - MAX_ENTRIES} more; use glob with a pattern to see them.]")
    many = f"{len(entries)} entries" if len(entries) > 1 else "1 entry"
    return ToolResult(llm_content="\n".join(names), return_display=f"Listed {many} of {name}.")


def _miscounted(name: str, text: str, old: str, found: int, expected: int) -> str:
    if found:
        return (
            f"old_string occurs {_times(found)} in {name}, not {expected}; nothing was replaced. Give more of the text "
            f"around the right place, or expected_replacements: {found} to replace them all."
        )
    wanted = " ".join(old.split())
    if wanted and wanted in " ".join(text.split()):
        advice = "The same text with other spaces or line breaks is there: read the file and copy it exactly."
    else:
        advice = "Read the file again: it may have changed."
    return f"old_string does not occur in {name}; nothing was replaced. {advice}"


def _missing(path: Path, context: ToolContext) -> str:
    parent = path.parent
    while not parent.is_dir():
        parent = parent.parent
    return f"There is no {shown(path, context)}; the nearest directory that exists is {shown(parent, context)}."


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _count_lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n") and text != "")


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count} lines"


_PATH_RULE = "Relative paths start at the project's directory."

READ_FILE = BuiltInTool(
    name="read_file",
    description="Reads a text file, or some lines of it. Long files come in pieces; the result says how to continue.",
    parameters=parameters(
        ("file_path",),
        file_path=string(f"The file to read. {_PATH_RULE}", minLength=1),
        offset=integer("How many lines to skip first.", minimum=0),
        limit=integer("How many lines to read at most.", minimum=1),
    ),
    is_read_only=True,
    aliases=FILE_ALIASES,
    approval=reading("file_path", "read"),
    run=in_thread(_read_file),
)

WRITE_FILE = BuiltInTool(
    name="write_file",
    description="Writes a file, replacing the whole content of one that exists. Missing directories are created.",
    parameters=parameters(
        ("file_path", "content"),
        file_path=string(f"The file to write. {_PATH_RULE}", minLength=1),
        content=string("The whole new content."),
    ),
    is_read_only=False,
    aliases=FILE_ALIASES,
    approval=writing("write"),
    run=in_thread(_write_file),
)

REPLACE = BuiltInTool(
    name="replace",
    description=(
        "Replaces a piece of text in a file. old_string must be exactly as in the file, including white space, with "
        "enough context that it occurs as often as expected_replacements says."
    ),
    parameters=parameters(
        ("file_path", "old_string", "new_string"),
        file_path=string(f"The file to change. {_PATH_RULE}", minLength=1),
        old_string=string("The text to be replaced, exactly as in the file.", minLength=1),
        new_string=string("The new text."),
        expected_replacements=integer("How often old_string occurs and is replaced; 1 if not given.", minimum=1),
    ),
    is_read_only=False,
    aliases=FILE_ALIASES,
    approval=writing("change"),
    run=in_thread(_replace),
)

LIST_DIRECTORY = BuiltInTool(
    name="list_directory",
    description="Lists what is in a directory; the names of directories end with a slash.",
    parameters=parameters((), path=string(f"The directory; the project's if not given. {_PATH_RULE}")),
    is_read_only=True,
    aliases=DIRECTORY_ALIASES,
    approval=reading("path", "list"),
    run=in_thread(_list_directory),
)

FILE_TOOLS = (READ_FILE, WRITE_FILE, REPLACE, LIST_DIRECTORY)
