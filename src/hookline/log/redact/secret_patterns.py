"""Finds secrets that are known by their form.

Keys and tokens of providers, authorization headers, private keys, and passwords in URLs, in curl's commands and in
netrc files.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import AnyStr

from hookline.protocol.text.patterns import lazy_pattern

Span = tuple[int, int]

_QUOTE = r"(?:\\*+[\"'])?+"
# A word, or all that stands between quotes.
_VALUE = r"(?:\\*+'([^'\\]{3,400}+)|\\*+\"([^\"\\]{3,400}+)|([^\s\"'\\;&|<>]{4,4096}+))"
_OPTIONS = r"(?:\s++-{1,2}[\w-]{1,40}+(?:[= ][^\s\"'\\;&|<>-][^\s\"'\\;&|<>]{0,200}+)?+){0,12}?"
# A sentence such as "my password is swordfish". Without "my" the word has to look like no other.
_SAID = (
    rf"\s(?:is|was)\s{{1,3}}+:?\s?{_QUOTE}(?!(?:not|no|required|wrong|invalid|incorrect|missing|empty|expired|correct|set"
    r"|too|the|an?|in|on|stored|hashed|never|always|only|being|weak|strong|valid|optional|read|used|needed|unknown|now"
    r"|still|also|same|it|to)(?![\w-]))"
)
_ODD = r"(?=[^\s\"'\\0-9!#$%^*+=@]{0,40}+[0-9!#$%^*+=@])"
_WORD = r"([^\s\"'\\,]{4,200}+)"
_MINE = r"(?:(?<=\bmy )|(?<=\bour )|(?<=\bhis )|(?<=\bher ))"
_COOKIE = r"[\w.$-]{1,100}+=[^\s;\"'\\]{4,4096}+"
# What comes behind a word. The words are searched for first, in small letters; each match ends within some thousand
# characters, and no part of it can be matched in two ways: hostile text must not make the search slow.
_BEHIND_WORDS: dict[bytes, str] = {
    b"hooks.slack.com": r"hooks\.slack\.com/(?:services|workflows|triggers)/([\w/-]{8,200}+)",
    b"webhooks/": r"webhooks/\d{5,30}+/([\w-]{10,200}+)",
    b"accountkey": rf"accountkey\s{{0,9}}+=\s{{0,9}}+{_QUOTE}([A-Za-z0-9+/=]{{16,400}}+)",
    b"sharedaccesskey": rf"sharedaccesskey\s{{0,9}}+=\s{{0,9}}+{_QUOTE}([A-Za-z0-9+/=]{{16,400}}+)",
    b"sig=": r"sig=([\w%+/=-]{16,400}+)",
    b"x-amz-": r"x-amz-(?:signature|security-token|credential)(?:=|%3d)([\w%/+=-]{8,4096}+)",
    b"cookie": rf"cookies?\\*+[\"']?+\s{{0,9}}+[:=]?+\s{{0,9}}+{_QUOTE}({_COOKIE}(?:;\s?{_COOKIE}){{0,50}}+)",
    b"sshpass": rf"sshpass{_OPTIONS}\s++-[a-oq-z]{{0,5}}p\s{{0,9}}+{_VALUE}",
    b"redis-cli": rf"redis-cli{_OPTIONS}\s++-a\s++{_VALUE}",
    b"htpasswd": rf"htpasswd\s++-[a-z]{{0,5}}b[a-z]{{0,5}}(?:\s++[^\s;&|<>]{{1,200}}+){{2}}\s++{_VALUE}",
    b" pass:": rf"(?:(?<=-pass)|(?<=-passin)|(?<=-passout))\spass:(?!\s){_VALUE}",
    b"zip -p": rf"zip (?-i:-P)\s{{0,9}}+{_VALUE}",
    b"login": rf"login{_OPTIONS}\s++(?:-p|--password)(?:\s++|=|(?<=-p)){_VALUE}",
    **dict.fromkeys(
        (b"mysql", b"mariadb"),
        rf"(?:mysql|mariadb)[\w-]{{0,20}}+(?:[ \t]++(?!-p)[^\s;&|<>]{{1,200}}+){{0,12}}+[ \t]++-p(?!\s){_VALUE}",
    ),
    b"pat=": rf"(?<=_)pat=(?![/$]){_VALUE}",
    b"pwd=": rf"(?<=[a-z_;])(?<!old)pwd=(?![/$]){_VALUE}",
    **dict.fromkeys(
        (b"password", b"passphrase", b"passcode", b"passwd"),
        rf"{_MINE}pass[a-z]{{3,7}}+{_SAID}{_WORD}|pass[a-z]{{3,7}}+{_SAID}{_ODD}{_WORD}",
    ),
    **dict.fromkeys(
        (b"token is", b"secret is", b"key is", b"pin is"), rf"(?:token|secret|key|pin){_SAID}{_ODD}{_WORD}"
    ),
}

# Words that have to be there, in small letters, for `headers`, `private_keys` or `behind_words` to find anything.
SHAPE_WORDS = (b"bearer", b"authorization", b"private key", *_BEHIND_WORDS, b'pat"', b'pwd"')

# Every token below is a word of at least this length, and such words are rare. To find them, all letters that can be
# in a token are mapped to the same byte: searching for a repeated byte takes a tenth of the time of an expression.
_TOKEN_LENGTH = 20
_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
_IS_LETTER = bytes(b"."[0] if byte in _LETTERS else b" "[0] for byte in range(256))
_LONG_WORD = b"." * _TOKEN_LENGTH
_SMALL = bytes(range(256)).lower()


@cache
def _token() -> re.Pattern[bytes]:
    # Compiled on first use: importing must stay cheap. Possessive: hostile text must not cause backtracking.
    return re.compile(
        rb"""-*+(?:
          sk-(?!ecdsa|ssh)(?=[A-Za-z_-]*+[0-9])[\w-]{17,}+         # OpenAI, Anthropic, OpenRouter
        | [rsp]k_(?:live|test)_[A-Za-z0-9]{12,}+      # Stripe
        | gh[pousr]_[A-Za-z0-9]{16,}+                 # GitHub
        | github_pat_\w{16,}+
        | glpat-[\w-]{16,}+                           # GitLab
        | A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}(?![\w-])   # AWS
        | AIza[\w-]{30,}+                             # Google
        | (?<=ya29\.)[\w-]{20,}+
        | xox[abeoprs]-[\w-]{15,}+ | xapp-[\w-]{15,}+ # Slack
        | eyJ[\w-]{10,}+\.[\w-]{10,}+                 # JSON Web Token
        | (?:hf|npm|gsk)_[A-Za-z0-9]{30,}+            # Hugging Face, npm, Groq
        | xai-[A-Za-z0-9]{30,}+ | pypi-[\w-]{40,}+ | dop_v1_[a-f0-9]{40,}+
        | (?<=SG\.)[\w-]{20,}+                        # SendGrid
        | (?:SK|AC)[0-9a-f]{32}(?![\w-])              # Twilio
        | (?<=[0-9]{8}:)AA[\w-]{30,}+                 # Telegram
        | (?<=hv[sbr]\.)[\w-]{20,}+                   # Vault
        | (?<=[^\w.]s\.)(?=[A-Za-z]*+[0-9])[A-Za-z0-9]{24}(?![\w-])
        | AGE-SECRET-KEY-1[A-Z0-9]{20,}+              # age
        )[\w.-]*+""",
        re.VERBOSE,
    )


@cache
def _header() -> re.Pattern[str]:
    # Without a scheme, a word without digits may be code; and a lone one prose: "the bearer of this letter".
    has_digit = r"(?=[A-Za-z_.~+/=:-]{0,200}+[0-9])"
    return re.compile(
        rf"authorization\\*+[\"']?\s*+[:=]\s*+(?:\\*+[\"'])?"
        rf"(?:(?:bearer|basic|token|apikey)(?:\s|%20)++|{has_digit})(?P<value>[\w.~+/=:-]{{6,}}+)"
        rf"|bearer(?:\s|%20)++(?:{has_digit}|(?=[\w.~+/-]{{20}}))(?P<lone>[\w.~+/=-]{{8,}}+)",
        re.IGNORECASE,
    )


@cache
def _key_body() -> re.Pattern[str]:
    return re.compile(
        r"private key(?: block)?-----((?:[A-Za-z0-9+/=\s\\,:.]|-(?!----))*+)(?:-----END[A-Z ]*+-----)?", re.IGNORECASE
    )


# Each match ends before another one of its kind can begin, or after some hundred characters: hostile text must not make
# the search quadratic. In JSON text a quote and the end of a line have a backslash before them.
_URL_LOGIN = lazy_pattern(r"""://[^\s:/?#@"'`<>\\]*+:([^\s/?#"'`<>\\]++)""")
_CURL_LOGIN = lazy_pattern(
    r"""\s(?:-[A-Za-z]{0,9}[uU]|--(?:proxy-)?user)(?:[\s=]{1,9}+)?(?:\\*+["'])?"""
    r"""[^\s:"'`\\;&|<>-][^\s:"'`\\;&|<>]{0,199}+:([^\s"'`\\;&|<>]++)"""
)
_NETRC_LOGIN = lazy_pattern(
    r"""(?:machine(?:\s|\\[nrt]){1,99}+[^\s"\\]{1,255}+|(?<![^\n"'n])default)"""
    r"""(?:(?:\s|\\[nrt]){1,99}+(?:login|account)(?:\s|\\[nrt]){1,99}+[^\s"\\]{1,255}+){1,2}+"""
    r"""(?:\s|\\[nrt]){1,99}+password(?:\s|\\[nrt]){1,99}+([^\s"\\]++)"""
)
_LONGEST_COMMAND = 2048
_REFERENCES = ("$", "{", "%s", "%(", "*")


class WordFilter:
    """Tells quickly whether a text may have one of some words."""

    def __init__(self, words: Sequence[bytes]) -> None:
        # Only letters of the words are looked at: half of a text has other characters.
        letters = bytes(byte for byte in {*b"".join(words)} if byte not in b"_- ")
        self._others = bytes(byte for byte in range(256) if bytes((byte,)).lower() not in letters)
        self._words = {word.translate(None, self._others) for word in words}

    def may_match(self, text: bytes) -> bool:
        """False if none of the words is in the text, in small letters or capitals."""
        squeezed = text.translate(_SMALL, self._others)
        for word in self._words:  # noqa: SIM110 - `any` takes twice the time
            if word in squeezed:
                return True
        return False


def tokens(text: bytes) -> Iterator[Span]:
    """Where tokens of providers are in the text."""
    words = text.translate(_IS_LETTER)
    start = words.find(_LONG_WORD)
    while start >= 0:
        found = _token().match(text, start)
        if found is None and text[start - 1 : start] == b"\\":
            found = _token().match(text, start + 1)  # "\n" in JSON text is not a part of the token
        if found is not None:
            yield found.span()
        end = words.find(b" ", start)
        start = words.find(_LONG_WORD, end) if end >= 0 else -1


def headers(text: str, low: bytes) -> Iterator[Span]:
    """Where authorization headers have their credentials; `low` is the text in small letters."""
    for word in SHAPE_WORDS[:2]:
        done = 0
        for at in places(low, word):
            if at >= done and (found := _header().match(text, at)):
                done = found.end()
                yield found.span("value" if found["value"] else "lone")


@cache
def _behind(word: bytes) -> re.Pattern[str]:
    return re.compile(_BEHIND_WORDS[word], re.IGNORECASE)


def behind_words(text: str, low: bytes) -> Iterator[Span]:
    """Where secrets stand behind a word that gives them away: in webhooks, cookies, options of programs, sentences."""
    for word in _BEHIND_WORDS:
        done = 0
        for at in places(low, word):
            if at >= done and (found := _behind(word).match(text, at)):
                done = found.end()
                yield from _unless_reference(text, *found.span(found.lastindex or 0))


def private_keys(text: str, low: bytes) -> Iterator[Span]:
    """Where private keys are."""
    done = 0
    for at in places(low, SHAPE_WORDS[2]):
        if at >= done and (found := _key_body().match(text, at)):
            done = found.end()
            if len(found[1]) >= _TOKEN_LENGTH:  # otherwise the text only mentions such a line
                begin = text.rfind("-----BEGIN", max(0, at - 30), at)
                yield at if begin < 0 else begin, done


def may_have_login(text: bytes) -> bool:
    """False if `logins` finds nothing; this takes little time."""
    return (b"@" in text and b"://" in text) or b"curl" in text or b"login" in text


def logins(text: str) -> Iterator[Span]:
    """Where passwords beside a user's name are: in URLs, after curl's option -u, and in netrc files."""
    yield from _url_logins(text)
    yield from _curl_logins(text)
    if "login" in text:
        yield from (found.span(1) for word in ("machine", "default") for found in _netrc_logins(text, word))


def _url_logins(text: str) -> Iterator[Span]:
    for at in places(text, "://"):
        found = _URL_LOGIN.match(text, at)
        end = -1 if found is None else text.rfind("@", found.start(1), found.end(1))
        # image:tag@sha256:… is the digest of an image.
        if found is not None and end > found.start(1) and not text.startswith("@sha256:", end):
            yield from _unless_reference(text, found.start(1), end)


def _curl_logins(text: str) -> Iterator[Span]:
    done = 0
    for at in places(text, "curl"):
        if at < done:
            continue
        # The lines of a command may be continued; what follows it is looked at for nothing.
        done = at + _LONGEST_COMMAND
        for found in _CURL_LOGIN.finditer(text, at, done):
            yield from _unless_reference(text, *found.span(1))


def _netrc_logins(text: str, word: str) -> Iterator[re.Match[str]]:
    return (found for at in places(text, word) if (found := _NETRC_LOGIN.match(text, at)))


def _unless_reference(text: str, start: int, end: int) -> Iterator[Span]:
    """The span, unless a variable or a place for a value stands there."""
    if not text.startswith(_REFERENCES, start, end):
        yield start, end


def places(text: AnyStr, word: AnyStr) -> Iterator[int]:
    """Every position of a word."""
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + len(word))
