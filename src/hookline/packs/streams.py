"""What a program writes to its output, as far as its arguments tell."""

import base64
import binascii
import codecs
import re

from hookline.packs.calls import ANYTHING, Call, Stream
from hookline.packs.places import is_secret
from hookline.packs.words import OUTPUT, UNKNOWN

FETCHING = frozenset(
    ("curl", "wget", "fetch", "aria2c", "http", "https", "lynx", "w3m", "nc", "ncat", "socat", "ftp", "tftp")
)
SHELLS = frozenset(("sh", "bash", "zsh", "dash", "ksh", "mksh", "ash", "fish", "rbash", "tcsh", "csh"))
READING = frozenset(
    (
        *(
            "cat",
            "tac",
            "less",
            "more",
            "head",
            "tail",
            "nl",
            "bat",
            "batcat",
            "view",
            "strings",
            "xxd",
            "od",
            "hexdump",
        ),
        *(
            "base64",
            "base32",
            "openssl",
            "grep",
            "egrep",
            "fgrep",
            "rg",
            "ag",
            "ack",
            "awk",
            "gawk",
            "sed",
            "cut",
            "sort",
        ),
        *(
            "uniq",
            "tr",
            "tee",
            "paste",
            "diff",
            "comm",
            "cmp",
            "jq",
            "yq",
            "cp",
            "mv",
            "scp",
            "rsync",
            "tar",
            "zip",
            "gzip",
        ),
        *(
            "dd",
            "install",
            "ln",
            "pbcopy",
            "xclip",
            "column",
            "fold",
            "fmt",
            "rev",
            "pr",
            "look",
            "mapfile",
            "readarray",
        ),
        *(
            "7z",
            "bzip2",
            "xz",
            "gpg",
            "age",
            "sftp",
            "split",
            "shuf",
            "hexyl",
            "ed",
            "nano",
            "vi",
            "vim",
            "emacs",
            "code",
        ),
    )
)
# What goes in comes out, in another form.
_PASSING = frozenset(
    (
        *(
            "tee",
            "sort",
            "uniq",
            "head",
            "tail",
            "grep",
            "egrep",
            "fgrep",
            "sed",
            "awk",
            "gawk",
            "tr",
            "cut",
            "rev",
            "tac",
        ),
        *("gunzip", "zcat", "gzip", "bzip2", "bunzip2", "xz", "unxz", "base64", "base32", "xxd", "openssl", "jq", "yq"),
        *("nl", "fold", "column", "iconv", "dos2unix", "envsubst", "pv", "cat", "tar", "zip", "gpg", "strings", "od"),
        *("xargs", "python", "python3", "perl", "ruby", "node", "cpio"),
    )
)
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|0?([0-7]{1,3})|([abefnrtv\\]))")
_LETTERS = {"a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\"}


def output_of(call: Call) -> Stream:
    """What stands in the pipe behind a call."""
    program = call.program
    if program in ("echo", "printf"):
        text = _echoed(call) if program == "echo" else _printed(call)
        return Stream(text=text) if UNKNOWN not in text else Stream(frozenset({"unknown"}), text=text)
    if program == "pwd":
        return Stream(text=call.cwd)
    if program in ("which", "command", "type") and call.operands:
        return Stream(text=call.operands[-1])
    if program in ("env", "printenv", "export", "declare", "set") and not call.operands:
        return Stream(frozenset({"environment"}))
    if program in ("find", "ls", "fd"):
        places = [word for word in call.operands if not word.startswith(("(", "!"))]
        return Stream(entries=f"{call.path(places[0]) if places else call.cwd}/*")
    if any(is_secret(call.path(each)) for each in _read_by(call)):
        return Stream(frozenset({"secret"}))
    if program in FETCHING:
        return Stream(frozenset({"network"}))
    if program in _PASSING:
        return _passed(call)
    if program in SHELLS and not call.operands:
        return Stream(frozenset({"unknown", "shell"}))
    return ANYTHING


def _read_by(call: Call) -> tuple[str, ...]:
    return (*call.reads, *(call.operands if call.program in READING else ()))


def _passed(call: Call) -> Stream:
    files = call.operands if call.program in ("cat", "tac") else ()
    if any(OUTPUT in word for word in files):
        return ANYTHING
    text = call.stdin.text
    if files and "-" not in files:
        return Stream()
    if text is None or call.program == "cat":
        return call.stdin
    decoded = _decoded(call, text)
    return Stream(call.stdin.kinds, text=decoded) if decoded is not None else ANYTHING


def _decoded(call: Call, text: str) -> str | None:
    try:
        if call.program == "base64" and call.flags & {"-d", "-D", "--decode"}:
            return base64.b64decode(text).decode()
        if call.program == "openssl" and "-d" in call.flags and "base64" in call.line:
            return base64.b64decode(text).decode()
        if call.program == "xxd" and "-r" in call.flags:
            return bytes.fromhex(text).decode()
        if call.program == "rev":
            return "\n".join(line[::-1] for line in text.splitlines())
        if call.program == "tr" and len(call.operands) == 2:
            return _translated(text, *call.operands)
    except (ValueError, binascii.Error):
        return None
    return text if call.program in ("tee", "head", "tail", "sort", "uniq", "pv") else None


def _translated(text: str, old: str, new: str) -> str | None:
    if {old, new} == {"A-Za-z", "N-ZA-Mn-za-m"}:
        return codecs.encode(text, "rot13")
    if len(old) == 1 and len(new) == 1:
        return text.replace(old, new)
    return None


def _echoed(call: Call) -> str:
    words = list(call.words[1:])
    escaped = False
    while words and re.fullmatch(r"-[neE]+", words[0]):
        escaped = escaped or "e" in words.pop(0)
    text = " ".join(words)
    return _unescaped(text) if escaped else text


def _printed(call: Call) -> str:
    words = list(call.words[1:])
    if words and words[0] == "--":
        words = words[1:]
    if not words:
        return ""
    values = iter(words[1:])
    text = re.sub(r"%[-0-9.]*[sbdq]", lambda _: next(values, ""), _unescaped(words[0]))
    return text + "".join(values)


def _unescaped(text: str) -> str:
    def decoded(found: re.Match[str]) -> str:
        if found[1]:
            return chr(int(found[1], 16))
        return chr(int(found[2], 8) & 0xFF) if found[2] else _LETTERS[found[3]]

    return _ESCAPE.sub(decoded, text)
