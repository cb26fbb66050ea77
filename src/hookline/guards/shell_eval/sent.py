"""The texts that a call sends to another machine, apart from what authenticates it there."""

import re
from collections.abc import Iterator

from hookline.guards.shell_eval.calls import Call

_CLIENTS = frozenset(("curl", "wget", "http", "https", "xh", "aria2c", "lynx", "w3m"))
_DATA = frozenset(
    (
        *("-d", "--data", "--data-ascii", "--data-binary", "--data-raw", "--data-urlencode", "--json", "--url-query"),
        *("-F", "--form", "--form-string", "--post-data", "--body-data", "-A", "--user-agent", "-e", "--referer"),
        *("-b", "--cookie", "-U"),
    )
)
# What they get is sent to others, or to another machine.
_TELLING_OTHERS = frozenset(("gh", "glab", "ssh", "mail", "mailx", "s-nail", "mutt", "wall", "write", "dig"))
SENDING = _CLIENTS | _TELLING_OTHERS
"""The programs that send something."""
# Their subcommands that are made for secrets.
_KEEPING = (("secret",), ("auth",), ("variable",))
_HEADERS = frozenset(("-H", "--header"))
# Headers that are made for secrets.
_OWN_HEADERS = re.compile(
    r"(?:proxy-)?authorization\b|[\w-]*(?:key|token|auth|secret|password)[\w-]*\s*:", re.IGNORECASE
)
_OWN_OPTIONS = frozenset(
    ("-u", "--user", "--proxy-user", "--oauth2-bearer", "--password", "--http-password", "-a", "--auth")
)
_LOGIN = re.compile(r"^([\w+.-]+://)[^/@\s]*@")


def sent_by(call: Call) -> Iterator[str]:
    """The data that a web client sends, its address without the login, and headers without a known meaning."""
    if call.program in _TELLING_OTHERS and call.operands[:1] not in _KEEPING:
        yield from call.words[1:]
        yield call.stdin.text or ""
    if call.program not in _CLIENTS or _stays_here(call):
        return
    words = iter(call.words[1:])
    for word in words:
        name, equals, value = word.partition("=") if word.startswith("--") else (word[:2], word[2:], word[2:])
        if not word.startswith("-"):
            yield _LOGIN.sub(r"\1", word)
        elif name in _OWN_OPTIONS:
            _ = value if equals else next(words, "")
        elif name in _DATA:
            yield value if equals else next(words, "")
        elif name in _HEADERS and not _OWN_HEADERS.match(header := (value if equals else next(words, "")).strip()):
            yield header


_HERE = re.compile(r"(?:https?://)?(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?(?:[/?#].*)?", re.IGNORECASE | re.DOTALL)
# Options that leave the address as it is.
_SAME_ADDRESS = frozenset(
    (
        *("-s", "-S", "-f", "-i", "-v", "-X", "-d", "-H", "-k", "-G", "--silent", "--show-error", "--fail", "--json"),
        *("--request", "--data", "--data-raw", "--header", "--get", "--max-time", "-m", "-sS", "-fsS", "-sf", "-sSf"),
    )
)


def _stays_here(call: Call) -> bool:
    """Whether all that a client sends goes to this machine, by addresses that nothing replaces."""
    is_plain = call.flags <= _SAME_ADDRESS and not call.assigned
    return is_plain and bool(call.operands) and all(map(_HERE.fullmatch, call.operands))
