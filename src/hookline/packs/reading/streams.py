"""What a program writes to its output, as far as its arguments tell."""

import base64
import binascii
import re
from collections.abc import Callable, Mapping

from hookline.contract.secrets import is_secret_variable
from hookline.packs.known import FETCHING, PASSING, SHELLS
from hookline.packs.places import is_private, is_whole
from hookline.packs.reading.calls import ANYTHING, NOTHING, Call, Stream
from hookline.packs.reading.transfers import read_by
from hookline.packs.reading.words import ENTRY, OUTPUT, PROCESS, SECRET, UNKNOWN

_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|0?([0-7]{1,3})|([abefnrtv\\]))")
_LETTERS = {"a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\"}


def output_of(call: Call) -> Stream:
    """What stands in the pipe behind a call."""
    if any(is_private(call.path(each)) for each in read_by(call)) or _packs_everything(call):
        return Stream(frozenset({"secret"}))
    program = call.program
    if (own := _OUTPUTS.get(program)) is not None:
        return own(call)
    if program in FETCHING or (program == "openssl" and "s_client" in call.operands):
        return Stream(frozenset({"network"}))
    if program in PASSING:
        return _passed(call)
    return Stream(frozenset({"unknown", "shell"})) if program in SHELLS and not call.operands else ANYTHING


def _said(call: Call) -> Stream:
    text = _echoed(call) if call.program == "echo" else _printed(call)
    kinds = {"unknown"} if UNKNOWN in text else set()
    return Stream(frozenset(kinds | {"secret"} if SECRET in text else kinds), text=text)


def _named(call: Call) -> Stream:
    return Stream(text=call.operands[-1]) if call.operands else ANYTHING


def _variables(call: Call) -> Stream:
    if any(is_secret_variable(each) for each in call.operands):
        return Stream(frozenset({"secret"}))
    return ANYTHING if call.operands else Stream(frozenset({"environment"}))


def _fields(call: Call) -> Stream:
    # The names of variables are no secrets.
    return Stream() if re.fullmatch(r"cut -d ?= -f ?1", call.line) else _passed(call)


def _entries(call: Call) -> Stream:
    return Stream(entries=(f"{call.path(call.operands[0]) if call.operands else call.cwd}/*",))


def _packs_everything(call: Call) -> bool:
    return call.program in ("tar", "zip", "cpio") and any(is_whole(call.path(each)) for each in call.operands)


def _containers(call: Call) -> Stream:
    is_chosen = call.operands[:1] == ("ps",) and not call.flags.isdisjoint(("--filter", "-f"))
    return Stream(text=ENTRY) if is_chosen else ANYTHING


def _tracked(call: Call) -> Stream:
    if call.operands[:1] != ("ls-files",):
        return ANYTHING
    return Stream(entries=(f"{call.cwd}/{ENTRY}" if call.operands[1:] or call.flags else f"{call.cwd}/*",))


def _processes(call: Call) -> Stream:
    return Stream(text=f"{PROCESS}{call.operands[-1]}") if call.operands else ANYTHING


def _passed(call: Call) -> Stream:
    files = call.operands if call.program in ("cat", "tac") else ()
    if any(OUTPUT in word for word in files):
        return ANYTHING
    text = call.stdin.text
    if files and "-" not in files:
        return Stream()
    if call.stdin == NOTHING and call.program != "cat":
        # It makes its output of a file or a program of its own.
        return ANYTHING
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
        if call.program == "tr":
            return _translated(text, *call.operands)
    except (ValueError, binascii.Error):
        return None
    return text if call.program in ("tee", "head", "tail", "sort", "uniq", "pv") else None


def _translated(text: str, old: str = "", new: str = "") -> str | None:
    letters, others = _range(old), _range(new)
    if not others or old.startswith("[:") or new.startswith("[:"):
        return None
    return text.translate(dict(zip(map(ord, letters), others.ljust(len(letters), others[-1]), strict=False)))


def _range(letters: str) -> str:
    """The letters of a set as tr has it: `a-c` is `abc`."""
    return re.sub(
        r"(.)-(.)", lambda found: "".join(map(chr, range(ord(found[1]), min(ord(found[2]), 0xFF) + 1))), letters
    )


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


_OUTPUTS: Mapping[str, Callable[[Call], Stream]] = {
    **dict.fromkeys(("echo", "printf"), _said),
    "pwd": lambda call: Stream(text=call.cwd),
    "mktemp": lambda _: Stream(text="/tmp/tmp.XXXXXXXXXX"),  # noqa: S108 - a name, no file
    **dict.fromkeys(("pgrep", "pidof"), _processes),
    **dict.fromkeys(("docker", "podman"), _containers),
    "git": _tracked,
    **dict.fromkeys(("which", "command", "type"), _named),
    **dict.fromkeys(("env", "printenv", "export", "declare", "set", "history"), _variables),
    **dict.fromkeys(("find", "ls", "fd"), _entries),
    "cut": _fields,
}
