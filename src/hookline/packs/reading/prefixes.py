"""Programs that run the command behind their own options: sudo, nice, timeout, env."""

import re
from collections.abc import Mapping, Sequence

from hookline.packs.reading.calls import Call, Reader, Stream

# Programs that run the command behind their own options; the letters take a value.
PREFIXES: Mapping[str, str] = {
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
    "npx": "pc",
    "bunx": "p",
    "pnpx": "",
    "uvx": "p",
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
    "setarch": "",
    "linux64": "",
    "rlwrap": "",
    "then": "",
    "do": "",
}
# These have operands of their own before the command.
OWN_OPERANDS = {"timeout": 1, "chroot": 1, "flock": 1, "taskset": 1, "chrt": 1, "setarch": 1, "gosu": 1, "faketime": 1}
OWN_VALUES = {"timeout": "sk", "chroot": "", "flock": "wE", "env": "uCS"}
# Programs that do so behind one of their subcommands; the letters take a value.
RUNNERS: Mapping[str, tuple[str, str]] = {
    "uv": ("run", "ps"),
    "poetry": ("run", ""),
    "pipenv": ("run", ""),
    "pdm": ("run", ""),
    "rye": ("run", ""),
    "hatch": ("run", ""),
    "conda": ("run", "np"),
    "mamba": ("run", "np"),
    "bundle": ("exec", ""),
    "heroku": ("run", "ar"),
    "npm": ("exec", "cw"),
    "pnpm": ("exec", "C"),
    "mise": ("exec", ""),
    "doppler": ("run", "pc"),
    "op": ("run", ""),
    "direnv": ("exec", ""),
}


def rest_of(call: Call, with_value: str, own_operands: int = 0) -> tuple[str, ...]:
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


def prefix(commands: Reader, call: Call) -> Stream | None:
    """Follows a program that runs the command behind its own options."""
    program = call.program
    if program == "command" and call.flags & {"-v", "-V"}:
        return None
    if program == "flock" and (text := call.value_of("-c")) is not None:
        return commands.inner(text)
    with_value = OWN_VALUES.get(program, PREFIXES.get(program, ""))
    return go_on(commands, call, rest_of(call, with_value, OWN_OPERANDS.get(program, 0)))


def runner(commands: Reader, call: Call) -> Stream | None:
    """Follows a program that runs a command behind one of its subcommands: `poetry run`, `bundle exec`."""
    subcommand, with_value = RUNNERS[call.program]
    if call.operands[:1] != (subcommand,):
        return None
    behind = call.words[call.words.index(subcommand) :]
    rest = rest_of(Call(behind, cwd=call.cwd), with_value, 1 if call.program == "direnv" else 0)
    return go_on(commands, call, rest)


def go_on(commands: Reader, call: Call, words: Sequence[str], stdin: Stream | None = None) -> Stream | None:
    """Adds the call that another one runs, with the same input if no other is given."""
    if not words:
        return None
    return commands.emit(words, stdin=call.stdin if stdin is None else stdin, via=(*call.via, call.program))


def env(commands: Reader, call: Call) -> Stream | None:
    """Follows env, which also sets variables."""
    if (text := call.value_of("-S", "--split-string")) is not None:
        return commands.inner(" ".join((text, *rest_of(call, "uCS"))))
    for word in call.words[1:]:
        name, equals, value = word.partition("=")
        if equals and re.fullmatch(r"[A-Za-z_]\w*", name):
            commands.assign(name, value)
    return go_on(commands, call, rest_of(call, "uC"))


def applet(commands: Reader, call: Call) -> Stream | None:
    """Follows a program whose arguments are a command."""
    return go_on(commands, call, call.words[1:])


def joined(commands: Reader, call: Call) -> Stream | None:
    """Programs that hand all their words to a shell."""
    rest = rest_of(call, "n")
    return commands.inner(" ".join(rest)) if rest else None
