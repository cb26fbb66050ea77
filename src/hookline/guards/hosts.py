"""The pack hookline:network: which hosts a tool call talks to."""

import fnmatch
import re
from collections.abc import Iterator, Sequence

from hookline.guards.actions import texts_of
from hookline.guards.findings import Finding, shortened
from hookline.guards.shell_eval.calls import Call
from hookline.guards.shell_eval.words import UNKNOWN
from hookline.hook import BeforeTool

# A scheme, a login (which may hold an @ itself), and the host.
_ADDRESS = re.compile(
    r"\b[a-z][a-z0-9+.-]{1,15}://(?:[^/\s\"'<>]{0,400}@)?(\[[0-9a-fA-F:.]+\]|[^/\s:?#\"'<>)@]+)", re.IGNORECASE
)
_BARE = re.compile(
    r"(?:[\w.+-]+@)?((?:[\w-]+\.)+[A-Za-z][\w-]*|\d+\.\d+\.\d+\.\d+|localhost|\[[0-9a-fA-F:.]+\])(?:[:/]|$)"
)
_SIMPLE = re.compile(r"([A-Za-z][\w-]*)$")
_NAME = re.compile(r"(?:[\w.+-]+@)?([\w-]+(?:\.[\w-]+)*)(?:[:/]|$)")
_TALKING = frozenset(
    (
        *("curl", "wget", "http", "https", "xh", "aria2c", "lynx", "w3m", "links", "fetch"),
        *("ssh", "scp", "sftp", "rsync", "mosh", "autossh", "sshfs", "ssh-copy-id", "ssh-keyscan"),
        *("nc", "ncat", "netcat", "telnet", "ftp", "tftp", "lftp", "ping", "ping6", "dig", "nslookup", "host", "whois"),
        *("traceroute", "tracepath", "mtr", "nmap", "websocat", "grpcurl", "swaks", "finger"),
    )
)
# Their first operand is a host, even if it has no dot.
_FIRST_IS_HOST = frozenset(("ssh", "sftp", "mosh", "telnet", "ftp", "nc", "ncat", "netcat", "ping", "whois"))
# Options that name a host besides the address, by program.
_HOST_OPTIONS = {
    "curl": ("--resolve", "--connect-to", "-x", "--proxy", "--preproxy", "--socks4", "--socks4a", "--socks5"),
    "openssl": ("-connect", "-proxy", "-host"),
    "ssh": ("-J", "-W"),
    "psql": ("-h", "--host"),
    "mysql": ("-h", "--host"),
    "redis-cli": ("-h",),
    "mongosh": ("--host",),
    "docker": ("-H", "--host"),
}
# Options that set something by its name, of which some are hosts.
_SETTINGS = {"wget": ("-e", "--execute"), "ssh": ("-o",), "scp": ("-o",), "sftp": ("-o",), "git": ("-c",)}
_COPYING = frozenset(("scp", "rsync"))
_GIT_TALKING = frozenset(("clone", "fetch", "pull", "push", "remote", "ls-remote", "submodule", "archive"))
_REMOTE = re.compile(r"(?:[\w.+-]+@)?(\[[0-9a-fA-F:.]+\]|[\w.-]+):(?!//)")
# Options that read further options from a file, which is not read here.
_HIDDEN_OPTIONS = {"curl": ("-K", "--config"), "wget": ("--config", "-i", "--input-file"), "aria2c": ("-i",)}
_IMAGE_COMMANDS = frozenset(("pull", "push", "run", "create", "login", "search"))
_CONTAINERS = frozenset(("docker", "podman", "nerdctl"))
_REGISTRY = "docker.io"
UNKNOWN_HOST = "a host that can't be read"
_METADATA = ("169.254.169.254", "metadata.google.internal", "100.100.100.200", "[fd00:ec2::254]", "169.254.170.2")
_ASK = "Ask the user for what is needed from there."
_OWN = ("localhost", "127.*", "[::1]", "0.0.0.0")  # noqa: S104 - compared with, not listened on


def hosts_of(event: BeforeTool) -> Iterator[str]:
    """The hosts in the addresses of a tool call."""
    for text in texts_of(event.tool_input):
        yield from (found.lower() for found in _ADDRESS.findall(text))


def hosts_called(calls: Sequence[Call]) -> Iterator[str]:
    """The hosts that programs talk to without a whole address, such as `ssh host` and `curl example.com`."""
    for call in calls:
        yield from (host.lower() for host in _hosts(call))


def _hosts(call: Call) -> Iterator[str]:
    program = call.program
    if program in _COPYING or (program == "git" and call.operands[:1] and call.operands[0] in _GIT_TALKING):
        yield from (found[1] for word in call.operands if (found := _REMOTE.match(word)))
    elif program in _TALKING:
        yield from (found[1] for word in call.operands if (found := _BARE.match(word)))
        if any(UNKNOWN in word for word in call.operands[:1]):
            yield UNKNOWN_HOST
    if program in _FIRST_IS_HOST and call.operands and (found := _NAME.match(call.operands[0])):
        yield found[1]
    for value in _values(call, _HOST_OPTIONS.get(program, ())):
        yield from _named(value)
    for name, _, value in (each.partition("=") for each in _values(call, _SETTINGS.get(program, ()))):
        yield from _named(value) if "proxy" in name.lower() or name.lower() == "hostname" else ()
    if any(_values(call, _HIDDEN_OPTIONS.get(program, ()))):
        yield UNKNOWN_HOST
    if program in _CONTAINERS and call.operands[:1] and call.operands[0] in _IMAGE_COMMANDS:
        yield from _registries(call)


def _values(call: Call, options: Sequence[str]) -> Iterator[str]:
    """Every value of these options: behind the option, behind `=`, or in the same word."""
    for index, word in enumerate(call.words[1:], 1):
        name, equals, value = word.partition("=")
        if name in options:
            yield value if equals else next(iter(call.words[index + 1 :]), "")
        elif not word.startswith("--") and len(word) > 2 and word[:2] in options:  # noqa: PLR2004 - -Kfile
            yield word[2:]


def _named(value: str) -> Iterator[str]:
    """The hosts in the value of an option: host, host:port, and the parts of --resolve and --connect-to."""
    if "://" not in value:
        parts = [value] if value.startswith("[") else re.split(r"[:,=]", value)
        yield from (found[1] for part in parts if (found := _BARE.match(part)) or (found := _SIMPLE.match(part)))


def _registries(call: Call) -> Iterator[str]:
    """The registry of an image: its first part, if that is a host."""
    for word in call.operands[1:2] if call.operands[0] != "search" else ():
        first, slash, _ = word.partition("/")
        is_host = bool(slash or call.operands[0] == "login") and (_BARE.match(first) or ":" in first)
        yield first.partition(":")[0] if is_host else _REGISTRY


def judge_hosts(hosts: Sequence[str], allowed: Sequence[str]) -> list[Finding]:
    """Hosts that must not be talked to: metadata services, and, where some are allowed, all others."""
    for host in hosts:
        if host in _METADATA:
            return [
                Finding(
                    "metadata-service", "deny", f"{shortened(host)} hands out the credentials of this machine", _ASK
                )
            ]
        if allowed and not any(fnmatch.fnmatchcase(host, each) for each in (*allowed, *_OWN)):
            return [Finding("unknown-host", "deny", f"{shortened(host)} is not among the allowed hosts", _ASK)]
    return []
