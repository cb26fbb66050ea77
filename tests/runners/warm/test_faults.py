"""Scripts that misbehave, in processes that were parked. `make faults` has many more."""

import signal
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.runners.warm.conftest import PYTHONS, Garage
from tests.runners.warm.test_pool import is_alive, wait_for

from hookline.runners.process.batch import ChildLimits

BAD = {
    "hangs": "import time\ntime.sleep(60)",
    "ignores SIGTERM": "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(60)",
    "stops itself": "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
    "crashes": "import os, resource, signal\nresource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
    "os.kill(os.getpid(), signal.SIGSEGV)",
    "floods": "import os\nwhile True: os.write(1, b'x' * 65536)",
    "leaves its session": "import os, time\nif not os.fork():\n    os.setsid()\n    time.sleep(60)\ntime.sleep(60)",
    "is a daemon": "import os, time\nif not os.fork():\n    os.setsid()\n    if not os.fork(): time.sleep(60)\n"
    "    os._exit(0)\nos.wait()\ntime.sleep(60)",
    "forks": "import os, time\nfor _ in range(5): os.fork()\ntime.sleep(60)",
}


def tagged(folder: Path) -> list[int]:
    """The living processes that run a script of this folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(folder).encode() in path.read_bytes() and is_alive(int(path.parent.name)):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


@pytest.mark.req("WARM-013")
@pytest.mark.parametrize(
    "python", [sys.executable, *(pytest.param(path, id=name, marks=pytest.mark.slow) for name, path in PYTHONS)]
)
def test_they_end_as_cold_ones_do(tmp_path: Path, python: str) -> None:
    """At their timeout, with everything that they have started; and the output stays bounded."""
    garage = Garage(tmp_path, most=len(BAD), python=python)
    jobs = {}
    for name in BAD:
        path = garage.script("", f"{name}.py")
        jobs[name] = garage.job(f"{garage.python} '{path}'", timeout_ms=40_000)
    garage.run(*jobs.values())
    # The one that crashes is not ended by its timeout.
    jobs = {name: job if name == "crashes" else replace(job, timeout_ms=2000) for name, job in jobs.items()}
    for name, text in BAD.items():
        garage.script(text, f"{name}.py")
    outcomes = dict(
        zip(jobs, garage.run(*jobs.values(), limits=ChildLimits(grace_s=0.5, output_bytes=1000)), strict=True)
    )
    parked = garage.pool.pids
    assert {name: outcome.way.value for name, outcome in outcomes.items()} == dict.fromkeys(BAD, "warm")
    crash = outcomes.pop("crashes")
    assert (crash.signal, crash.timed_out) == (signal.SIGSEGV, False)
    assert {name: (o.timed_out, o.error) for name, o in outcomes.items()} == dict.fromkeys(outcomes, (True, None))
    assert (len(outcomes["floods"].stdout), outcomes["floods"].stdout_truncated) == (1000, True)
    wait_for(lambda: {*tagged(tmp_path)} <= {*parked})
    garage.pool.close()
    wait_for(lambda: not tagged(tmp_path))
