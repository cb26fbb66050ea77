"""The entry point of the packs: evaluates one pack for one event."""

import os.path
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hookline.guards.actions import commands_of, directory_of, is_unfinished, is_writing, paths_of
from hookline.guards.command_rules import doubtful, evaluate_command, read
from hookline.guards.findings import RuleFinding, Subject, answer, shortened
from hookline.guards.hosts import hosts_called, hosts_of, judge_hosts
from hookline.guards.options import PackOptions
from hookline.guards.path_kinds import kinds_of
from hookline.guards.resolve import located, unreadable
from hookline.guards.secrets import judge_files, redacted
from hookline.hook import AfterModel, AfterTool, Answer, BeforeTool, Event

Judge = Callable[[BeforeTool, PackOptions, str], list[RuleFinding]]
_PROTECTED = frozenset(("hooks", "startup", "access", "repository"))
_OUTSIDE = frozenset(("outside", "system", "home", "root"))


def judge(
    use: str, event: Event, options: Mapping[str, Any], earlier: Sequence[tuple[str, Mapping[str, Any]]] = ()
) -> Answer | None:
    """The answer of a pack to an event. `earlier` has the packs that run before it, as names and options."""
    if isinstance(event, AfterTool | AfterModel):
        return redacted(event)
    if not isinstance(event, BeforeTool):
        return None
    found = _found(use, event, options)
    before = [each for name, given in earlier if found for each in _found(name, event, given)]
    return answer(found, use, before)


def _found(use: str, event: BeforeTool, options: Mapping[str, Any]) -> list[RuleFinding]:
    """The findings of a pack for a tool call, after its options."""
    chosen = PackOptions.of(options)
    pack = use.partition(":")[2]
    home = os.path.expanduser("~")
    found = _commands(pack, event, chosen, home)
    if (own := _JUDGES.get(pack)) is not None:
        found += own(event, chosen, home)
    return list(dict.fromkeys(found))


def _commands(pack: str, event: BeforeTool, options: PackOptions, home: str) -> list[RuleFinding]:
    """The findings of the pack's rules for the commands of a tool call."""
    found: list[RuleFinding] = []
    for command in commands_of(event):
        place = directory_of(event), home, event.cwd
        subjects = [command, *(call.line for call in read(command, *place).calls)]
        found += options.apply(evaluate_command(pack, command, *place), subjects)
    if pack == "shell" and is_unfinished(event):
        found += options.apply([doubtful("this is only a part of a line")], ())
    return found


def _secrets(event: BeforeTool, options: PackOptions, home: str) -> list[RuleFinding]:
    return options.apply(judge_files(event, home), _paths_in(event))


def _paths(event: BeforeTool, options: PackOptions, home: str) -> list[RuleFinding]:
    return options.apply(_judge_paths(event, home), _paths_in(event))


def _judge_paths(event: BeforeTool, home: str) -> list[RuleFinding]:
    """The access of a tool call to files outside the project, and its changes of protected files."""
    writes = is_writing(event.tool_name)
    found: list[RuleFinding] = []
    for named in paths_of(event.tool_input):
        subject, shown = Subject((named.path,), event.cwd), shortened(named.path)
        files = located(named, event.cwd, home)
        if files is None:
            found.append(unreadable(named.path, subject))
            continue
        kinds = {kind for each in files for kind in kinds_of(each, home, event.cwd)}
        if writes and kinds & _PROTECTED:
            reason = f"{shown} decides what runs or who may do what"
            found.append(RuleFinding("protected", "deny", reason, "Show the user the change instead.", subject))
        elif kinds & _OUTSIDE and writes:
            reason = f"{shown} is outside the project"
            found.append(RuleFinding("write-outside", "deny", reason, "Write below the project.", subject))
        elif kinds & _OUTSIDE:
            reason = f"{shown} is outside the project"
            found.append(RuleFinding("read-outside", "ask", reason, "Read below the project.", subject))
    return found


def _paths_in(event: BeforeTool) -> list[str]:
    return [named.path for named in paths_of(event.tool_input)]


def _network(event: BeforeTool, options: PackOptions, home: str) -> list[RuleFinding]:
    hosts = [*hosts_of(event), *_called(event, home)]
    return options.apply(judge_hosts(hosts, options.hosts), hosts, may_allow=False)


def _called(event: BeforeTool, home: str) -> Sequence[str]:
    commands = (read(command, directory_of(event), home, event.cwd) for command in commands_of(event))
    return [host for each in commands for host in hosts_called(each.calls)]


_JUDGES: Mapping[str, Judge] = {"secrets": _secrets, "paths": _paths, "network": _network}
