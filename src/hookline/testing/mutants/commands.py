"""Other forms of a shell command.

No form is tried: each rewriting rule keeps the programs and their arguments because of how shells read text, and is
used only where its condition holds. A rule that puts something behind a command needs a command that ends on its own
line. A rule that changes single words needs plain words, which mean themselves to every shell.
"""

import base64
import re
import shlex
from collections.abc import Iterator

from hookline.shell.direct import BUILTINS_AND_KEYWORDS
from hookline.shell.lexer import read_script
from hookline.shell.pieces import Word
from hookline.testing.mutants.mutant import Mutant, MutantKind

# Flags without a value, by program; some have a long form.
_FLAGS = {
    "rm": {"r": "recursive", "R": "recursive", "f": "force", "v": "verbose", "i": "", "d": "dir"},
    "chmod": {"R": "recursive", "v": "verbose", "f": "silent", "c": "changes"},
    "chown": {"R": "recursive", "v": "verbose", "f": "silent", "c": "changes", "h": "no-dereference"},
    "ls": {"l": "", "a": "all", "r": "reverse", "t": ""},
    "git push": {"f": "force", "v": "verbose", "q": "quiet", "n": "dry-run"},
    "git clean": {"f": "force", "d": "", "x": "", "X": "", "q": "quiet", "n": "dry-run"},
}
# Programs behind which the same command runs.
_WRAPPERS = ("env", "command", "nohup", "nice", "timeout 60", "sudo", "env -i")
_SIMPLE = re.compile(r"[A-Za-z0-9_][\w.+-]*(?:[ \t]+[^\s;&|<>()`$\"'\\#*?\[\]{}~!]+)*")
# Words that echo prints as they are.
_ECHO_OPTION = re.compile(r"-[neE]+")


def mutants_of(command: str) -> Iterator[Mutant]:
    """The forms of a command that do the same, and harmless texts with it in them."""
    command = command.strip()
    for way, text in _same(command):
        yield Mutant(kind=MutantKind.SAME, way=way, text=text)
    yield from _harmless(command)


def _same(command: str) -> Iterator[tuple[str, str]]:
    yield from _as_text(command)
    if _ends_on_its_line(command):
        yield from _inside(command)
    if _SIMPLE.fullmatch(command):
        words = command.split()
        yield from _of_program(words)
        yield from _of_words(words)
        yield from _of_flags(words)
        if words[0] not in BUILTINS_AND_KEYWORDS:
            yield from _of_file(words)


def _as_text(command: str) -> Iterator[tuple[str, str]]:
    """Forms that hand the command to a shell as one quoted text, which may be any."""
    quoted = shlex.quote(command)
    yield "a shell inside", f"bash -c {quoted}"
    yield "a shell inside, its flags joined", f"sh -ec {quoted}"
    yield "a shell inside, an option with a value", f"bash -euo pipefail -c {quoted}"
    yield "eval", f"eval {quoted}"
    end = _unused(command, "END")
    yield "a here-document", f"bash <<'{end}'\n{command}\n{end}"
    yield "a here-string", f"bash <<< {quoted}"
    yield "a pipe into a shell", f"printf '%s\\n' {quoted} | sh"
    encoded = base64.b64encode(command.encode()).decode()
    yield "base64", f"echo {encoded} | base64 -d | sh"
    name = _unused(command, "x")
    yield "in a variable", f'{name}={quoted}; eval "${name}"'
    yield "after a line", f"true\n{command}"


def _inside(command: str) -> Iterator[tuple[str, str]]:
    """Forms in which something follows on the same line."""
    yield "a substitution", f"echo $({command})"
    yield "a subshell", f"({command})"
    yield "a group", f"{{ {command}; }}"
    yield "after another command", f"true && {command}"
    yield "in a loop", f"for {_unused(command, 'i')} in 1; do {command}; done"
    yield "in a condition", f"if true; then {command}; fi"
    name = _unused(command, "f")
    yield "in a function", f"{name}() {{ {command}; }}; {name}"
    yield "a comment behind it", f"{command} # tidy up"


def _ends_on_its_line(command: str) -> bool:
    """Whether a command is one line without comments and here-documents, and ends with a word."""
    items, is_complete = read_script(command)
    is_plain = (
        is_complete and "\n" not in command and not {"#", "<<"} & {each for each in items if isinstance(each, str)}
    )
    return is_plain and bool(items) and isinstance(items[-1], Word) and not command.endswith("\\")


def _unused(command: str, name: str) -> str:
    """A name that the command does not have in it."""
    while name in command:
        name += name[0]
    return name


def _of_program(words: list[str]) -> Iterator[tuple[str, str]]:
    """Other spellings of the program's name."""
    program, rest = words[0], " ".join(words[1:])
    first, others = program[0], program[1:]
    if program in BUILTINS_AND_KEYWORDS:
        return  # a keyword that is quoted is none
    yield "a quoted program", f"'{program}' {rest}"
    yield "quotes in the program", f"{first}''{others} {rest}"
    yield "a backslash", f"\\{program} {rest}"
    if others:
        yield "a backslash inside", f"{first}\\{others} {rest}"
        yield "the program in two variables", f"a={first}; b={others}; $a$b {rest}"
    yield "the program from a substitution", f"$(echo {program}) {rest}"
    yield "the program from backquotes", f"`echo {program}` {rest}"
    yield "the program in a variable", f"x={program}; $x {rest}"
    yield "escapes in the program", "$'" + "".join(f"\\x{ord(char):02x}" for char in program) + f"' {rest}"
    yield "an alias", f"shopt -s expand_aliases\nalias x={program}\nx {rest}"


def _of_words(words: list[str]) -> Iterator[tuple[str, str]]:
    """Other ways to separate and quote words."""
    yield "more blanks", "  ".join(words)
    yield "tabs", "\t".join(words)
    yield "a continued line", " \\\n".join(words)
    yield "quoted arguments", " ".join([words[0], *(f'"{word}"' for word in words[1:])])
    if words[0] in BUILTINS_AND_KEYWORDS:
        return
    yield "blanks from a variable", words[0] + "".join(f"${{IFS}}{word}" for word in words[1:])
    if words[1:] and not any("," in word for word in words):
        yield "braces", "{" + ",".join(words) + "}"


def _of_file(words: list[str]) -> Iterator[tuple[str, str]]:
    """Forms for programs that are files, which other programs can start."""
    command, rest = " ".join(words), " ".join(words[1:])
    for wrapper in _WRAPPERS:
        yield f"behind {wrapper}", f"{wrapper} {command}"
    for place in ("/bin/", "/usr/bin/"):
        yield "the program by its path", f"{place}{words[0]} {rest}".rstrip()
    if words[1:] and not _ECHO_OPTION.fullmatch(words[1]):
        yield "arguments through xargs", f"echo {rest} | xargs {words[0]}"


def _of_flags(words: list[str]) -> Iterator[tuple[str, str]]:
    """Other spellings of flags that are known to have no value."""
    known = _FLAGS.get(words[0], _FLAGS.get(" ".join(words[:2]), {}))
    for index, word in enumerate(words):
        if not re.fullmatch(r"-[A-Za-z]{2,}", word) or not all(letter in known for letter in word[1:]):
            continue
        before, letters, after = words[:index], word[1:], words[index + 1 :]
        yield "flags in another order", " ".join([*before, f"-{letters[::-1]}", *after])
        yield "flags apart", " ".join([*before, *(f"-{letter}" for letter in letters), *after])
        yield "flags at the end", " ".join([*before, *after, word])
        if all(known[letter] for letter in letters):
            yield "long flags", " ".join([*before, *(f"--{known[letter]}" for letter in letters), *after])


def _harmless(command: str) -> Iterator[Mutant]:
    quoted = shlex.quote(command)
    end = _unused(command, "END")
    for way, text in (
        ("printed", f"echo {quoted}"),
        ("searched for", f"grep -rn -e {quoted} docs"),
        ("in a commit's message", f"git commit -m {quoted}"),
        ("in a comment", f"ls # {command.splitlines()[0]}"),
        ("in a here-document for cat", f"cat <<'{end}'\n{command}\n{end}"),
        ("in a text that is formatted", f"printf '%s\\n' {quoted}"),
    ):
        yield Mutant(kind=MutantKind.HARMLESS, way=way, text=text)
