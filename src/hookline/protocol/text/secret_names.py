"""The names that usually belong to secrets."""

from hookline.protocol.text.patterns import lazy_pattern

# Patterns over whole names of JSON keys, variables and options; upper and lower case are the same.
SECRET_NAMES = (
    "*TOKEN*",
    "*SECRET*",
    "*PASSWORD*",
    "*PASSWD*",
    "*PASSPHRASE*",
    "*API_KEY*",
    "*API-KEY*",
    "*APIKEY*",
    "*PRIVATE_KEY*",
    "*CREDENTIAL*",
    "*AUTHORIZATION*",
)

# Variables of an environment; those that only say where a secret is, or what it is called, are none.
_VARIABLE = lazy_pattern(
    r"(?i:.*(?:SECRET|PASSW|PASSPHRASE|PRIVATE_?KEY|API_?KEY|ACCESS_?KEY|CREDENTIAL|AUTH_?KEY|ENCRYPTION_?KEY))"
    r"|(?i:(?:.*_)?(?:TOKENS?|PAT|PWD|PASS|DSN))\Z|(?:[A-Z0-9]+_)+KEYS?\Z"
)
_NO_SECRET = lazy_pattern(
    r"(?i:.*(?:_|^)(?:URL|URI|PATH|FILE|FILENAME|DIR|NAME|TYPE|KIND|ENDPOINT|TTL|LENGTH|COUNT|LIMIT))\Z"
    r"|(?i:OLDPWD|PWD)\Z|(?i:.*(?:PUBLIC|SSH|HOST|CACHE|PRIMARY|FOREIGN|SORT|PARTITION)_KEYS?)\Z"
)
# The patterns that find secrets.
_ASKED_FOR = lazy_pattern(
    r"(?i:passw(?:or)?d|passphrase|\bsecrets?\b|_secret|secret_|api[^a-z0-9]{0,6}key|access[_-]?key|private[_ -]?key)"
    r"|(?i:credentials?\b)"
    r"|(?:\b|_)(?:KEY|TOKEN|SECRET|PASS)S?(?:\b|_)|AKIA"
)


def is_secret_variable(name: str) -> bool:
    """Whether a variable of this name usually holds a secret: AWS_SECRET_ACCESS_KEY does, SSH_KEY_PATH does not."""
    return _VARIABLE.match(name) is not None and _NO_SECRET.match(name) is None


def asks_for_secrets(pattern: str) -> bool:
    """Whether a search for this pattern looks for secrets."""
    return _ASKED_FOR.search(pattern) is not None
