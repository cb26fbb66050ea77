"""The default retention: how long it takes to search and to count 60 MB of log; `python -m benchmarks.log`.

The records are those of agents at work: for each event a start, the run of a hook and the event, with hashes; eight
sessions at a time, each with a few hundred records. 120,000 take 60 MB, in files of 10 MB, removed afterwards.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from hookline.log.write.chain import START, link_lines
from hookline.protocol.text.json_text import utc_timestamp

# Of the processor.
LIMITS_S = {"the latest records": 2.0, "a session's events": 2.0, "stats": 2.0}
_FILE_BYTES = 10_000_000
_SESSIONS_AT_ONCE = 8
_EVENTS_OF_A_SESSION = 100
_SETTINGS = {"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "true"}]}]}}


def write_log(path: Path, records: int) -> tuple[str, int]:
    """Write a log with its rotated files; returns a session in the middle of it, and the number of bytes."""
    chance = random.Random(16)
    head, total, middle = START, 0, ""
    parts: list[Path] = []
    lines: list[bytes] = []
    size = 0
    for number, (session, event) in enumerate(_events(records // 3, chance)):
        lines += event
        size += sum(map(len, event)) + 90 * len(event)
        if number == records // 6:
            middle = session
        if size >= _FILE_BYTES or number == records // 3 - 1:
            parts.append(path.with_name(f"part{len(parts)}"))
            data, head = link_lines(lines, head, names_prev=True)
            parts[-1].write_bytes(data)
            total += len(data)
            lines, size = [], 0
    for age, part in enumerate(reversed(parts)):
        part.rename(path.with_name(f"{path.name}.{age}") if age else path)
    return middle, total


def _events(count: int, chance: random.Random) -> Iterator[tuple[str, list[bytes]]]:
    sessions: list[list[str]] = [[] for _ in range(_SESSIONS_AT_ONCE)]
    began = 1_700_000_000.0
    for number in range(count):
        running = sessions[chance.randrange(_SESSIONS_AT_ONCE)]
        if not running:
            running += [f"{chance.getrandbits(128):032x}"] * chance.randint(1, _EVENTS_OF_A_SESSION * 2)
        session = running.pop()
        yield session, _event(began + number, session, chance)


def _event(when: float, session: str, chance: random.Random) -> list[bytes]:
    fire, stamp = f"{chance.getrandbits(40):010x}", utc_timestamp(when)
    tool = chance.choice(("read_file", "write_file", "run_shell_command", "grep", "glob", "edit"))
    hook = chance.choice(("guard", "format", "audit", "secrets"))
    event = chance.choice(("BeforeTool", "AfterTool"))
    took = round(chance.lognormvariate(1.5, 0.7), 3)
    luck = chance.random()
    ending = (
        '"success":false,"exitCode":2,"timedOut":false,"decision":"deny"'
        if luck < 0.02
        else '"success":false,"exitCode":1,"timedOut":false'
        if luck < 0.03
        else '"success":true,"exitCode":0,"timedOut":false,"decision":"allow"'
    )
    level = "warn" if 0.02 <= luck < 0.03 else "debug"
    about = f'"session":"{session}","event":"{event}","subject":"{tool}"'
    place = f'"hook":"{hook}","origin":"/home/me/.llxprt/settings.json","duration":{took},{ending},"type":"command"'
    command = f'"command":"~/.llxprt/hooks/{hook}.py","source":"user","location":"hooks.{event}[0].hooks[0]"'
    told = {
        "session_id": session,
        "cwd": "/home/me/project",
        "tool_name": tool,
        "tool_input": {"path": f"src/{fire}.py"},
    }
    texts = f'"truncated":false,"stdin":{json.dumps(json.dumps(told))},"stdout":"{{}}","stderr":""'
    counts = '"success":true,"blocked":false,"hooks":1,"succeeded":1,"failed":0,"stop":false'
    return [
        f'{{"kind":"{kind}","time":"{stamp}","level":"{level}","message":"{event} {tool}: {hook}","fire":"{fire}",'
        f"{about},{rest}}}\n".encode()
        for kind, rest in (
            ("start", f'"hooks":["{hook}"]'),
            ("hook", f'"id":"{fire}-0",{place},{command},{texts}'),
            ("event", f'"duration":{took},{counts}'),
        )
    ]


def measure(records: int, rounds: int, folder: Path) -> dict[str, float]:
    """Seconds of each command, whole processes."""
    log, settings = folder / "hooks.jsonl", folder / "settings.json"
    settings.write_text(json.dumps(_SETTINGS), encoding="utf-8")
    began = time.perf_counter()
    session, size = write_log(log, records)
    print(f"{records:,} records, {size / 1e6:.0f} MB, written in {time.perf_counter() - began:.0f} s", flush=True)
    where = ["--project", str(folder), "--settings", str(settings)]
    commands = {
        "the latest records": ["log"],
        "a session's events": ["log", "--session", session, "-n", "0"],
        "one event in full": ["log", _fire_of(log, session, folder)],
        "failures since a time in the middle": [
            "log",
            "--failures",
            "--since",
            utc_timestamp(1_700_000_000 + records / 6),
        ],
        "denies of a hook": ["log", "--hook", "guard", "--decision", "blocked"],
        "unfinished hooks": ["log", "--unfinished"],
        "stats": ["log", "--stats"],
        "stats since a time in the middle": ["log", "--stats", "--since", utc_timestamp(1_700_000_000 + records / 6)],
        "list": ["list"],
    }
    times = {}
    for name, words in commands.items():
        runs = [_seconds([*words, *where], folder) for _ in range(rounds)]
        times[name] = median(clock for clock, _ in runs)
        limit = f" (at most {LIMITS_S[name]} s)" if name in LIMITS_S else ""
        processor = median(processor for _, processor in runs)
        print(f"{name:<40} {times[name]:7.2f} s, {processor:7.2f} s of the processor{limit}", flush=True)
    return times


def _fire_of(log: Path, session: str, folder: Path) -> str:
    """The id of an event of this session."""
    for file in sorted(folder.glob(f"{log.name}*")):
        data = file.read_bytes() if file.is_file() else b""
        at = data.find(f'"session":"{session}"'.encode())
        if at >= 0:
            line = data[data.rfind(b"\n", 0, at) + 1 : data.find(b"\n", at)]
            return str(json.loads(line)["fire"])
    raise SystemExit(f"the session {session} is not in the log")


def _seconds(words: Sequence[str], folder: Path) -> tuple[float, float]:
    """The time of a command, on the clock and of the processor."""
    hookline = str(Path(sys.executable).with_name("hookline"))
    env = {**os.environ, "HOOKLINE_STATE_DIR": str(folder)}
    began = time.perf_counter()
    process = subprocess.Popen([hookline, *words], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(words)} exited with {process.returncode}")
    return time.perf_counter() - began, usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=120_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", help="where to write them (default: the directory for temporary files)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as directory:
        measure(given.records, given.rounds, Path(directory))
