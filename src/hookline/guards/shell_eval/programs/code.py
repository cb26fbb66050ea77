"""Code in other languages inside a command: the programs that it runs, and the files that it reads, writes and deletes.

Code is a literal or unsure, like any text that reaches an interpreter. In a literal, each call that starts a program or
runs other code must itself have literals as its arguments; these are read as commands, and anything else is unsure.
Of languages that are not read here, every name must be known to be harmless.
"""

import posixpath
import re
import shlex
from collections.abc import Iterator
from functools import cached_property

from hookline.guards.facts import data, patterns
from hookline.guards.path_kinds import is_secret
from hookline.guards.shell_eval.calls import ProgramCall
from hookline.guards.shell_eval.commands import Commands
from hookline.guards.shell_eval.programs.interpreters import Code, Literal, pieces
from hookline.guards.shell_eval.words import SECRET, UNKNOWN, is_known
from hookline.protocol.text.secret_names import is_secret_variable

_P = patterns("code")
_HARMLESS = frozenset(data("languages")["harmless"].split())
# Effects of code, with the patterns that must all match; rules use the names as programs.
_SIGNS = {
    "reverse-shell": ("connects", "hands_over"),
    "escape-shell": ("hands_shell",),
    "fork-bomb": ("forks",),
    "send-secret": ("private", "sends"),
    "run-from-network": ("made_up", "fetches"),
}
_BLANKS = re.compile(r"[ \t\r\f\v]{2,}|[\r\f\v]|\n\s+")
_ADDRESS = re.compile(r"\A(?:https?|ftp|data):")
_EFFECT_STEPS = 60
_LITERAL_STEPS = 16
_LONGEST_ARGUMENTS = 240
_LONGEST_PATH = 1024

_AWKS = frozenset(("awk", "gawk", "mawk", "nawk", "original-awk"))
_POWERSHELL = frozenset(("pwsh", "powershell"))
_NODE = frozenset(("node", "nodejs", "bun", "deno"))
# The functions that start programs are known in these languages; in others any text may be a command.
_WELL_READ = _AWKS | _NODE | {"python", "pypy", "perl", "ruby", "php", "lua", "luajit"}
_WITHOUT_PARENTHESES = frozenset(("perl", "ruby", "php", "raku", "osascript"))
_EVALUATES = frozenset(("eval", "evalScript", "Function", "instance_eval", "class_eval", "module_eval", "loadstring"))
_INPUT_FILES = frozenset(("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "php://stdin", "php://input"))
# Modules and objects with methods of the same names that start nothing.
_OTHER_OWNERS = frozenset(
    ("asyncio", "re", "RegExp", "self", "this", "cursor", "cur", "conn", "db", "df", "pd", "loop", "model")
)
# These names have several meanings; with these modules they start a program.
_NEEDS = {
    **dict.fromkeys(("run", "call"), re.compile(r"\bsubprocess\b|\bsh\b")),
    "execute": re.compile(r"\bos\s*\.\s*execute\b"),
    **dict.fromkeys(("shell", "sh"), re.compile(r"\bshelljs\b|\bzx\b")),
}


def follow(commands: Commands, call: ProgramCall) -> None:
    """Adds what the code that a call gives to an interpreter does."""
    for stream, language in pieces(commands, call):
        if not stream.is_given:
            continue
        text = stream.text
        if text is None or not is_known(text):
            if "network" in stream.kinds:
                commands.emit(("run-from-network",))
            elif text is None or stream.kinds or not text.replace(UNKNOWN, "").strip():
                commands.doubt("an interpreter runs the output of another program")
        if text is not None and not language and not is_harmless(text):
            commands.doubt(f"{call.program} runs code in a language that is not read here")
        if text is not None:
            read(commands, text, language or call.program)


def read(commands: Commands, text: str, language: str) -> None:
    """Adds what a piece of code does."""
    commands.spend(4 * len(text))
    text = _collapsed(text)
    if language in ("sed", "gsed"):
        _sed(commands, text)
        return
    if language in _POWERSHELL:
        if any(not _P["harmless_cmdlet"].match(found[0]) for found in _P["cmdlet"].finditer(text)):
            commands.doubt("PowerShell runs a command that is not known here")
        commands.inner(text)
        return
    for found in _P["tcl"].finditer(text) if language in ("tclsh", "wish", "expect") else ():
        commands.inner(found[1])
    for program, signs in _SIGNS.items():
        if all(_P[sign].search(text) for sign in signs):
            commands.emit((program,))
    code = Code(text, language)
    commands.spend(_LITERAL_STEPS * len(code.literals))
    _Files(commands, code).judge()
    for found in _P["awk_file"].finditer(code.text) if language in _AWKS else ():
        commands.emit(("tee", code.literals[int(found[1])].text), via=(language,))
    _private(commands, code, text)
    if prints_environment(code):
        commands.emit(("show-environment",))
    _loaded(commands, code, language)
    _started(commands, code, language)


def _collapsed(text: str) -> str:
    return _BLANKS.sub(lambda found: "\n" if "\n" in found[0] else " ", text)


def is_harmless(text: str) -> bool:
    """Whether code in any language starts, deletes and opens nothing, as far as its names show."""
    code = Code(_collapsed(text), "")
    if _P["mark"].search(code.text) or any(each.is_command or _P["pipe"].match(each.text) for each in code.literals):
        return False
    inside = [each.text for each in code.literals if _P["interpolated"].search(each.text)]
    used = {found[1] for found in _P["used"].finditer(code.text)}
    bound = {found[1] or found[2] or found[3] for found in _P["bound"].finditer(code.text)} - used
    names = {name for part in (code.text, *inside) for name in re.findall(r"[^\W\d]\w*", part) if len(name) > 1}
    return UNKNOWN not in text and names <= _HARMLESS | bound


def prints_environment(given: Code) -> bool:
    """Whether a piece of code may print all variables."""
    # Values inside a literal come from code, and a name may be given as a text.
    texts = (each.text for each in given.literals if not each.is_plain or each.text in ("environ", "environb", "env"))
    code = " ".join((given.text, *texts))
    if not _P["environment_hint"].search(code) or not _P["environment"].search(code) or not _P["prints"].search(code):
        return False
    if _P["environment"].search(_P["environment_part"].sub(" ", code)):
        return True
    return _P["environment_by_name"].search(code) is not None and _P["environment_loop"].search(code) is not None


class _Files:
    """The files that a piece of code deletes and writes, by the literals that name them."""

    def __init__(self, commands: Commands, code: Code) -> None:
        self._commands = commands
        self._code = code

    def judge(self) -> None:
        """Adds a call for each file that the code deletes, writes or opens to write."""
        for found in _P["effects"].finditer(self._code.text):
            arguments = self._arguments(found.end())
            self._commands.spend(_EFFECT_STEPS + len(arguments))
            before = "" if found["method"] or "\ue010" not in arguments else arguments
            paths = self._paths(before) or ([] if before else self._owner(found.start(), arguments))
            if found["tree"]:
                self._emit("rm", "-r", paths or [UNKNOWN])
            elif found["delete"]:
                self._emit("rm", "-f" if paths or self._code.literals else "-r", paths or [UNKNOWN])
            elif not found["open"]:
                self._emit("tee", "-a", paths)
            elif any(_P["mode"].fullmatch(path) for path in paths) or any(path[:1] in "+>" for path in paths):
                self._emit("tee", "-a", [path.lstrip("+<> ") for path in paths if not _P["mode"].fullmatch(path)])
        literals = " ".join(each.text for each in self._code.literals)
        if _P["lists"].search(self._code.text) and _P["unlinks_each"].search(f"{self._code.text} {literals}"):
            self._emit("rm", "-r", [each.text for each in self._code.literals if each.text.startswith(("/", "~"))])

    def _emit(self, program: str, flag: str, paths: list[str]) -> None:
        for path in paths:
            self._commands.emit((program, flag, path))

    def _arguments(self, at: int) -> str:
        """The text of a call's arguments, up to the end of the call or of the line."""
        depth = 0
        text = self._code.text[at : at + _LONGEST_ARGUMENTS]
        for index, char in enumerate(text):
            depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(char, 0)
            if depth < 0 or (char in ";\n" and depth == 0) or (char == ")" and depth == 0):
                return text[:index]
        return text

    def _owner(self, at: int, arguments: str) -> list[str]:
        """The paths of the object before the dot, or of the variables among the arguments."""
        text = self._code.text
        before = re.split(r"[;\n=]", text[max(0, at - 80) : at])[-1] if text[at - 1 : at] == "." else ""
        if "\ue010" in before:
            return self._paths(before)
        names = re.findall(r"[$@]?\b[A-Za-z_]\w*", f"{before} {arguments}")[:4]
        return [path for name in names for each in self._bound.get(name, ())[:4] for path in self._paths(each)]

    @cached_property
    def _bound(self) -> dict[str, list[str]]:
        """The expressions that variables get, by their names."""
        found: dict[str, list[str]] = {}
        for each in _P["binding"].finditer(self._code.text):
            found.setdefault(each[1], []).append(each[2])
        return found

    def _paths(self, expression: str) -> list[str]:
        """The paths that an expression may be: its literals, below the home directory if it names that."""
        if _P["made"].search(expression):
            return ["/tmp/made"]
        literals = [self._code.literals[int(at)] for at in re.findall(r"\ue010(\d+)\ue011", expression)]
        texts = [self._text(each) for each in literals if "\n" not in each.text and len(each.text) <= _LONGEST_PATH]
        if not _P["home"].search(expression):
            return texts
        home = self._commands.home
        return [posixpath.join(home, each.lstrip("~/")) for each in texts] or [home]

    def _text(self, literal: Literal) -> str:
        """A literal with the home directory in the place of what a language takes from the environment."""
        if literal.is_plain:
            return literal.text
        text = _P["home_inside"].sub(lambda _: self._commands.home, literal.text)
        return _P["value_inside"].sub(UNKNOWN, text)


def _private(commands: Commands, code: Code, text: str) -> None:
    """Files with secrets that code reads, and secret variables that it sends."""
    if _P["reads"].search(code.text):
        for name in (each.text.removeprefix("<").strip() for each in code.literals if "\n" not in each.text):
            if is_secret(posixpath.join(commands.cwd, name)):
                commands.emit(("cat", name))
    # As for curl, a secret may stand where it authenticates.
    if (_P["sends"].search(text) or _P["fetches"].search(text)) and not _P["authenticates"].search(
        _P["variable"].sub("", text)
    ):
        names = [name for found in _P["variable"].finditer(text) for name in found.groups() if name]
        if SECRET in text or any(map(is_secret_variable, names)):
            commands.emit(("send-secret",))


def _loaded(commands: Commands, code: Code, language: str) -> None:
    """Is unsure about code that runs its input, calls functions by texts, or reaches the system around them."""
    is_file = any(each.text in _INPUT_FILES for each in code.literals)
    if (is_file and _P["loads"].search(code.text)) or (
        _P["input"].search(code.text) and _P["unpickles"].search(code.text)
    ):
        commands.doubt("code runs its input")
    if _P["includes"].search(code.text) and code.mentions(_ADDRESS):
        commands.emit(("run-from-network",))
    if _P["unfollowed"].search(code.text) or (_P["dynamic"].search(code.text) and _P["joined"].search(code.text)):
        commands.doubt("code calls what can't be followed")
    for each in code.literals if _P["runs_texts"].search(code.text) else ():
        read(commands, each.text, language)
    if any(_P["starter"].fullmatch(each.text) for each in code.literals):
        commands.doubt("code gives another name to what starts programs")


def _sed(commands: Commands, text: str) -> None:
    for found in _P["sed_command"].finditer(text):
        if found[1]:
            commands.inner(found[1], via=("sed",))
        else:
            commands.doubt("sed runs lines of its input")
    if _P["sed_flag"].search(text):
        commands.doubt("sed runs what it has replaced")
    for found in _P["sed_writes"].finditer(text):
        commands.emit(("tee", found[2].strip()), via=("sed",))
    for found in _P["sed_file"].finditer(text):
        commands.emit(("tee" if found[1] in "wW" else "cat", found[2].strip()), via=("sed",))


def _started(commands: Commands, code: Code, language: str) -> None:
    """Reads the programs that code starts; arguments that are not literals are unsure."""
    started = [*_run_by_language(code, language), *_opened(code, language)]
    for found in _P["starts"].finditer(code.text):
        if not _is_meant(found, code, language):
            continue
        literals = code.arguments(found.end()) or []
        if literals and _is_evaluated(found, language) and all(each.is_plain for each in literals):
            read(commands, literals[0].text, language)
            if not is_harmless(literals[0].text):
                commands.doubt("code runs a text that is not known to be harmless")
        else:
            started.append(literals)
    for literals in started:
        _start(commands, literals)
    if is_renamed := _P["renames"].search(code.text) is not None:
        commands.doubt("code gives another name to what starts programs")
    if started or is_renamed or language not in _WELL_READ or _P["starting_modules"].search(code.text):
        for literal in code.literals:
            # It may be handed over by a variable. As it may also be any other text, nothing is unsure about it.
            if literal.is_plain and " " in literal.text.strip():
                with commands.guessing():
                    commands.inner(literal.text)


def _run_by_language(code: Code, language: str) -> Iterator[list[Literal]]:
    """The commands that a language runs without a function: between backquotes, in awk's pipes, in AppleScript."""
    yield from ([literal] for literal in code.literals if literal.is_command)
    for found in _P["awk_pipe"].finditer(code.text) if language in _AWKS else ():
        at = found.start(1) if found[1] else code.text.rfind("\ue010", 0, found.end(2))
        yield code.literals_at(at if found[1] == "\ue010" or found[2] == "\ue011" else -1)
    for found in _P["apple_script"].finditer(code.text) if language == "osascript" else ():
        yield code.literals_at(found.start(1) if found[1] else -1)


def _opened(code: Code, language: str) -> Iterator[list[Literal]]:
    """The programs that Perl and Ruby start where they open a file: `|ls`, `ls|`."""
    if language not in ("perl", "ruby") or not _P["opens"].search(code.text):
        return
    for each in code.literals:
        text = each.text.strip()
        if text in ("-|", "|-"):
            yield []
        elif text != "|" and (text.startswith("|") or (language == "perl" and text.endswith("|"))):
            yield [each._replace(text=text.strip("|"))]


def _is_evaluated(found: re.Match[str], language: str) -> bool:
    # `exec` is Python's own, `eval` is in each language.
    return found["name"] in _EVALUATES or (found["name"] == "exec" and language in ("python", "pypy"))


def _is_meant(found: re.Match[str], code: Code, language: str) -> bool:
    """Whether a name is that of a function that starts something."""
    name, module, opened = found["name"], found["module"], found["open"]
    if language in _AWKS:
        return name == "system" and opened is not None
    if opened is None:
        # `eval STDIN.read`
        is_bare = language == "ruby" or (language == "perl" and name == "eval")
        return is_bare and re.match(r"[ \t]+[A-Za-z]", code.text[found.end() : found.end() + 2]) is not None
    if "(" not in opened and language not in _WITHOUT_PARENTHESES:
        return False
    if (needs := _NEEDS.get(name)) is not None and not (needs.search(code.text) or code.mentions(needs)):
        return False
    if module in _OTHER_OWNERS:
        return name.startswith("create_subprocess")
    if name == "exec" and module is not None and language in _NODE:
        return code.mentions(re.compile("child_process"))
    if _is_evaluated(found, language) and _P["runs_file"].match(code.text, found.end()):
        return False  # running a file of the project is like starting it
    is_definition = re.search(r"(?:\bdef|\bfunction|\bsub)\s+$", code.text[max(0, found.start() - 12) : found.start()])
    return is_definition is None


def _start(commands: Commands, literals: list[Literal]) -> None:
    if not literals or not all(each.is_plain for each in literals):
        commands.doubt("code starts a program that is not a literal")
        return
    if len(literals) == 1 and not literals[0].is_list:
        commands.inner(literals[0].text)
        return
    words = [word for each in literals for word in (each.text.split() if each.is_list else [each.text])]
    commands.inner(shlex.join(words))
