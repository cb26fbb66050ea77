"""The pack hookline:network: which hosts a tool call talks to."""

import fnmatch
import re
from collections.abc import Iterator, Sequence

from hookline.guards.actions import texts_of
from hookline.guards.facts import data, patterns
from hookline.guards.findings import RuleFinding, shortened
from hookline.guards.shell_eval.calls import ProgramCall
from hookline.guards.shell_eval.words import UNKNOWN
from hookline.hook import BeforeTool

_RAW = data("transfers")
_PROGRAMS = {name: frozenset(programs) for name, programs in _RAW["programs"].items()}
_P = patterns("transfers")
_REGISTRY = "docker.io"
UNKNOWN_HOST = "a host that can't be read"
_METADATA = ("169.254.169.254", "metadata.google.internal", "100.100.100.200", "[fd00:ec2::254]", "169.254.170.2")
_ASK = "Ask the user for what is needed from there."
_OWN = ("localhost", "127.*", "[::1]", "0.0.0.0")


def hosts_of(event: BeforeTool) -> Iterator[str]:
    """The hosts in the addresses of a tool call."""
    for text in texts_of(event.tool_input):
        yield from (found.lower() for found in _P["address"].findall(text))


def hosts_called(calls: Sequence[ProgramCall]) -> Iterator[str]:
    """The hosts that programs talk to without a whole address, such as `ssh host` and `curl example.com`."""
    for call in calls:
        yield from (host.lower() for host in _hosts(call))


def _hosts(call: ProgramCall) -> Iterator[str]:
    program = call.program
    if program in ("scp", "rsync") or (
        program == "git" and call.operands[:1] and call.operands[0] in _RAW["subcommands"]["git_talks"]
    ):
        yield from (found[1] for word in call.operands if (found := _P["remote"].match(word)))
    elif program in _PROGRAMS["talking"]:
        yield from (found[1] for word in call.operands if (found := _P["bare"].match(word)))
        if any(UNKNOWN in word for word in call.operands[:1]):
            yield UNKNOWN_HOST
    if program in _PROGRAMS["first_is_host"] and call.operands and (found := _P["name"].match(call.operands[0])):
        yield found[1]
    for value in call.values_of(*_RAW["hosts"].get(program, ())):
        yield from _named(value)
    for name, _, value in (each.partition("=") for each in call.values_of(*_RAW["settings"].get(program, ()))):
        yield from _named(value) if "proxy" in name.lower() or name.lower() == "hostname" else ()
    if any(call.values_of(*_RAW["hidden_options"].get(program, ()))):
        yield UNKNOWN_HOST
    if program in _PROGRAMS["containers"] and call.operands[:1] and call.operands[0] in _RAW["subcommands"]["images"]:
        yield from _registries(call)


def _named(value: str) -> Iterator[str]:
    """The hosts in the value of an option: host, host:port, and the parts of --resolve and --connect-to."""
    if "://" not in value:
        parts = [value] if value.startswith("[") else re.split(r"[:,=]", value)
        yield from (
            found[1] for part in parts if (found := _P["bare"].match(part)) or (found := _P["simple"].match(part))
        )


def _registries(call: ProgramCall) -> Iterator[str]:
    """The registry of an image: its first part, if that is a host."""
    for word in call.operands[1:2] if call.operands[0] != "search" else ():
        first, slash, _ = word.partition("/")
        is_host = bool(slash or call.operands[0] == "login") and (_P["bare"].match(first) or ":" in first)
        yield first.partition(":")[0] if is_host else _REGISTRY


def judge_hosts(hosts: Sequence[str], allowed: Sequence[str]) -> list[RuleFinding]:
    """Hosts that must not be talked to: metadata services, and, where some are allowed, all others."""
    for host in hosts:
        if host in _METADATA:
            return [
                RuleFinding(
                    "metadata-service", "deny", f"{shortened(host)} hands out the credentials of this machine", _ASK
                )
            ]
        if allowed and not any(fnmatch.fnmatchcase(host, each) for each in (*allowed, *_OWN)):
            return [RuleFinding("unknown-host", "deny", f"{shortened(host)} is not among the allowed hosts", _ASK)]
    return []
