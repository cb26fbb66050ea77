"""Programs that run other programs: sudo, xargs, find, shells, interpreters, and what a shell does itself."""

import re
from collections.abc import Callable, Mapping, Sequence

from hookline.packs import code
from hookline.packs.calls import NOTHING, Call, Reader, Stream
from hookline.packs.known import SHELLS
from hookline.packs.words import ENTRY, OUTPUT, UNKNOWN

# Programs that run the command behind their own options; the letters take a value.
_PREFIXES: Mapping[str, str] = {
    "sudo": "ugphCDRTUrt",
    "doas": "uC",
    "nohup": "",
    "nice": "n",
    "ionice": "cnpPu",
    "time": "fo",
    "stdbuf": "ioe",
    "setsid": "",
    "command": "",
    "builtin": "",
    "exec": "a",
    "strace": "oepsEPuIab",
    "ltrace": "oepsu",
    "caffeinate": "tw",
    "unshare": "",
    "nsenter": "tSG",
    "proxychains": "f",
    "proxychains4": "f",
    "torsocks": "",
    "firejail": "",
    "unbuffer": "",
    "faketime": "",
    "chrt": "",
    "taskset": "",
    "prlimit": "",
    "catchsegv": "",
    "pkexec": "",
    "gosu": "",
    "runuser": "u",
    "systemd-run": "pu",
    "dbus-run-session": "",
    "xvfb-run": "nespfl",
    "uv": "",
    "setarch": "",
    "linux64": "",
    "rlwrap": "",
    "then": "",
    "do": "",
}
# These have operands of their own before the command.
_OWN_OPERANDS = {"timeout": 1, "chroot": 1, "flock": 1, "taskset": 1, "chrt": 1, "setarch": 1, "gosu": 1, "faketime": 1}
_OWN_VALUES = {"timeout": "sk", "chroot": "", "flock": "wE", "env": "uCS", "xargs": "IiLlnPsadE"}

# What people put into eval on purpose.
_TRUSTED_EVAL = re.compile(
    r"(?:ssh-agent|direnv|pyenv|rbenv|nodenv|goenv|jenv|brew|conda|mamba|starship|zoxide|fnm|opam|dircolors|minikube"
    r"|docker-machine|podman|fzf|thefuck|atuin|mise|rtx|asdf|luarocks|keychain|gpg-agent|resize|lesspipe|mcfly|vagrant)\b"
)

Follow = Callable[[Reader, Call], Stream | None]


def follow(commands: Reader, call: Call) -> Stream | None:
    """Adds what a call runs in turn; returns the output where it is known from that."""
    program = call.program
    if (own := _FOLLOWS.get(program)) is not None:
        return own(commands, call)
    if program in SHELLS:
        return _shell(commands, call)
    if program in _PREFIXES or program in _OWN_OPERANDS:
        return _prefix(commands, call)
    if code.is_interpreter(program):
        code.follow(commands, call)
    return None


def _rest(call: Call, with_value: str, own_operands: int = 0) -> tuple[str, ...]:
    """The words behind a wrapper's own options."""
    words = call.words[1:]
    index = 0
    while index < len(words):
        word = words[index]
        if word == "--":
            index += 1
            break
        if re.match(r"[A-Za-z_]\w*=", word) and call.program in ("sudo", "env", "doas"):
            index += 1
            continue
        if not word.startswith("-") or word == "-":
            if own_operands == 0:
                break
            own_operands -= 1
        elif word[1:] and word[1:] in set(with_value):
            index += 1
        index += 1
    return words[index:]


def _prefix(commands: Reader, call: Call) -> Stream | None:
    program = call.program
    if program == "uv" and call.operands[:1] != ("run",):
        return None
    if program in ("command", "type") and call.flags & {"-v", "-V"}:
        return None
    rest = _rest(call, _OWN_VALUES.get(program, _PREFIXES.get(program, "")), _OWN_OPERANDS.get(program, 0))
    if program == "uv":
        rest = rest[1:]
    if program == "flock" and (text := call.value_of("-c")) is not None:
        return commands.inner(text)
    return _go_on(commands, call, rest)


def _go_on(commands: Reader, call: Call, words: Sequence[str], stdin: Stream | None = None) -> Stream | None:
    if not words:
        return None
    return commands.emit(words, stdin=call.stdin if stdin is None else stdin, via=(*call.via, call.program))


def _env(commands: Reader, call: Call) -> Stream | None:
    if (text := call.value_of("-S", "--split-string")) is not None:
        return commands.inner(" ".join((text, *_rest(call, "uCS"))))
    for word in call.words[1:]:
        name, equals, value = word.partition("=")
        if equals and re.fullmatch(r"[A-Za-z_]\w*", name):
            commands.assign(name, value)
    return _go_on(commands, call, _rest(call, "uC"))


def _shell(commands: Reader, call: Call) -> Stream | None:
    words = call.words[1:]
    for index, word in enumerate(words):
        if re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", word):
            rest = [each for each in words[index + 1 :] if each != "--"]
            while rest and re.fullmatch(r"[-+][a-zA-Z]+", rest[0]):
                rest = rest[1:]
            if not rest:
                return None
            if UNKNOWN in rest[0] and commands.substituted.kinds & {"network"}:
                commands.emit(("run-from-network",))
            return commands.inner(rest[0], call.stdin, arguments=rest[1:])
        if not word.startswith(("-", "+")):
            return _script(commands, call, word)
        if re.fullmatch(r"-[a-z]*s", word):
            return _run_stream(commands, call.stdin)
    return _run_stream(commands, call.stdin)


def _script(commands: Reader, call: Call, file: str) -> Stream | None:
    if OUTPUT in file:
        return _run_stream(commands, commands.substituted)
    return _run_stream(commands, call.stdin) if file in ("-", "/dev/stdin") else None


def _run_stream(commands: Reader, stream: Stream) -> Stream | None:
    """A shell that reads its commands from a pipe."""
    if "network" in stream.kinds:
        commands.emit(("run-from-network",))
    elif stream.text is not None:
        return commands.inner(stream.text)
    elif stream.kinds or stream.entries is not None:
        commands.doubt("a shell runs the output of another program")
    return None


def _eval(commands: Reader, call: Call) -> Stream | None:
    text = " ".join(call.words[1:])
    if "network" in commands.substituted.kinds and UNKNOWN in text:
        commands.emit(("run-from-network",))
    elif UNKNOWN in text and not text.replace(UNKNOWN, "").strip():
        made_by = commands.calls[-2].line if len(commands.calls) > 1 else ""
        if not _TRUSTED_EVAL.match(made_by):
            commands.doubt("eval runs a text that is made up while it runs")
        return None
    return commands.inner(text)


def _source(commands: Reader, call: Call) -> Stream | None:
    return _script(commands, call, call.operands[0]) if call.operands else None


def _xargs(commands: Reader, call: Call) -> Stream | None:
    rest = _rest(call, _OWN_VALUES["xargs"])
    place = call.value_of("-I", "--replace") or ("{}" if "-i" in call.flags else None)
    stdin = call.stdin
    if stdin.text is not None and UNKNOWN not in stdin.text:
        given = stdin.text.replace("\0", " ").split()
    elif stdin.entries is not None:
        given = [stdin.entries]
    else:
        given = [UNKNOWN]
    words = [*rest] or ["echo"]
    words = [word.replace(place, given[0] if given else "") for word in words] if place else [*words, *given]
    return _go_on(commands, call, words, NOTHING)


def _parallel(commands: Reader, call: Call) -> Stream | None:
    rest = _rest(call, "jINSLnX")
    words = [*rest[: rest.index(":::")]] if ":::" in rest else [*rest]
    given = [*rest[rest.index(":::") + 1 :]] if ":::" in rest else [UNKNOWN]
    return (
        commands.inner(" ".join(words))
        if len(words) == 1 and " " in words[0]
        else _go_on(commands, call, [*words, *given])
    )


_NARROWING = re.compile(
    r"-(?:i?(?:name|path|wholename|regex|lname)|[acm](?:min|time)|[acm]?newer\w*|size|empty|user|group|perm|inum|nouser|nogroup|links|samefile|uid|gid|xtype)"
)


def _find(commands: Reader, call: Call) -> Stream | None:
    words = call.words[1:]
    start = next(
        (
            index
            for index, word in enumerate(words)
            if word.startswith(("-", "(", "!", ",")) and word not in ("-L", "-H", "-P", "-E")
        ),
        len(words),
    )
    where = [word for word in words[:start] if not word.startswith("-")] or ["."]
    tests = [
        word
        for word, value in zip(words[start:], (*words[start + 1 :], ""), strict=False)
        if _NARROWING.fullmatch(word) and value not in ("*", ".*", "*.*")
    ]
    base = [call.path(each) for each in where]
    found = [f"{each}/{ENTRY}" for each in base] if tests or "l" in words else base
    if "-delete" in words:
        commands.emit(("rm", "-r", *found), via=(*call.via, "find"))
    for index, word in enumerate(words):
        if word in ("-exec", "-execdir", "-ok", "-okdir"):
            rest = words[index + 1 :]
            end = next((at for at, each in enumerate(rest) if each in (";", "+")), len(rest))
            inner: list[str] = []
            for each in rest[:end]:
                inner.extend(found if each == "{}" else [each.replace("{}", found[0])])
            _go_on(commands, call, inner, NOTHING)
    return Stream(entries=f"{base[0]}/{ENTRY}" if tests else f"{base[0]}/*")


def _cd(commands: Reader, call: Call) -> Stream | None:
    commands.change_directory(call.operands[0] if call.operands else commands.home)
    return None


def _declare(commands: Reader, call: Call) -> Stream | None:
    for word in call.operands:
        name, equals, value = word.partition("=")
        if equals:
            commands.assign(name, value)
    return None


def _alias(commands: Reader, call: Call) -> Stream | None:
    for word in call.operands:
        name, equals, text = word.partition("=")
        if equals:
            commands.alias(name, text)
            commands.inner(text)
    return None


def _read(commands: Reader, call: Call) -> Stream | None:
    text = call.stdin.text
    for name in call.operands:
        commands.assign(name, UNKNOWN if text is None else text)
    return None


def _set(commands: Reader, call: Call) -> Stream | None:
    for index, word in enumerate(call.operands, 1):
        commands.assign(str(index), word)
    return None


def _joined(commands: Reader, call: Call) -> Stream | None:
    """Programs that hand all their words to a shell."""
    rest = _rest(call, "n")
    return commands.inner(" ".join(rest)) if rest else None


def _su(commands: Reader, call: Call) -> Stream | None:
    text = call.value_of("-c", "--command")
    return None if text is None else commands.inner(text)


def _ssh(commands: Reader, call: Call) -> Stream | None:
    for option in (call.value_of("-o") or "",):
        name, _, text = option.partition("=")
        if name.lower() in ("proxycommand", "localcommand"):
            commands.inner(text)
    rest = call.operands[1:]
    if not rest:
        return _run_remote(commands, call)
    return _elsewhere(commands, lambda: commands.inner(" ".join(rest), call.stdin))


def _run_remote(commands: Reader, call: Call) -> Stream | None:
    return None if call.stdin.text is None else _elsewhere(commands, lambda: commands.inner(call.stdin.text or ""))


def _elsewhere(commands: Reader, run: Callable[[], Stream | None]) -> Stream | None:
    """Another machine or container: what is relative there is not below this project."""
    saved, commands.cwd = commands.cwd, "/elsewhere"
    try:
        return run()
    finally:
        commands.cwd = saved


def _container(commands: Reader, call: Call) -> Stream | None:
    words = call.operands
    if "exec" in words[:2]:
        at = call.words.index("exec")
        rest = _rest(Call(call.words[at:], cwd=call.cwd), "euwcn", 1)
        rest = rest[rest.index("--") + 1 :] if "--" in rest else rest
        return _elsewhere(commands, lambda: _go_on(commands, call, rest)) if rest else None
    return None


def _git(commands: Reader, call: Call) -> Stream | None:
    for index, word in enumerate(call.words[1:], 1):
        if word == "-c" and index + 1 < len(call.words):
            name, _, value = call.words[index + 1].partition("=")
            _git_setting(commands, name, value)
    words = call.operands
    match words[:2]:
        case ("config", name) if words[2:]:
            _git_setting(commands, name, words[2])
        case ("submodule", "foreach"):
            commands.inner(" ".join(words[2:]))
        case ("bisect", "run"):
            _go_on(commands, call, words[2:])
    for flag in ("--exec", "-x", "--tree-filter", "--index-filter", "--msg-filter", "--env-filter"):
        if words[:1] in (("rebase",), ("filter-branch",)) and (text := call.value_of(flag)):
            commands.inner(text)
    if words[:2] == ("rev-parse",) or "--show-toplevel" in call.flags:
        return Stream(text=commands.project)
    return None


def _git_setting(commands: Reader, name: str, value: str) -> None:
    if value.startswith("!"):
        commands.inner(value[1:])
    elif name.lower() in ("core.pager", "core.editor", "core.sshcommand", "core.fsmonitor", "diff.external"):
        commands.inner(value)


def _tar(commands: Reader, call: Call) -> Stream | None:
    for word in call.words:
        for start in ("--checkpoint-action=exec=", "--to-command=", "--use-compress-program="):
            if word.startswith(start):
                commands.inner(word[len(start) :])
    return None


def _editor(commands: Reader, call: Call) -> Stream | None:
    for word in call.words[1:]:
        if found := re.match(r"\+?:?!(.+)", word):
            commands.inner(found[1])
    return None


def _busybox(commands: Reader, call: Call) -> Stream | None:
    return _go_on(commands, call, call.words[1:])


def _later(commands: Reader, call: Call) -> Stream | None:
    """Programs that run later what they are given now."""
    return None if call.stdin.text is None else commands.inner(call.stdin.text)


def _trap(commands: Reader, call: Call) -> Stream | None:
    return commands.inner(call.operands[0]) if call.operands else None


_FOLLOWS: Mapping[str, Follow] = {
    "env": _env,
    "eval": _eval,
    "source": _source,
    ".": _source,
    "xargs": _xargs,
    "gxargs": _xargs,
    "parallel": _parallel,
    "find": _find,
    "gfind": _find,
    "cd": _cd,
    "pushd": _cd,
    "export": _declare,
    "declare": _declare,
    "local": _declare,
    "readonly": _declare,
    "typeset": _declare,
    "alias": _alias,
    "read": _read,
    "set": _set,
    "watch": _joined,
    "entr": _busybox,
    "su": _su,
    "script": _su,
    "ssh": _ssh,
    "docker": _container,
    "podman": _container,
    "kubectl": _container,
    "oc": _container,
    "git": _git,
    "tar": _tar,
    "vim": _editor,
    "vi": _editor,
    "nvim": _editor,
    "ex": _editor,
    "view": _editor,
    "busybox": _busybox,
    "toybox": _busybox,
    "at": _later,
    "batch": _later,
    "trap": _trap,
}
