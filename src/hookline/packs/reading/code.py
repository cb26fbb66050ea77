"""Programs in other languages that stand in a command: what their strings run or delete."""

import re

from hookline.packs.reading.calls import Call, Reader
from hookline.packs.reading.words import OUTPUT, UNKNOWN

# The flags behind which code stands.
_FLAGS = {
    "python": ("-c",),
    "pypy": ("-c",),
    "perl": ("-e", "-E", "-ne", "-pe", "-le", "-nle", "-ple", "-pie"),
    "ruby": ("-e", "-ne", "-pe"),
    "node": ("-e", "--eval", "-p", "--print"),
    "nodejs": ("-e", "--eval", "-p", "--print"),
    "bun": ("-e", "--eval"),
    "deno": ("eval",),
    "php": ("-r",),
    "lua": ("-e",),
    "osascript": ("-e",),
    "Rscript": ("-e",),
    "awk": (),
    "gawk": (),
    "mawk": (),
    "nawk": (),
    "sed": (),
}
# Options before the script that take a value, and the names of the input itself.
_WITH_VALUE = frozenset(("-W", "-X", "-I", "-r", "--require", "--import", "-C"))
_INPUT = frozenset(("-", "--", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"))
_VERSIONED = re.compile(r"(python|pypy|ruby|perl|lua|php|node)[0-9.]*$")
_RUNS = re.compile(
    r"\b(?:system|popen\d?|Popen|subprocess|check_output|check_call|spawn\w*|exec(?:l|le|lp|lpe|v|ve|vp|vpe)?(?!\w)|shell_exec|passthru|proc_open"
    r"|child_process|execSync|execFile\w*"
    r"|os\.execute|do shell script|getoutput|getstatusoutput|pty\.spawn|IO\.popen|%x)"
    r"|`|\|\s*getline|\|\s*\"(?:sh|bash)"
)
_DELETES = re.compile(
    r"(?:rmtree|rm_rf|rm_r|remove_tree|remove_dir_all|rmSync|rmdirSync|removeSync|rimraf|delete_tree|fs\.rm"
    r"|remove_entry\w*|removedirs)"
    r"\s*\(?\s*(?:Path\()?\s*(\"[^\"]*\"|'[^']*'|[^\s,;)]+)"
)
_UNLINKS = re.compile(
    r"(?:os\.remove|os\.unlink|unlinkSync|\bunlink|File\.delete)\s*\(?\s*(?:glob\s*\(?\s*)?(\"[^\"]*\"|'[^']*')"
)
_STRING = re.compile(
    r"\"((?:\\.|[^\"\\])*)\"|'((?:\\.|[^'\\])*)'|`((?:\\.|[^`\\])*)`|%x[({\[]([^)}\]]*)|qx?[({/]([^)}/]*)", re.DOTALL
)
_LIST = re.compile(r"[\[(]\s*((?:[\"'][^\"']*[\"']\s*,\s*)+[\"'][^\"']*[\"'])\s*,?\s*[\])]")
_MADE_UP = re.compile(r"\b(?:exec|eval|compile|execfile|runpy|Function)\s*\(|\binstance_eval\b|\beval\b")
_FETCHES = re.compile(
    r"urlopen|urllib|\brequests\b|httpx|http\.get|https\.get|\bfetch\(|Net::HTTP|LWP|file_get_contents\(.https?:"
    r"|\b(?:curl|wget)\b|[\"']https?[\"']\)\.get|open-uri|URI\.open|\bget\(?\s*[\"']https?:"
)
_DECODES = re.compile(r"b64decode|base64|fromhex|unhexlify|codecs\.|zlib|marshal|atob\(|unpack")
_CONNECTS = re.compile(r"\bsocket\b|fsockopen|TCPSocket|Socket::INET|net\.connect|net\.Socket|/inet/tcp", re.IGNORECASE)
_HANDS_OVER = re.compile(
    r"dup2|pty\.spawn|/bin/(?:ba|z|da)?sh|cmd\.exe|subprocess|\bsystem\b|fdopen"
    r"|child_process|exec\b|os\.execute|spawn|open STD|popen|getline",
    re.IGNORECASE,
)
_FORKS = re.compile(
    r"\bfork\b(?:\(\))?\s+(?:while|for)\b|\bloop\s*(?:do|\{)\s*fork\b|while\s*\(?\s*(?:1|True|true)\b.*\bfork\b",
    re.DOTALL,
)
_HANDS_SHELL = re.compile(
    r"(?:spawn|exec\w*|system|execute|popen|call|run)\b\s*\(?\s*\[?\s*(?:[\w.]+\s*,\s*)?[\"'](?:/usr)?(?:/bin/)?(?:ba|da|z|k)?sh[\"']"
)
# All variables at once; one of them is what programs usually ask for.
_ENVIRONMENT = re.compile(r"os\.environ(?!\s*[\[.])|process\.env(?!\s*[\[.])|\bENV\.to_|%ENV|getenv\(\)")
_OPENS_PRIVATE = re.compile(
    r"/etc/(?:passwd|shadow|sudoers)|\.ssh/|\.aws/|[\"'/]\.env\b|id_(?:rsa|ed25519)|\.netrc|\.kube/config"
)
_SENDS = re.compile(r"urlopen|\brequests\b|httpx|\bfetch\(|https?\.request|Net::HTTP|LWP|\bsocket\b|smtplib")
_PRIVATE = re.compile(f"{_ENVIRONMENT.pattern}|{_OPENS_PRIVATE.pattern}")
# What code does, and what all has to stand in it; rules know the names as programs.
_SIGNS = {
    "reverse-shell": (_CONNECTS, _HANDS_OVER),
    "escape-shell": (_HANDS_SHELL,),
    "fork-bomb": (_FORKS,),
    "send-secret": (_PRIVATE, _SENDS),
    "run-from-network": (_MADE_UP, _FETCHES),
}


def is_interpreter(program: str) -> bool:
    """Whether a program may get code in its arguments or its input."""
    return _language(program) in _FLAGS


def follow(commands: Reader, call: Call) -> None:
    """Adds what the code of a call runs and deletes."""
    language = _language(call.program)
    for piece in _pieces(commands, call, language):
        if UNKNOWN in piece and "network" in commands.substituted.kinds:
            commands.emit(("run-from-network",))
        read(commands, piece, language)
    if _reads_network(commands, call, language):
        commands.emit(("run-from-network",))


def _pieces(commands: Reader, call: Call, language: str) -> list[str]:
    """The code that stands in the command itself."""
    if not _FLAGS[language]:
        return list(call.operands[:1])
    value = call.value_of(*_FLAGS[language])
    if value is not None:
        return [value]
    if call.operands and (text := commands.text_of(call.path(call.operands[0]))) is not None:
        return [text]
    return [] if _has_script(call) or call.stdin.text is None else [call.stdin.text]


def _has_script(call: Call) -> bool:
    """Whether it runs a file or a module, so that its input is data."""
    words = iter(call.words[1:])
    for word in words:
        if word in _INPUT:
            return False
        if word in _WITH_VALUE:
            next(words, None)
        elif word.startswith("-m") and _language(call.program) in ("python", "pypy"):
            return (word[2:] or next(words, "")) not in ("code", "pdb", "runpy")
        elif not word.startswith("-"):
            return True
    return False


def _reads_network(commands: Reader, call: Call, language: str) -> bool:
    if not _FLAGS[language] or call.value_of(*_FLAGS[language]) is not None:
        return False
    if any(OUTPUT in word for word in call.words):
        return "network" in commands.substituted.kinds
    return not _has_script(call) and "network" in call.stdin.kinds


def _language(program: str) -> str:
    found = _VERSIONED.match(program)
    return found[1] if found else program


def read(commands: Reader, code: str, language: str) -> None:
    """Adds what a piece of code runs and deletes."""
    if language == "sed":
        for found in re.finditer(r"(?:^|;|\d)\s*e\s+([^;]+)$", code):
            commands.inner(found[1])
        return
    for program, signs in _SIGNS.items():
        if all(sign.search(code) for sign in signs):
            commands.emit((program,))
    if _MADE_UP.search(code) and _DECODES.search(code) and not _FETCHES.search(code):
        commands.doubt("code is decoded and run")
    for found in _UNLINKS.finditer(code):
        commands.emit(("rm", found[1][1:-1]))
    for found in _DELETES.finditer(code):
        commands.emit(("rm", "-r", _target(commands, code, found[1])))
    if _RUNS.search(code):
        for text in _commands_in(code):
            commands.inner(text)


def _target(commands: Reader, code: str, text: str) -> str:
    """The path that code deletes: as it is written, or as the variable got it."""
    if text[0] not in "\"'" and (given := re.search(rf"\b{re.escape(text)}\s*=\s*([^\n;]+)", code)):
        text = "'/tmp/made'" if re.search(r"tempfile|mkdtemp|TemporaryDirectory|tmpdir", given[1]) else given[1].strip()
    known = text[1:-1] if text[0] == text[-1] and text[0] in "\"'" else UNKNOWN
    return commands.home if "expanduser" in code and known in ("~", UNKNOWN) else known


def _commands_in(code: str) -> list[str]:
    """The strings of code that may be commands: lists of words first, then single strings."""
    found = []
    for each in _LIST.finditer(code):
        words = [match[1] or match[2] or "" for match in _STRING.finditer(each[1])]
        found.append(" ".join(_quoted(word) for word in words))
    without_lists = _LIST.sub(" ", code)
    for match in _STRING.finditer(without_lists):
        text = next((group for group in match.groups() if group), "")
        text = text.replace('\\"', '"').replace("\\'", "'").replace("\\n", "\n").replace("\\\\", "\\")
        # Some other string of the program, such as a file's name.
        if " " in text.strip() or match[0].startswith(("`", "%x", "q")):
            found.append(text)
            found += _commands_in(text) if _RUNS.search(text) and text != code else []
    return found


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'" if re.search(r"[^\w./:=@%+-]", word) else word
