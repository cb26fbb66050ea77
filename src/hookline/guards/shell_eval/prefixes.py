"""Programs that run the command behind their own options: sudo, nice, timeout, env, docker exec."""

import shlex
from collections.abc import Sequence

from hookline.guards.shell_eval.calls import ELSEWHERE, Call, Stream
from hookline.guards.shell_eval.commands import Commands
from hookline.guards.shell_eval.grammar import BEHIND, GRAMMARS, Grammar, Split, split
from hookline.guards.shell_eval.words import is_known


def prefix(commands: Commands, call: Call) -> Stream | None:
    """Follows a program that runs the command behind its own options."""
    return _wrapped(commands, call, GRAMMARS[call.program], call.words[1:])


def runner(commands: Commands, call: Call, name: tuple[str, ...]) -> Stream | None:
    """Follows a program that runs a command behind one of its subcommands: `poetry run`, `docker exec`."""
    at = 0
    for word in name[1:]:
        at = call.words.index(word, at + 1)
    grammar = BEHIND[name]
    if not grammar.elsewhere:
        return _wrapped(commands, call, grammar, call.words[at + 1 :])
    with commands.elsewhere():
        return _wrapped(commands, call, grammar, call.words[at + 1 :])


def env(commands: Commands, call: Call) -> Stream | None:
    """Follows env, which also splits a text into words."""
    parts = taken(commands, call, GRAMMARS["env"])
    text = parts.value(("-S", "--split-string"))
    if text is None:
        return prefix(commands, call)
    rest = shlex.join(call.words[1 + parts.own :]) if is_known(call.line) else " ".join(call.words[1 + parts.own :])
    return commands.inner(f"env {text} {rest}", call.stdin, via=("env",), given=call.given)


def taken(commands: Commands, call: Call, grammar: Grammar, words: Sequence[str] | None = None) -> Split:
    """The options of a wrapper; one that is not known makes the command unsure."""
    parts = split(grammar, call.words[1:] if words is None else words)
    if parts.unknown:
        commands.doubt(f"{call.program} has an option that is not known here: {parts.unknown}")
    return parts


def rest_behind(parts: Split, words: Sequence[str]) -> Sequence[str]:
    """The command behind the options. Behind an unknown one it is a guess: the first word without a dash."""
    at = parts.own
    while parts.unknown and at < len(words) and words[at].startswith("-"):
        at += 1
    return words[at:]


def _wrapped(commands: Commands, call: Call, grammar: Grammar, words: Sequence[str]) -> Stream | None:
    parts = taken(commands, call, grammar, words)
    if parts.has(grammar.stops):
        return None
    saved = commands.cwd
    if (directory := parts.value(grammar.directory)) is not None:
        commands.change_directory(directory)
    try:
        with commands.assigned(parts.assigned):
            return _command(commands, call, grammar, parts, rest_behind(parts, words))
    finally:
        commands.cwd = saved


def _command(commands: Commands, call: Call, grammar: Grammar, parts: Split, rest: Sequence[str]) -> Stream | None:
    if (text := parts.value(grammar.text)) is not None:
        return commands.inner(text, call.stdin, via=(call.program,), given=call.given)
    if grammar.joined or parts.has(grammar.joined_with):
        return commands.inner(" ".join(rest), call.stdin, via=(call.program,), given=call.given) if rest else None
    if len(rest) == 1 and " " in rest[0]:
        return commands.inner(rest[0], call.stdin, via=(call.program,), given=call.given)
    return go_on(commands, call, rest)


def go_on(commands: Commands, call: Call, words: Sequence[str], stdin: Stream | None = None) -> Stream | None:
    """Adds the call that another one runs, with the same input if no other is given."""
    if not words:
        return None
    return commands.emit(
        words,
        stdin=call.stdin if stdin is None else stdin,
        via=(*call.via, call.program),
        # What is shown of another machine is not this one's.
        given=call.given if commands.cwd != ELSEWHERE else call.given - {"shown", "kept"},
    )
