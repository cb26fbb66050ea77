"""The tools that read and change single files."""

import os
import threading

from hookline.apps.agent.tool import ToolContext, failure, success
from hookline.apps.agent.tools.builtin import Arguments, BuiltInTool, counted, in_thread, integer, parameters, string
from hookline.apps.agent.tools.paths import locate, missing, printable, real_path, shown
from hookline.apps.agent.tools.real_files import open_real_directory
from hookline.apps.agent.tools.text import NotTextError, read_lines, read_text, write_text
from hookline.client.triggers.results import ToolResult

MAX_ENTRIES = 1000


def _read_file(arguments: Arguments, context: ToolContext, stop: threading.Event) -> ToolResult:
    path = locate(arguments["file_path"], context)
    skipped = int(arguments.get("offset") or 0)
    try:
        excerpt = read_lines(real_path(arguments["file_path"], context), skipped, arguments.get("limit"), stop)
    except FileNotFoundError:
        return failure(missing(path, context))
    except NotTextError as error:
        return failure(f"{shown(path, context)} {error}; it can't be read as text.")
    name, last = shown(path, context), skipped + excerpt.count
    if not excerpt.count:
        return success(
            f"{name} has no line {last + 1}: it has {excerpt.skipped} lines." if skipped else f"{name} is empty."
        )
    notes = []
    if skipped or excerpt.has_more:
        rest = f"; more follow: continue with offset {last}" if excerpt.has_more else ", the end of the file"
        notes.append(f"[Lines {skipped + 1} to {last} of {name}{rest}.]")
    if excerpt.has_cut_lines:
        notes.append("[Very long lines were cut.]")
    return success("\n".join([*notes, excerpt.text]), f"Read {counted(excerpt.count, 'line')} of {name}.")


def _write_file(arguments: Arguments, context: ToolContext, _stop: threading.Event) -> ToolResult:
    path, content = locate(arguments["file_path"], context), arguments["content"]
    try:
        is_new = write_text(real_path(arguments["file_path"], context), content)
    except NotTextError as error:
        return failure(f"{shown(path, context)} {error}; nothing was written.")
    lines = content.count("\n") + (content != "" and not content.endswith("\n"))
    what = "Created" if is_new else "Overwrote"
    return success(f"{what} {shown(path, context)} with {counted(lines, 'line')}.")


def _replace(arguments: Arguments, context: ToolContext, _stop: threading.Event) -> ToolResult:
    path = locate(arguments["file_path"], context)
    name, old, new = shown(path, context), arguments["old_string"], arguments["new_string"]
    expected = int(arguments.get("expected_replacements") or 1)
    real = real_path(arguments["file_path"], context)
    try:
        text = read_text(real)
    except FileNotFoundError:
        return failure(f"{missing(path, context)} {_USE_WRITE_FILE}")
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
    write_text(real, text.replace(old, new))
    return success(f"Replaced {counted(found, 'occurrence')} in {name}.")


def _list_directory(arguments: Arguments, context: ToolContext, _stop: threading.Event) -> ToolResult:
    path = locate(arguments.get("path") or ".", context)
    name = shown(path, context)
    try:
        descriptor = open_real_directory(real_path(arguments.get("path") or ".", context))
        try:
            with os.scandir(descriptor) as found:
                entries = sorted((not entry.is_dir(), entry.name) for entry in found)
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        return failure(missing(path, context))
    except NotADirectoryError:
        return failure(f"{name} is a file, not a directory; read it with read_file.")
    if not entries:
        return success(f"{name} is empty.")
    names = [printable(entry) + ("" if is_file else "/") for is_file, entry in entries[:MAX_ENTRIES]]
    if len(entries) > MAX_ENTRIES:
        names.append(f"[{len(entries) - MAX_ENTRIES} more; use glob with a pattern to see them.]")
    many = f"{len(entries)} entries" if len(entries) > 1 else "1 entry"
    return success("\n".join(names), f"Listed {many} of {name}.")


def _miscounted(name: str, text: str, old: str, found: int, expected: int) -> str:
    if found:
        often = "once" if found == 1 else f"{found} times"
        return (
            f"old_string occurs {often} in {name}, not {expected}; nothing was replaced. Give more of the text around "
            f"the right place, or expected_replacements: {found} to replace them all."
        )
    wanted = " ".join(old.split())
    if wanted and wanted in " ".join(text.split()):
        advice = "The same text with other spaces or line breaks is there: read the file and copy it exactly."
    else:
        advice = "Read the file again: it may have changed."
    return f"old_string does not occur in {name}; nothing was replaced. {advice}"


_USE_WRITE_FILE = "To create a file, use write_file."
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
    question=lambda given: f"read {given['file_path']}",
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
    question=lambda given: f"write {given['file_path']}",
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
    question=lambda given: f"change {given['file_path']}",
    run=in_thread(_replace),
    must_exist=_USE_WRITE_FILE,
)

LIST_DIRECTORY = BuiltInTool(
    name="list_directory",
    description="Lists what is in a directory; the names of directories end with a slash.",
    parameters=parameters((), path=string(f"The directory; the project's if not given. {_PATH_RULE}")),
    is_read_only=True,
    question=lambda given: f"list {given.get('path') or '.'}",
    run=in_thread(_list_directory),
)

FILE_TOOLS = (READ_FILE, WRITE_FILE, REPLACE, LIST_DIRECTORY)
