"""Feeds mutated files to everything that reads foreign text, and checks what must hold for each of them.

    python tools/fuzz.py [--seconds 60] [--rounds N] [--seed N] [TARGET ...]

Each target first gets its seeds (tests/fuzz/corpus/TARGET) as they are, then mutations of them. An input that breaks a
rule is written to a file and named; put it into the corpus together with the fix.
"""

import argparse
import asyncio
import faulthandler
import hashlib
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hookline.apps.agent.models.replay import ReplayModel
from hookline.engine.mediation import respond
from hookline.errors import ModelError
from hookline.guards.command_rules import evaluate_command
from hookline.guards.command_rules import read as read_command
from hookline.protocol.answers import read_stdout
from hookline.protocol.constants import ConfigSource
from hookline.protocol.events import HookEventName
from hookline.protocol.llm import GenerateContentParameters
from hookline.protocol.results import failure_verdict
from hookline.protocol.verdict import Verdict
from hookline.settings.decode.settings import decode_settings
from hookline.settings.read.files import Layer, read_layer
from hookline.settings.read.jsonc import parse
from hookline.shell.files import existing_files
from hookline.shell.names import possible_paths

CORPUS = Path(__file__).resolve().parent.parent / "tests" / "fuzz" / "corpus"

# Far above what an input of this size takes on a busy machine, and far below what a quadratic reading takes.
_LARGEST_BYTES = 40_000
_MOST_SECONDS = 3.0
_HANGS_AFTER_S = 60

_TOKENS = (
    *(
        b"{",
        b"}",
        b"[",
        b"]",
        b'"',
        b"\\",
        b",",
        b":",
        b"/*",
        b"*/",
        b"//",
        b"\n",
        b"\r",
        b"\0",
        b"\xff",
        b"\xef\xbb\xbf",
    ),
    *(
        b"null",
        b"true",
        b"false",
        b"NaN",
        b"1e999",
        b"-0",
        b"9" * 400,
        b"\\ud800",
        b"\\u0000",
        "é\u202e\U0001f600".encode(),
    ),
    *(
        b'"decision"',
        b'"deny"',
        b'"block"',
        b'"allow"',
        b'"hooks"',
        b'"matcher"',
        b'"hookSpecificOutput"',
        b'"eventName"',
    ),
    *(
        b"$(",
        b"${",
        b"$((",
        b"`",
        b"'",
        b"$'",
        b"<<E\n",
        b"<(",
        b")",
        b"*",
        b"?",
        b"~",
        b";",
        b"|",
        b"&&",
        b"case",
        b"esac",
        b"[[",
    ),
)
_GUARD = Layer(
    source=ConfigSource.USER,
    origin="user",
    values={"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "guard"}]}]}},
)
_BLOCKING = ("deny", "block")

Target = Callable[[bytes, random.Random, Path], None]


def settings(data: bytes, _dice: random.Random, folder: Path) -> None:
    """A file is read or refused with an error, never silently empty, and never costs another file's guard."""
    file = folder / "settings.json"
    file.write_bytes(data)
    layer = read_layer(file, ConfigSource.PROJECT, is_guest=True)
    decoded = decode_settings([layer, _GUARD])
    assert any(hook.command == "guard" for hook in decoded.hooks), "the user's guard is lost"
    assert all(hook.needs_trust for hook in decoded.hooks if hook.origin != "user"), "a hook needs no trust"
    assert len(decoded.problems) <= 2 * 20, "too many problems"
    assert all(str(problem) for problem in decoded.problems)
    try:
        is_object = isinstance(parse(data.decode("utf-8-sig")), dict)
    except (ValueError, RecursionError):
        is_object = False
    assert is_object or any(problem.is_error for problem in layer.problems), "a broken file is not reported"
    assert is_object or not layer.values, "a broken file has settings"


def answers(data: bytes, _dice: random.Random, _folder: Path) -> None:
    """A plain deny or stop is never lost, and what can't be read is doubted, never an explicit allow."""
    text = data.decode("utf-8", "replace")
    answer = read_stdout(text)
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        given = None
    if answer is not None:
        answer.to_dict()
    if not isinstance(given, dict):
        return
    assert answer is not None, "an object is an answer"
    specific = given.get("hookSpecificOutput")
    words = [given.get("decision"), specific.get("permissionDecision") if isinstance(specific, dict) else None]
    if any(isinstance(word, str) and word in _BLOCKING for word in words) and "NaN" not in text and "Inf" not in text:
        assert answer.blocks, "a deny is lost"
    if given.get("continue") is False and "NaN" not in text and "Inf" not in text:
        assert answer.stops, "a stop is lost"


def requests(data: bytes, _dice: random.Random, _folder: Path) -> None:
    """Every request gets one response, under its own id; only one with good fields fires an event."""
    try:
        message = json.loads(data)
    except (ValueError, RecursionError):
        return
    if not isinstance(message, dict):
        return
    fired: list[HookEventName] = []

    async def fire(event: HookEventName, fields: Mapping[str, Any], _session: object) -> Verdict:
        assert isinstance(fields, Mapping)
        fired.append(event)
        return failure_verdict(event, None, RuntimeError("nothing was run"), "test")

    response = asyncio.run(respond(message, fire, lambda fields: fields))
    assert response["type"] == "hook-execution-response"
    given = message.get("correlationId")
    assert given in (None, "") or response["correlationId"] == given or given != given, "another id"  # noqa: PLR0124 - NaN
    assert response["success"] is False
    assert response["error"]["code"] != "internal_error", response["error"]["message"]
    assert len(fired) <= 1


def replay(data: bytes, _dice: random.Random, folder: Path) -> None:
    """A replay file is played, or refused by a ModelError that names the place."""
    file = folder / "replay.jsonl"
    file.write_bytes(data)

    async def play() -> None:
        model = ReplayModel(file, project_dir="/project")
        for _ in range(data.count(b"\n") + 2):
            async for _chunk in model.stream(GenerateContentParameters(model="m", contents="hi")):
                pass

    try:
        asyncio.run(play())
    except ModelError as error:
        if str(file) not in str(error):
            raise


def commands(data: bytes, _dice: random.Random, folder: Path) -> None:
    """Any text is searched for files in bounded time."""
    text = data.decode("utf-8", "surrogateescape")
    existing_files(possible_paths(text, {"A": "b.sh"}, str(folder)), str(folder))


_NAMES = ("a.sh", "b.sh", "ab.sh", "a b", "c'd", 'e"f', "g$h", "x.y.sh", "-z", "[q]", "é.sh")
_PARTS = (
    *("a", "b", ".sh", "ab", "x.y", "c", "d", "e", "f", "g", "h", "q", "./", "../work/"),
    *(
        "'a'",
        '"b"',
        "'.sh'",
        '"a b"',
        "a\\ b",
        '"c\'d"',
        "c\\'d",
        "'e\"f'",
        "'g$h'",
        "g\\$h",
        "$'\\x2esh'",
        "$'a'",
        '$"b"',
    ),
    *(
        "*",
        "?",
        "[ab]",
        "[!b]",
        "[[:alpha:]]",
        "{a,b}",
        "{a,b}.sh",
        "$A",
        "${A}",
        '"$A"',
        "${A:-b}",
        "${A%h}",
        "${N-.sh}",
    ),
    *("$(echo a)", "`echo b`", "$((1))", "~", "\\\n", "''", '""', "=", ":", ",", "-", "é", "\\[q\\]", "'[q]'"),
)


def words(_data: bytes, dice: random.Random, folder: Path) -> None:
    """The files that bash makes of a word are found, or the command has words that can't be resolved."""
    work = folder / "work"
    if not work.exists():
        work.mkdir()
        for name in _NAMES:
            (work / name).touch()
    word = "".join(dice.choices(_PARTS, k=dice.randrange(1, 5)))
    prefix = dice.choice(("", "A=.sh; ", "A=a; N=b; ", "A='a b'; "))
    env = {"PATH": os.defpath, "HOME": str(work), "LC_ALL": "C.UTF-8", "A": "a"}
    # The words are made of the parts above alone, which start nothing but echo.
    done = subprocess.run(  # noqa: S603
        ["/bin/bash", "-c", f"{prefix}printf '%s\\0' {word}"],
        cwd=work,
        env=env,
        capture_output=True,
        check=False,
        timeout=20,
    )
    opened = {os.path.realpath(work / os.fsdecode(name)) for name in done.stdout.split(b"\0") if name}
    found = existing_files(possible_paths(f"{prefix}cat {word}", {"A": "a"}, str(work)), str(work))
    known = set(map(os.path.realpath, found.files))
    lost = {name for name in opened if Path(name).is_file()} - known
    assert not lost or found.unresolved, f"{prefix}cat {word} opens {sorted(lost)}, and trust covers {sorted(known)}"


# A grammar of commands: each name has its forms, in which {name} stands for another one.
_COMMANDS: Mapping[str, tuple[str, ...]] = {
    "script": ("{line}", "{line}", "{line}; {script}", "{line}\n{script}", "{line} && {line}", "{line} | {line}"),
    "line": (
        *("{simple}", "{simple}", "{simple}", "({script})", "{{ {script}; }}", "if {simple}; then {script}; fi"),
        *(
            "for {name} in {words}; do {script}; done",
            "while read {name}; do {script}; done",
            "{name}() {{ {script}; }}",
        ),
        *(
            "case {word} in a) {script};; esac",
            "{name}={word}; {line}",
            "{name}+={word}",
            "cat <<E\n{word}\nE\ntrue",
            "(( {name}++ ))",
        ),
    ),
    "simple": (
        *("{program} {words}", "{program} {words} > {word}", "{name}={word} {program} {words}", "{program} <<< {word}"),
        *(
            "{wrapper} {simple}",
            "{wrapper} {simple}",
            "bash -c '{program} {words}'",
            "eval {word}",
            "find . -exec {simple} \\;",
        ),
        *('python3 -c "import os; os.system({word})"', "awk '{{print | {word}}}' x", "{program} < <({script})"),
    ),
    "wrapper": (
        "sudo -nu root",
        "env A=1",
        "timeout 5",
        "xargs -I{{}}",
        "nice",
        "command",
        "parallel",
        "ssh host",
        "sh -x",
    ),
    "program": (
        "ls",
        "echo",
        "rm -rf",
        "git checkout",
        "curl",
        "cat",
        "printf",
        "base64",
        "sed",
        "grep -r",
        "${name}",
        "sh",
        "tar cf",
    ),
    "words": ("{word}", "{word} {words}", "{word} {word} {words}"),
    "word": (
        *(
            "a",
            "/",
            "-f",
            "--",
            "x.txt",
            "http://a@b/c",
            "../a",
            "*",
            "[ab]",
            "'a b'",
            '"a ${name}"',
            "${name}",
            "${{{name}:-b}}",
        ),
        *(
            "$({simple})",
            "`{simple}`",
            "$(( {name} + 1 ))",
            "{{a,{word}}}",
            "{{1..9}}",
            "$'\\x41'",
            "<({simple})",
            "{word}{word}",
        ),
    ),
    "name": ("a", "b", "p"),
}
_PIECE = re.compile(r"\{(\w+)\}")
_DEEPEST = 7


def _command(name: str, dice: random.Random, depth: int = 0) -> str:
    forms = _COMMANDS[name]
    form = dice.choice(forms if depth < _DEEPEST else forms[:1])
    text = form.replace("{{", "\0").replace("}}", "\1")
    text = _PIECE.sub(lambda found: _command(found[1], dice, depth + 1), text)
    return text.replace("\0", "{").replace("\1", "}")


def packs(_data: bytes, dice: random.Random, _folder: Path) -> None:
    """A command is judged within 50 ms, and 20 ms for each further 10 kB; what follows it is still seen."""
    text = _command("script", dice)
    if dice.random() < 0.3:  # noqa: PLR2004 - long ones, too
        text = dice.choice(("", ";", " ", "\n", "$(")).join([text] * dice.choice((2, 10, 100)))
    text = text[:_LARGEST_BYTES]
    most = 0.05 + 0.002 * len(text) / 1000
    # Something else may run in between.
    assert min(_judged(text) for _ in range(3)) < most, f"takes longer than {most:.3f} s: {text!r}"
    command = f"{text}\nrm -rf /\n"
    assert evaluate_command("shell", command, "/home/me/x", "/home/me", "/home/me/x"), (
        f"hides what follows: {command!r}"
    )


_UNITS = (
    *("${", "$(", "$((", "`", "'", '"', "$'", "<<E\n", "<(", ")", "}", "*", "?", "~", ";", "|", "&&", "case ", "esac"),
    *("[[ ", "a ", "x=", "$a", "${a}", "${a:-", "a=b;", "{a,b}", "{1..9}", "/", "../", ".env ", "rm -rf ", "curl "),
    *("git ", "sudo ", "env ", "find . -exec ", "bash -c ", "python3 -c ", "awk ", "sed ", "xargs ", "\n", "\\", "#"),
    *(
        ">",
        "< ",
        "((",
        "!",
        "=",
        "-",
        "--x ",
        "http://a@",
        "eval ",
        "echo ",
        "if a; then ",
        "for i in ",
        "do ",
        "done;",
    ),
    *("f(){ ", "} ", "$(a ", "a) ", "[a", "[", "]", "$[", "-rf", "| sh ", "=(", "alias a=", "export A=", "cat ", "\t"),
    *("printf %s ", "read a;", "a+=$a;", "ssh h ", "$1", "$@", "${#a}", "${a[", "${a//b/c}", "cp a b && ", "system("),
)
_LONG = 10_000
_MOST_PER_LONG_S = 0.05


def repetitions(data: bytes, dice: random.Random, _folder: Path) -> None:
    """A command of 10 kB that repeats its parts is judged by all packs within 50 ms of processor time."""
    units = dice.choices(_UNITS, k=dice.choice((1, 1, 2, 3, 5, 9)))
    length = sum(map(len, units))
    forms = (
        "".join(units) * (_LONG // length + 1),
        "".join(dice.choices(units, k=_LONG)),
        "".join(unit * dice.choice((1, 50, 2500)) for unit in units) * 20,
        dice.choice(_UNITS) + "".join(units) * ((_LONG - 20) // length) + dice.choice(_UNITS),
    )
    for text in (data.decode("utf-8", "replace"), dice.choice(forms)):
        # Something else may run in between.
        took = 0.0
        for _ in range(7):
            took = _judged(text[:_LONG])
            if took < _MOST_PER_LONG_S:
                break
        assert took < _MOST_PER_LONG_S, f"takes {took:.3f} s: {text[:_LONG]!r}"


def _judged(text: str) -> float:
    """How long all packs take to judge a command, in seconds of this thread's processor time."""
    read_command.cache_clear()
    began = time.thread_time()
    for pack in ("shell", "git", "paths", "secrets", "network"):
        evaluate_command(pack, text, "/home/me/x", "/home/me", "/home/me/x")
    return time.thread_time() - began


TARGETS: Mapping[str, Target] = {
    "settings": settings,
    "answers": answers,
    "requests": requests,
    "replay": replay,
    "commands": commands,
    "words": words,
    "packs": packs,
    "repetitions": repetitions,
}


def mutated(seeds: list[bytes], dice: random.Random) -> bytes:
    """A seed with some changes, or a mix of two."""
    data = bytearray(dice.choice(seeds))
    for _ in range(dice.choice((1, 1, 2, 4, 16))):
        start = dice.randrange(len(data) + 1)
        end = min(len(data), start + dice.choice((1, 2, 8, 64)))
        match dice.randrange(8):
            case 0:
                del data[start:end]
            case 1:
                data[start:start] = dice.choice(_TOKENS)
            case 2:
                data[start:end] = dice.choice(_TOKENS)
            case 3:
                data[start:end] = dice.randbytes(end - start)
            case 4:
                data[start:end] = data[start:end] * dice.choice((2, 3, 50, 3000))
            case 5:
                data[start:start] = dice.choice(_TOKENS) * dice.choice((2, 10, 1000, 9000))
            case 6:
                other = dice.choice(seeds)
                data[start:] = other[dice.randrange(len(other) + 1) :]
            case _:
                del data[start:]
    return bytes(data[:_LARGEST_BYTES])


def attempt(target: Target, data: bytes, dice: random.Random, folder: Path) -> str | None:
    """Return the fault that an input causes, or None."""
    faulthandler.dump_traceback_later(_HANGS_AFTER_S, exit=True)
    began = time.process_time()
    try:
        target(data, dice, folder)
    except Exception:  # noqa: BLE001 - every exception is a finding
        return traceback.format_exc(limit=-6)
    finally:
        faulthandler.cancel_dump_traceback_later()
    took = time.process_time() - began
    return f"took {took:.1f} s of processor time" if took > _MOST_SECONDS else None


def fuzz(name: str, *, seconds: float, rounds: int | None, seed: int) -> tuple[int, dict[str, bytes]]:
    """How many inputs a target got, and those that broke a rule, by what they did."""
    seeds = [file.read_bytes() for file in sorted((CORPUS / name).glob("*"))] or [b""]
    dice, found, count = random.Random(seed), dict[str, bytes](), 0  # noqa: S311 - the same inputs for the same seed
    deadline = time.monotonic() + seconds
    with tempfile.TemporaryDirectory(prefix="hookline-fuzz-") as folder:
        while rounds is None or count < len(seeds) + rounds:
            if time.monotonic() > deadline or len(found) >= 5:  # noqa: PLR2004 - enough to work on
                break
            data = seeds[count] if count < len(seeds) else mutated(seeds, dice)
            count += 1
            if fault := attempt(TARGETS[name], data, dice, Path(folder)):
                found.setdefault(fault, data)
    return count, found


def main() -> int:
    """Runs the targets one after another, each with its share of the time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", metavar="TARGET", nargs="*", help=f"one of {', '.join(TARGETS)} (default: all)")
    parser.add_argument("--seconds", type=float, default=60, help="for all targets together")
    parser.add_argument("--rounds", type=int, help="mutations of each target (default: as many as there is time for)")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # the SDK warns of words that it does not know
    names, broken = given.targets or list(TARGETS), 0
    print(f"seed {given.seed}")
    for name in names:
        count, found = fuzz(name, seconds=given.seconds / len(names), rounds=given.rounds, seed=given.seed)
        print(f"{name:10} {count:8,} inputs  {'held' if not found else f'BROKEN ({len(found)})'}", flush=True)
        for fault, data in found.items():
            file = Path(tempfile.gettempdir(), f"fuzz-{name}-{hashlib.sha256(data).hexdigest()[:12]}")
            file.write_bytes(data)
            print(f"  {file}\n    " + fault.strip().replace("\n", "\n    "))
        broken += len(found)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
