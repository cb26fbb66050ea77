"""The pack hookline:paths: files outside the project, and files that decide what runs."""

from hookline.hook import BeforeTool
from hookline.packs.actions import is_writing, paths_of
from hookline.packs.files import meant
from hookline.packs.findings import Finding
from hookline.packs.places import places

_PROTECTED = frozenset(("hooks", "startup", "access", "repository"))
_OUTSIDE = frozenset(("outside", "system", "home", "root"))


def judge_paths(event: BeforeTool, home: str) -> list[Finding]:
    """What a tool call does outside the project, or to protected files."""
    writes = is_writing(event.tool_name)
    found: list[Finding] = []
    for path in paths_of(event.tool_input):
        kinds = {kind for each in meant(path, event.cwd, home) for kind in places(each, home, event.cwd)}
        if writes and kinds & _PROTECTED:
            reason = f"{path} decides what runs or who may do what"
            found.append(Finding("protected", "deny", reason, "Show the person the change instead.", path))
        elif kinds & _OUTSIDE and writes:
            reason = f"{path} is outside the project"
            found.append(Finding("write-outside", "deny", reason, "Write below the project.", path))
        elif kinds & _OUTSIDE:
            found.append(Finding("read-outside", "ask", f"{path} is outside the project", "", path))
    return found
