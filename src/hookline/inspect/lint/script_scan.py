"""Finds the names that a script compares something with, not those in a message, a comment or an answer.

The text is searched, not parsed: a name is found if next to it is an operator, a pattern of `case`, a list of
names, a key, a regular expression or a function that compares.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from hookline.inspect.lint.scripts import Language, Script

# The search for an operator before a name covers this many characters.
_WINDOW = 240
_LONGEST_MEMBER = 80
_MOST_MEMBERS = 24
_MOST_OCCURRENCES = 300

_QUOTE = r"""\\?["'`]"""
# Where a regular expression or a glob begins.
_OPENING = r"(?:\^|\\b|\\?\((?:\?:)?|\*|\.\*)*"
_QUOTED = rf"[rRbBuUfF]?{_QUOTE}\s?{_OPENING}$"
_MAYBE_QUOTED = rf"(?:[rRbBuUfF]?{_QUOTE})?\s?{_OPENING}$"
# One member of a list before the name, with what separates them.
_MEMBER = re.compile(rf"(?:{_QUOTE})?[\w.*:^$@-]+(?:{_QUOTE})?\s*(?:\\?\||,)\s*(?:{_QUOTE})?$")
_SPACED_MEMBER = re.compile(rf"(?:{_QUOTE})?(?<![\w=(])[A-Za-z_][\w.*-]*(?:{_QUOTE})?\s+(?:{_QUOTE})?$")
_COMPARING_CALL = (
    r"(?:includes|include\?|has|contains|indexOf|index|inside|IN|any|all|test|match|search|fullmatch|findall|compile|RegExp"
    r"|starts?_?[wW]ith\??|ends?_?[wW]ith\??|member\?|equals?|eql\?|Set|set|frozenset|tuple|list|fnmatch|Literal"
    r"|\w*[tT]ool\w*|\w*[mM]atch\w*|is_?[a-zA-Z]\w*)"
)

_BEFORE = [
    re.compile(pattern)
    for pattern in (
        # tool == "Bash", tool !== 'Bash', $tool eq "Bash", tool in ("Bash", …
        rf"(?:[=!]==?|=~|!~)\s*\(?{_QUOTED}",
        rf"\b(?:eq|ne|case|when)\b\s*\(?\s*{_QUOTED}",
        rf"\bin\b\s*[\[({{]+\s*{_QUOTED}",
        # ["Write", …  {"Write", …  = ("Write", …  HANDLERS["Write"]
        rf"(?:[\[{{]|(?:[=,(\[:]|\breturn)\s*\()\s*{_QUOTED}",
        rf"\b{_COMPARING_CALL}\s*[\[({{]+\s*{_QUOTED}",
        rf"\b(?:(?:is|has)_\w+|include\?)\s+{_QUOTED}",
        rf"\bIN\([^()]*;\s*{_QUOTED}",
        # BASH = "Bash"
        rf"\b[A-Z][A-Z0-9_]+(?:\s*:\s*[\w.\[\] ]+)?\s+=\s+{_QUOTED}",
    )
]
_BEFORE_IN_SHELL = [
    re.compile(pattern)
    for pattern in (
        # [ "$tool" = Bash ], [[ $tool == Write* ]]
        rf"(?:\[|\btest\b)[^\n]*\s(?:[=!]=?=?|=~)\s*{_MAYBE_QUOTED}",
        rf"\b(?:[efz]?grep|rg)\b(?:\s+-{{1,2}}[\w-]+)*\s+{_MAYBE_QUOTED}",
        rf"\[\[?\s+{_QUOTED}",
    )
]
# A pattern of `case`: at the beginning of a line, after `in` or after `;;`.
_BEFORE_PATTERN = re.compile(rf"(?:^|\n|\bin\b|;;&?|;&)\s*\(?\s*(?:{_QUOTE})?\**$")
_AFTER_PATTERN = re.compile(rf"(?:{_QUOTE})?\**(?:{_QUOTE})?(?:\s*\|\s*[^\s|()]+)*\s*\)")
# "tool_name":"Bash" as text to look for.
_BEFORE_AS_TEXT = re.compile(
    rf"(?:tool_name|hook_event_name)(?:{_QUOTE})?(?:\\s\*|\\s\+|\[\[:space:\]\]\*|\[ \]\*|\s|\*|\?)*:"
    rf"(?:\\s\*|\\s\+|\[\[:space:\]\]\*|\[ \]\*|\s|\*|\?)*(?:{_QUOTE})?{_OPENING}$"
)
_LOOKS_FOR = re.compile(r"\b(?:[ef]?grep|rg|awk|sed|case|in|match|search|test|includes|index)\b|=~|\[\[|\*\"?\)")
_AFTER = re.compile(rf"\**(?:{_QUOTE})\s*(?:[=!]==?|=~|\b(?:eq|ne|in|not\s+in)\b)")
_AFTER_KEY = re.compile(rf"(?:{_QUOTE})\s*(?::(?!:)|=>)")
_BEFORE_KEY = re.compile(rf"(?:[{{,]|\n)\s*{_QUOTE}$")
_AFTER_BARE_KEY = re.compile(r"\s*(?::(?!:)\s*[\w(\[{\"'`/]|\([\w\s,{}]*\)\s*\{)")
_BEFORE_BARE_KEY = re.compile(r"[{,]\s*$")
# /^(Write|Edit)$/
_BEFORE_IN_SLASHES = re.compile(r"/\^?(?:\((?:\?:)?)?$")
_AFTER_IN_SLASHES = re.compile(r"(?:\|[\w|.*]+)?\)?\$?/[a-z]*")
# qw(Write Edit), %w[Write Edit], for tool in Write Edit, TOOLS=(Write Edit)
_BEFORE_WORDS = re.compile(r"(?:\bqw|%[wi])\s*[\[({</|!]\s*$")
_BEFORE_SHELL_WORDS = re.compile(rf"(?:\bfor\s+\w+\s+in\s+|\w\+?=\(\s*)(?:{_QUOTE})?$")
_BEFORE_TEXT_OF_WORDS = re.compile(rf"\w\s*=\s*[rRbB]?{_QUOTE}\s?{_OPENING}$")
_ANOTHER_WORD = re.compile(r"\s+[A-Z]\w+")
_SHELL_KEY = re.compile(r"\[(?:[\"'])?$"), re.compile(r"(?:[\"'])?\]=")
_FOLDS_CASE = re.compile(
    r"lower|downcase|casefold|nocasematch|IGNORECASE|,,\}|\btr\b[^\n]*upper|\blc\b|\bgrep\s+-\w*i|/i\b"
)


# From an object to a field in it: `x.get("y")`, `x", {}).get("y")`, `x?.y`, `x["y"]`, `x->{y}`, `dig("x", "y")`.
_ACCESS = (
    r"(?:[\s\"'\])?!|]|,\s*(?:\{\}|None|null|\"\")\)|\s+or\s+\{\}\)){0,12}"
    r"(?:\.(?:get|fetch)\(|\?\.|\.|\[|->\{?|,)\s*[\"':]*"
)
_ASSIGNED = re.compile(r"\s*(?:(?:const|let|var|my|local)\s+)?\$?(\w{1,60})\s*:?=(?!=)")
# Not `${NAME:-default}`, `get("NAME", default)`, `NAME || default`.
_NO_DEFAULT = r"""(?!:?-|["']\s*,|["']?[)\]]*\s*(?:\|\||\?\?|//|\bor\b))"""


def compared(script: Script, names: Iterable[str]) -> dict[str, int]:
    """The names that a script compares with, and the first position of each."""
    spellings = _spellings(script.code, names)
    if not spellings:
        return {}
    pattern = re.compile(rf"(?<![\w$.@-])(?:{'|'.join(sorted(map(re.escape, spellings), reverse=True))})(?![\w@-])")
    found: dict[str, int] = {}
    for count, place in enumerate(pattern.finditer(script.code)):
        name = spellings[place[0]]
        if count >= _MOST_OCCURRENCES:
            break
        if name not in found and _is_compared(script, place):
            found[name] = place.start()
    return found


def reads_field(script: Script, path: str) -> int | None:
    """Where a script reads a field of its input, such as `tool_response.stdout`, or None."""
    outer, _, inner = path.rpartition(".")
    if not outer:
        found = re.search(rf"(?<!\w){re.escape(inner)}(?!\w){_NO_DEFAULT}", script.code)
        return found and found.start()
    holders = [outer, *_variables_with(outer, script.code)]
    for holder in dict.fromkeys(holders):
        if found := re.search(rf"(?<!\w){re.escape(holder)}{_ACCESS}{re.escape(inner)}(?!\w)", script.code):
            return found.start()
    return None


def _variables_with(field: str, code: str) -> Iterator[str]:
    """The variables to which a field of the input is assigned."""
    for found in islice(re.finditer(rf"\b{re.escape(field)}\b", code), _MOST_MEMBERS):
        line = code[max(0, found.start() - _WINDOW) : found.start()].rpartition("\n")[2]
        if assigned := _ASSIGNED.match(line):
            yield assigned[1]


def _spellings(code: str, names: Iterable[str]) -> Mapping[str, str]:
    """The spellings of the names, also in lower case where the script ignores case.

    A name such as `write` may be looked for as a part of `write_file`, so it is then no evidence for either agent.
    """
    exact = {name: name for name in names}
    if not _FOLDS_CASE.search(code):
        return exact
    folded = {name.lower(): name for name in exact if not any(name.lower() in other for other in exact)}
    return {**folded, **exact}


def _is_compared(script: Script, place: re.Match[str]) -> bool:
    before = script.code[max(0, place.start() - _WINDOW) : place.start()]
    after = script.code[place.end() : place.end() + _WINDOW]
    shorter = list(_shorter(before, _MEMBER))
    first = shorter[-1] if shorter else before
    if _AFTER.match(after) or any(pattern.search(first) for pattern in _BEFORE):
        return True
    if _AFTER_KEY.match(after) and _BEFORE_KEY.search(f"\n{before}"):
        return True
    if _BEFORE_AS_TEXT.search(first):
        return bool(_LOOKS_FOR.search(first.rpartition("\n")[2] + after.partition("\n")[0]))
    is_listed = bool(shorter) or after.lstrip("\"'").startswith(("|", ","))
    if is_listed and _BEFORE_TEXT_OF_WORDS.search(first):
        return True
    return any(_by_language(script.language, before, first, after))


def _by_language(language: Language, before: str, first: str, after: str) -> Iterator[bool]:
    # Where the list of words begins can't be seen from the words themselves.
    shorter = [before, *_shorter(before, _SPACED_MEMBER)]
    yield any(map(_BEFORE_WORDS.search, shorter))
    match language:
        case Language.SHELL:
            yield any(pattern.search(first) for pattern in _BEFORE_IN_SHELL)
            yield bool(_AFTER_PATTERN.match(after) and _BEFORE_PATTERN.search(f"\n{first}"))
            yield any(map(_BEFORE_SHELL_WORDS.search, shorter))
            is_listed = len(shorter) > 1 or _ANOTHER_WORD.match(after) is not None
            yield is_listed and any(map(_BEFORE_TEXT_OF_WORDS.search, shorter))
            yield bool(_SHELL_KEY[0].search(before) and _SHELL_KEY[1].match(after))
        case Language.JAVASCRIPT | Language.RUBY | Language.PERL:
            yield bool(_BEFORE_IN_SLASHES.search(first) and _AFTER_IN_SLASHES.match(after))
            yield bool(_AFTER_BARE_KEY.match(after) and _BEFORE_BARE_KEY.search(before))
            yield bool(_BEFORE_BARE_KEY.search(before) and re.match(r"\s*=>", after))
        case Language.PYTHON:
            pass


def _shorter(before: str, member: re.Pattern[str]) -> Iterator[str]:
    """The text without the last member of a list, then without the last two, and so on."""
    for _ in range(_MOST_MEMBERS):
        found = member.search(before, max(0, len(before) - _LONGEST_MEMBER))
        if found is None:
            return
        # The quote before the member stays: it says that names are quoted here.
        quote = found[0][:2].lstrip("\\")[:1]
        before = before[: found.start()] + (quote if quote in "\"'`" else "")
        yield before
