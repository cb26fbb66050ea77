"""Which pack judges what."""

import os.path
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hookline.hook import AfterModel, AfterTool, Answer, BeforeTool, Event
from hookline.packs.actions import commands_of, directory_of, is_unfinished, paths_of
from hookline.packs.commanded import doubtful, judge_command, read
from hookline.packs.findings import Finding, answer
from hookline.packs.hosts import hosts_called, hosts_of, judge_hosts
from hookline.packs.options import PackOptions
from hookline.packs.paths import judge_paths
from hookline.packs.secrets import judge_files, redacted

Judge = Callable[[BeforeTool, PackOptions, str], list[Finding]]


def judge(
    use: str, event: Event, options: Mapping[str, Any], earlier: Sequence[tuple[str, Mapping[str, Any]]] = ()
) -> Answer | None:
    """What a pack answers to an event. `earlier` are the packs that run before it, by their names and options."""
    if isinstance(event, AfterTool | AfterModel):
        return redacted(event)
    if not isinstance(event, BeforeTool):
        return None
    found = _found(use, event, options)
    told = [each for name, given in earlier if found for each in _found(name, event, given)]
    return answer(found, use, told)


def _found(use: str, event: BeforeTool, options: Mapping[str, Any]) -> list[Finding]:
    """What a pack finds in a tool call, as its options have it count."""
    chosen = PackOptions.of(options)
    pack = use.partition(":")[2]
    home = os.path.expanduser("~")  # noqa: PTH111 - a Path takes twenty times as long, and this is each event's
    found = _commands(pack, event, chosen, home)
    if (own := _JUDGES.get(pack)) is not None:
        found += own(event, chosen, home)
    return list(dict.fromkeys(found))


def _commands(pack: str, event: BeforeTool, options: PackOptions, home: str) -> list[Finding]:
    """What the pack's rules find in the commands of a tool call."""
    found: list[Finding] = []
    for command in commands_of(event):
        place = directory_of(event), home, event.cwd
        subjects = [command, *(call.line for call in read(command, *place).calls)]
        found += options.apply(judge_command(pack, command, *place), subjects)
    if pack == "shell" and is_unfinished(event):
        found += options.apply([doubtful("this is only a part of a line")], ())
    return found


def _secrets(event: BeforeTool, options: PackOptions, home: str) -> list[Finding]:
    return options.apply(judge_files(event, home), _paths_in(event))


def _paths(event: BeforeTool, options: PackOptions, home: str) -> list[Finding]:
    return options.apply(judge_paths(event, home), _paths_in(event))


def _paths_in(event: BeforeTool) -> list[str]:
    return [named.path for named in paths_of(event.tool_input)]


def _network(event: BeforeTool, options: PackOptions, home: str) -> list[Finding]:
    hosts = [*hosts_of(event), *_called(event, home)]
    return options.apply(judge_hosts(hosts, options.hosts), hosts, may_allow=False)


def _called(event: BeforeTool, home: str) -> Sequence[str]:
    commands = (read(command, directory_of(event), home, event.cwd) for command in commands_of(event))
    return [host for each in commands for host in hosts_called(each.calls)]


_JUDGES: Mapping[str, Judge] = {"secrets": _secrets, "paths": _paths, "network": _network}
