"""The output of a program, if it is a plain literal or its origin is known.

Nothing is emulated: a program that changes a text makes it unknown, and a shell that runs an unknown text is unsure.
"""

import re
from collections.abc import Callable, Mapping

from hookline.guards.facts import FETCHING, PASSING, SHELLS
from hookline.guards.path_kinds import is_private, is_whole
from hookline.guards.shell_eval.calls import ANYTHING, FILE, NOTHING, ProgramCall, Stream
from hookline.guards.shell_eval.transfers import read_by
from hookline.guards.shell_eval.words import ENTRY, OUTPUT, PROCESS, SECRET, UNKNOWN
from hookline.protocol.text.secret_names import is_secret_variable

# Formats that print their one argument as it is.
_PLAIN_FORMATS = frozenset(("%s", "%s\\n"))

# A text from the command itself, in another form.
_ESCAPED = Stream(frozenset({"escaped"}))
_SAME = frozenset(("cat", "tee", "pv"))
# They leave whole lines as they are, so that names in them stay names.
_SELECTING = frozenset(("grep", "egrep", "fgrep", "sort", "uniq", "head", "tail", "tac", "xargs"))


def output_of(call: ProgramCall) -> Stream:
    """The output of a call."""
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


def _echoed(call: ProgramCall) -> Stream:
    """Shells differ about backslashes, and about options such as -e."""
    words = call.words[2:] if call.words[1:2] == ("-n",) else call.words[1:]
    return _ESCAPED if words and re.fullmatch(r"-[neE]+", words[0]) else _literal(" ".join(words))


def _printed(call: ProgramCall) -> Stream:
    words = call.words[2:] if call.words[1:2] == ("--",) else call.words[1:]
    if len(words) == 1 and "%" not in words[0]:
        return _literal(words[0].removesuffix("\\n"))
    if len(words) == 2 and words[0] in _PLAIN_FORMATS:  # noqa: PLR2004
        return _literal(words[1])
    return Stream(_kinds(" ".join(words)) or _ESCAPED.kinds)


def _literal(text: str) -> Stream:
    return Stream(_kinds(text) or _ESCAPED.kinds) if "\\" in text else Stream(_kinds(text), text=text)


def _kinds(text: str) -> frozenset[str]:
    """The origins of the unknown parts of a text."""
    return frozenset(kind for mark, kind in ((UNKNOWN, "unknown"), (SECRET, "secret")) if mark in text)


def _named(call: ProgramCall) -> Stream:
    return Stream(text=call.operands[-1]) if call.operands else ANYTHING


def _variables(call: ProgramCall) -> Stream:
    if len(call.words) > 1 and call.program in ("export", "declare", "typeset", "set"):
        lists = not call.operands and not call.flags.isdisjoint(("-p", "-x"))
        return Stream(frozenset({"environment"})) if lists else NOTHING if call.operands else ANYTHING
    if any(is_secret_variable(each) for each in call.operands):
        return Stream(frozenset({"secret"}))
    return ANYTHING if call.operands else Stream(frozenset({"environment"}))


def _fields(call: ProgramCall) -> Stream:
    # Names of variables are not secret.
    return ANYTHING if re.fullmatch(r"cut -d ?= -f ?1", call.line) else _passed(call)


def _entries(call: ProgramCall) -> Stream:
    return Stream(entries=(f"{call.path(call.operands[0]) if call.operands else call.cwd}/*",))


def _packs_everything(call: ProgramCall) -> bool:
    return call.program in ("tar", "zip", "cpio") and any(is_whole(call.path(each)) for each in call.operands)


def _located(call: ProgramCall) -> Stream:
    return Stream(entries=tuple(f"/{ENTRY}/{each.rsplit('/', 1)[-1]}" for each in call.operands) or ("/*",))


def _containers(call: ProgramCall) -> Stream:
    is_chosen = call.operands[:1] == ("ps",) and not call.flags.isdisjoint(("--filter", "-f"))
    return Stream(text=ENTRY) if is_chosen else ANYTHING


def _tracked(call: ProgramCall) -> Stream:
    if call.operands[:1] != ("ls-files",):
        return ANYTHING
    return Stream(entries=(f"{call.cwd}/{ENTRY}" if call.operands[1:] or call.flags else f"{call.cwd}/*",))


def _processes(call: ProgramCall) -> Stream:
    return Stream(text=f"{PROCESS}{call.operands[-1]}") if call.operands else ANYTHING


def _passed(call: ProgramCall) -> Stream:
    """Of what goes in, only the origin is known, unless the program leaves it as it is."""
    if call.program in ("cat", "tac") and call.operands not in ((), ("-",)):
        return ANYTHING if any(OUTPUT in word for word in call.operands) else FILE
    if not call.stdin.is_given:
        return ANYTHING
    if call.program in _SAME or (call.stdin.text is None and call.program in _SELECTING):
        return call.stdin
    return Stream(call.stdin.kinds or frozenset({"unknown"}))


_OUTPUTS: Mapping[str, Callable[[ProgramCall], Stream]] = {
    "echo": _echoed,
    "printf": _printed,
    "pwd": lambda call: Stream(text=call.cwd),
    "mktemp": lambda _: Stream(text="/tmp/tmp.XXXXXXXXXX"),
    **dict.fromkeys(("pgrep", "pidof"), _processes),
    **dict.fromkeys(("docker", "podman"), _containers),
    "git": _tracked,
    **dict.fromkeys(("which", "command", "type"), _named),
    **dict.fromkeys(("env", "printenv", "export", "declare", "typeset", "set", "history"), _variables),
    **dict.fromkeys(("find", "ls", "fd"), _entries),
    **dict.fromkeys(("locate", "mlocate", "plocate", "mdfind"), _located),
    "cut": _fields,
    **dict.fromkeys(
        (
            *(":", "cd", "true", "false", "test", "[", "[[", "shopt", "unset", "exit", "return", "wait", "trap"),
            *(
                "shift",
                "sleep",
                "mkdir",
                "touch",
                "rm",
                "cp",
                "mv",
                "chmod",
                "chown",
                "ln",
                "local",
                "readonly",
                "read",
            ),
        ),
        lambda _: NOTHING,
    ),
}
