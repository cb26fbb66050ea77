"""No ghost runs: under each rule of parking, a script runs as often as there are events."""

import asyncio
import os
import re
import signal
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pytest
from tests.patience import until, until_async
from tests.runners.warm.conftest import Garage

from hookline.runners.process.batch import run_children
from hookline.runners.warm.pool import WarmPool

COUNTS = (
    "import os, time\n"
    "with open(os.environ['LLXPRT_PROJECT_DIR'] + '/runs', 'a') as runs: runs.write('x')\n"
    "if os.environ.get('X_HANGS'): time.sleep(60)\n"
)
COMMAND = f"{sys.executable} hook.py"

Rule = Callable[[Garage, int], int]
"""Parks the script, has something happen, and returns how many events there were in which it could run."""


def count(garage: Garage) -> int:
    """How often the script has run."""
    path = garage.folder / "runs"
    return len(path.read_text()) if path.exists() else 0


def park(garage: Garage, command: str = COMMAND) -> None:
    """Fires one event, after which the script is parked."""
    garage.pool.close()
    garage.pool = WarmPool()
    garage.run(garage.job(command))
    assert len(garage.pool.pids) == 2


def an_interpreter_that_ignores_us(garage: Garage, number: int) -> int:
    """Rule 1: it is tried with another program before, so this is never parked."""
    garage.pool.close()
    garage.pool = WarmPool()
    with patch("hookline.shell.python._OPTIONS", re.compile("-[IES]+")):
        ways = garage.ways(garage.job(f"{garage.python} {('-I', '-E', '-S', '-IS')[number % 4]} hook.py"), 2)
    assert (ways, garage.pool.pids) == (["cold"] * 2, ())
    return 2


def the_command(garage: Garage, number: int) -> int:
    """Rule 2: it has a first line for Python, or is more than a simple command."""
    garage.script(f"#!{garage.python} -u\n{COUNTS}", mode=0o755)
    park(garage, "./hook.py")
    other = (f"{COMMAND} | cat", f"{garage.python} -m hook", f"{garage.python} -X utf8 hook.py")[number % 3]
    garage.run(garage.job(other))
    return 2


def the_surroundings(garage: Garage, number: int) -> int:
    """Rule 3: a variable, the umask or the directory is another one, so another interpreter is started."""
    park(garage, command := f"{garage.python} {garage.script(COUNTS)}")
    elsewhere = garage.folder / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    before = os.umask(0o077) if number % 3 == 1 else None
    try:
        variables = {"TZ": "UTC"} if number % 3 == 0 else {}
        job = garage.job(command, variables, cwd=elsewhere if number % 3 == 2 else None)
        assert garage.ways(job, 3)[-1] == "warm"
    finally:
        if before is not None:
            os.umask(before)
    return 4


def the_script(garage: Garage, number: int) -> int:
    """Rule 4: it is read at the event, when it may be another one, or gone."""
    park(garage)
    garage.script(f"# {number}\n{COUNTS}")
    garage.run(garage.job(COMMAND))
    (garage.folder / "hook.py").unlink()
    assert garage.run(garage.job(COMMAND))[0].exit_code == 2
    return 2


def the_number(garage: Garage, _number: int) -> int:
    """Rule 5: another script has the place."""
    garage.pool.close()
    garage.pool = WarmPool(most=1)
    garage.script(COUNTS, "other.py")
    for _ in range(2):
        outcomes = garage.run(garage.job(COMMAND), garage.job(f"{garage.python} other.py"))
    assert sorted(outcome.way for outcome in outcomes) == ["cold", "warm"]
    return 4


def nothing_to_do(garage: Garage, _number: int) -> int:
    """Rule 5: it ends after some time without an event."""
    garage.pool.close()
    garage.pool = WarmPool(idle_s=0.02)
    garage.run(garage.job(COMMAND))
    until(lambda: not garage.pool.pids)
    return 1


def the_end_of_the_program(garage: Garage, _number: int) -> int:
    """Rule 5: it ends with the program that has parked it."""
    garage.pool.close()
    garage.pool = WarmPool()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a fork beside threads
        program = os.fork()
    if not program:
        try:
            asyncio.run(garage.fire(garage.job(COMMAND)))
            garage.pool.wait_until_idle()
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(program, 0)
    return 1


def its_death(garage: Garage, number: int) -> int:
    """Rule 6: the spare, the interpreter or both die before the event, and the script is started as ever."""
    park(garage)
    interpreter, standby = garage.pool.pids
    for pid in ((standby,), (interpreter,), (interpreter, standby))[number % 3]:
        os.kill(pid, signal.SIGKILL if number % 2 else signal.SIGTERM)
    garage.ways(garage.job(COMMAND), 2)
    return 3


def the_end_of_the_run(garage: Garage, _number: int) -> int:
    """Rules 6 and 7: a run that has begun and is ended does not begin again."""
    park(garage)
    before = count(garage)

    async def cancelled() -> None:
        running = asyncio.ensure_future(garage.fire(garage.job(COMMAND, {"X_HANGS": "1"}, timeout_ms=100_000)))
        await until_async(lambda: count(garage) > before)
        running.cancel()
        await asyncio.wait([running])

    asyncio.run(cancelled())
    garage.settle()
    return 2


def switched_off(garage: Garage, _number: int) -> int:
    """Rule 8: a run that may not be warm does not use what is parked."""
    park(garage)
    (outcome,) = asyncio.run(run_children([garage.job(COMMAND)]))
    assert outcome.way == "cold"
    return 2


RULES: tuple[Rule, ...] = (
    *(an_interpreter_that_ignores_us, the_command, the_surroundings, the_script, the_number, nothing_to_do),
    *(the_end_of_the_program, its_death, the_end_of_the_run, switched_off),
)


def look(folder: Path, rule: Rule, times: int) -> None:
    """Parks a script so often, and compares its runs with the events."""
    garage = Garage(folder)
    events = 0
    for number in range(times):
        garage.script(COUNTS)
        events += rule(garage, number)
        assert count(garage) == events, number
    garage.pool.close()
    assert count(garage) == events


@pytest.mark.req("WARM-001")
def test_no_ghost_runs(tmp_path: Path) -> None:
    """However a script is parked, changed, killed and ended."""
    for rule in RULES:
        folder = tmp_path / rule.__name__
        folder.mkdir()
        look(folder, rule, 1)


@pytest.mark.req("WARM-001")
@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("rule", RULES)
def test_no_ghost_runs_in_two_hundred_times(tmp_path: Path, rule: Rule) -> None:
    """The same two hundred times, under each rule."""
    look(tmp_path, rule, 200)
