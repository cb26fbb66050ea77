"""Programs that take a command among their arguments: ssh, docker, git, tar, editors."""

import re
from collections.abc import Mapping

from hookline.packs.reading.calls import Call, Reader, Stream
from hookline.packs.reading.grammar import GRAMMARS
from hookline.packs.reading.prefixes import go_on, rest_behind, taken
from hookline.packs.reading.shells import STDIN, run_stream
from hookline.packs.reading.words import OUTPUT, is_known


def _word(call: Call, index: int) -> str:
    return call.words[index] if index < len(call.words) else ""


def ssh(commands: Reader, call: Call) -> Stream | None:
    """Follows a command on another machine, and those that options run on this one."""
    parts = taken(commands, call, GRAMMARS["ssh"])
    for word in call.words[1 : 1 + parts.own]:
        if found := _SSH_COMMAND.match(word):
            commands.inner(found[1], via=("ssh",), given=call.given)
    rest = rest_behind(parts, call.words[1:])
    with commands.elsewhere():
        if rest:
            return commands.inner(" ".join(rest), call.stdin, via=("ssh",), given=call.given)
        return run_stream(commands, call.stdin) if call.operands else None


_SSH_COMMAND = re.compile(
    r"(?:-\w*o)?\s*(?:proxycommand|localcommand|knownhostscommand)[\s=]+(.+)", re.IGNORECASE | re.DOTALL
)


def git(commands: Reader, call: Call) -> Stream | None:
    """Follows the commands in git's settings and filters."""
    for index, word in enumerate(call.words[1:], 1):
        if word == "-c" and index + 1 < len(call.words):
            name, _, value = call.words[index + 1].partition("=")
            _git_setting(commands, name, value)
    words = call.operands
    match words[:2]:
        case ("config", name) if words[2:]:
            _git_setting(commands, name, words[2])
        case ("submodule", "foreach"):
            rest = [word for word in _behind(call, "foreach") if word not in ("--recursive", "--quiet", "-q")]
            commands.inner(" ".join(rest), given=call.given)
        case ("bisect", "run"):
            go_on(commands, call, _behind(call, "run"))
        case ("grep", *_) if pager := next((word for word in call.words if _GREP_PAGER.match(word)), None):
            commands.inner(pager.partition("=")[2] or pager[2:], via=(*call.via, "git"))
    for flag in _GIT_OPTIONS.get(words[0], ()) if words else ():
        if text := call.value_of(flag):
            commands.inner(text)
    if words[:2] == ("rev-parse",) or "--show-toplevel" in call.flags:
        return Stream(text=commands.project)
    return None


_TRANSPORT = ("--upload-pack", "--receive-pack", "--exec")
_GIT_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "rebase": ("--exec", "-x"),
    "filter-branch": (
        *("--tree-filter", "--index-filter", "--msg-filter", "--env-filter", "--setup"),
        *("--parent-filter", "--commit-filter", "--tag-name-filter"),
    ),
    "difftool": ("--extcmd", "-x"),
    "clone": (*_TRANSPORT, "-u"),
    **dict.fromkeys(("fetch", "pull", "push", "ls-remote", "archive", "fetch-pack", "send-pack"), _TRANSPORT),
}
"""Options whose value is a command for a shell, by subcommand."""

_GREP_PAGER = re.compile(r"-O.|--open-files-in-pager=")


def _behind(call: Call, word: str) -> tuple[str, ...]:
    return call.words[call.words.index(word) + 1 :]


def _git_setting(commands: Reader, name: str, value: str) -> None:
    if value.startswith("!"):
        commands.inner(value[1:])
    elif name.lower().startswith("alias."):
        commands.inner(f"git {value}")
    elif _GIT_RUNS.fullmatch(name.lower()):
        commands.inner(value)


_GIT_RUNS = re.compile(
    r"core\.(?:pager|editor|sshcommand|fsmonitor|askpass|gitproxy|alternaterefscommand)|diff\.external|sequence\.editor"
    r"|pager\..*|gpg\.(?:.*\.)?program|(?:diff|difftool|merge|mergetool|filter|browser|man|trailer|guitool)\..*"
    r"\.(?:cmd|command|driver|textconv|clean|smudge|process)|uploadpack\.packobjectshook|interactive\.difffilter"
)


# Options whose value is a command for a shell, by program.
TEXTS: Mapping[str, tuple[str, ...]] = {
    "tar": (
        "--checkpoint-action",
        "--to-command",
        "--use-compress-program",
        "-I",
        "--rsh-command",
        "-F",
        "--info-script",
    ),
    "rsync": ("-e", "--rsh", "--rsync-path"),
    "scp": ("-S",),
    "sftp": ("-S",),
    "man": ("-P", "--pager", "-H"),
    "zip": ("-TT", "--unzip-command"),
    "sort": ("--compress-program",),
    "split": ("--filter",),
    "dpkg": ("--pre-invoke", "--post-invoke"),
    "nano": ("-s", "--speller"),
    "mutt": ("-F",),
    "tcpdump": ("-z",),
    "rg": ("--pre", "--hostname-bin"),
    "ag": ("--pager",),
}


def texts(commands: Reader, call: Call) -> Stream | None:
    """Follows the commands in the options of programs that have other work."""
    name = {"gtar": "tar", "bsdtar": "tar"}.get(call.program, call.program)
    for index, word in enumerate(call.words[1:], 1):
        for option in TEXTS[name]:
            text = None
            if word == option:
                text = _word(call, index + 1)
            elif option.startswith("--") and _is_beginning(word.partition("=")[0], option):
                text = word.partition("=")[2] or _word(call, index + 1)
            elif not option.startswith("--") and word.startswith(option):
                text = word[len(option) :].removeprefix("=")
            if text and (option != "--checkpoint-action" or text.startswith("exec=")):
                commands.inner(text.removeprefix("exec="), via=(*call.via, name), given=call.given)
    return None


def _is_beginning(word: str, option: str) -> bool:
    """Whether a word is a long option, or so much of it that it can be no other."""
    return word == option or (len(word) >= _SHORTEST and option.startswith(word))


_SHORTEST = len("--to-c")


def editor(commands: Reader, call: Call) -> Stream | None:
    """Follows what an editor shall do at its start, and what it is told by a pipe."""
    told = [word[1:] for word in call.words[1:] if word.startswith("+")]
    told += [word for before, word in zip(call.words[1:], call.words[2:], strict=False) if before in ("-c", "--cmd")]
    if call.program in ("ed", "ex") or call.flags & {"-e", "-s", "-es"}:
        told += (call.stdin.text or "").splitlines()
        if call.stdin.is_given and call.stdin.text is None and "file" not in call.stdin.kinds:
            commands.doubt("an editor gets its commands from another program")
    for line in told:
        if found := _EDITOR_SHELL.match(line):
            commands.inner(found[1], via=(*call.via, "vim"))
        elif _EDITOR_CODE.match(line):
            commands.doubt("an editor runs code")
    return None


_EDITOR_SHELL = re.compile(r"\s*:?\s*(?:sil\w*!?\s+|%|\.|\d+|,|r(?:ead)?\s+|w(?:rite)?\s+)*!\s*(.+)")
_EDITOR_CODE = re.compile(
    r"\s*:?\s*(?:py|perl|ruby|lua|tcl|mzscheme|call\s|echo\s+system|exe|shell|sh\s*$|term|set?\s+(?:shell|sh)\b|source|so\s)"
)


def emacs(commands: Reader, call: Call) -> Stream | None:
    """Follows the Lisp code of an option: what starts a program in it is not known."""
    if any(_LISP_RUNS.search(word) for word in call.words[1:]):
        commands.doubt("an editor runs code that starts a program")
    return None


_LISP_RUNS = re.compile(
    r"\((?:term|shell\S*|call-process\S*|start-process\S*|make-process|async-shell\S*|eval|load\S*|delete-\S*)\b"
)


def make(commands: Reader, call: Call) -> Stream | None:
    """Follows a makefile that is no file: from a pipe, a substitution or an option."""
    for index, word in enumerate(call.words[1:], 1):
        following = _word(call, index + 1)
        name, equals, value = word.partition("=")
        if name in ("--eval", "-E"):
            _makefile(commands, value if equals else following)
        elif name == "SHELL" and equals:
            commands.inner(value, via=("make",))
        elif word in ("-f", "--file", "--makefile") or (word.startswith(("-f", "--file=", "--makefile="))):
            file = (value if equals else word[2:] if word.startswith("-f") and word != "-f" else "") or following
            stream = call.stdin if file in STDIN else commands.substituted if OUTPUT in file else None
            stream = commands.written(call.path(file)) if stream is None else stream
            if stream is not None and stream.is_given and (stream.text is None or not is_known(stream.text)):
                commands.doubt("make runs the output of another program")
            elif stream is not None:
                _makefile(commands, stream.text or "")
    return None


def _makefile(commands: Reader, text: str) -> None:
    """Reads the recipes of a makefile."""
    for line in text.splitlines():
        for found in re.finditer(r"\$\(shell ([^()]*)\)|!=\s*(.+)", line):
            commands.inner(found[1] or found[2])
        recipe = line if line.startswith("\t") else line.partition(";")[2] if ":" in line.partition(";")[0] else ""
        if recipe.strip():
            commands.inner(
                re.sub(r"\$\(\w+\)|\$\{\w+\}|\$[@<^*?+]", "x", recipe.strip().lstrip("@-+")).replace("$$", "$")
            )


def terminal(commands: Reader, call: Call) -> Stream | None:
    """Follows a command in a terminal of its own: tmux, screen, xterm -e."""
    if call.program == "tmux":
        for word in call.operands[1:]:
            if " " in word.strip():
                commands.inner(word)
    elif call.program == "screen":
        rest = iter(call.words[1:])
        for word in rest:
            if not word.startswith("-"):
                go_on(commands, call, (word, *rest))
            elif word[-1] in "SctTLehsp":
                next(rest, None)
    elif mark := next((each for each in ("-e", "--") if each in call.words), None):
        go_on(commands, call, call.words[call.words.index(mark) + 1 :])
    return None
