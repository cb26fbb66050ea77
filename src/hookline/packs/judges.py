"""Which pack judges what."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hookline.hook import Answer, BeforeTool, Event
from hookline.packs.actions import commands_of, directory_of
from hookline.packs.findings import Finding, answer
from hookline.packs.options import PackOptions
from hookline.packs.shell import judge as judge_command

Judge = Callable[[Event, PackOptions], list[Finding]]


def judge(use: str, event: Event, options: Mapping[str, Any]) -> Answer | None:
    """What a pack answers to an event."""
    return answer(_JUDGES[use](event, PackOptions.of(options)), use)


def _shell(event: Event, options: PackOptions) -> list[Finding]:
    if not isinstance(event, BeforeTool):
        return []
    found = []
    for command in commands_of(event.tool_input):
        findings = judge_command(command, directory_of(event), str(Path.home()), event.cwd)
        found += options.apply(findings, command)
    return found


_JUDGES: Mapping[str, Judge] = {"hookline:shell": _shell}
