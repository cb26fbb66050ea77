"""The pack hookline:network: which hosts a tool call talks to."""

import fnmatch
import re
from collections.abc import Iterator, Sequence

from hookline.hook import BeforeTool
from hookline.packs.actions import texts_of
from hookline.packs.findings import Finding
from hookline.packs.reading.calls import Call

_ADDRESS = re.compile(
    r"(?:https?|wss?|ftp|ssh|git)://(?:[^/\s@\"']*@)?(\[[0-9a-fA-F:]+\]|[^/\s:?#\"'<>)]+)", re.IGNORECASE
)
_BARE = re.compile(r"(?:[\w.-]+@)?((?:[\w-]+\.)+[A-Za-z]{2,}|\d+\.\d+\.\d+\.\d+|localhost)(?:[:/]|$)")
_TALKING = (
    "curl",
    "wget",
    "http",
    "https",
    "ssh",
    "scp",
    "sftp",
    "rsync",
    "nc",
    "ncat",
    "telnet",
    "ftp",
    "ping",
    "dig",
)
_METADATA = ("169.254.169.254", "metadata.google.internal", "100.100.100.200", "[fd00:ec2::254]", "169.254.170.2")
_OWN = ("localhost", "127.*", "[::1]", "0.0.0.0")  # noqa: S104 - compared with, not listened on


def hosts_of(event: BeforeTool) -> Iterator[str]:
    """The hosts in the addresses of a tool call."""
    for text in texts_of(event.tool_input):
        yield from (found.lower() for found in _ADDRESS.findall(text))


def hosts_called(calls: Sequence[Call]) -> Iterator[str]:
    """The hosts that programs talk to without a whole address, such as `ssh host` and `curl example.com`."""
    for call in calls:
        if call.program in _TALKING:
            yield from (found[1].lower() for word in call.operands if (found := _BARE.match(word)))


def judge_hosts(hosts: Sequence[str], allowed: Sequence[str]) -> list[Finding]:
    """Hosts that must not be talked to: metadata services, and, where some are allowed, all others."""
    for host in hosts:
        if host in _METADATA:
            return [Finding("metadata-service", "deny", f"{host} hands out the credentials of this machine")]
        if allowed and not any(fnmatch.fnmatchcase(host, each) for each in (*allowed, *_OWN)):
            return [Finding("unknown-host", "deny", f"{host} is not among the allowed hosts")]
    return []
