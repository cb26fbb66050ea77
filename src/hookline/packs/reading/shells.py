"""Shells, and what a shell does itself: eval, source, cd, aliases, variables."""

import re
from collections.abc import Iterator

from hookline.packs.reading.calls import Call, Reader, Stream
from hookline.packs.reading.words import OUTPUT, UNKNOWN

# What people put into eval on purpose.
_TRUSTED_EVAL = re.compile(
    r"(?:ssh-agent|direnv|pyenv|rbenv|nodenv|goenv|jenv|brew|conda|mamba|starship|zoxide|fnm|opam|dircolors|minikube"
    r"|docker-machine|podman|fzf|thefuck|atuin|mise|rtx|asdf|luarocks|keychain|gpg-agent|resize|lesspipe|mcfly|vagrant)\b"
)
# A shell runs the values of these by itself.
RUN_LATER = frozenset(("PROMPT_COMMAND", "BASH_ENV", "ENV", "PS0", "PS4"))
# Other programs do so with these.
RUN_BY_PROGRAMS = frozenset(
    (
        *("PAGER", "GIT_PAGER", "MANPAGER", "SYSTEMD_PAGER", "EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR"),
        *("GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "GIT_ASKPASS", "SSH_ASKPASS", "SUDO_ASKPASS", "BROWSER", "RSYNC_RSH"),
    )
)


def shell(commands: Reader, call: Call) -> Stream | None:
    """Follows a shell: its -c, its script, or what it reads from a pipe."""
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
    if (text := commands.text_of(call.path(file))) is not None:
        return commands.inner(text)
    return _run_stream(commands, call.stdin) if file in ("-", "/dev/stdin") else None


def _run_stream(commands: Reader, stream: Stream) -> Stream | None:
    """A shell that reads its commands from a pipe."""
    if "network" in stream.kinds:
        commands.emit(("run-from-network",))
    elif stream.text is not None:
        return commands.inner(stream.text)
    elif stream.kinds - {"file"} or stream.entries:
        commands.doubt("a shell runs the output of another program")
    return None


def evaluate(commands: Reader, call: Call) -> Stream | None:
    """Follows eval."""
    text = " ".join(call.words[1:])
    if "network" in commands.substituted.kinds and UNKNOWN in text:
        commands.emit(("run-from-network",))
    elif UNKNOWN in text and not text.replace(UNKNOWN, "").strip():
        made_by = commands.calls[-2].line if len(commands.calls) > 1 else ""
        if not _TRUSTED_EVAL.match(made_by):
            commands.doubt("eval runs a text that is made up while it runs")
        return None
    return commands.inner(text)


def source(commands: Reader, call: Call) -> Stream | None:
    """Follows a script that the shell reads itself."""
    return _script(commands, call, call.operands[0]) if call.operands else None


def cd(commands: Reader, call: Call) -> Stream | None:
    """Follows a change of the directory."""
    commands.change_directory(call.operands[0] if call.operands else commands.home)
    return None


def declare(commands: Reader, call: Call) -> Stream | None:
    """Notes variables."""
    for name, value in _assignments(call):
        commands.assign(name, value)
        if name in RUN_LATER or name in RUN_BY_PROGRAMS:
            commands.inner(value)
    return None


def alias(commands: Reader, call: Call) -> Stream | None:
    """Notes an alias, and what it stands for."""
    for name, text in _assignments(call):
        commands.alias(name, text)
        commands.inner(text)
    return None


def _assignments(call: Call) -> Iterator[tuple[str, str]]:
    for word in call.operands:
        name, equals, value = word.partition("=")
        if equals:
            yield name, value


def read(commands: Reader, call: Call) -> Stream | None:
    """Notes the variables that are read from a pipe."""
    text = call.stdin.text
    for name in call.operands:
        commands.assign(name, UNKNOWN if text is None else text)
    return None


def set_(commands: Reader, call: Call) -> Stream | None:
    """Notes the positional parameters."""
    for index, word in enumerate(call.operands, 1):
        commands.assign(str(index), word)
    return None


def trap(commands: Reader, call: Call) -> Stream | None:
    """Follows the command that a signal starts."""
    return commands.inner(call.operands[0]) if call.operands else None


def later(commands: Reader, call: Call) -> Stream | None:
    """Programs that run later what they are given now."""
    return None if call.stdin.text is None else commands.inner(call.stdin.text)
