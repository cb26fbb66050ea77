"""Says what the end of a process costs by itself, with as much memory as a parked Python has, in a C program.

    python benchmarks/ends.py [--rounds N]

No warm event can be faster than this. Each round has every kind of process once, in random order, and the C floor.
"""

import argparse
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.race import FLOOR, HERE, Scenario, Workers, build

# Pages that a spare has, and that it has of its own when a run ends, in Python 3.11.
KINDS = {
    "hardly any memory": (1, 0, 0),
    "a parked script, one import": (1300, 1060, 0),
    "the same with a keeper": (1300, 1060, 1),
    "a parked script, ten imports": (2400, 1900, 0),
    "the same, ten imports, with a keeper": (2400, 1900, 1),
}
_ONCE = Scenario("one hook", 1, 1000, workers=(FLOOR,))


def main() -> int:
    """Print medians, in microseconds and in floors; without a C compiler, say so."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=40)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        program = build(HERE / "spare.c", Path(folder) / "spare")
        race = Workers(Path(folder))
        if program is None or FLOOR in race.missing:
            print("no C compiler (cc) was found")
            return 0
        process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdin
        assert process.stdout
        spans: dict[str, list[tuple[float, float]]] = {name: [] for name in KINDS}
        for _ in range(rounds):
            floor = race.ask(FLOOR, _ONCE)[0]
            for name in random.sample([*KINDS], len(KINDS)):
                print(*KINDS[name], file=process.stdin, flush=True)
                span = int(process.stdout.readline())
                spans[name].append((span / 1000, span / floor))
        process.communicate()
        race.stop()
    print("| woken up by a pipe, writes a byte, exits | µs | floors |\n|---|---|---|")
    for name, values in spans.items():
        micros, floors = (median(column) for column in zip(*values, strict=True))
        print(f"| {name} | {micros:.0f} | {floors:.2f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
