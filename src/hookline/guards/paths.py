"""The pack hookline:paths: files outside the project, and files that decide what runs."""

from hookline.guards.actions import is_writing, paths_of
from hookline.guards.findings import Finding, Subject, shortened
from hookline.guards.path_kinds import kinds_of
from hookline.guards.resolve import located, unreadable
from hookline.hook import BeforeTool

_PROTECTED = frozenset(("hooks", "startup", "access", "repository"))
_OUTSIDE = frozenset(("outside", "system", "home", "root"))


def judge_paths(event: BeforeTool, home: str) -> list[Finding]:
    """The access of a tool call to files outside the project, and its changes of protected files."""
    writes = is_writing(event.tool_name)
    found: list[Finding] = []
    for named in paths_of(event.tool_input):
        subject, shown = Subject((named.path,), event.cwd), shortened(named.path)
        files = located(named, event.cwd, home)
        if files is None:
            found.append(unreadable(named.path, subject))
            continue
        kinds = {kind for each in files for kind in kinds_of(each, home, event.cwd)}
        if writes and kinds & _PROTECTED:
            reason = f"{shown} decides what runs or who may do what"
            found.append(Finding("protected", "deny", reason, "Show the user the change instead.", subject))
        elif kinds & _OUTSIDE and writes:
            reason = f"{shown} is outside the project"
            found.append(Finding("write-outside", "deny", reason, "Write below the project.", subject))
        elif kinds & _OUTSIDE:
            reason = f"{shown} is outside the project"
            found.append(Finding("read-outside", "ask", reason, "Read below the project.", subject))
    return found
