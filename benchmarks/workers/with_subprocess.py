"""The plain way: subprocess, one thread per hook beyond the first. Same protocol as floor.c."""

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache

HOOK, BASH, SH = sys.argv[1:4]
POOL = ThreadPoolExecutor(max_workers=256)


@cache
def payload(size: int) -> bytes:
    """The same input in every round, as in the floor."""
    return b"x" * size


def run_one(payload: bytes, shell: str) -> bytes:
    """The hook's answer."""
    command = [HOOK] if shell == "-" else [BASH if shell == "bash" else SH, "-c", HOOK]
    return subprocess.run(command, input=payload, capture_output=True, check=True, start_new_session=True).stdout


def main() -> None:
    """Answers one line per round."""
    for line in sys.stdin:
        count, size, shell = line.split()
        given = payload(int(size))
        begin = time.perf_counter_ns()
        if count == "1":
            run_one(given, shell)
        else:
            list(POOL.map(run_one, [given] * int(count), [shell] * int(count)))
        print(time.perf_counter_ns() - begin, 0, flush=True)


main()
