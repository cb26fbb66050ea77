"""Programs that take a command among their arguments: ssh, docker, git, tar, editors."""

import re
from collections.abc import Mapping

from hookline.guards.shell_eval.calls import Call, Reader, Stream
from hookline.guards.shell_eval.grammar import GRAMMARS
from hookline.guards.shell_eval.guesses import guess
from hookline.guards.shell_eval.prefixes import go_on, rest_behind, taken
from hookline.guards.shell_eval.shells import STDIN, run_stream
from hookline.guards.shell_eval.words import OUTPUT, is_known


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
    r"(?:-\w*o)?\s*(?:proxycommand|localcommand|knownhostscommand|ssh_command)[\s=]+(.+)", re.IGNORECASE | re.DOTALL
)


def git(commands: Reader, call: Call) -> Stream | None:
    """Follows the commands in git's settings and filters."""
    _git_settings(commands, call)
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
    "send-email": ("--sendmail-cmd", "--to-cmd", "--cc-cmd", "--header-cmd"),
    "clone": (*_TRANSPORT, "-u"),
    **dict.fromkeys(("fetch", "pull", "push", "ls-remote", "archive", "fetch-pack", "send-pack"), _TRANSPORT),
}
"""Options whose value is a command for a shell, by subcommand."""


def _git_settings(commands: Reader, call: Call) -> None:
    """Reads the settings in front of git's subcommand."""
    for index, word in enumerate(call.words[1:], 1):
        if word == "-c" and index + 1 < len(call.words):
            name, _, value = call.words[index + 1].partition("=")
            _git_setting(commands, name, value)
        if word.startswith("--config-env"):
            commands.doubt("git takes settings or programs from elsewhere")


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
    elif _GIT_READS.fullmatch(name.lower()):
        commands.doubt("git takes settings or programs from elsewhere")


_GIT_READS = re.compile(r"include(?:if\..*)?\.path|init\.templatedir|remote\..*\.(?:uploadpack|receivepack|vcs)")
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
        "--rmt-command",
        "-F",
        "--info-script",
    ),
    "rsync": ("-e", "--rsh", "--rsync-path"),
    "scp": ("-S",),
    "sftp": ("-S", "-D"),
    "sshfs": (),
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
    "cargo": ("-s", "--shell", "-x", "--exec"),
}


def texts(commands: Reader, call: Call) -> Stream | None:
    """Follows the commands in the options of programs that have other work."""
    name = {"gtar": "tar", "bsdtar": "tar"}.get(call.program, call.program)
    for index, word in enumerate(call.words[1:], 1):
        if name in _LIKE_SSH and (found := _SSH_COMMAND.match(word)):
            commands.inner(found[1], via=(*call.via, name), given=call.given)
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


def cargo(commands: Reader, call: Call) -> Stream | None:
    """Follows the commands that `cargo watch` runs at each change."""
    if call.operands[:1] == ("watch",):
        texts(commands, call)
    guess(commands, call)
    return None


_LIKE_SSH = frozenset(("scp", "sftp", "sshfs"))


def _is_beginning(word: str, option: str) -> bool:
    """Whether a word is a long option, or so much of it that it can be no other."""
    return word == option or (len(word) >= _SHORTEST and option.startswith(word))


_SHORTEST = len("--to-c")


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
        for index, word in enumerate(call.words[1:], 1):
            if " " in word.strip():
                commands.inner(word)
            elif word in _TMUX_RUNS:
                command = [each for each in call.words[index + 1 :] if not each.startswith("-")]
                with commands.guessing():
                    go_on(commands, call, command)
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


_TMUX_RUNS = frozenset(
    ("new-session", "new", "new-window", "neww", "split-window", "splitw", "respawn-pane", "run-shell")
)
