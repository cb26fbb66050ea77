"""Code in other languages inside a command: the programs that it runs and the files that it deletes.

Code is a literal or unsure, like any text that reaches an interpreter. In a literal, each call that starts a program or
runs other code must itself have literals as its arguments; these are read as commands, and anything else is unsure.
"""

import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from hookline.guards.path_kinds import is_secret
from hookline.guards.shell_eval.calls import Call, Reader, Stream
from hookline.guards.shell_eval.environment import prints_environment
from hookline.guards.shell_eval.literals import Code, Literal
from hookline.guards.shell_eval.shells import STDIN
from hookline.guards.shell_eval.words import OUTPUT, SECRET, UNKNOWN, is_known
from hookline.protocol.text.secret_names import is_secret_variable


class _Language(NamedTuple):
    """The options and operands from which an interpreter gets its code."""

    code: str = ""
    """Letters of options whose value is code."""
    values: str = ""
    """Letters of options with another value."""
    long: tuple[str, ...] = ()
    """Long options whose value is code."""
    long_values: tuple[str, ...] = ()
    first: bool = False
    """Its first operand is code, unless an option has it."""
    files: str = ""
    """Letters of options whose value is a file with code."""
    attached: str = ""
    """Letters of options whose value, if there is one, is attached."""
    reads: bool = True
    """Without code and file it runs its input."""


_AWK = _Language("e", "vFim", ("--source",), ("--assign", "--field-separator"), first=True, files="f", reads=False)
_LANGUAGES: Mapping[str, _Language] = {
    **dict.fromkeys(("python", "pypy"), _Language("c", "WXQ", (), ("--check-hash-based-pycs",))),
    "perl": _Language("eE", "IMmiFDCx0l", attached="iFDCx0l"),
    "ruby": _Language("e", "IrFECTKWix0", (), ("--encoding",), attached="FTKWix0"),
    **dict.fromkeys(
        ("node", "nodejs"),
        _Language("ep", "rC", ("--eval", "--print"), ("--require", "--import", "--loader", "--conditions")),
    ),
    "bun": _Language("ep", "r", ("--eval", "--print"), ("--preload",), reads=False),
    "deno": _Language(reads=False),
    "php": _Language("rBRE", "dczS", ("--run",), (), files="f"),
    **dict.fromkeys(("lua", "luajit"), _Language("e", "l")),
    **dict.fromkeys(("pwsh", "powershell"), _Language()),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk", "original-awk"), _AWK),
    **dict.fromkeys(("sed", "gsed"), _Language("e", "l", ("--expression",), (), first=True, files="f", reads=False)),
}
_VERSIONED = re.compile(r"(python|pypy|ruby|perl|lua|php|node)[0-9.]*$")
_DELETES = re.compile(
    r"(?:rmtree|rm_rf|rm_r|remove_tree|remove_dir_all|rmSync|rmdirSync|removeSync|rimraf|delete_tree|fs\.rm|promises\.rm|Deno\.remove"
    r"|remove_entry\w*|removedirs)"
    r"\s*\(?\s*(?:Path\()?\s*(\"[^\"]*\"|'[^']*'|[^\s,;)]+)"
)
_UNLINKS = re.compile(
    r"(?:os\.remove|os\.unlink|unlinkSync|\bunlink|File\.delete)\s*\(?\s*(?:glob\s*\(?\s*)?(\"[^\"]*\"|'[^']*')"
)
_MADE_UP = re.compile(r"\b(?:exec|eval|compile|execfile|runpy|Function)\s*\(|\binstance_eval\b|\beval\b")
_FETCHES = re.compile(
    r"urlopen|urllib|\brequests\b|httpx|http\.get|https\.get|\bfetch\(|Net::HTTP|LWP|file_get_contents\(.https?:"
    r"|\b(?:curl|wget)\b|[\"']https?[\"']\)\.get|open-uri|URI\.open|\bget\(?\s*[\"']https?:"
)
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
_ENVIRONMENT = re.compile(
    r"os\.environ(?!\s*(?:[\[.]|\)\s*\.keys\(\)))|process\.env(?!\s*[\[.])|\bENV\.to_|%ENV|getenv\(\)"
)
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


# What a program starts that is not in the same language, or code that it runs.
_STARTS = re.compile(
    r"(?<![\w$@%])(?:(?P<module>[\w:]*)\s*(?:\.|::|->)\s*)?"
    r"(?P<name>system|popen[234]?e?|Popen|check_output|check_call|getoutput|getstatusoutput|posix_spawnp?|spawn[a-zA-Z]*"
    r"|exec[lv]p?e?|exec|execSync|execFile(?:Sync)?|shell_exec|passthru|proc_open|pcntl_exec|execute|startfile|capture[23]e?"
    r"|pipeline\w*|run|call|eval|evalScript|execfile|Function|instance_eval|class_eval|module_eval|runInNewContext|runInThisContext"
    r"|create_subprocess_(?:shell|exec)|shell|sh)\b(?P<open>\s*\(|\s+(?=[\ue010$@]))?"
)
# These names mean something else, too: only with these modules do they start a program.
_NEEDS = {
    **dict.fromkeys(("run", "call"), re.compile(r"\bsubprocess\b|\bsh\b")),
    **dict.fromkeys(("execute",), re.compile(r"\bos\s*\.\s*execute\b")),
    **dict.fromkeys(("shell", "sh"), re.compile(r"\bshelljs\b|\bzx\b")),
}
_ANOTHER_NAME = re.compile(
    r"\b(?:system|popen|Popen|run|call|check_output|exec\w*|spawn\w*|getoutput)\s+as\s+\w|=\s*(?:os|subprocess|child_process)\s*\.\s*\w+\s*(?:;|$|\n)"
    r"|\b(?:execSync|exec|spawn\w*)\s*:\s*\w|__import__\s*\(\s*(?!\ue010\d+\ue011\s*[,)])|\b__builtins__\b|import_module\s*\(\s*(?!\ue010\d+\ue011\s*[,)])"
    r"|getattr\s*\(\s*(?:os|subprocess|__import__|importlib)|\brequire\s*\(\s*(?!\ue010\d+\ue011\s*[,)])|\bglobals\s*\(\s*\)\s*\[|\bpublic_send\b|\.send\s*\(\s*:"
    r"|\bcall_user_func"
)
_PROGRAMS = re.compile(r"(?:^|[^\w])(?:os|subprocess|child_process|pty|commands|popen2|Open3)\b")


def is_interpreter(program: str) -> bool:
    """Whether a program may get code in its arguments or its input."""
    return _language(program) in _LANGUAGES


@lru_cache(maxsize=256)
def _language(program: str) -> str:
    found = _VERSIONED.match(program)
    return found[1] if found else program


def follow(commands: Reader, call: Call) -> None:
    """Adds what the code of a call runs and deletes."""
    language = _language(call.program)
    given = _Given(call, _LANGUAGES[language])
    for piece in given.code:
        _literal(commands, Stream(call.given - {"shown", "kept", "variable"}, piece), language)
    for file in given.files:
        stream = call.stdin if file in STDIN else commands.substituted if OUTPUT in file else None
        stream = commands.written(call.path(file)) if stream is None else stream
        if stream is not None:
            _literal(commands, stream, language)
    if given.runs_input:
        _literal(commands, call.stdin, language)


def _literal(commands: Reader, stream: Stream, language: str) -> None:
    """Code that reaches an interpreter."""
    if not stream.is_given:
        return
    is_made_up = stream.text is None or not is_known(stream.text)
    if is_made_up and "network" in stream.kinds:
        commands.emit(("run-from-network",))
    elif is_made_up and (stream.text is None or stream.kinds or not stream.text.replace(UNKNOWN, "").strip()):
        commands.doubt("an interpreter runs the output of another program")
    if stream.text is not None:
        read(commands, stream.text, language)


class _Given:
    """The code of a call: in its options, in files, or in its input."""

    def __init__(self, call: Call, language: _Language) -> None:
        self.code: list[str] = []
        self.files: list[str] = []
        self._language = language
        self._words = list(call.words[1:])
        self._is_module = False
        self._is_powershell = call.program in ("pwsh", "powershell")
        self._is_python = _language(call.program) in ("python", "pypy")
        rest = self._options()
        if call.program == "deno" and rest[:1] == ["eval"]:
            self.code += [word for word in rest[1:] if not word.startswith("-")][:1]
        elif rest and language.first and not self.code and not self.files:
            self.code.append(rest[0])
        elif rest and not language.first and not self.code and not self._is_module:
            self.files.append(rest[0])
        if self._is_powershell and self.code == ["-"]:
            self.code = []
        is_stdin = language.reads and not (self.code or self.files or self._is_module)
        self.runs_input = is_stdin and not ({"--version", "--help", "-V", "-v", "-h"} & {*self._words})

    def _options(self) -> list[str]:
        """Reads the options; returns the words behind them."""
        words = self._words
        index = 0
        while index < len(words):
            word = words[index]
            if word == "--":
                return words[index + 1 :]
            if not word.startswith("-") or word in STDIN:
                return words[index:]
            index += self._powershell(word, index) if self._is_powershell else self._option(word, index)
            if self._is_python and (self.code or self._is_module):
                return []
        return []

    def _option(self, word: str, index: int) -> int:
        """Takes one option, and says how many words it has."""
        following = self._words[index + 1] if index + 1 < len(self._words) else ""
        if word.startswith("--"):
            name, equals, value = word.partition("=")
            if name in self._language.long:
                self.code.append(value if equals else following)
                return 1 if equals else 2
            return 2 if name in self._language.long_values and not equals else 1
        for at, letter in enumerate(word[1:], 1):
            rest = word[at + 1 :]
            if letter in self._language.code and not (letter == "p" and rest):
                self.code.append(rest or following)
                return 1 if rest else 2
            if letter in self._language.files:
                self.files.append(rest or following)
                return 1 if rest else 2
            if self._is_python and letter == "m":
                self._is_module = (rest or following) not in ("code", "pdb", "runpy")
                if (rest or following) == "timeit":
                    self.code += [word for word in self._words[index + 1 :] if not word.startswith("-")]
                return 1 if rest else 2
            if letter in self._language.attached and _is_number(letter, rest):
                continue  # -lne, -0777ne
            if letter in self._language.values and not letter.isdigit():
                return 1 if rest or letter in self._language.attached else 2
        return 1

    def _powershell(self, word: str, index: int) -> int:
        name = word.lower().lstrip("-")
        if name and "command".startswith(name):
            self.code.append(" ".join(self._words[index + 1 :]))
        elif name and "file".startswith(name):
            self.files.append(next(iter(self._words[index + 1 :]), ""))
        elif name and "encodedcommand".startswith(name):
            self.code.append(UNKNOWN)
        else:
            return 1
        return len(self._words)


def _is_number(letter: str, rest: str) -> bool:
    """Whether the value of an option is a number at most, so that other options may follow it."""
    return letter in "0lTWC" and (not rest or rest[0].isalnum())


def read(commands: Reader, text: str, language: str) -> None:
    """Adds what a piece of code runs and deletes."""
    commands.spend(4 * len(text))
    if language in ("sed", "gsed"):
        _sed(commands, text)
        return
    if language in ("pwsh", "powershell"):
        _powershell(commands, text)
        return
    if language in ("tclsh", "wish", "expect"):
        for found in _TCL.finditer(text):
            commands.inner(found[1])
    for program, signs in _SIGNS.items():
        if all(sign.search(text) for sign in signs):
            commands.emit((program,))
    code = Code(text, language)
    _deleted(commands, code, text)
    _private(commands, code, text)
    if prints_environment(code):
        commands.emit(("show-environment",))
    _loaded(commands, code, language)
    _written(commands, code, language)
    _started(commands, code, language)


_READS_FILE = re.compile(
    r"\b(?:open|read\w*|File|Path|IO|lines|getline|slurp|file_get_contents|fopen|file|dotenv\w*|load_dotenv"
    r"|createReadStream|copy\w*|loadEnvFile)\b"
)
# A variable as languages read it from the environment.
_VARIABLE = re.compile(
    r"\benviron(?:\.get)?\s*[\[(]\s*[\"'](\w+)|\bprocess\.env(?:\.|\[[\"'])(\w+)"
    r"|\bENV(?:\.fetch)?\s*[\[({]\s*[\"']?(\w+)|\bgetenv\(\s*[\"'](\w+)"
)
# As for curl, a secret may stand where it authenticates.
_AUTHENTICATES = re.compile(r"auth|headers?\b|bearer|api[_-]?key\s*[:=]", re.IGNORECASE)


def _private(commands: Reader, code: Code, text: str) -> None:
    """Files with secrets that code reads, and secret variables that it sends."""
    if _READS_FILE.search(code.text):
        for each in code.literals:
            if "\n" not in each.text and is_secret(posixpath.join(commands.cwd, each.text.removeprefix("<").strip())):
                commands.emit(("cat", each.text.removeprefix("<").strip()))
    if (_SENDS.search(text) or _FETCHES.search(text)) and not _AUTHENTICATES.search(_VARIABLE.sub("", text)):
        names = [name for found in _VARIABLE.finditer(text) for name in found.groups() if name]
        if SECRET in text or any(map(is_secret_variable, names)):
            commands.emit(("send-secret",))


def _deleted(commands: Reader, code: Code, text: str) -> None:
    """The files that code deletes: by name, or each entry of a directory."""
    for found in _UNLINKS.finditer(text):
        commands.emit(("rm", found[1][1:-1]))
    for found in _DELETES.finditer(text):
        commands.emit(("rm", "-r", _target(commands, text, found[1])))
    if _LISTS.search(code.text) and _UNLINKS_EACH.search(
        f"{code.text} {' '.join(each.text for each in code.literals)}"
    ):
        for each in code.literals:
            if each.text.startswith(("/", "~")):
                commands.emit(("rm", "-r", each.text))


def _written(commands: Reader, code: Code, language: str) -> None:
    """The files that awk writes."""
    for found in _AWK_FILE.finditer(code.text) if language in _AWKS else ():
        commands.emit(("tee", code.literals[int(found[1])].text), via=(language,))


def _powershell(commands: Reader, text: str) -> None:
    if any(not _HARMLESS_CMDLET.match(found[0]) for found in _CMDLET.finditer(text)):
        commands.doubt("PowerShell runs a command that is not known here")
    commands.inner(text)


# A cmdlet, or a method of a class.
_CMDLET = re.compile(r"\b[A-Z][a-z]+-[A-Z]\w+|\[[\w.]+\]::\w*|(?<![\w&])&\s*[$({'\"\w]", re.IGNORECASE)
_HARMLESS_CMDLET = re.compile(
    r"(?:Get|Write|Select|Where|ForEach|Test|Measure|ConvertTo|ConvertFrom|Format|Sort|Group|Compare|Join|Split|Resolve"
    r"|Out|Import|Find|Show|Read|Tee|Update|Install|Save|New|Add|Set|Copy|Remove|Move|Rename|Clear)-\w+"
    r"|\[(?:System\.)?(?:math|Environment|DateTime|Guid|string|int|Console|Version|regex|char|TimeSpan|Convert)\]::",
    re.IGNORECASE,
)
_LISTS = re.compile(r"\b(?:glob|iterdir|readdir\w*|listdir|scandir|rglob|walk|DirectoryIterator|children)\b|\bDir\b")
_UNLINKS_EACH = re.compile(r"\b(?:unlink\w*|remove|rmdir\w*|delete)\b")
# What reads code from elsewhere, starts a prompt, or calls the system without a name that says what it does.
_LOADS = re.compile(
    r"\b(?:do|require|include|include_once|require_once|load|loadfile|dofile|exec|eval|run_path|source)\b"
)
_UNPICKLES = re.compile(r"\b(?:(?:pickle|marshal|dill|joblib|shelve)\s*\.\s*\w+|exec|eval|Unpickler)\b")
_INPUT = re.compile(r"\bsys\.stdin\b|\bSTDIN\b|\binput\s*\(")
_INPUT_FILES = frozenset(("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "php://stdin", "php://input"))
_ANYTHING_GOES = re.compile(
    r"\b(?:syscall|ctypes|cffi|ffi|FFI|InteractiveConsole|InteractiveInterpreter|interact|process\.binding|dlopen)\b"
    r"|\bconstructor\s*\.\s*constructor\b|&\s*\{|\bDeno\s*\.\s*(?:Command|run)\b|\bBun\s*\.\s*\$|(?<![\w$])\$\s*\ue010"
    r"|\bmethod\s*\(\s*:|(?<![.\w])send\s*\(\s*:|\bopen3\b|\bproc_open\b"
)
_DYNAMIC = re.compile(r"\$\w+\s*\(|\]\s*\(|&\s*\$")
_JOINED = re.compile(r"\ue011\s*[.+]\s*\ue010")
# A text that names what starts programs: it may be called by it.
_STARTER = re.compile(
    r"system|exec|execv\w*|popen|Popen|passthru|shell_exec|proc_open|pcntl_exec|execSync|execFile(?:Sync)?|spawn|spawnSync"
    r"|execute|check_output|check_call|getoutput|posix_spawn|fork|assert|create_function"
)


def _loaded(commands: Reader, code: Code, language: str) -> None:
    """Is unsure about code that runs its input, calls functions by texts, or reaches the system around them."""
    is_file = any(each.text in _INPUT_FILES for each in code.literals)
    if (is_file and _LOADS.search(code.text)) or (_INPUT.search(code.text) and _UNPICKLES.search(code.text)):
        commands.doubt("code runs its input")
    if _ANYTHING_GOES.search(code.text) or (_DYNAMIC.search(code.text) and _JOINED.search(code.text)):
        commands.doubt("code calls what can't be followed")
    for each in code.literals if "timeit" in code.text else ():
        read(commands, each.text, language)
    if any(_STARTER.fullmatch(each.text) for each in code.literals):
        commands.doubt("code gives another name to what starts programs")


_OPENS = re.compile(r"\b(?:open|IO|read|readlines|foreach|popen)\b")


def _opened(code: Code, language: str) -> Iterator[list[Literal]]:
    """The programs that Perl and Ruby start where they open a file: `|ls`, `ls|`."""
    if language not in ("perl", "ruby") or not _OPENS.search(code.text):
        return
    for each in code.literals:
        text = each.text.strip()
        if text in ("-|", "|-"):
            yield []
        elif text != "|" and (text.startswith("|") or (language == "perl" and text.endswith("|"))):
            yield [each._replace(text=text.strip("|"))]


_TCL = re.compile(r"\b(?:exec|spawn|system)\s+(?:-\S+\s+)*([^\];\n}]+)")
_SED_COMMAND = re.compile(
    r"(?:^|[;\n{}])\s*(?:\d+|\$|/(?:\\.|[^/\\\n])*/)?(?:,(?:\d+|\$|/(?:\\.|[^/\\\n])*/))?"
    r"\s*!?\s*e(?:[ \t]+([^\n]*))?(?=$|[\n;}])"
)
_SED_FILE = re.compile(
    r"(?:^|[;\n{}])\s*(?:\d+|\$|/(?:\\.|[^/\\\n])*/)?(?:,(?:\d+|\$|/(?:\\.|[^/\\\n])*/))?\s*([wWrR])[ \t]+([^\n]+)"
)
_SED_FLAG = re.compile(r"(?:^|[;\n{}\d$/])\s*s([^\w\s\\])(?:\\.|(?!\1)[^\\\n])*\1(?:\\.|(?!\1)[^\\\n])*\1[gpiImM0-9]*e")

_SED_WRITES = re.compile(
    r"(?:^|[;\n{}\d$/])\s*s([^\w\s\\])(?:\\.|(?!\1)[^\\\n])*\1(?:\\.|(?!\1)[^\\\n])*\1[gpiImM0-9]*w\s+([^\n]+)"
)


def _sed(commands: Reader, text: str) -> None:
    for found in _SED_COMMAND.finditer(text):
        if found[1]:
            commands.inner(found[1], via=("sed",))
        else:
            commands.doubt("sed runs lines of its input")
    if _SED_FLAG.search(text):
        commands.doubt("sed runs what it has replaced")
    for found in _SED_WRITES.finditer(text):
        commands.emit(("tee", found[2].strip()), via=("sed",))
    for found in _SED_FILE.finditer(text):
        commands.emit(("tee" if found[1] in "wW" else "cat", found[2].strip()), via=("sed",))


def _started(commands: Reader, code: Code, language: str) -> None:
    """Reads the programs that code starts; what is no literal is unsure."""
    started = [*_run_by_language(code, language), *_opened(code, language)]
    for found in _STARTS.finditer(code.text):
        if not _is_meant(found, code, language):
            continue
        literals = code.arguments(found.end()) or []
        if literals and _is_evaluated(found, language) and all(each.is_plain for each in literals):
            read(commands, literals[0].text, language)
        else:
            started.append(literals)
    for literals in started:
        _start(commands, literals)
    if is_renamed := _ANOTHER_NAME.search(code.text) is not None:
        commands.doubt("code gives another name to what starts programs")
    if started or is_renamed or language not in _WELL_READ or _PROGRAMS.search(code.text):
        for literal in code.literals:
            # It may be handed over by a variable. As it may also be any other text, nothing is unsure about it.
            if literal.is_plain and " " in literal.text.strip():
                with commands.guessing():
                    commands.inner(literal.text)


def _run_by_language(code: Code, language: str) -> Iterator[list[Literal]]:
    """The commands that a language runs without a function: between backquotes, in awk's pipes, in AppleScript."""
    yield from ([literal] for literal in code.literals if literal.is_command)
    if language in _AWKS:
        yield from _piped(code)
    for found in _APPLESCRIPT.finditer(code.text) if language == "osascript" else ():
        yield code.literals_at(found.start(1) if found[1] else -1)


_EVALUATES = frozenset(("eval", "evalScript", "Function", "instance_eval", "class_eval", "module_eval"))
# Running a file of the project is like starting it.
_FILE = re.compile(r"\s*(?:compile\s*\(\s*)?open\s*\(\s*\ue010")
_APPLESCRIPT = re.compile(r"do shell script\s*(\ue010)?")
_AWKS = frozenset(("awk", "gawk", "mawk", "nawk", "original-awk"))
# What starts a program is known in these; in others any text may be a command.
_WELL_READ = _AWKS | {"python", "pypy", "perl", "ruby", "node", "nodejs", "bun", "deno", "php", "lua", "luajit"}
_WITHOUT_PARENTHESES = frozenset(("perl", "ruby", "php", "raku", "osascript"))
# `exec` is Python's own, `eval` is in each of them.
_EVALUATING_EXEC = frozenset(("python", "pypy"))


def _is_evaluated(found: re.Match[str], language: str) -> bool:
    return found["name"] in _EVALUATES or (found["name"] == "exec" and language in _EVALUATING_EXEC)


def _is_meant(found: re.Match[str], code: Code, language: str) -> bool:
    """Whether a name is that of a function that starts something."""
    name, module, opened = found["name"], found["module"], found["open"]
    if language in _AWKS:
        return name == "system" and opened is not None
    if opened is None:
        # `eval STDIN.read`
        is_bare = language == "ruby" or (language == "perl" and name == "eval")
        return is_bare and re.match(r"[ \t]+[A-Za-z]", code.text[found.end() :]) is not None
    if "(" not in opened and language not in _WITHOUT_PARENTHESES:
        return False
    if (needs := _NEEDS.get(name)) is not None and not (needs.search(code.text) or _has(code, needs)):
        return False
    if module in (
        "asyncio",
        "re",
        "RegExp",
        "self",
        "this",
        "cursor",
        "cur",
        "conn",
        "db",
        "df",
        "pd",
        "loop",
        "model",
    ):
        return name.startswith("create_subprocess")
    if name == "exec" and module is not None and language in ("node", "nodejs", "bun", "deno"):
        return _has(code, re.compile("child_process"))
    if _is_evaluated(found, language) and _FILE.match(code.text, found.end()):
        return False
    is_definition = re.search(r"(?:\bdef|\bfunction|\bsub)\s+$", code.text[max(0, found.start() - 12) : found.start()])
    return is_definition is None


def _has(code: Code, pattern: re.Pattern[str]) -> bool:
    return any(pattern.search(each.text) for each in code.literals)


def _start(commands: Reader, literals: list[Literal]) -> None:
    if not literals or not all(each.is_plain for each in literals):
        commands.doubt("code starts a program that is not a literal")
        return
    if len(literals) == 1 and not literals[0].is_list:
        commands.inner(literals[0].text)
        return
    words = [word for each in literals for word in (each.text.split() if each.is_list else [each.text])]
    commands.inner(shlex.join(words))


_AWK_FILE = re.compile(r"\bprintf?\b[^;|}\n]*>>?\s*\ue010(\d+)\ue011")
_AWK_PIPE = re.compile(r"\bprintf?\b[^;|}\n]*\|&?\s*([^|\s])|(\S)\s*\|&?\s*getline")


def _piped(code: Code) -> Iterator[list[Literal]]:
    """The commands in awk's pipes, for output and for input."""
    for found in _AWK_PIPE.finditer(code.text):
        at = found.start(1) if found[1] else code.text.rfind("\ue010", 0, found.end(2))
        yield code.literals_at(at if found[1] == "\ue010" or found[2] == "\ue011" else -1)


def _target(commands: Reader, code: str, text: str) -> str:
    """The path that code deletes: as it is written, or as the variable got it."""
    if text[0] not in "\"'" and (given := re.search(rf"\b{re.escape(text)}\s*=\s*([^\n;]+)", code)):
        text = "'/tmp/made'" if re.search(r"tempfile|mkdtemp|TemporaryDirectory|tmpdir", given[1]) else given[1].strip()
    value = text[1:-1] if text[0] == text[-1] and text[0] in "\"'" else UNKNOWN
    return commands.home if "expanduser" in code and value in ("~", UNKNOWN) else value
