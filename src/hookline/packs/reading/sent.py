"""The texts that a call sends to another machine, apart from what authenticates it there."""

import re
from collections.abc import Iterator

from hookline.packs.reading.calls import Call

SENDING = frozenset(("curl", "wget", "http", "https", "xh", "aria2c", "lynx", "w3m"))
_DATA = frozenset(
    (
        *("-d", "--data", "--data-ascii", "--data-binary", "--data-raw", "--data-urlencode", "--json", "--url-query"),
        *("-F", "--form", "--form-string", "--post-data", "--body-data", "-A", "--user-agent", "-e", "--referer"),
        *("-b", "--cookie", "-U"),
    )
)
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
    """What a client of the web sends: its data, its address without the login, and headers of no known meaning."""
    if call.program not in SENDING:
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
