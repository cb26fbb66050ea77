"""Other forms of a shell command."""

import base64
import re
import shlex
from collections.abc import Iterator

from hookline.testing.mutants.mutant import Kind, Mutant

_LONG = {
    "rm": {"r": "recursive", "f": "force", "v": "verbose"},
    "chmod": {"R": "recursive"},
    "chown": {"R": "recursive"},
    "git push": {"f": "force"},
    "git clean": {"f": "force"},
}
# Programs behind which the same command runs.
_WRAPPERS = ("env", "command", "nohup", "nice", "timeout 60", "sudo", "env -i")
_SIMPLE = re.compile(r"[A-Za-z0-9_][\w.+-]*(?:[ \t]+[^\s;&|<>()`$\"'\\#*?\[\]{}~!]+)*")


def mutants_of(command: str) -> Iterator[Mutant]:
    """The forms of a command that do the same, and harmless texts with it in them."""
    command = command.strip()
    yield from _same(command)
    yield from _harmless(command)


def _same(command: str) -> Iterator[Mutant]:
    for way, text in _around(command):
        yield Mutant(kind=Kind.SAME, way=way, text=text)
    # The others change single words, so these have to be plain.
    if _SIMPLE.fullmatch(command):
        for way, text in (*_of_program(command), *_of_words(command)):
            yield Mutant(kind=Kind.SAME, way=way, text=text)
        for way, text in _of_flags(command.split()):
            # The program takes them for the same, which its stand-in does not know.
            yield Mutant(kind=Kind.SAME, way=way, text=text, runnable=False)
        program, _, rest = command.partition(" ")
        for place in ("/bin/", "/usr/bin/"):
            text = f"{place}{program} {rest}".rstrip()
            yield Mutant(kind=Kind.SAME, way="the program by its path", text=text, runnable=False)


def _around(command: str) -> Iterator[tuple[str, str]]:
    quoted = shlex.quote(command)
    yield "a shell inside", f"bash -c {quoted}"
    yield "a shell inside, its flags joined", f"sh -ec {quoted}"
    yield "eval", f"eval {quoted}"
    yield "a here-document", f"bash <<'END'\n{command}\nEND"
    yield "a here-string", f"bash <<< {quoted}"
    yield "a pipe into a shell", f"printf '%s\\n' {quoted} | sh"
    encoded = base64.b64encode(command.encode()).decode()
    yield "base64", f"echo {encoded} | base64 -d | sh"
    yield "a substitution", f"echo $({command})"
    yield "a subshell", f"({command})"
    yield "a group", f"{{ {command}; }}"
    yield "after another command", f"true && {command}"
    yield "after a line", f"true\n{command}"
    yield "in a loop", f"for i in 1; do {command}; done"
    yield "in a condition", f"if true; then {command}; fi"
    yield "in a function", f"f() {{ {command}; }}; f"
    yield "a comment behind it", f"{command} # tidy up"
    yield "in a variable", f'x={quoted}; eval "$x"'


def _of_program(command: str) -> Iterator[tuple[str, str]]:
    program, _, rest = command.partition(" ")
    first, others = program[0], program[1:]
    yield "a quoted program", f"'{program}' {rest}"
    yield "quotes in the program", f"{first}''{others} {rest}"
    yield "a backslash", f"\\{program} {rest}"
    yield "a backslash inside", f"{first}\\{others} {rest}" if others else command
    yield "the program from a substitution", f"$(echo {program}) {rest}"
    yield "the program from backquotes", f"`echo {program}` {rest}"
    yield "the program in a variable", f"x={program}; $x {rest}"
    yield "the program in two variables", f"a={first}; b={others}; $a$b {rest}"
    yield "escapes in the program", "$'" + "".join(f"\\x{ord(char):02x}" for char in program) + f"' {rest}"
    yield "an alias", f"shopt -s expand_aliases\nalias x={program}\nx {rest}"
    for wrapper in _WRAPPERS:
        yield f"behind {wrapper}", f"{wrapper} {command}"


def _of_words(command: str) -> Iterator[tuple[str, str]]:
    words = command.split()
    yield "more blanks", "  ".join(words)
    yield "tabs", "\t".join(words)
    yield "a line that goes on", " \\\n".join(words)
    yield "blanks from a variable", words[0] + "".join(f"${{IFS}}{word}" for word in words[1:])
    yield "quoted arguments", " ".join([words[0], *(f'"{word}"' for word in words[1:])])
    if words[1:]:
        yield "braces", "{" + ",".join(words) + "}"
        yield "arguments through xargs", f"echo {' '.join(words[1:])} | xargs {words[0]}"


def _of_flags(words: list[str]) -> Iterator[tuple[str, str]]:
    for index, word in enumerate(words):
        if not re.fullmatch(r"-[A-Za-z]{2,}", word):
            continue
        letters = word[1:]
        yield "flags in another order", " ".join([*words[:index], f"-{letters[::-1]}", *words[index + 1 :]])
        yield "flags apart", " ".join([*words[:index], *(f"-{letter}" for letter in letters), *words[index + 1 :]])
        long = _LONG.get(words[0], _LONG.get(" ".join(words[:2]), {}))
        if all(letter in long for letter in letters):
            names = [f"--{long[letter]}" for letter in letters]
            yield "long flags", " ".join([*words[:index], *names, *words[index + 1 :]])
            yield "flags at the end", " ".join([*words[:index], *words[index + 1 :], word])


def _harmless(command: str) -> Iterator[Mutant]:
    quoted = shlex.quote(command)
    for way, text in (
        ("printed", f"echo {quoted}"),
        ("searched for", f"grep -rn {quoted} docs"),
        ("in a commit's message", f"git commit -m {quoted}"),
        ("in a comment", f"ls # {command.splitlines()[0]}"),
        ("in a here-document for cat", f"cat <<'END'\n{command}\nEND"),
        ("in a text that is formatted", f"printf '%s\\n' {quoted}"),
    ):
        yield Mutant(kind=Kind.HARMLESS, way=way, text=text)
