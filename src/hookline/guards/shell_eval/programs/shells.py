"""Shells, and what a shell does itself: eval, source, cd, aliases, variables."""

import re
from collections.abc import Iterator

from hookline.guards.facts import patterns
from hookline.guards.shell_eval.calls import ProgramCall, Stream
from hookline.guards.shell_eval.commands import Commands, is_run
from hookline.guards.shell_eval.grammar import shell_grammar
from hookline.guards.shell_eval.programs.prefixes import rest_behind, taken
from hookline.guards.shell_eval.words import OUTPUT, UNKNOWN, counted, is_known

_P = patterns("programs")
STDIN = frozenset(("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"))
_NAME = re.compile(r"[A-Za-z_]\w*")
_DESCRIPTOR = re.compile(r"(?:/dev|/proc/(?:self|\d+))/fd/\d+")


def shell(commands: Commands, call: ProgramCall) -> Stream | None:
    """Follows a shell: its -c, its script, or what it reads from a pipe."""
    grammar = shell_grammar(call.program)
    parts = taken(commands, call, grammar)
    if parts.has(("-n", "--version", "--help")) and not parts.unknown:
        return None  # it only looks at the script
    rest = list(rest_behind(parts, call.words[1:]))
    for option in grammar.text:
        if option in parts.options:
            commands.inner(parts.options[option], call.stdin, given=call.given)
    if parts.has(grammar.text):
        return None
    if (file := parts.value(("--rcfile", "--init-file"))) is not None:
        run_file(commands, call, file)
    rest = rest[1:] if rest[:1] == ["-"] else rest
    if parts.has(("-c",)):
        return commands.inner(rest[0], call.stdin, arguments=rest[1:], given=call.given) if rest else None
    if parts.has(("-s",)) or not rest:
        return run_stream(commands, call.stdin)
    return run_file(commands, call, rest[0])


def run_file(commands: Commands, call: ProgramCall, file: str, *, is_same_shell: bool = False) -> Stream | None:
    """A script. One that this command has not written is taken as it is: it is a file like any program."""
    if OUTPUT in file:
        return run_stream(commands, commands.substituted)
    if file in STDIN:
        return run_stream(commands, call.stdin)
    if _DESCRIPTOR.fullmatch(file):
        commands.doubt("a shell runs the content of a descriptor")
    if (written := commands.written(call.path(file))) is not None:
        return run_stream(commands, written, is_same_shell=is_same_shell)
    return None


def run_stream(commands: Commands, stream: Stream, *, is_same_shell: bool = False) -> Stream | None:
    """A shell that reads its commands from a pipe: a literal is read, anything else is unsure."""
    if not stream.is_given:
        return None
    if "network" in stream.kinds:
        commands.emit(("run-from-network",))
    elif stream.text is not None:
        return commands.inner(stream.text, given=stream.kinds, is_same_shell=is_same_shell)
    else:
        commands.doubt("a shell runs the output of another program")
    return None


def evaluate(commands: Commands, call: ProgramCall) -> Stream | None:
    """Follows eval, which changes variables of this shell."""
    text = " ".join(word for word in call.words[1:] if word != "--")
    if is_known(text):
        return commands.inner(text, call.stdin, is_same_shell=True)
    made_by = [each for each in commands.made_by if each]
    if text.strip() == UNKNOWN and len(made_by) == 1 and _P["trusted_eval"].match(made_by[0]):
        return None
    commands.forget()
    return commands.inner(text, call.stdin, given=call.given | {"unknown"}, is_same_shell=True)


def source(commands: Commands, call: ProgramCall) -> Stream | None:
    """Follows a script that the shell reads itself: it may set any variable."""
    if not call.operands:
        return None
    output = run_file(commands, call, call.operands[0], is_same_shell=True)
    written = commands.written(call.path(call.operands[0]))
    if written is None or written.text is None:
        commands.forget()
    return output


def cd(commands: Commands, call: ProgramCall) -> None:
    """Follows a change of the directory."""
    target = call.operands[0] if call.operands else commands.home
    is_searched = commands.values("CDPATH") is not None or any(each.startswith("CDPATH=") for each in call.assigned)
    is_elsewhere = target == "-" or (is_searched and not target.startswith((".", "/")))
    commands.change_directory(UNKNOWN if is_elsewhere else target)


def declare(commands: Commands, call: ProgramCall) -> None:
    """Notes variables. Attributes may change their values, and a reference writes to another one."""
    flags = call.flags
    if not all(is_known(word.partition("=")[0]) for word in call.operands):
        commands.forget()  # the names in these words are unknown
    for name, value in _assignments(call):
        if not flags.isdisjoint(("-n", "-i", "-l", "-u", "-c", "+n")):
            commands.refer(name)
            commands.refer(value if "-n" in flags else name)
            continue
        commands.assign(name.rstrip("+"), UNKNOWN if name.endswith("+") else value)
        if is_run(name):
            commands.inner(value)
    if call.program in ("declare", "typeset", "local") and not flags.isdisjoint(("-n", "-i", "-l", "-u")):
        for word in call.operands:
            if "=" not in word:
                commands.refer(word)
    elif call.program == "local":
        commands.forget(*[word for word in call.operands if "=" not in word] or ["_"])


def write_variables(commands: Commands, call: ProgramCall) -> None:
    """Follows builtins that write to the variables that their words name."""
    names = {found for word in call.words[1:] for found in _NAME.findall(word.partition("[")[0])}
    if not all(map(is_known, call.words)):
        commands.forget()
    commands.forget(*names or ("_",))


def printf(commands: Commands, call: ProgramCall) -> None:
    """Follows `printf -v NAME`."""
    if len(call.words) > 1 and call.words[1].startswith("-v"):
        name = (call.words[1][2:] or next(iter(call.words[2:]), "")).partition("[")[0]
        commands.forget(name) if is_known(name) else commands.forget()


def let(commands: Commands, call: ProgramCall) -> None:
    """Follows a calculation."""
    commands.forget(*(name for word in call.words[1:] for name in counted(word)), "_")


def wait(commands: Commands, call: ProgramCall) -> None:
    """Follows `wait -p NAME`."""
    if any(word.startswith("-p") for word in call.words[1:]):
        write_variables(commands, call)


def alias(commands: Commands, call: ProgramCall) -> None:
    """Stores an alias and its text."""
    for name, text in _assignments(call):
        commands.alias(name, text)
        commands.inner(text)


def hash_(commands: Commands, call: ProgramCall) -> None:
    """Follows `hash -p FILE NAME`, which makes a word another program."""
    if "-p" in call.flags and len(call.operands) > 1:
        for name in call.operands[1:]:
            commands.alias(name, call.operands[0])


def _assignments(call: ProgramCall) -> Iterator[tuple[str, str]]:
    for word in call.operands:
        name, equals, value = word.partition("=")
        if equals:
            yield name, value


def read(commands: Commands, call: ProgramCall) -> None:
    """Notes the variables that are read from a pipe: its line, if it is a literal and no option changes it."""
    text = call.stdin.text
    names = [word for word in call.operands if _NAME.fullmatch(word)]
    write_variables(commands, call)
    is_plain = not any(word.startswith("-") and word != "-r" for word in call.words[1:]) and len(names) == 1
    if is_plain and text is not None and is_known(text) and "\\" not in text and "\n" not in text.strip():
        commands.assign(names[0], text.strip())
    else:
        commands.forget("REPLY", *names)


def set_(commands: Commands, call: ProgramCall) -> None:
    """Notes the positional parameters."""
    if call.operands:
        commands.assign("@", *call.operands)
        commands.assign("*", *call.operands)
    for index, word in enumerate(call.operands, 1):
        commands.assign(str(index), word)


def shift(commands: Commands, _: ProgramCall) -> None:
    """Makes the positional parameters unknown."""
    commands.forget("@", "*", *map(str, range(10)))


def trap(commands: Commands, call: ProgramCall) -> Stream | None:
    """Follows the command that a signal starts, at any time: it may set any variable that it names."""
    if not call.operands or call.operands[0] == "-":
        return None
    if commands.is_function(call.operands[0].partition(" ")[0]) and call.operands[1:] != ("EXIT",):
        commands.forget()
    elif "=" in call.operands[0]:
        commands.forget(*_NAME.findall(call.operands[0]), "_")
    return commands.inner(call.operands[0], given=call.given)


def later(commands: Commands, call: ProgramCall) -> Stream | None:
    """Programs that run later what they are given now."""
    return run_stream(commands, call.stdin)
