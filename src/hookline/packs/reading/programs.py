"""Programs that take a command among their arguments: ssh, docker, git, tar, editors."""

import re
from collections.abc import Callable

from hookline.packs.reading.calls import Call, Reader, Stream
from hookline.packs.reading.prefixes import go_on, rest_of


def su(commands: Reader, call: Call) -> Stream | None:
    """Follows the command that another user shall run."""
    text = call.value_of("-c", "--command")
    return None if text is None else commands.inner(text)


def ssh(commands: Reader, call: Call) -> Stream | None:
    """Follows a command on another machine."""
    for option in (call.value_of("-o") or "",):
        name, _, text = option.partition("=")
        if name.lower() in ("proxycommand", "localcommand"):
            commands.inner(text)
    rest = call.operands[1:]
    if not rest:
        return _run_remote(commands, call)
    return _elsewhere(commands, lambda: commands.inner(" ".join(rest), call.stdin, via=("ssh",)))


def _run_remote(commands: Reader, call: Call) -> Stream | None:
    return (
        None
        if call.stdin.text is None
        else _elsewhere(commands, lambda: commands.inner(call.stdin.text or "", via=("ssh",)))
    )


def _elsewhere(commands: Reader, run: Callable[[], Stream | None]) -> Stream | None:
    """Another machine or container: what is relative there is not below this project."""
    saved, commands.cwd = commands.cwd, "/elsewhere"
    try:
        return run()
    finally:
        commands.cwd = saved


def container(commands: Reader, call: Call) -> Stream | None:
    """Follows a command in a container."""
    words = call.operands
    if "exec" in words[:2]:
        at = call.words.index("exec")
        rest = rest_of(Call(call.words[at:], cwd=call.cwd), "euwcn", 1)
        rest = rest[rest.index("--") + 1 :] if "--" in rest else rest
        return _elsewhere(commands, lambda: go_on(commands, call, rest)) if rest else None
    return None


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
            commands.inner(" ".join(words[2:]))
        case ("bisect", "run"):
            go_on(commands, call, words[2:])
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


def tar(commands: Reader, call: Call) -> Stream | None:
    """Follows the commands that tar runs for what it packs."""
    for word in call.words:
        for start in ("--checkpoint-action=exec=", "--to-command=", "--use-compress-program="):
            if word.startswith(start):
                commands.inner(word[len(start) :], via=(*call.via, "tar"))
    return None


def editor(commands: Reader, call: Call) -> Stream | None:
    """Follows a command that an editor shall run at its start."""
    for word in call.words[1:]:
        if found := re.match(r"\+?:?!(.+)", word):
            commands.inner(found[1], via=(*call.via, "vim"))
    return None


def ip(commands: Reader, call: Call) -> Stream | None:
    """Follows a command in a network of its own: ip netns exec NAME."""
    return go_on(commands, call, call.words[4:]) if call.operands[:2] == ("netns", "exec") else None


def terminal(commands: Reader, call: Call) -> Stream | None:
    """Follows a command in a terminal of its own: tmux, screen, xterm -e."""
    if call.program == "tmux":
        for word in call.operands[1:]:
            if " " in word.strip():
                commands.inner(word)
    elif call.program == "screen":
        rest = rest_of(call, "SctTLe")
        go_on(commands, call, rest[1:] if any(re.fullmatch(r"-\w+S", word) for word in call.words) else rest)
    elif mark := next((each for each in ("-e", "--") if each in call.words), None):
        go_on(commands, call, call.words[call.words.index(mark) + 1 :])
    return None
